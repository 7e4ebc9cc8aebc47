#include "bench/train/gpu_train_rank.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "bench/gpu/gpu_memory_left.h"

namespace railbed {
namespace {

constexpr int kComputeMajor = 75;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
constexpr std::uint64_t kAligned = 256;
constexpr unsigned char kTrainPoison = 0xa5;
// More than the last-level cache of any GPU: 126 MB on B200.
constexpr std::uint64_t kBeyondCaches = std::uint64_t{256} << 20;
constexpr std::uint64_t kMostGradients = std::uint64_t{512} << 20;
// The numbers fill the significand of bfloat16, because a GPU multiplies zeros faster than data.
constexpr std::uint32_t kNumbers = 256;
constexpr int kTrials = 3;          // to adjust the length of a step
constexpr double kShortest = 1e-6;  // seconds: the resolution of CUDA's events

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kAligned - 1) / kAligned * kAligned; }

}  // namespace

DataType product_type(cuda::Cuda& cuda) {
  const int major = cuda.attribute(kComputeMajor).value_or(0);
  if (major >= 8) return DataType::kBfloat16;
  return major >= 7 ? DataType::kFloat16 : DataType::kFloat32;
}

cuda::DevicePointer GpuTrainRank::Room::take(std::uint64_t size) {
  const std::uint64_t whole = aligned(size);
  if (used + whole > bytes) used = 0;
  const cuda::DevicePointer piece = base + used;
  used += whole;
  return piece;
}

GpuTrainRank::GpuTrainRank(const TrainWork& work, int word_bytes, TrainPlace place, cuda::Cuda& cuda,
                           Barrier& barrier, const Say& about_to)
    : work_(work),
      place_(place),
      cuda_(cuda),
      barrier_(barrier),
      about_to_(about_to),
      type_(product_type(cuda)),
      gradient_type_(word_bytes == 2 ? DataType::kFloat16 : DataType::kFloat32) {}

bool GpuTrainRank::say(std::string_view what) {
  if (place_.speaks) about_to_(fmt::format("training, {}", what));
  return cuda_.error().empty();
}

// Places the buckets one after the other without a gap, and again from the start if the next does not fit. A
// single rank has no exchange and needs none.
void GpuTrainRank::place_buckets() {
  if (place_.ranks < 2) return;
  const std::uint64_t width = bytes_of(gradient_type_);
  std::uint64_t offset = 0;
  for (const std::uint64_t bytes : work_.buckets) {
    const std::uint64_t elements = aligned(bytes) / width;
    if (offset + elements > kMostGradients / width) offset = 0;
    pieces_.push_back({offset, elements});
    offset += elements;
    gradients_ = std::max(gradients_, offset);
  }
}

bool GpuTrainRank::fits() {
  const SpareMemory spare = spare_memory(gpu_memory_left(cuda_), MemoryUse::kGpu, place_.beside);
  if (!cuda_.error().empty()) return false;
  if (memory_bytes_ <= spare.bytes) return true;
  return cuda_.note(fmt::format(
      "a batch of this size needs {} of a GPU's memory, {} can be spared ({}): take a smaller --batch",
      to_text(ByteCount{memory_bytes_}), to_text(ByteCount{spare.bytes}), spare.why));
}

bool GpuTrainRank::allocate() {
  const Operands most = largest_operands(work_);
  const std::uint64_t width = bytes_of(type_);
  inputs_.bytes = std::max(aligned(most.inputs * width) + kAligned, kBeyondCaches);
  outputs_.bytes = std::max(aligned(most.outputs * width), kBeyondCaches);
  const std::uint64_t gradients = std::max(gradients_ * bytes_of(gradient_type_), kAligned);
  memory_bytes_ = inputs_.bytes + outputs_.bytes + 2 * gradients;
  if (!fits()) return false;
  cuda_.call("cuMemAlloc_v2", &inputs_.base, inputs_.bytes);
  cuda_.call("cuMemAlloc_v2", &outputs_.base, outputs_.bytes);
  cuda_.call("cuMemAlloc_v2", &own_, gradients);
  cuda_.call("cuMemAlloc_v2", &sum_, gradients);
  cuda_.call("cuMemAlloc_v2", &word_, sizeof(std::int32_t));
  cuda_.call("cuStreamCreate", &compute_, cuda::kNonBlocking);
  cuda_.call("cuStreamCreate", &exchange_, cuda::kNonBlocking);
  ready_.resize(work_.buckets.size());
  for (cuda::Event& event : ready_) cuda_.quick("cuEventCreate", &event, 0U);
  for (cuda::Event* event : {&start_, &exchanged_, &end_}) cuda_.quick("cuEventCreate", event, 0U);
  return cuda_.error().empty();
}

