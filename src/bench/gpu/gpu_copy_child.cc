// Measures the copies of gpu_copy.h. Each kind of copy is first run once uncounted, because the first copy
// maps memory, and once to find its duration. Then each sample times a row of copies, with CUDA events on the
// stream, that lasts about kSampleSeconds. With both directions, the second one runs on a stream of its own
// between the same two events. The source holds a pattern, and a destination on a GPU holds other bytes
// before the copies; afterwards it is compared there. Data in host memory is copied back to the GPU for that.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/json.h"
#include "bench/gpu/gpu_copy.h"
#include "bench/gpu/gpu_memory_left.h"
#include "bench/gpu/gpu_pattern.h"
#include "bench/gpu/visible_gpus.h"
#include "os/near.h"

namespace railbed {
namespace {

constexpr double kSampleSeconds = 4e-3;   // of one sample, about: the time to start is small against it
constexpr int kPeerAlreadyEnabled = 704;  // CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
constexpr unsigned char kCopyPoison = 0xa5;

struct CopyGpu {
  CopyGpu(const VisibleGpu& which, const std::vector<std::string>& files, const Say& about_to)
      : visible(which), cuda(files, about_to) {}
  VisibleGpu visible;
  cuda::Cuda cuda;
  PatternKernel kernel;
  cuda::DevicePointer a = 0;
  cuda::DevicePointer b = 0;
  cuda::Stream stream = nullptr;
  cuda::Stream back = nullptr;  // for the other direction
  cuda::Event begin = nullptr;
  cuda::Event there = nullptr;
  cuda::Event end = nullptr;
};

class Copies {
 public:
  Copies(const GpuCopyPlan& plan, const NvidiaLibraries& from, const Tell& tell)
      : plan_(plan), from_(from), tell_(tell), cuda_(from.cuda, tell.about_to) {}

  // The kind of the failure that run() returned.
  FailureKind failure_kind() const { return railbed::failure_kind(cuda_); }

  // Returns why it failed; empty if it did not.
  std::string run() {
    cuda_.start();
    const auto found = find_visible_gpus(cuda_, plan_.gpus);
    if (!cuda_.error().empty()) return cuda_.error();
    tell(GpuCopyNews{.gpus = found});
    for (const VisibleGpu& visible : found) {
      gpus_.push_back(std::make_unique<CopyGpu>(visible, from_.cuda, tell_.about_to));
      if (!gpus_.back()->cuda.use(visible.ordinal)) return gpus_.back()->cuda.error();
    }
    if (auto why = cut_to_spare_memory(); !why.empty()) return why;
    for (auto& gpu : gpus_)
      if (!prepare(*gpu)) return gpu->cuda.error();
    for (auto& gpu : gpus_)
      if (!with_host(*gpu) || !within(*gpu)) return gpu->cuda.error();
    for (auto& one : gpus_)
      for (auto& other : gpus_) {
        if (one == other) continue;
        if (!peers(*one, *other, Copy::kPeer)) return why(*one, *other);
        if (one->visible.ordinal < other->visible.ordinal && !peers(*one, *other, Copy::kPeersBothWays))
          return why(*one, *other);
      }
    return "";
  }

 private:
  static std::string why(const CopyGpu& gpu, const CopyGpu& other) {
    return gpu.cuda.error().empty() ? other.cuda.error() : gpu.cuda.error();
  }

  // Lowers the size of a copy to the memory that can be spared: for two buffers on each GPU, and two buffers
  // of page-locked host memory for one GPU at a time. Returns why not even one page can be spared; empty if
  // it can.
  std::string cut_to_spare_memory() {
    constexpr std::uint64_t kPage = 4096;
    SpareMemory least{plan_.bytes, ""};
    for (auto& gpu : gpus_) {
      gpu->cuda.enter();
      const MemoryLeft left = gpu_memory_left(gpu->cuda);
      for (const MemoryUse use : {MemoryUse::kGpu, MemoryUse::kPinned}) {
        SpareMemory spare =
            spare_memory(left, use, use == MemoryUse::kGpu ? static_cast<int>(gpus_.size()) : 1);
        spare.bytes = spare.bytes / (left.unified ? 4 : 2) / kPage * kPage;
        if (spare.bytes < least.bytes) least = spare;
      }
    }
    if (least.bytes < kPage) return "not a page of memory can be spared: " + least.why;
    if (least.bytes == plan_.bytes) return "";
    plan_.bytes = least.bytes;
    tell(GpuCopyNews{.bytes = least.bytes, .cut = cut_text(least.bytes, least)});
    return "";
  }

  bool prepare(CopyGpu& gpu) {
    cuda::Cuda& cuda = gpu.cuda;
    cuda.enter();
    cuda.call("cuMemAlloc_v2", &gpu.a, std::size_t{plan_.bytes});
    cuda.call("cuMemAlloc_v2", &gpu.b, std::size_t{plan_.bytes});
    cuda.call("cuStreamCreate", &gpu.stream, cuda::kNonBlocking);
    cuda.call("cuStreamCreate", &gpu.back, cuda::kNonBlocking);
    for (cuda::Event* event : {&gpu.begin, &gpu.there, &gpu.end}) cuda.call("cuEventCreate", event, 0U);
    gpu.kernel = PatternKernel(cuda);
    return cuda.error().empty();
  }

