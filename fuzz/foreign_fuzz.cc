// Outputs of other tools come from anybody: each parser gets every text, whatever recognizes it. What is taken
// is written and read again unchanged, compared and printed.
//
// Rooms: campaign report store
// Seeds: tests/foreign
#include <cmath>
#include <cstdint>

#include "base/json.h"
#include "base/result.h"
#include "fuzz/require.h"
#include "report/text/run_text.h"
#include "results/foreign/foreign.h"
#include "results/foreign/tools.h"
#include "store/compare.h"
#include "store/store.h"

using namespace railbed;

namespace {

void hold(const Result<ForeignRun>& read) {
  if (!read) return require_printable(read.error().text);
  for (const std::string& what : read->left_out) require_printable(what);
  require(read->left_out.size() <= 33 && read->run.measurements.size() <= foreign::kMostMeasurements);
  for (const Measurement& measurement : read->run.measurements) {
    require(std::isfinite(measurement.summary.median));
    require(measurement.failure || foreign::is_sane(measurement.summary.median));
    require(measurement.streams >= 0 && measurement.mtu >= 0);
  }
  const std::string written = json::dump(json::encode(read->run));
  const auto again = run_from_json(written);
  require(again && json::dump(json::encode(*again)) == written);
  (void)compare({read->run}, {*again});
  require_printable(run_text(read->run));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(data, size);
  hold(parse_foreign(text));
  hold(foreign::parse_perftest(text));
  hold(foreign::parse_nccl_tests(text));
  hold(foreign::parse_iperf(text));
  hold(foreign::parse_sockperf(text));
  hold(foreign::parse_fio_report(text));
  return 0;
}
