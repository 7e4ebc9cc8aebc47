#include <fmt/format.h>

#include "nvidia/gpu_probe.h"

namespace railbed {
namespace {

// nvmlEventData_t
struct EventData {
  nvml::Device device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};
static_assert(sizeof(EventData) == 32);

constexpr unsigned long long kXidCritical = 0x8;  // nvmlEventTypeXidCriticalError
constexpr int kMostXidsAtOnce = 64;               // a broken driver may report without end

}  // namespace

GpuCounters read_gpu_counters(nvml::Nvml& nvml, nvml::Device device) {
  constexpr int kCorrected = 0, kUncorrected = 1, kVolatile = 0;
  const auto errors = [&](int type) {
    return nvml.number<std::uint64_t, unsigned long long>("nvmlDeviceGetTotalEccErrors", device, type,
                                                          kVolatile);
  };
  GpuCounters counters{nvml.get<unsigned>("nvmlDeviceGetPcieReplayCounter", device),
                       errors(kUncorrected),
                       errors(kCorrected),
                       {}};
  for (const auto& [number, link] : nvml_links(nvml, device).value_or({}))
    for (const auto& [name, count] : link.errors) counters.nvlink[name] += count;
  return counters;
}

std::string why_gpu_is_busy(nvml::Nvml& nvml, nvml::Device device) {
  const auto processes = nvml_processes(nvml, device);
  if (!processes || processes->empty()) return "";
  return fmt::format("busy: process {} runs on it", processes->front().pid);
}

XidWatch::XidWatch(nvml::Nvml& nvml, nvml::Device device) : nvml_(nvml) {
  void* events = nullptr;
  if (nvml.call("nvmlEventSetCreate", &events) == nvml::kSuccess &&
      nvml.call("nvmlDeviceRegisterEvents", device, kXidCritical, events) == nvml::kSuccess)
    events_ = events;
}

std::vector<int> XidWatch::take() {
  std::vector<int> codes;
  constexpr unsigned kNoWait = 0;
  while (events_ != nullptr && codes.size() < kMostXidsAtOnce) {
    EventData event{};
    if (nvml_.call("nvmlEventSetWait_v2", events_, &event, kNoWait) != nvml::kSuccess) break;
    if ((event.type & kXidCritical) != 0) codes.push_back(static_cast<int>(event.data & 0x7fffffff));
  }
  return codes;
}

}  // namespace railbed