bool GpuTrainRank::prepare(const CublasLibrary& cublas) {
  place_buckets();
  kernel_ = PatternKernel(cuda_);
  if (!allocate()) return false;
  kernel_.fill(inputs_.base, inputs_.bytes / bytes_of(type_), {type_, 1, kNumbers},
               {static_cast<std::uint32_t>(place_.rank), 1, 0, 1}, compute_);
  pattern_ = {gradient_type_, 1, modulus_for(gradient_type_, place_.ranks)};
  fill_gradients();
  cublas_ = &cublas;
  say("cublasCreate");
  cuda_.note(cublas.open(handle_, compute_));
  say("the first computing");
  launch(true, false);
  cuda_.quick("cuStreamSynchronize", compute_);
  cuda_.quick("cuStreamSynchronize", exchange_);
  return cuda_.error().empty();
}

bool GpuTrainRank::join(const NcclLibrary& nccl, const NcclUniqueId& id) {
  nccl_ = &nccl;
  say(fmt::format("ncclCommInitRank of {} ranks", place_.ranks));
  return cuda_.note(nccl.join(communicator_, place_.ranks, id, place_.rank));
}

bool GpuTrainRank::leave() { return cuda_.note(nccl_->leave(communicator_)); }

void GpuTrainRank::multiply(const Product& product) {
  if (!cuda_.error().empty()) return;
  const std::uint64_t width = bytes_of(type_);
  const auto a = inputs_.take(product.a_elements() * product.count * width);
  const auto b = inputs_.take(product.b_elements() * product.count * width);
  const auto c = outputs_.take(product.c_elements() * product.count * width);
  cuda_.note(cublas_->multiply(handle_, type_, product, a, b, c));
  fill(filled_ * product.multiplications());
}

// Simulates the work that is not a product: it uses the memory, not the tensor cores.
void GpuTrainRank::fill(double bytes) {
  for (double left = bytes; left >= 1; left -= static_cast<double>(outputs_.bytes)) {
    const auto size = static_cast<std::uint64_t>(std::min(left, static_cast<double>(outputs_.bytes)));
    cuda_.quick("cuMemsetD8Async", outputs_.take(size), kTrainPoison, size, compute_);
  }
}

// DistributedDataParallel copies each gradient into its bucket, and the sums back when all have arrived
// (gradient_as_bucket_view=False, its default). The rehearsal does so only if stretch() has set the time of a
// step.
void GpuTrainRank::copy_bucket(cuda::DevicePointer gradients, std::size_t bucket) {
  if (filled_ <= 0 || pieces_.empty()) return;
  const std::uint64_t width = bytes_of(gradient_type_);
  const std::uint64_t bytes = pieces_[bucket].elements * width;
  cuda_.quick("cuMemcpyDtoDAsync_v2", outputs_.take(bytes), gradients + pieces_[bucket].offset * width, bytes,
              compute_);
}

template <class Work>
double GpuTrainRank::time_alone(Work&& work) {
  cuda_.quick("cuEventRecord", start_, compute_);
  work();
  cuda_.quick("cuEventRecord", end_, compute_);
  cuda_.quick("cuStreamSynchronize", compute_);
  float milliseconds = 0;
  cuda_.quick("cuEventElapsedTime", &milliseconds, start_, end_);
  return milliseconds / 1e3;
}

// Finds the number of bytes to write by trials, because small pieces reach another rate than large ones: a
// first guess from the rate of one large fill, then kTrials corrections by the ratio of the wanted to the
// measured time.
bool GpuTrainRank::stretch(double seconds) {
  if (seconds <= 0) return true;
  say("how long the products take alone");
  const auto computing = [this] { return time_alone([this] { launch(true, false); }); };
  const double products = std::min(computing(), computing());
  const double whole = time_alone([this] { fill(static_cast<double>(outputs_.bytes)); });
  if (!cuda_.error().empty()) return false;
  if (products >= seconds)
    return cuda_.note(fmt::format("the products of a step alone take {:.3g} ms, --step-time {:.3g} is less",
                                  products * 1e3, seconds * 1e3));
  const double wanted = seconds - products;
  filled_ =
      wanted * static_cast<double>(outputs_.bytes) / std::max(whole, kShortest) / multiplications(work_);
  for (int i = 0; i < kTrials && cuda_.error().empty(); ++i)
    filled_ *= std::clamp(wanted / std::max(computing() - products, kShortest), 0.1, 10.0);
  return cuda_.error().empty();
}

void GpuTrainRank::all_reduce(std::size_t bucket) {
  if (!cuda_.error().empty()) return;
  const Piece& piece = pieces_[bucket];
  const std::uint64_t offset = piece.offset * bytes_of(gradient_type_);
  cuda_.note(nccl_->run({Collective::kAllReduce, gradient_type_, piece.elements, place_.rank, place_.ranks, 0,
                         communicator_, exchange_},
                        own_ + offset, sum_ + offset));
}

