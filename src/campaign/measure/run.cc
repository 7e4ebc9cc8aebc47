#include "campaign/measure/run.h"

#include <iterator>

#include "base/moment.h"
#include "base/version.h"

namespace railbed {

BenchRun begin_run(const RunRequest& request) {
  BenchRun run;
  run.started_at = utc_now();
  run.label = request.label;
  run.command = request.command;
  run.railbed = railbed_version();
  run.asked = request.asked;
  run.asked.emplace("defaults", kDefaults);
  return run;
}

void add_measurements(BenchRun& run, std::vector<Measurement> measured) {
  std::move(measured.begin(), measured.end(), std::back_inserter(run.measurements));
}

}  // namespace railbed
