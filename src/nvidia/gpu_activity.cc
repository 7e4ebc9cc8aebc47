// "nvml activity": what each GPU does within a tenth of a second, from two samples of all GPUs with one wait between
// them. The shares come from NVML's GPM ("GPU Performance Monitoring"; Hopper and newer), the rates from counters of
// the driver, or from GPM where there are none.
#include <chrono>
#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/json_wrapped.h"
#include "nvidia/gpu_probe.h"

namespace railbed {
namespace {

using nvml::Device;
using nvml::Nvml;
using Moment = std::chrono::steady_clock::time_point;

// NVML refuses to compare samples that are closer.
constexpr std::chrono::milliseconds kBetweenSamples{110};

// nvmlGpmMetricId_t
enum GpmMetric : unsigned {
  kGraphics = 1,
  kSm = 2,
  kOccupancy = 3,
  kTensor = 5,
  kMemory = 10,
  kFp64 = 11,
  kFp32 = 12,
  kFp16 = 13,
  kPcieSent = 20,
  kPcieReceived = 21,
  kNvlinkReceived = 60,
  kNvlinkSent = 61,
};
constexpr unsigned kGpmMetrics[] = {kGraphics, kSm,           kOccupancy,      kTensor,
                                    kMemory,   kFp64,         kFp32,           kFp16,
                                    kPcieSent, kPcieReceived, kNvlinkReceived, kNvlinkSent};

struct GpmSupport {  // nvmlGpmSupport_t
  unsigned version;
  unsigned supported;
};
struct GpmValue {  // nvmlGpmMetric_t
  unsigned id;
  int code;
  double value;
  const char* name;
  const char* long_name;
  const char* unit;
};
// nvmlGpmMetricsGet_t, whose array is longer in NVML; only `count` entries of it are read and written.
struct GpmQuestion {
  unsigned version;
  unsigned count;
  void* first;
  void* second;
  GpmValue values[std::size(kGpmMetrics)];
};
static_assert(sizeof(GpmValue) == 40 && offsetof(GpmQuestion, values) == 24);

// A counter of the driver, in bytes, and the moment of its reading.
struct CountedBytes {
  Reading<std::uint64_t> bytes;
  Moment when;
};

struct GpuTraffic {
  CountedBytes pcie_sent, pcie_received, nvlink_sent, nvlink_received;
};

struct SampledGpu {
  Device device = nullptr;
  Reading<bool> gpm;  // whether this GPU has samples
  void* first = nullptr;
  void* second = nullptr;
  GpuTraffic before = {};
};

CountedBytes read_counter(Nvml& nvml, Device device, unsigned field, const char* name, unsigned scope,
                          std::uint64_t unit) {
  auto bytes = nvml.field(device, field, name, scope).parsed([unit](std::uint64_t value) {
    return value > std::numeric_limits<std::uint64_t>::max() / unit ? std::nullopt
                                                                    : std::optional(value * unit);
  });
  return {std::move(bytes), std::chrono::steady_clock::now()};
}

GpuTraffic read_traffic(Nvml& nvml, Device device) {
  constexpr unsigned kAllLinks = std::numeric_limits<unsigned>::max();
  return {read_counter(nvml, device, 197, "NVML_FI_DEV_PCIE_COUNT_TX_BYTES", 0, 1),
          read_counter(nvml, device, 198, "NVML_FI_DEV_PCIE_COUNT_RX_BYTES", 0, 1),
          read_counter(nvml, device, 138, "NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX", kAllLinks, 1024),
          read_counter(nvml, device, 139, "NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX", kAllLinks, 1024)};
}

// Returns bytes per second. A counter of 32 bits may have wrapped; any other that became less was reset.
Reading<double> rate_of(const CountedBytes& before, const CountedBytes& after) {
  constexpr std::uint64_t kWrap = std::uint64_t(1) << 32;
  if (!before.bytes) return {before.bytes.miss(), before.bytes.from()};
  return after.bytes.parsed([&](std::uint64_t now) -> std::optional<double> {
    const std::uint64_t then = *before.bytes;
    const double seconds = std::chrono::duration<double>(after.when - before.when).count();
    if (seconds <= 0 || (now < then && then >= kWrap)) return std::nullopt;
    return static_cast<double>(now < then ? now + kWrap - then : now - then) / seconds;
  });
}

Reading<bool> allocate(Nvml& nvml, SampledGpu& gpu) {
  const char* support = "nvmlGpmQueryDeviceSupport";
  GpmSupport answer{1, 0};
  const int code = nvml.call(support, gpu.device, &answer);
  if (code != nvml::kSuccess) return {nvml::miss_of(code), support};
  if (answer.supported == 0) return {Miss{Missing::kUnsupported, "this GPU has no GPM"}, support};
  for (void** sample : {&gpu.first, &gpu.second})
    if (const int failed = nvml.call("nvmlGpmSampleAlloc", sample); failed != nvml::kSuccess)
      return {nvml::miss_of(failed), "nvmlGpmSampleAlloc"};
  const int sampled = nvml.call("nvmlGpmSampleGet", gpu.device, gpu.first);
  return Nvml::judged(sampled, true, "nvmlGpmSampleGet");
}

std::map<unsigned, Reading<double>> gpm_values(Nvml& nvml, const SampledGpu& gpu) {
  const char* function = "nvmlGpmMetricsGet";
  std::map<unsigned, Reading<double>> values;
  GpmQuestion question{};
  Reading<bool> able = gpu.gpm;
  if (able)
    able = Nvml::judged(nvml.call("nvmlGpmSampleGet", gpu.device, gpu.second), true, "nvmlGpmSampleGet");
  if (able) {
    question.version = 1;
    question.count = std::size(kGpmMetrics);
    question.first = gpu.first;
    question.second = gpu.second;
    for (std::size_t i = 0; i < std::size(kGpmMetrics); ++i) question.values[i].id = kGpmMetrics[i];
    able = Nvml::judged(nvml.call(function, &question), true, function);
  }
  for (std::size_t i = 0; i < std::size(kGpmMetrics); ++i)
    values.emplace(kGpmMetrics[i],
                   able ? Nvml::judged(question.values[i].code, question.values[i].value, function)
                        : Reading<double>{able.miss(), able.from()});
  return values;
}

Reading<double> share(const Reading<double>& percent) {
  return percent.parsed(
      [](double value) { return value >= 0 && value <= 100 ? std::optional(value / 100) : std::nullopt; });
}

// Returns the counter's rate, or GPM's, which is in MiB/s.
Reading<double> first_rate(Reading<double> counted, const Reading<double>& gpm) {
  if (counted || !gpm) return counted;
  return gpm.parsed([](double mebibytes) {
    return mebibytes >= 0 && mebibytes < 1e9 ? std::optional(mebibytes * 1024 * 1024) : std::nullopt;
  });
}

GpuActivity activity_of(Nvml& nvml, const SampledGpu& gpu) {
  const GpuTraffic after = read_traffic(nvml, gpu.device);
  const auto gpm = gpm_values(nvml, gpu);
  const GpuTraffic& before = gpu.before;
  return {share(gpm.at(kGraphics)),
          share(gpm.at(kSm)),
          share(gpm.at(kOccupancy)),
          share(gpm.at(kTensor)),
          share(gpm.at(kMemory)),
          share(gpm.at(kFp64)),
          share(gpm.at(kFp32)),
          share(gpm.at(kFp16)),
          first_rate(rate_of(before.pcie_sent, after.pcie_sent), gpm.at(kPcieSent)),
          first_rate(rate_of(before.pcie_received, after.pcie_received), gpm.at(kPcieReceived)),
          first_rate(rate_of(before.nvlink_sent, after.nvlink_sent), gpm.at(kNvlinkSent)),
          first_rate(rate_of(before.nvlink_received, after.nvlink_received), gpm.at(kNvlinkReceived))};
}

}  // namespace

// The samples are freed by the end of the process.
GpuActivities measure_activity(Nvml& nvml) {
  std::map<std::string, SampledGpu> gpus;
  for (const auto& [address, device] : nvml_gpus(nvml)) {
    nvml.now(address);
    SampledGpu gpu;
    gpu.device = device;
    gpu.gpm = allocate(nvml, gpu);
    gpu.before = read_traffic(nvml, device);
    gpus.emplace(address, std::move(gpu));
  }
  std::this_thread::sleep_for(kBetweenSamples);
  GpuActivities activities;
  for (const auto& [address, gpu] : gpus) {
    nvml.now(address);
    activities.emplace(address, activity_of(nvml, gpu));
  }
  return activities;
}

}  // namespace railbed
