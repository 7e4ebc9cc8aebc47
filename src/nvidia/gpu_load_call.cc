// Loads all GPUs at once, each in a child process of its own, and samples NVML during the load. The load is
// kernels on all multiprocessors and copies to and from the host. When a child ends, however it ends, the
// driver frees what it held.
//
// A loop queues two kernels, whose length prepare() has set to about 60 ms, copies data if it is this GPU's
// turn, takes a sample and waits for the kernels. Samples begin after a warm-up, when the clocks have risen.
// Counters (PCIe replays, ECC, NVLink errors) are read before and after. A GPU on which a process runs is
// left alone.
#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "base/json.h"
#include "base/json_wrapped.h"
#include "base/median.h"
#include "nvidia/calls.h"
#include "nvidia/cuda_library.h"
#include "nvidia/gpu_probe.h"

namespace railbed {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kCopyBytes = 64 << 20;
constexpr unsigned kThreads = 256;
constexpr double kKernelMs = 60;              // between two samples
constexpr milliseconds kWarmUp{300};          // for clocks to rise
constexpr milliseconds kStartAndEnd{20'000};  // allowed in addition to the load itself

// Eight chains of fused multiply-adds per thread, two steps of each per loop. The sum is stored so that the
// compiler keeps them all.
constexpr const char* kLoadPtx = R"(
.version 6.0
.target sm_50
.address_size 64
.visible .entry burn(.param .u64 sums, .param .u32 loops)
{
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .f32 %f<9>;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [sums];
  cvta.to.global.u64 %d1, %d1;
  ld.param.u32 %r1, [loops];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  cvt.rn.f32.u32 %f1, %r5;
  add.f32 %f2, %f1, 0f3F800000;
  add.f32 %f3, %f2, 0f3F800000;
  add.f32 %f4, %f3, 0f3F800000;
  add.f32 %f5, %f4, 0f3F800000;
  add.f32 %f6, %f5, 0f3F800000;
  add.f32 %f7, %f6, 0f3F800000;
  add.f32 %f8, %f7, 0f3F800000;
AGAIN:
  fma.rn.f32 %f1, %f1, 0f3F7FF972, 0f3A83126F;
  fma.rn.f32 %f2, %f2, 0f3F7FF972, 0f3A83126F;
  fma.rn.f32 %f3, %f3, 0f3F7FF972, 0f3A83126F;
  fma.rn.f32 %f4, %f4, 0f3F7FF972, 0f3A83126F;
  fma.rn.f32 %f5, %f5, 0f3F7FF972, 0f3A83126F;
  fma.rn.f32 %f6, %f6, 0f3F7FF972, 0f3A83126F;
  fma.rn.f32 %f7, %f7, 0f3F7FF972, 0f3A83126F;
  fma.rn.f32 %f8, %f8, 0f3F7FF972, 0f3A83126F;
  fma.rn.f32 %f1, %f1, 0f3F7FF972, 0f3A83126F;
  fma.rn.f32 %f2, %f2, 0f3F7FF972, 0f3A83126F;
  fma.rn.f32 %f3, %f3, 0f3F7FF972, 0f3A83126F;
  fma.rn.f32 %f4, %f4, 0f3F7FF972, 0f3A83126F;
  fma.rn.f32 %f5, %f5, 0f3F7FF972, 0f3A83126F;
  fma.rn.f32 %f6, %f6, 0f3F7FF972, 0f3A83126F;
  fma.rn.f32 %f7, %f7, 0f3F7FF972, 0f3A83126F;
  fma.rn.f32 %f8, %f8, 0f3F7FF972, 0f3A83126F;
  sub.u32 %r1, %r1, 1;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra AGAIN;
  add.f32 %f1, %f1, %f2;
  add.f32 %f3, %f3, %f4;
  add.f32 %f5, %f5, %f6;
  add.f32 %f7, %f7, %f8;
  add.f32 %f1, %f1, %f3;
  add.f32 %f5, %f5, %f7;
  add.f32 %f1, %f1, %f5;
  mul.wide.u32 %d2, %r5, 4;
  add.s64 %d3, %d1, %d2;
  st.global.f32 [%d3], %f1;
  ret;
}
)";

// The turns to copy: one GPU at a time, so that the host's memory is not the bottleneck.
struct Turns {
  Clock::time_point begin;
  milliseconds length;
  std::size_t index;
  std::size_t count;
  bool mine(Clock::time_point now) const {
    const auto turn = static_cast<std::size_t>((now - begin) / length);
    return turn % count == index;
  }
};

class CudaBurn {
 public:
  explicit CudaBurn(cuda::Cuda& cuda) : cuda_(cuda) {}

