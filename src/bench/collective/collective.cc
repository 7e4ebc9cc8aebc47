#include "bench/collective/collective.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

#include "bench/statistics/statistics.h"

namespace railbed {
namespace {

constexpr std::size_t kMostSizes = 64;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;
constexpr std::uint64_t kSmall = 1 << 20;
constexpr std::uint64_t kLarge = 64 << 20;

bool is_divided(Collective operation) {
  switch (operation) {
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
    case Collective::kGather:
    case Collective::kScatter:
      return true;
    default:
      return false;
  }
}

double nearest_rank(std::vector<double> values, double fraction) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(values.size())));
  return values[std::max<std::size_t>(rank, 1) - 1];
}

Summary times(const std::vector<double>& values) {
  Summary summary = summarize(values);
  if (values.empty()) return summary;
  summary.p99 = nearest_rank(values, 0.99);
  summary.p999 = nearest_rank(values, 0.999);
  summary.p9999 = nearest_rank(values, 0.9999);
  return summary;
}

void slower(std::vector<double>& into, const std::vector<double>& from) {
  for (std::size_t i = 0; i < std::min(into.size(), from.size()); ++i) into[i] = std::max(into[i], from[i]);
}

}  // namespace

bool has_root(Collective operation) {
  return operation == Collective::kBroadcast || operation == Collective::kReduce ||
         operation == Collective::kGather || operation == Collective::kScatter;
}

std::vector<std::uint64_t> size_sweep(std::uint64_t first, std::uint64_t last, int factor) {
  std::vector<std::uint64_t> sizes;
  if (first == 0 || factor < 2) return sizes;
  for (std::uint64_t size = first; size <= last && sizes.size() < kMostSizes;) {
    sizes.push_back(size);
    if (size > last / static_cast<std::uint64_t>(factor)) break;
    size *= static_cast<std::uint64_t>(factor);
  }
  return sizes;
}

std::optional<CollectiveShape> shape_of(Collective operation, DataType type, std::uint64_t bytes, int ranks) {
  CollectiveShape shape;
  const std::uint64_t width = bytes_of(type);
  const auto n = static_cast<std::uint64_t>(ranks);
  if (!is_divided(operation)) {
    shape.block = shape.send = shape.receive = bytes / width;
    shape.bytes = shape.block * width;
    return shape.block > 0 ? std::optional(shape) : std::nullopt;
  }
  constexpr std::uint64_t kAligned = 16;
  shape.block = bytes / n / kAligned * kAligned / width;
  shape.bytes = shape.block * n * width;
  const std::uint64_t whole = shape.block * n;
  const bool gathers = operation == Collective::kAllGather || operation == Collective::kGather;
  const bool scatters = operation == Collective::kReduceScatter || operation == Collective::kScatter;
  shape.send = gathers ? shape.block : whole;
  shape.receive = scatters ? shape.block : whole;
  return shape.block > 0 ? std::optional(shape) : std::nullopt;
}

std::vector<std::uint64_t> fitting_sizes(const CollectivePlan& plan, int ranks, std::uint64_t room) {
  const auto fits = [&](std::uint64_t bytes) {
    const auto shape = shape_of(plan.operation, plan.type, bytes, ranks);
    return !shape || (shape->send + shape->receive) * bytes_of(plan.type) <= room;
  };
  std::vector<std::uint64_t> fitting;
  std::ranges::copy_if(plan.sizes, std::back_inserter(fitting), fits);
  if (fitting.size() == plan.sizes.size()) return fitting;
  std::uint64_t instead = std::bit_floor(room);
  while (instead > 0 && !fits(instead)) instead /= 2;
  const bool usable = shape_of(plan.operation, plan.type, instead, ranks).has_value();
  if (usable && (fitting.empty() || instead > *std::ranges::max_element(fitting))) fitting.push_back(instead);
  return fitting;
}

