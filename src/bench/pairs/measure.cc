#include "bench/pairs/measure.h"

#include <iterator>

#include "bench/engines/engines.h"
#include "bench/pairs/pair_run.h"
#include "bench/path/explain.h"

namespace railbed {
namespace {

constexpr std::uint64_t kLargestOfAll = 4 << 20;

}  // namespace

std::vector<std::uint64_t> default_sizes(Engine engine) {
  const PairMeasuring* found = find_pair_measuring(engine);
  return found != nullptr ? found->sizes : std::vector<std::uint64_t>();
}

std::vector<std::uint64_t> all_sizes(Engine engine) {
  std::vector<std::uint64_t> sizes;
  if (const PairMeasuring* found = find_pair_measuring(engine))
    for (std::uint64_t size = found->smallest; size <= kLargestOfAll; size *= 2) sizes.push_back(size);
  return sizes;
}

int default_streams(Engine engine) {
  const PairMeasuring* found = find_pair_measuring(engine);
  return found != nullptr ? found->streams : 1;
}

std::vector<Measurement> measure_pair(const PairEnd& a, const PairEnd& b, std::string_view rail,
                                      const BenchPlan& plan, const OnMeasuring& on_measuring,
                                      std::stop_token stop) {
  std::vector<Measurement> all;
  PathExplainer explainer(a, b);
  for (const Engine engine : plan.engines) {
    const PairMeasuring* found = find_pair_measuring(engine);
    if (found == nullptr || stop.stop_requested()) continue;
    auto measured = PairRun(engine, *found, a, b, rail, plan, explainer, on_measuring, stop).run();
    std::move(measured.begin(), measured.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace railbed
