// What a person types of a cluster, in the first line, and a file of constants, which may come from anybody:
// a refusal that can be printed, or forecasts that are finite, never shorter than nothing, and printable.
//
// Rooms: predict report
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/text.h"
#include "fuzz/require.h"
#include "predict/collective_forecast.h"
#include "report/forecast_table.h"

using namespace railbed;

namespace {

int number(std::string_view word, int least, int most) {
  return std::clamp(parse_number<int>(word).value_or(least), least, most);
}

// In the bounds that the options have (cli/predict_options.cc).
ShapeWords typed(std::string_view line) {
  std::vector<std::string_view> words = split(line, ';');
  words.resize(9);
  ShapeWords typed;
  typed.gpu = words[0];
  typed.nic = words[1];
  typed.gpus = number(words[2], 0, 1024);
  typed.nodes = number(words[3], 0, 1'000'000);
  typed.pcie_generation = number(words[4], 2, 6);
  if (typed.pcie_generation == 2) typed.pcie_generation = 0;
  typed.nic_pcie_lanes = number(words[5], 0, 16);
  typed.domain_nodes = number(words[6], 0, 1024);
  typed.staged = words[7] == "staged";
  typed.peers = words[7] == "peers";
  typed.amd = words[7] == "amd";
  typed.nccl = words[8];
  return typed;
}

void foretell(const ClusterShape& shape, const Calibration& calibration) {
  for (const Collective operation : {Collective::kAllReduce, Collective::kAllToAll}) {
    std::vector<Forecast> forecasts;
    for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{1} << 20, std::uint64_t{1} << 34}) {
      const Forecast forecast = forecast_collective(shape, operation, bytes, calibration);
      require(std::isfinite(forecast.time) && forecast.time > 0 && forecast.time_low <= forecast.time &&
              forecast.time <= forecast.time_high);
      forecasts.push_back(forecast);
    }
    require_printable(forecast_table(shape, operation, forecasts, true));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(data, size);
  const std::size_t end = std::min(text.find('\n'), text.size());
  const auto shape = shape_from_words(typed(text.substr(0, end)));
  const auto calibration = calibration_from_json(text.substr(std::min(end + 1, text.size())), "here.json");
  if (!calibration)
    require(calibration.error().kind == ErrorKind::kBadInput && !calibration.error().text.empty());
  if (shape && shape->ranks() > 1) foretell(*shape, calibration ? *calibration : shipped_calibration());
  return 0;
}