  void prepare() {
    kernel_ = cuda_.load(kLoadPtx, "burn");
    blocks_ = static_cast<unsigned>(cuda_.attribute(cuda::kMultiprocessors).value_or(1)) * 8;
    cuda_.call("cuMemAlloc_v2", &sums_, std::size_t{blocks_} * kThreads * sizeof(float));
    cuda_.call("cuMemAlloc_v2", &buffer_, kCopyBytes);
    cuda_.call("cuMemHostAlloc", &host_, kCopyBytes, 0U);
    cuda_.call("cuStreamCreate", &compute_, cuda::kNonBlocking);
    cuda_.call("cuStreamCreate", &copy_, cuda::kNonBlocking);
    cuda_.call("cuEventCreate", &before_, 0U);
    cuda_.call("cuEventCreate", &after_, 0U);
    const double took = timed(compute_, [&] { burn(); });
    if (took > 0) loops_ = static_cast<unsigned>(std::clamp(loops_ * kKernelMs / took, 1.0, 1e8));
  }
  void burn() {
    void* arguments[] = {&sums_, &loops_};
    cuda_.launch(kernel_, blocks_, kThreads, compute_, arguments);
  }
  void finish() { cuda_.quick("cuStreamSynchronize", compute_); }
  // GB/s
  double to_gpu() {
    return rate([&] {
      cuda_.quick("cuMemcpyHtoDAsync_v2", buffer_, static_cast<const void*>(host_), kCopyBytes, copy_);
    });
  }
  double from_gpu() {
    return rate([&] { cuda_.quick("cuMemcpyDtoHAsync_v2", host_, buffer_, kCopyBytes, copy_); });
  }

 private:
  template <class Work>
  double timed(cuda::Stream stream, Work&& work) {
    float milliseconds = 0;
    cuda_.quick("cuEventRecord", before_, stream);
    work();
    cuda_.quick("cuEventRecord", after_, stream);
    cuda_.quick("cuEventSynchronize", after_);
    cuda_.quick("cuEventElapsedTime", &milliseconds, before_, after_);
    return milliseconds;
  }
  template <class Copy>
  double rate(Copy&& copy) {
    constexpr int kCopies = 4;
    const double took = timed(copy_, [&] {
      for (int i = 0; i < kCopies; ++i) copy();
    });
    return took > 0 ? kCopies * static_cast<double>(kCopyBytes) / took / 1e6 : 0;
  }

  cuda::Cuda& cuda_;
  cuda::Function kernel_ = nullptr;
  unsigned blocks_ = 1;
  unsigned loops_ = 2000;
  cuda::DevicePointer sums_ = 0;
  cuda::DevicePointer buffer_ = 0;
  void* host_ = nullptr;
  cuda::Stream compute_ = nullptr;
  cuda::Stream copy_ = nullptr;
  cuda::Event before_ = nullptr;
  cuda::Event after_ = nullptr;
};

template <class T>
Reading<T> risen(const Reading<T>& before, const Reading<T>& after) {
  if (!before) return before;
  return after.parsed([&](T value) { return std::optional<T>(value >= *before ? value - *before : 0); });
}

void compare(const GpuCounters& before, const GpuCounters& after, GpuLoad& load) {
  load.pcie_replays = risen(before.replays, after.replays);
  load.ecc_uncorrectable = risen(before.uncorrectable, after.uncorrectable);
  load.ecc_corrected = risen(before.corrected, after.corrected);
  for (const auto& [name, count] : after.nvlink) {
    const auto was = before.nvlink.find(name);
    load.nvlink_errors[name] = was != before.nvlink.end() && count >= was->second ? count - was->second : 0;
  }
}

// Keeps `now` if it is better than `best`.
template <class T, class Better>
void keep(Reading<T>& best, const Reading<T>& now, Better better) {
  if (!best || (now && better(*now, *best))) best = now;
}

class Sampler {
 public:
  Sampler(nvml::Nvml& nvml, nvml::Device device, GpuLoad& load) : nvml_(nvml), device_(device), load_(load) {}

