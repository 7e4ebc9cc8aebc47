// A run or a file of measurements may come from anybody: it is taken or refused, and what is taken is written
// and read again unchanged, compared, judged, printed and drawn.
//
// Rooms: campaign report store verify
// Seeds: tests/sessions/runs tests/machines
#include <cstdint>
#include <utility>

#include "base/json.h"
#include "campaign/look/evidence.h"
#include "fuzz/require.h"
#include "report/report.h"
#include "report/text/run_text.h"
#include "store/compare.h"
#include "store/store.h"
#include "verify/verify.h"

using namespace railbed;

namespace {

void show(const Report& report) {
  require_printable(render_text(report));
  require(json::parse(render_json(report)).has_value());
  require(!render_html(report).empty());
}

void take_run(std::string_view text) {
  const auto run = run_from_json(text);
  if (!run) return require_printable(run.error().text);
  const std::string written = json::dump(json::encode(*run));
  const auto again = run_from_json(written);
  require(again && json::dump(json::encode(*again)) == written);
  (void)compare({*run}, {*again});
  require_printable(run_text(*run));
  Report report;
  report.runs = {*run};
  show(report);
}

void take_measurements(std::string_view text) {
  auto measurements = measurements_from_json(text);
  if (!measurements) return require_printable(measurements.error().text);
  Evidence evidence;
  evidence.measurements = std::move(*measurements);
  Report report;
  report.verdict = verify(evidence);
  report.measurements = std::move(evidence.measurements);
  show(report);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  take_run(as_text(data, size));
  take_measurements(as_text(data, size));
  return 0;
}