// Queues the work of one step. Each bucket's exchange starts when the products before it are done, as in
// DistributedDataParallel.
bool GpuTrainRank::launch(bool computing, bool exchanging) {
  std::size_t bucket = 0;
  if (computing)
    for (const Product& product : work_.forward) multiply(product);
  for (const BackwardLayer& layer : work_.backward) {
    if (computing)
      for (const Product& product : layer.products) multiply(product);
    for (std::size_t i = 0; i < layer.buckets; ++i, ++bucket) {
      if (computing && exchanging) copy_bucket(own_, bucket);
      if (computing) cuda_.quick("cuEventRecord", ready_[bucket], compute_);
      if (!exchanging || pieces_.empty()) continue;
      if (computing) cuda_.quick("cuStreamWaitEvent", exchange_, ready_[bucket], 0U);
      all_reduce(bucket);
    }
  }
  return cuda_.error().empty();
}

// Synchronizes the ranks: no rank can finish this all-reduce before all have started it. The clock starts
// after it.
void GpuTrainRank::bring_together() {
  if (!cuda_.error().empty()) return;
  cuda_.note(nccl_->run(
      {Collective::kAllReduce, DataType::kInt32, 1, place_.rank, place_.ranks, 0, communicator_, exchange_},
      word_, word_));
  cuda_.quick("cuEventRecord", start_, exchange_);
  cuda_.quick("cuStreamWaitEvent", compute_, start_, 0U);
}

std::optional<double> GpuTrainRank::time_part(bool computing, bool exchanging, std::string_view what) {
  if (!say(what) || !barrier_.wait()) return std::nullopt;
  bring_together();
  launch(computing, exchanging);
  cuda_.quick("cuEventRecord", exchanged_, exchange_);
  cuda_.quick("cuStreamWaitEvent", compute_, exchanged_, 0U);
  for (std::size_t i = 0; computing && exchanging && i < pieces_.size(); ++i) copy_bucket(sum_, i);
  cuda_.quick("cuEventRecord", end_, compute_);
  cuda_.quick("cuStreamSynchronize", compute_);
  float milliseconds = 0;
  cuda_.quick("cuEventElapsedTime", &milliseconds, start_, end_);
  if (!cuda_.error().empty()) return std::nullopt;
  return milliseconds / 1e3;
}

std::optional<GpuTrainRound> GpuTrainRank::round() {
  const auto step = time_part(true, true, "a whole step");
  const auto exchange = step ? time_part(false, true, "the exchange alone") : std::nullopt;
  const auto compute = exchange ? time_part(true, false, "the computing alone") : std::nullopt;
  if (!compute) return std::nullopt;
  computing_ = *compute;
  return GpuTrainRound{*step, *exchange, *compute};
}

std::vector<double> GpuTrainRank::ready() {
  std::vector<double> parts;
  for (cuda::Event event : ready_) {
    float milliseconds = 0;
    cuda_.quick("cuEventElapsedTime", &milliseconds, start_, event);
    parts.push_back(milliseconds / 1e3 / computing_);
  }
  return parts;
}

std::optional<bool> GpuTrainRank::agree(bool go_on) {
  std::int32_t wanted = go_on ? 1 : 0;
  cuda_.quick("cuMemcpyHtoDAsync_v2", word_, static_cast<const void*>(&wanted), sizeof wanted, exchange_);
  if (!cuda_.error().empty()) return std::nullopt;
  cuda_.note(nccl_->run(
      {Collective::kBroadcast, DataType::kInt32, 1, place_.rank, place_.ranks, 0, communicator_, exchange_},
      word_, word_));
  cuda_.quick("cuStreamSynchronize", exchange_);
  cuda_.quick("cuMemcpyDtoH_v2", static_cast<void*>(&wanted), word_, sizeof wanted);
  if (!cuda_.error().empty()) return std::nullopt;
  return wanted != 0;
}

void GpuTrainRank::fill_gradients() {
  const std::uint64_t bytes = gradients_ * bytes_of(gradient_type_);
  if (bytes == 0) return;
  cuda_.quick("cuMemsetD8Async", sum_, kTrainPoison, bytes, exchange_);
  kernel_.fill(own_, gradients_, pattern_, {static_cast<std::uint32_t>(place_.rank), 1, 0, 1}, exchange_);
}

std::uint64_t GpuTrainRank::count_wrong() {
  if (gradients_ == 0) return 0;
  const Expected sums{0, static_cast<std::uint32_t>(place_.ranks), 0, 1};
  return kernel_.count_wrong(sum_, gradients_, pattern_, sums, exchange_) * bytes_of(gradient_type_);
}

std::optional<GpuTrainChecked> GpuTrainRank::check() {
  GpuTrainChecked checked;
  say("the check of the last exchange");
  checked.wrong_bytes = count_wrong();
  ++pattern_.seed;
  fill_gradients();
  cuda_.quick("cuStreamSynchronize", exchange_);
  if (!say("an exchange of other data") || !barrier_.wait()) return std::nullopt;
  launch(false, true);
  checked.wrong_bytes += count_wrong();
  checked.bytes = 2 * gradients_ * bytes_of(gradient_type_);
  if (!cuda_.error().empty()) return std::nullopt;
  return checked;
}

}  // namespace railbed