  void sample() {
    constexpr int kSm = 1;
    const auto number = [&](const char* function, auto... more) {
      return nvml_.number<int, unsigned>(function, device_, more...);
    };
    load_.event_reasons |= nvml_event_reasons(nvml_, device_).value_or(0);
    const auto clock = number("nvmlDeviceGetClockInfo", kSm);
    if (clock) clocks_.push_back(*clock);
    keep(load_.sm_clock_min, clock, std::less<>());
    keep(load_.power_max,
         nvml_.get<unsigned>("nvmlDeviceGetPowerUsage", device_).parsed([](unsigned milliwatts) {
           return std::optional<double>(milliwatts / 1000.0);
         }),
         std::greater<>());
    constexpr int kDie = 0;
    keep(load_.temperature_max, number("nvmlDeviceGetTemperature", kDie), std::greater<>());
    keep(load_.temperature_margin_min, nvml_margin(nvml_, device_), std::less<>());
    keep(load_.memory_temperature_max, nvml_memory_temperature(nvml_, device_), std::greater<>());
    keep(load_.pcie_generation_max, number("nvmlDeviceGetCurrPcieLinkGeneration"), std::greater<>());
    keep(load_.pcie_width_max, number("nvmlDeviceGetCurrPcieLinkWidth"), std::greater<>());
  }
  void finish() {
    load_.sm_clock_median = load_.sm_clock_min;
    if (clocks_.empty()) return;
    load_.sm_clock_median = Reading<int>(median_of(clocks_), load_.sm_clock_min.from());
  }

 private:
  nvml::Nvml& nvml_;
  nvml::Device device_;
  GpuLoad& load_;
  std::vector<int> clocks_;
};

void run_load(CudaBurn& work, Sampler& sampler, const cuda::Cuda& cuda, milliseconds length,
              const Turns& turns, const std::function<void()>& about_to_load, GpuLoad& load) {
  const auto begin = Clock::now();
  const auto best = [](std::optional<double>& known, double now) {
    known = std::max(known.value_or(0), now);
  };
  for (auto now = begin; now - begin < length && cuda.error().empty(); now = Clock::now()) {
    about_to_load();
    work.burn();
    work.burn();
    if (turns.mine(now)) {
      best(load.to_gpu, work.to_gpu());
      best(load.from_gpu, work.from_gpu());
    }
    if (now - begin >= std::min(kWarmUp, length / 2)) sampler.sample();
    about_to_load();
    work.finish();
  }
  load.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  sampler.finish();
}

GpuLoad load_gpu(const std::string& address, milliseconds length, const Turns& turns,
                 const NvidiaLibraries& from, const Say& about_to) {
  GpuLoad load;
  nvml::Nvml nvml(from.nvml, about_to);
  if (const auto miss = start_nvml(nvml)) return load.error = miss->why, load;
  const auto device = find_gpu(nvml, address);
  if (!device) return load.error = device.error().text, load;
  if (load.error = why_gpu_is_busy(nvml, *device); !load.error.empty()) return load;
  const GpuCounters before = read_gpu_counters(nvml, *device);
  cuda::Cuda cuda(from.cuda, about_to);
  CudaBurn work(cuda);
  Sampler sampler(nvml, *device, load);
  if (cuda.open(address)) {
    work.prepare();
    run_load(
        work, sampler, cuda, length, turns, [&] { about_to("the load on GPU " + address); }, load);
    compare(before, read_gpu_counters(nvml, *device), load);
  }
  load.error = cuda.error();
  return load;
}

GpuLoad load_in_child(const std::string& address, milliseconds length, const Turns& turns,
                      const NvidiaLibraries& from) {
  const auto answer = ask_in_child(
      address,
      [&](const Say& about_to) {
        return json::dump(json::encode(load_gpu(address, length, turns, from, about_to)));
      },
      length + kStartAndEnd);
  GpuLoad load;
  if (!answer) return load.error = describe(answer.miss(), ""), load;
  auto parsed = json::read<GpuLoad>(*answer);
  if (!parsed) return load.error = parsed.error().text, load;
  return std::move(*parsed);
}

}  // namespace

Reading<std::string> call_gpu_load(int seconds, const NvidiaLibraries& from) {
  const std::string name = fmt::format("gpu-load {}", seconds);
  const auto list = call_nvml("nvml list", from);
  if (!list) return {list.miss(), name};
  const auto known = json::read<std::vector<std::string>>(*list);
  const milliseconds length = std::chrono::seconds(seconds);
  Turns turns{Clock::now(), milliseconds(500), 0, known ? known->size() : 0};
  if (turns.count == 0) return {Miss{Missing::kAbsent, "NVML shows no GPU"}, name};
  turns.length = std::min(turns.length, length / (2 * static_cast<int>(turns.count)));
  std::map<std::string, std::future<GpuLoad>> running;
  for (const std::string& address : *known) {
    running.emplace(address,
                    std::async(std::launch::async, load_in_child, address, length, turns, std::cref(from)));
    ++turns.index;
  }
  GpuLoads loads;
  for (auto& [address, load] : running) loads.emplace(address, load.get());
  return {json::dump_wrapped(json::encode(loads)), name};
}

}  // namespace railbed