  std::uint64_t words() const { return plan_.bytes / sizeof(std::uint32_t); }
  Pattern pattern() const { return {DataType::kInt32, seed_, 1U << 31}; }
  void fill(CopyGpu& gpu, cuda::DevicePointer buffer) {
    ++seed_;
    gpu.kernel.fill(buffer, words(), pattern(), {0, 1, 0, 1}, gpu.stream);
    gpu.cuda.quick("cuStreamSynchronize", gpu.stream);
  }
  void poison(CopyGpu& gpu, cuda::DevicePointer buffer) {
    gpu.cuda.quick("cuMemsetD8Async", buffer, kCopyPoison, std::size_t{plan_.bytes}, gpu.stream);
    gpu.cuda.quick("cuStreamSynchronize", gpu.stream);
  }
  void check(CopyGpu& gpu, cuda::DevicePointer buffer, GpuCopyResult& into) {
    into.checked += words() * sizeof(std::uint32_t);
    into.wrong +=
        gpu.kernel.count_wrong(buffer, words(), pattern(), {0, 1, 0, 1}, gpu.stream) * sizeof(std::uint32_t);
  }
  void to_gpu(CopyGpu& gpu, cuda::DevicePointer to, const void* from, cuda::Stream stream) {
    gpu.cuda.quick("cuMemcpyHtoDAsync_v2", to, from, std::size_t{plan_.bytes}, stream);
  }
  void from_gpu(CopyGpu& gpu, void* to, cuda::DevicePointer from, cuda::Stream stream) {
    gpu.cuda.quick("cuMemcpyDtoHAsync_v2", to, from, std::size_t{plan_.bytes}, stream);
  }

  // Returns the seconds that this number of copies takes on `gpu`'s stream. If `back` is not null, `other`
  // runs it at the same time on its own stream, and the clock stops when both are done.
  template <class There, class Back>
  double timed(CopyGpu& gpu, CopyGpu& other, int copies, There&& there, Back* back) {
    cuda::Cuda& cuda = gpu.cuda;
    cuda.enter();
    cuda.quick("cuEventRecord", gpu.begin, gpu.stream);
    for (int i = 0; i < copies; ++i) there();
    if (back != nullptr) {
      other.cuda.enter();
      other.cuda.quick("cuStreamWaitEvent", other.back, gpu.begin, 0U);
      for (int i = 0; i < copies; ++i) (*back)();
      other.cuda.quick("cuEventRecord", other.there, other.back);
      cuda.enter();
      cuda.quick("cuStreamWaitEvent", gpu.stream, other.there, 0U);
    }
    cuda.quick("cuEventRecord", gpu.end, gpu.stream);
    cuda.quick("cuStreamSynchronize", gpu.stream);
    float milliseconds = 0;
    cuda.quick("cuEventElapsedTime", &milliseconds, gpu.begin, gpu.end);
    return milliseconds / 1e3;
  }

  template <class There, class Back>
  void sample(CopyGpu& gpu, CopyGpu& other, GpuCopyResult& into, There&& there, Back* back) {
    tell_.about_to(copy_name(into));
    timed(gpu, other, 1, there, back);  // not counted: the first copy maps memory
    const double once = timed(gpu, other, 1, there, back);
    const int copies = once > 0 ? std::clamp(static_cast<int>(std::ceil(kSampleSeconds / once)), 1, 256) : 1;
    const double bits = static_cast<double>(plan_.bytes) * 8 * copies * (back != nullptr ? 2 : 1);
    for (int i = 0; i < plan_.samples && gpu.cuda.error().empty() && other.cuda.error().empty(); ++i) {
      const double took = timed(gpu, other, copies, there, back);
      if (took > 0) into.samples.push_back(bits / took);
      into.seconds += took;
      tell_.about_to(copy_name(into));
    }
  }

  // Measures with page-locked memory of the GPU's own NUMA node, which is freed before the next GPU.
  bool with_host(CopyGpu& gpu) {
    gpu.cuda.enter();
    run_near(gpu.visible.address);
    void* host = nullptr;
    void* other = nullptr;
    gpu.cuda.call("cuMemHostAlloc", &host, std::size_t{plan_.bytes}, 0U);
    gpu.cuda.call("cuMemHostAlloc", &other, std::size_t{plan_.bytes}, 0U);
    from_host(gpu, host, other);
    gpu.cuda.quick("cuMemFreeHost", host);
    gpu.cuda.quick("cuMemFreeHost", other);
    return gpu.cuda.error().empty();
  }

