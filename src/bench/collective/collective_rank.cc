#include "bench/collective/collective_rank.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "bench/gpu/gpu_memory_left.h"

namespace railbed {
namespace {

constexpr int kThreadLocal = 1;  // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
constexpr std::uint64_t kFirstBytes = 4096;
constexpr unsigned char kPoison = 0xa5;
constexpr double kSoakSeriesNs = 2e8;     // of a series in a soak
constexpr double kLongestSoakNs = 2.5e8;  // of one operation; a size that takes longer is left out
constexpr double kMostInASeries = 1000;   // operations
constexpr std::uint64_t kSizeStep = 1ULL
                                    << 32;  // of a proposal: its size index plus one; below it the operations

}  // namespace

bool RankWork::say(std::string_view what) {
  if (is_first_)
    about_to_(fmt::format("{} of {}, {}", to_text(plan_.operation), to_text(ByteCount{shape_.bytes}), what));
  return cuda_.error().empty();
}

bool RankWork::prepare() {
  pattern_ = {plan_.type, 1,
              reduces(plan_.operation) ? modulus_for(plan_.type, ranks_) : modulus_for(plan_.type, 1)};
  cuda_.call("cuStreamCreate", &stream_, cuda::kNonBlocking);
  cuda_.call("cuMemAlloc_v2", &words_, (static_cast<std::size_t>(ranks_) + 1) * sizeof(std::uint64_t));
  events_.resize(static_cast<std::size_t>(plan_.iterations) + 1);
  for (cuda::Event& event : events_) cuda_.quick("cuEventCreate", &event, 0U);
  kernel_ = PatternKernel(cuda_);
  return cuda_.error().empty();
}

bool RankWork::join(const NcclLibrary& nccl, const NcclUniqueId& id) {
  nccl_ = &nccl;
  if (is_first_) about_to_(fmt::format("ncclCommInitRank of {} ranks", ranks_));
  return cuda_.note(nccl.join(communicator_, ranks_, id, rank_));
}

// Exchanges the ranks' numbers by an all-gather and returns the smallest. Empty after a failure.
std::optional<std::uint64_t> RankWork::least_of_all(std::uint64_t mine) {
  std::vector<std::uint64_t> all(static_cast<std::size_t>(ranks_), mine);
  const std::size_t bytes = all.size() * sizeof mine;
  const cuda::DevicePointer own = words_ + bytes;
  cuda_.quick("cuMemcpyHtoDAsync_v2", own, static_cast<const void*>(&mine), sizeof mine, stream_);
  if (!cuda_.error().empty()) return std::nullopt;
  cuda_.note(nccl_->run(
      {Collective::kAllGather, DataType::kInt64, 1, rank_, ranks_, 0, communicator_, stream_}, own, words_));
  cuda_.quick("cuStreamSynchronize", stream_);
  cuda_.quick("cuMemcpyDtoH_v2", static_cast<void*>(all.data()), words_, bytes);
  if (!cuda_.error().empty()) return std::nullopt;
  return std::ranges::min(all);
}

bool RankWork::allocate() {
  // Each step is announced when all ranks here have done the one before: the last one names what hangs.
  if (!barrier_.wait()) return false;
  const SpareMemory spare = spare_memory(gpu_memory_left(cuda_), MemoryUse::kGpu, beside_);
  if (!barrier_.wait()) return false;
  if (is_first_) about_to_("the first all_gather, to agree how much memory to take");
  const auto room = least_of_all(spare.bytes);
  // If GPUs of a process map each other's memory, an allocation may wait for the kernels on all of them. So
  // none is made while NCCL's kernels wait for this rank.
  if (!room || !barrier_.wait()) return false;
  sizes_ = fitting_sizes(plan_, ranks_, *room);
  const bool is_least = spare.bytes == *room;
  if (sizes_.empty())
    return cuda_.note("no size fits: " + (is_least ? spare.why : "another GPU has less to spare"));
  std::uint64_t send = kFirstBytes * static_cast<std::uint64_t>(ranks_);
  std::uint64_t receive = send;
  for (const std::uint64_t bytes : sizes_)
    if (const auto shape = shape_of(plan_.operation, plan_.type, bytes, ranks_)) {
      send = std::max(send, shape->send * bytes_of(plan_.type));
      receive = std::max(receive, shape->receive * bytes_of(plan_.type));
    }
  if (sizes_ != plan_.sizes && is_least) cut_ = cut_text(std::ranges::max(sizes_), spare);
  cuda_.call("cuMemAlloc_v2", &buffers_.send, send);
  return cuda_.call("cuMemAlloc_v2", &buffers_.receive, receive) && barrier_.wait();
}

bool RankWork::leave() { return cuda_.note(nccl_->leave(communicator_)); }

bool RankWork::launch(const Ends& ends) {
  if (!cuda_.error().empty()) return false;
  return cuda_.note(nccl_->run(
      {plan_.operation, plan_.type, shape_.block, rank_, ranks_, plan_.root, communicator_, stream_},
      ends.send, ends.receive));
}

void RankWork::fill() {
  pattern_.seed = pattern_.seed * 1664525U + 1013904223U;  // new data each time; same seed on every rank
  cuda_.quick("cuMemsetD8Async", buffers_.receive, kPoison, shape_.receive * bytes_of(plan_.type), stream_);
  kernel_.fill(buffers_.send, shape_.send, pattern_, {static_cast<std::uint32_t>(rank_), 1, 0, 1}, stream_);
}

std::uint64_t RankWork::count_wrong() {
  const auto expected = expected_on(plan_.operation, shape_, rank_, ranks_, plan_.root);
  if (!plan_.check || !expected) return 0;
  return kernel_.count_wrong(buffers_.receive, shape_.receive, pattern_, *expected, stream_);
}

double RankWork::elapsed(cuda::Event from, cuda::Event to) {
  float milliseconds = 0;
  cuda_.quick("cuEventElapsedTime", &milliseconds, from, to);
  return milliseconds * 1e6;
}

// The operation before the clock starts synchronizes the ranks: none can finish it before all have started
// it.
std::optional<double> RankWork::time_series(const Ends& ends, int count) {
  if (!say("launched in a row") || !barrier_.wait()) return std::nullopt;
  launch(ends);
  cuda_.quick("cuEventRecord", events_[0], stream_);
  for (int i = 0; i < count; ++i) launch(ends);
  cuda_.quick("cuEventRecord", events_[1], stream_);
  cuda_.quick("cuStreamSynchronize", stream_);
  const double took = elapsed(events_[0], events_[1]);
  if (!cuda_.error().empty()) return std::nullopt;
  return took / count;
}

bool RankWork::time_singles(const Ends& ends, int count, std::vector<double>& into) {
  if (!say("one by one") || !barrier_.wait()) return false;
  launch(ends);
  const auto last = static_cast<std::size_t>(count);
  cuda_.quick("cuEventRecord", events_[0], stream_);
  for (std::size_t i = 1; i <= last; ++i) {
    launch(ends);
    cuda_.quick("cuEventRecord", events_[i], stream_);
  }
  cuda_.quick("cuStreamSynchronize", stream_);
  for (std::size_t i = 1; i <= last; ++i) into.push_back(elapsed(events_[i - 1], events_[i]));
  return cuda_.error().empty();
}

bool RankWork::replay(cuda::Graph graph, int series, int count, CollectiveSeries& into) {
  cuda::GraphExec replayed = nullptr;
  cuda_.quick("cuGraphInstantiateWithFlags", &replayed, graph, 0ULL);
  cuda_.quick("cuGraphLaunch", replayed, stream_);
  for (int i = 0; i < series; ++i) {
    if (!say("replayed from a graph") || !barrier_.wait()) return false;
    cuda_.quick("cuGraphLaunch", replayed, stream_);
    cuda_.quick("cuEventRecord", events_[0], stream_);
    cuda_.quick("cuGraphLaunch", replayed, stream_);
    cuda_.quick("cuEventRecord", events_[1], stream_);
    cuda_.quick("cuStreamSynchronize", stream_);
    into.graph.push_back(elapsed(events_[0], events_[1]) / count);
  }
  cuda_.quick("cuGraphExecDestroy", replayed);
  return cuda_.error().empty();
}

bool RankWork::time_graph(int series, int count, CollectiveSeries& into) {
  if (!say("captured in a graph") || !barrier_.wait()) return false;
  fill();
  cuda_.quick("cuStreamSynchronize", stream_);
  cuda::Graph graph = nullptr;
  cuda_.quick("cuStreamBeginCapture_v2", stream_, kThreadLocal);
  for (int i = 0; i < count; ++i) launch(buffers_);
  cuda_.quick("cuStreamEndCapture", stream_, &graph);
  const bool good = cuda_.error().empty() && replay(graph, series, count, into);
  if (good) into.wrong += count_wrong();
  cuda_.quick("cuGraphDestroy", graph);
  return good && cuda_.error().empty();
}

RankWork::Ends RankWork::in_place_ends() const {
  const bool into_receive = shape_.receive >= shape_.send;
  const cuda::DevicePointer base = into_receive ? buffers_.receive : buffers_.send;
  const auto own = in_place_offset(plan_.operation, shape_, rank_) * bytes_of(plan_.type);
  return into_receive ? Ends{base + own, base} : Ends{base, base + own};
}

bool RankWork::time_in_place(const Repetitions& often, CollectiveSeries& into) {
  const Ends ends = in_place_ends();
  if (!say("in place") || !barrier_.wait()) return false;
  fill();
  kernel_.fill(ends.send, shape_.send, pattern_, {static_cast<std::uint32_t>(rank_), 1, 0, 1}, stream_);
  launch(ends);
  const auto expected = expected_on(plan_.operation, shape_, rank_, ranks_, plan_.root);
  if (plan_.check && expected && checks_in_place(plan_.operation))
    into.in_place_wrong = kernel_.count_wrong(ends.receive, shape_.receive, pattern_, *expected, stream_);
  for (int i = 0; i < often.series; ++i) {
    const auto took = time_series(ends, often.in_a_row);
    if (!took) return false;
    into.in_place.push_back(*took);
  }
  return true;
}

std::optional<std::uint64_t> RankWork::verify_first() {
  shape_ = shape_of(plan_.operation, plan_.type, kFirstBytes * static_cast<std::uint64_t>(ranks_), ranks_)
               .value_or(CollectiveShape{});
  say("the first");
  fill();
  launch(buffers_);
  const std::uint64_t wrong = count_wrong();
  cuda_.quick("cuStreamSynchronize", stream_);
  if (!cuda_.error().empty()) return std::nullopt;
  return wrong;
}

std::optional<CollectiveSeries> RankWork::measure(std::uint64_t bytes) {
  const auto shape = shape_of(plan_.operation, plan_.type, bytes, ranks_);
  CollectiveSeries series;
  if (!shape) return series;
  shape_ = *shape;
  series.bytes = shape_.bytes;
  series.elements = shape_.block;
  const Repetitions often = repetitions_for(bytes, plan_.iterations, plan_.graph);
  say("warm-up");
  fill();
  for (int i = 0; i < often.warm_up; ++i) launch(buffers_);
  for (int i = 0; i < often.series; ++i) {
    const auto took = time_series(buffers_, often.in_a_row);
    if (!took) return std::nullopt;
    series.launched.push_back(*took);
  }
  if (often.singles && !time_singles(buffers_, often.in_a_row, series.single)) return std::nullopt;
  series.wrong = count_wrong();
  if (often.graph && !time_graph(often.series, often.in_a_row, series)) return std::nullopt;
  if (plan_.in_place && !time_in_place(often, series)) return std::nullopt;
  if (series.wrong + series.in_place_wrong > 0) series.wrong_ranks.push_back(rank_);
  if (!cuda_.error().empty()) return std::nullopt;
  return series;
}

std::optional<bool> RankWork::agree_on_series(bool has_time) {
  if (is_first_) about_to_(fmt::format("agreeing on the next {}", to_text(plan_.operation)));
  std::size_t size = soak_size_;
  double expected = soak_took_;
  if (soak_took_ > 0 && size + 1 < sizes_.size()) {
    const double larger =
        soak_took_ * static_cast<double>(sizes_[size + 1]) / static_cast<double>(sizes_[size]);
    if (larger <= kLongestSoakNs) {
      ++size;
      expected = larger;
    }
  }
  const double count = expected > 0 ? std::clamp(kSoakSeriesNs / expected, 1.0, kMostInASeries) : 1;
  const auto agreed =
      least_of_all(has_time ? (size + 1) * kSizeStep + static_cast<std::uint64_t>(count) : std::uint64_t{0});
  if (!agreed) return std::nullopt;
  if (*agreed == 0) return false;
  soak_size_ = *agreed / kSizeStep - 1;
  soak_count_ = static_cast<int>(*agreed % kSizeStep);
  return true;
}

std::optional<CollectiveSeries> RankWork::run_series() {
  const auto shape = shape_of(plan_.operation, plan_.type, sizes_[soak_size_], ranks_);
  if (!shape) {
    cuda_.note("the data is too short for so many ranks");
    return std::nullopt;
  }
  shape_ = *shape;
  fill();
  const auto took = time_series(buffers_, soak_count_);
  if (!took) return std::nullopt;
  soak_took_ = *took;
  if (plan_.flip_rank == rank_ && !flipped_) flip_a_bit();
  CollectiveSeries series;
  series.bytes = shape_.bytes;
  series.elements = shape_.block;
  series.launched.push_back(*took);
  series.wrong = count_wrong();
  if (series.wrong > 0) series.wrong_ranks.push_back(rank_);
  if (!cuda_.error().empty()) return std::nullopt;
  return series;
}

void RankWork::flip_a_bit() {
  std::uint64_t word = 0;
  cuda_.quick("cuMemcpyDtoH_v2", static_cast<void*>(&word), buffers_.receive, sizeof word);
  word ^= 1U << 10;
  cuda_.quick("cuMemcpyHtoD_v2", buffers_.receive, static_cast<const void*>(&word), sizeof word);
  cuda_.quick("cuCtxSynchronize");
  flipped_ = true;
}

}  // namespace railbed