std::optional<Expected> expected_on(Collective operation, const CollectiveShape& shape, int rank, int ranks,
                                    int root) {
  const auto all = static_cast<std::uint32_t>(ranks);
  const auto mine = static_cast<std::uint64_t>(rank) * shape.block;
  switch (operation) {
    case Collective::kAllReduce:
      return Expected{0, all, 0, 1};
    case Collective::kReduce:
      return rank == root ? std::optional(Expected{0, all, 0, 1}) : std::nullopt;
    case Collective::kBroadcast:
      return Expected{static_cast<std::uint32_t>(root), 1, 0, 1};
    case Collective::kAllGather:
      return Expected{0, 0, 0, shape.block};
    case Collective::kGather:
      return rank == root ? std::optional(Expected{0, 0, 0, shape.block}) : std::nullopt;
    case Collective::kReduceScatter:
      return Expected{0, all, mine, 1};
    case Collective::kAllToAll:
      return Expected{0, 0, mine, shape.block};
    case Collective::kSendReceive:
      return Expected{static_cast<std::uint32_t>((rank + ranks - 1) % ranks), 1, 0, 1};
    case Collective::kScatter:
      return Expected{static_cast<std::uint32_t>(root), 1, mine, 1};
  }
  return std::nullopt;
}

std::uint64_t in_place_offset(Collective operation, const CollectiveShape& shape, int rank) {
  const bool has_block = operation == Collective::kAllGather || operation == Collective::kReduceScatter ||
                         operation == Collective::kGather || operation == Collective::kScatter;
  return has_block ? static_cast<std::uint64_t>(rank) * shape.block : 0;
}

Repetitions repetitions_for(std::uint64_t bytes, int iterations, bool graph) {
  if (bytes <= kSmall) return {20, 20, iterations, true, graph};
  if (bytes < kLarge) return {3, 5, iterations, true, graph};
  return {2, 2, iterations, true, false};
}

Result<void> check_plan(const CollectivePlan& plan) {
  const auto refuse = [](const char* what) { return fail(ErrorKind::kBadInput, what); };
  if (plan.sizes.empty() || plan.sizes.size() > kMostSizes) return refuse("sizes: 1 to 64 of them");
  for (const std::uint64_t size : plan.sizes)
    if (size == 0 || size > kMostBytes) return refuse("sizes: up to 1 TiB");
  if (plan.iterations < 1 || plan.iterations > 10'000) return refuse("iterations: 1 to 10000");
  RETURN_IF_ERROR(check_place(plan.place));
  if (plan.root < 0 || plan.root > kMostNcclRanks) return refuse("root: out of range");
  if (!(plan.soak >= 0) || plan.soak > 86'400) return refuse("soak: up to a day");
  if (!(plan.patience > 0) || plan.patience > 86'400) return refuse("patience: up to a day");
  return {};
}

void merge(CollectiveSeries& into, const CollectiveSeries& from) {
  slower(into.launched, from.launched);
  slower(into.single, from.single);
  slower(into.graph, from.graph);
  slower(into.in_place, from.in_place);
  into.wrong += from.wrong;
  into.in_place_wrong += from.in_place_wrong;
  into.wrong_ranks.insert(into.wrong_ranks.end(), from.wrong_ranks.begin(), from.wrong_ranks.end());
}

CollectiveRow row_of(const CollectiveSeries& series, Collective operation, int ranks, bool checked) {
  CollectiveRow row;
  row.bytes = series.bytes;
  row.elements = series.elements;
  row.launched = times(series.launched.empty() ? series.single : series.launched);
  row.single = times(series.single);
  if (!series.graph.empty()) row.graph = times(series.graph);
  if (!series.in_place.empty()) row.in_place = times(series.in_place);
  if (row.launched.median > 0) row.algbw = static_cast<double>(series.bytes) * 8e9 / row.launched.median;
  row.busbw = row.algbw * bus_factor(operation, ranks);
  row.checked = checked;
  row.wrong = series.wrong;
  row.in_place_wrong = series.in_place_wrong;
  row.wrong_ranks = series.wrong_ranks;
  return row;
}

}  // namespace railbed