  void from_host(CopyGpu& gpu, void* host, void* other) {
    constexpr void (*kNothing)() = nullptr;
    const int number = gpu.visible.ordinal;
    fill(gpu, gpu.a);
    GpuCopyResult out{Copy::kFromGpu, number, -1, {}, 0, 0, 0, false};
    sample(
        gpu, gpu, out, [&] { from_gpu(gpu, host, gpu.a, gpu.stream); }, kNothing);
    poison(gpu, gpu.b);
    to_gpu(gpu, gpu.b, host, gpu.stream);
    check(gpu, gpu.b, out);
    tell(out, gpu);
    poison(gpu, gpu.b);
    GpuCopyResult in{Copy::kToGpu, -1, number, {}, 0, 0, 0, false};
    sample(
        gpu, gpu, in, [&] { to_gpu(gpu, gpu.b, host, gpu.stream); }, kNothing);
    check(gpu, gpu.b, in);
    tell(in, gpu);
    poison(gpu, gpu.b);
    GpuCopyResult both{Copy::kHostBothWays, -1, number, {}, 0, 0, 0, false};
    auto back = [&] { from_gpu(gpu, other, gpu.a, gpu.back); };
    sample(
        gpu, gpu, both, [&] { to_gpu(gpu, gpu.b, host, gpu.stream); }, &back);
    check(gpu, gpu.b, both);
    poison(gpu, gpu.b);
    to_gpu(gpu, gpu.b, other, gpu.stream);
    check(gpu, gpu.b, both);
    tell(both, gpu);
  }

  bool within(CopyGpu& gpu) {
    constexpr void (*kNothing)() = nullptr;
    const int number = gpu.visible.ordinal;
    GpuCopyResult result{Copy::kWithin, number, number, {}, 0, 0, 0, false};
    fill(gpu, gpu.a);
    poison(gpu, gpu.b);
    sample(
        gpu, gpu, result,
        [&] { gpu.cuda.quick("cuMemcpyDtoDAsync_v2", gpu.b, gpu.a, std::size_t{plan_.bytes}, gpu.stream); },
        kNothing);
    check(gpu, gpu.b, result);
    tell(result, gpu);
    return gpu.cuda.error().empty();
  }

  // Enables access from `gpu` to the other GPU's memory. Returns false if that is not possible.
  bool reach(CopyGpu& gpu, CopyGpu& other) {
    int can = 0;
    gpu.cuda.quick("cuDeviceCanAccessPeer", &can, gpu.cuda.device(), other.cuda.device());
    if (can == 0) return false;
    gpu.cuda.enter();
    return gpu.cuda.allow(kPeerAlreadyEnabled, "cuCtxEnablePeerAccess", other.cuda.context(), 0U);
  }

  void copy_peer(CopyGpu& from, CopyGpu& to, cuda::Stream stream) {
    from.cuda.quick("cuMemcpyPeerAsync", to.b, to.cuda.context(), from.a, from.cuda.context(),
                    std::size_t{plan_.bytes}, stream);
  }

  bool peers(CopyGpu& copy_gpu, CopyGpu& other, Copy copy) {
    GpuCopyResult result{copy, copy_gpu.visible.ordinal, other.visible.ordinal, {}, 0, 0, 0, false};
    result.peer_access = reach(copy_gpu, other) && reach(other, copy_gpu);
    const bool both = copy == Copy::kPeersBothWays;
    for (CopyGpu* gpu : {&copy_gpu, &other}) {
      gpu->cuda.enter();
      poison(*gpu, gpu->b);
    }
    copy_gpu.cuda.enter();
    fill(copy_gpu, copy_gpu.a);
    if (both) {
      other.cuda.enter();
      --seed_;  // the same data on both
      fill(other, other.a);
    }
    auto back = [&] { copy_peer(other, copy_gpu, other.back); };
    sample(
        copy_gpu, other, result, [&] { copy_peer(copy_gpu, other, copy_gpu.stream); },
        both ? &back : nullptr);
    other.cuda.enter();
    check(other, other.b, result);
    copy_gpu.cuda.enter();
    if (both) check(copy_gpu, copy_gpu.b, result);
    if (!why(copy_gpu, other).empty()) return false;
    tell(result, copy_gpu);
    return true;
  }

  void tell(const GpuCopyNews& news) const { tell_.result(json::dump(json::encode(news))); }
  void tell(const GpuCopyResult& result, const CopyGpu& gpu) const {
    if (gpu.cuda.error().empty()) tell(GpuCopyNews{.result = result});
  }

  GpuCopyPlan plan_;
  const NvidiaLibraries& from_;
  const Tell& tell_;
  cuda::Cuda cuda_;
  std::vector<std::unique_ptr<CopyGpu>> gpus_;
  std::uint32_t seed_ = 0;
};

}  // namespace

void run_gpu_copies(const GpuCopyPlan& plan, const NvidiaLibraries& from, const Tell& tell) {
  Copies copies(plan, from, tell);
  if (const std::string why = copies.run(); !why.empty()) {
    GpuCopyNews news;
    news.failure = why;
    news.kind = copies.failure_kind();
    tell.result(json::dump(json::encode(news)));
  }
}

}  // namespace railbed
