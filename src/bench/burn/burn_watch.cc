#include "bench/burn/burn_watch.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "bench/core/clock.h"
#include "hardware/gpu_slowdown.h"

namespace railbed {
namespace {

constexpr std::chrono::seconds kSamplePeriod{1};
constexpr int kSamplesPerCount = 10;  // error counters are read so seldom: NVLink's are dozens
constexpr std::chrono::seconds kLastSample{3};
constexpr std::size_t kMostXids = 32;

template <class T>
std::optional<std::uint64_t> risen_since(const Reading<T>& before, const Reading<T>& now) {
  if (!before || !now) return std::nullopt;
  return *now >= *before ? *now - *before : 0;
}

}  // namespace

BurnWatch::BurnWatch(BurnGpu gpu, std::uint64_t begin, NvidiaLibraries from)
    : begin_(begin),
      from_(std::move(from)),
      nvml_(from_.nvml, silent_),
      meter_(from_.nvml, silent_),
      gpu_(std::move(gpu)) {}

double BurnWatch::at() const { return static_cast<double>(now_ns() - begin_) / 1e9; }

std::string BurnWatch::start() {
  if (const auto miss = start_nvml(nvml_)) return gpu_.no_samples = miss->why, "";
  const auto device = find_gpu(nvml_, gpu_.address);
  if (!device) return gpu_.no_samples = device.error().text, "";
  device_ = *device;
  if (std::string why = why_gpu_is_busy(nvml_, device_); !why.empty()) return why;
  constexpr int kSmClock = 1;
  gpu_.clock_max = nvml_.number<int, unsigned>("nvmlDeviceGetMaxClockInfo", device_, kSmClock).value_or(0);
  gpu_.watts_limit = nvml_.get<unsigned>("nvmlDeviceGetEnforcedPowerLimit", device_).value_or(0) / 1000.0;
  before_ = read_gpu_counters(nvml_, device_);
  xid_watch_.emplace(nvml_, device_);
  return "";
}

void BurnWatch::begin_samples() {
  if (!xid_watch_) return;
  std::thread([self = shared_from_this()] {
    for (int i = 0; !self->over_.load(); ++i) {
      {
        const std::lock_guard lock(self->nvml_mutex_);
        self->sample(i % kSamplesPerCount == 0);
      }
      std::this_thread::sleep_for(kSamplePeriod);
    }
  }).detach();
}

void BurnWatch::sample(bool with_counters) {
  constexpr int kSmClock = 1, kDie = 0;
  const int phase = phase_.load();
  const auto watts = nvml_.get<unsigned>("nvmlDeviceGetPowerUsage", device_);
  const auto clock = nvml_.number<int, unsigned>("nvmlDeviceGetClockInfo", device_, kSmClock);
  const auto temperature = nvml_.number<int, unsigned>("nvmlDeviceGetTemperature", device_, kDie);
  const auto memory_temperature = nvml_memory_temperature(nvml_, device_);
  const auto reasons = nvml_event_reasons(nvml_, device_);
  const std::vector<int> xids = xid_watch_->take();
  const double now = at();
  const std::lock_guard lock(mutex_);
  for (const int code : xids)
    if (gpu_.xids.size() < kMostXids) gpu_.xids.push_back({code, now});
  if (!watts && !clock && !temperature) {
    // A GPU that fell off the bus gives no value any more.
    if (gpu_.no_samples.empty()) gpu_.no_samples = describe(watts.miss(), watts.from());
    watts_.reset();
    temperature_.reset();
    return;
  }
  const double w = watts.value_or(0) / 1000.0;
  watts_ = watts ? std::optional(w) : std::nullopt;
  temperature_ = temperature.to_optional();
  ++gpu_.samples;
  gpu_.watts += (w - gpu_.watts) / static_cast<double>(gpu_.samples);
  gpu_.watts_max = std::max(gpu_.watts_max, w);
  gpu_.temperature = std::max(gpu_.temperature, temperature.value_or(0));
  gpu_.memory_temperature = std::max(gpu_.memory_temperature, memory_temperature.value_or(0));
  course_.add(now, static_cast<int>(w), clock.value_or(0), temperature.value_or(0));
  for (const GpuSlowdown& one : kGpuSlowdowns) {
    if ((reasons.value_or(0) & one.bit) == 0) continue;
    const auto known = std::ranges::find(gpu_.slowdowns, one.word, &BurnSlowdown::reason);
    if (known == gpu_.slowdowns.end())
      gpu_.slowdowns.push_back({std::string(one.word), 1});
    else
      ++known->samples;
  }
  // NVML's power is the mean of the last second: one that began in another phase belongs to neither.
  if (phase >= 0 && phase == phase_before_) {
    PhaseSums& sums = sums_[static_cast<std::size_t>(phase)];
    ++sums.samples;
    sums.watts += w;
    sums.clock += clock.value_or(0);
    BurnTally& mine = tally(static_cast<BurnPhase>(phase));
    mine.watts = sums.watts / sums.samples;
    mine.clock = sums.clock / sums.samples;
    mine.temperature = std::max(mine.temperature, temperature.value_or(0));
  }
  phase_before_ = phase;
  if (with_counters) count(read_gpu_counters(nvml_, device_));
}

void BurnWatch::count(const GpuCounters& now) {
  gpu_.ecc_uncorrectable = risen_since(before_.uncorrectable, now.uncorrectable);
  gpu_.ecc_corrected = risen_since(before_.corrected, now.corrected);
  gpu_.pcie_replays = risen_since(before_.replays, now.replays);
  for (const auto& [name, count] : now.nvlink) {
    const auto was = before_.nvlink.find(name);
    const std::uint64_t more = was != before_.nvlink.end() && count > was->second ? count - was->second : 0;
    if (more > 0) gpu_.nvlink_errors[name] = more;
  }
}

void BurnWatch::enter(std::optional<BurnPhase> phase) {
  phase_.store(phase ? static_cast<int>(*phase) : -1);
  const std::lock_guard lock(mutex_);
  gpu_.phase = phase ? std::string(enum_names(BurnPhase{})[static_cast<std::size_t>(*phase)]) : "";
}

BurnTally& BurnWatch::tally(BurnPhase phase) {
  const auto known = std::ranges::find(gpu_.tallies, phase, &BurnTally::phase);
  if (known != gpu_.tallies.end()) return *known;
  gpu_.tallies.push_back({.phase = phase});
  return gpu_.tallies.back();
}

BurnGpu BurnWatch::look() {
  const std::lock_guard lock(mutex_);
  gpu_.seconds = at();
  gpu_.course = course_.course();
  return gpu_;
}

void BurnWatch::finish() {
  over_.store(true);
  if (!xid_watch_ || !nvml_mutex_.try_lock_for(kLastSample)) return;
  sample(true);
  nvml_mutex_.unlock();
}

std::optional<double> BurnWatch::watts() {
  const std::lock_guard lock(mutex_);
  return watts_;
}

std::optional<int> BurnWatch::temperature() {
  const std::lock_guard lock(mutex_);
  return temperature_;
}

std::optional<double> BurnWatch::joules() {
  if (device_ == nullptr) return std::nullopt;
  const auto millijoules =
      meter_.number<std::uint64_t, unsigned long long>("nvmlDeviceGetTotalEnergyConsumption", device_);
  if (!millijoules) return std::nullopt;
  return static_cast<double>(*millijoules) / 1e3;
}

}  // namespace railbed
