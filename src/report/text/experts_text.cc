#include "report/text/experts_text.h"

#include <fmt/format.h>

#include "base/units.h"
#include "report/text/bench_table.h"
#include "report/text/train_text.h"

namespace railbed {
namespace {

std::string band_text(const ExpertForecast& forecast) {
  return right_aligned(seconds_text(forecast.low), 10) + " to" +
         right_aligned(seconds_text(forecast.high), 10);
}

}  // namespace

std::string experts_text(const ExpertBatch& batch, const ExpertReach& reach,
                         const std::vector<ExpertForecast>& forecasts) {
  std::string text = fmt::format(
      "{} tokens a GPU, hidden {}, {} of {} experts; a token reaches {:.1f} node{} and {:.1f} GPUs\n",
      batch.tokens, batch.hidden, batch.used, batch.experts, reach.nodes, reach.nodes > 1 ? "s" : "",
      reach.gpus);
  text += fmt::format("  {:<12} {:<9}{:>10}{:>23}{:>12}  {}\n", "kernels", "step", "time", "80 % within",
                      "counted", "limit of a GPU");
  for (const ExpertForecast& forecast : forecasts)
    text += fmt::format("  {:<12} {:<9}",
                        enum_names(forecast.kernels)[static_cast<std::size_t>(forecast.kernels)],
                        enum_names(forecast.step)[static_cast<std::size_t>(forecast.step)]) +
            right_aligned(seconds_text(forecast.seconds), 10) + band_text(forecast) +
            right_aligned(gigabytes_text(BitRate{forecast.bandwidth * 8}), 12) +
            fmt::format("  {}, {}; {}\n", forecast.limit.name, gigabytes_text(forecast.limit.rate),
                        forecast.basis);
  return text +
         "  counted: as the tests of DeepEP count it, with what stays on a node; all_to_all: all copies\n";
}

}  // namespace railbed
