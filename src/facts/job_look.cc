#include "facts/job_look.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/moment.h"
#include "base/text.h"
#include "facts/gpu.h"
#include "facts/network/net.h"
#include "facts/network/rdma.h"
#include "facts/pcie.h"
#include "facts/readings.h"
#include "host/boot_id.h"
#include "host/management.h"

namespace railbed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostLooked = 256;       // devices of one kind; a captured tree may be hostile
constexpr std::size_t kMostJobCounters = 512;  // of one port or interface
constexpr const char* kInfiniband = "/sys/class/infiniband";
constexpr const char* kNet = "/sys/class/net";
constexpr const char* kPci = "/sys/bus/pci/devices";

// State that the threads of a look share. A thread whose read hangs keeps it alive.
struct SharedGlance {
  std::mutex mutex;
  std::condition_variable done;
  JobGlance glance;
  std::map<std::string, JobCounters> held_back = {};  // by the GPU's address
  bool closed = false;                                // the look is over: later results are dropped
  std::map<std::string, std::string> running = {};    // part → GPU's address; empty for other parts
};

// Gives the result of one part to the look, unless that is over.
void deliver(SharedGlance& shared, const std::function<void(JobGlance&)>& put) {
  const std::lock_guard lock(shared.mutex);
  if (!shared.closed) put(shared.glance);
}

using GlancePart = std::function<void(Host&, SharedGlance&)>;

void start_part(const std::shared_ptr<Host>& host, const std::shared_ptr<SharedGlance>& shared,
                const std::string& name, const std::string& gpu, GlancePart part) {
  {
    const std::lock_guard lock(shared->mutex);
    shared->running.emplace(name, gpu);
  }
  std::thread([host, shared, name, part = std::move(part)] {
    part(*host, *shared);
    const std::lock_guard lock(shared->mutex);
    shared->running.erase(name);
    shared->done.notify_all();
  }).detach();
}

void put_counters(const std::map<std::string, Reading<std::uint64_t>>& from, JobCounters& into) {
  for (const auto& [name, value] : from)
    if (value && into.size() < kMostJobCounters) into.emplace(name, *value);
}

// A read that failed although the thing is there. What the kernel or the driver does not have is no failure.
std::optional<std::string> failure_of(const Miss& miss, std::string_view what) {
  if (miss.missing == Missing::kAbsent || miss.missing == Missing::kUnsupported) return std::nullopt;
  return fmt::format("{}: {}", what, miss.why);
}

void look_at_rdma(Host& host, SharedGlance& shared, const std::string& device) {
  const bool counts = !manages_nvswitches(host, device).value_or(false);
  const auto numbers = host.list(fmt::format("{}/{}/ports", kInfiniband, device));
  std::map<std::string, JobPort> ports;
  for (const std::string& number : items(numbers)) {
    const auto parsed = parse_number<int>(number);
    if (!parsed || ports.size() >= kMostLooked) continue;
    RdmaPort port;
    port.number = *parsed;
    read_port(host, device, counts, port);
    JobPort& found = ports[fmt::format("{}/{}", device, *parsed)];
    found.state = port.state.value_or("");
    found.rate = port.rate_text.value_or("");
    put_counters(port.counters, found.counters);
    put_counters(port.hw_counters, found.counters);
  }
  deliver(shared, [&](JobGlance& glance) { glance.look.ports.merge(ports); });
}

void look_at_interface(Host& host, SharedGlance& shared, const std::string& name) {
  const std::string folder = fmt::format("{}/{}", kNet, name);
  NetInterface link;
  link.name = name;
  read_link(host, link);
  JobInterface found;
  if (const auto devices = host.list(folder + "/device/infiniband"); devices && !devices->empty())
    found.rdma = devices->front();
  found.on = link.administratively_up.to_optional();
  found.carrier = link.carrier.to_optional();
  if (link.carrier_changes) found.counters.emplace("carrier_changes", *link.carrier_changes);
  if (const auto answer = host.call("statistics " + name))
    if (const auto counted = json::read<std::map<std::string, std::uint64_t>>(*answer))
      for (const auto& [counter, value] : *counted)
        if (counter.find("pause_storm") != std::string::npos) found.counters.emplace(counter, value);
  deliver(shared, [&](JobGlance& glance) { glance.look.interfaces.emplace(name, std::move(found)); });
}

void look_at_pci(Host& host, SharedGlance& shared, const std::vector<std::string>& addresses) {
  std::map<std::string, JobCounters> found;
  for (const std::string& address : addresses) {
    JobCounters errors = pcie_errors(host, address);
    if (!errors.empty()) found.emplace(address, std::move(errors));
  }
  deliver(shared, [&](JobGlance& glance) { glance.look.pci = std::move(found); });
}

JobGpu job_gpu_of(const NvmlGpu& nvml) {
  JobGpu gpu;
  gpu.uuid = nvml.uuid.value_or("");
  gpu.name = nvml.name.value_or("");
  const auto count = [&](const char* name, const auto& reading) {
    if (reading) gpu.counters.emplace(name, *reading);
  };
  count("ecc_uncorrectable", nvml.ecc_volatile_uncorrectable);
  count("ecc_corrected", nvml.ecc_volatile_corrected);
  count("ecc_lifetime", nvml.ecc_aggregate_uncorrectable);
  count("rows_remapped_corrected", nvml.remapped_correctable);
  count("rows_remapped_uncorrectable", nvml.remapped_uncorrectable);
  count("pages_retired", nvml.retired_pages);
  count("pcie_replays", nvml.pcie_replays);
  count("energy", nvml.energy);
  if (nvml.nvlinks) {
    int active = 0;
    for (const auto& [number, link] : *nvml.nvlinks) {
      active += link.active ? 1 : 0;
      for (const auto& [name, errors] : link.errors) gpu.nvlink[name] += errors;
    }
    gpu.nvlinks = active;
  }
  gpu.remap_pending = nvml.remap_pending.to_optional();
  gpu.remap_failed = nvml.remap_failed.to_optional();
  gpu.recovery_action = nvml.recovery_action.value_or("");
  gpu.pcie_generation_max = nvml.pcie_generation_max.to_optional();
  gpu.pcie_width_max = nvml.pcie_width_max.to_optional();
  gpu.pcie_width = nvml.pcie_width.to_optional();
  gpu.sm_clock = nvml.sm_clock.to_optional();
  gpu.memory_clock = nvml.memory_clock.to_optional();
  gpu.temperature = nvml.temperature.to_optional();
  gpu.memory_temperature = nvml.memory_temperature.to_optional();
  gpu.power = nvml.power.to_optional();
  gpu.power_limit = nvml.power_limit.to_optional();
  gpu.event_reasons = nvml.event_reasons.to_optional();
  return gpu;
}

void look_at_gpu(Host& host, SharedGlance& shared, const std::string& address) {
  const auto nvml = read_nvml(host, address);
  JobGpu gpu;
  if (nvml)
    gpu = job_gpu_of(*nvml);
  else
    gpu.unread = nvml.miss().why;
  deliver(shared, [&](JobGlance& glance) { glance.look.gpus.insert_or_assign(address, std::move(gpu)); });
}

// Reads for how long each GPU was held back. A call that fails leaves the times unknown, which is no failure: drivers before 580 do not count most of them.
void look_at_slowdowns(Host& host, SharedGlance& shared) {
  const auto answer = host.call("nvml held-back");
  if (!answer) return;
  const auto held = json::read<std::map<std::string, JobCounters>>(*answer);
  if (!held) return;
  const std::lock_guard lock(shared.mutex);
  if (!shared.closed) shared.held_back = *held;
}

void look_at_log(Host& host, SharedGlance& shared, double since) {
  auto log = collect_kernel_log(host, utc_text(since));
  if (!log && log.absent()) log = collect_kernel_log(host, "");  // a captured log is kept whole
  if (log) {
    KernelLog of_job = *log;
    std::erase_if(of_job.events, [&](const LogEvent& event) { return event.last < since; });
    log = {std::move(of_job), log.from()};
  }
  deliver(shared, [&](JobGlance& glance) { glance.log = std::move(log); });
}

bool is_gpu_at(Host& host, const std::string& address) {
  const std::string folder = fmt::format("{}/{}", kPci, address);
  return host.read_line(folder + "/vendor").value_or("") == "0x10de" &&
         host.read_line(folder + "/class").value_or("").starts_with("0x03");
}

// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build …": the version is the first word
// that looks like one.
std::string driver_version(Host& host) {
  const auto text = host.read("/proc/driver/nvidia/version", 4096);
  if (!text) return {};
  for (const auto word : words(*text))
    if (is_driver_version(word)) return std::string(word);
  return "unknown";
}

}  // namespace

JobGlance glance_at_node(const std::shared_ptr<Host>& host, std::chrono::milliseconds patience,
                         std::optional<double> log_since) {
  const auto began = Clock::now();
  const auto shared = std::make_shared<SharedGlance>();
  JobLook& look = shared->glance.look;
  look.time = now_unix();
  look.boot_id = read_boot_id(*host).value_or("");
  look.uptime =
      host->read_line("/proc/uptime")
          .parsed([](const std::string& line) { return parse_real(line.substr(0, line.find(' '))); })
          .to_optional();
  look.driver = driver_version(*host);

  if (log_since)
    start_part(host, shared, "the kernel's log", "",
               [since = *log_since](Host& of, SharedGlance& into) { look_at_log(of, into, since); });
  auto addresses = host->list(kPci).value_or({});
  std::erase_if(addresses, [](const std::string& one) { return sysfs_pci_address(one) != one; });
  addresses.resize(std::min(addresses.size(), kMostOfAKind));
  std::size_t gpus = 0;
  for (const std::string& address : addresses)
    if (is_gpu_at(*host, address) && ++gpus <= kMostLooked) {
      // NVML needs the driver.
      if (look.driver.empty()) {
        deliver(*shared,
                [&](JobGlance& glance) { glance.look.gpus[address].unread = "no driver is loaded"; });
        continue;
      }
      start_part(host, shared, "GPU " + address, address,
                 [address](Host& of, SharedGlance& into) { look_at_gpu(of, into, address); });
    }
  if (!look.driver.empty() && gpus > 0)
    start_part(host, shared, "how long GPUs were held back", "", look_at_slowdowns);
  start_part(host, shared, "PCI errors", "",
             [addresses](Host& of, SharedGlance& into) { look_at_pci(of, into, addresses); });
  const auto devices = device_names(*host, kInfiniband, kLongestDevice, kMostLooked);
  const auto interfaces = device_names(*host, kNet, kLongestInterface, kMostOfAKind);
  std::vector<std::string> unread;
  for (const auto* list : {&devices, &interfaces})
    if (!*list)
      if (auto why = failure_of(list->miss(), list->from())) unread.push_back(std::move(*why));
  for (const std::string& device : items(devices))
    start_part(host, shared, "RDMA device " + device, "",
               [device](Host& of, SharedGlance& into) { look_at_rdma(of, into, device); });
  std::size_t looked = 0;
  for (const std::string& name : items(interfaces))
    if (host->resolve(fmt::format("{}/{}/device", kNet, name)) && ++looked <= kMostLooked)
      start_part(host, shared, "interface " + name, "",
                 [name](Host& of, SharedGlance& into) { look_at_interface(of, into, name); });

  std::unique_lock lock(shared->mutex);
  shared->done.wait_until(lock, began + patience, [&] { return shared->running.empty(); });
  shared->closed = true;
  JobGlance glance = std::move(shared->glance);
  for (auto& [address, held] : shared->held_back)
    if (const auto gpu = glance.look.gpus.find(address); gpu != glance.look.gpus.end())
      gpu->second.held_back = std::move(held);
  const std::string late =
      fmt::format("no answer within {:.3g} s", std::chrono::duration<double>(patience).count());
  for (const auto& [part, gpu] : shared->running) {
    if (!gpu.empty())
      glance.look.gpus[gpu].unread = late;
    else
      unread.push_back(fmt::format("{}: {}", part, late));
  }
  glance.hangs = !shared->running.empty();
  if (log_since && glance.hangs && shared->running.contains("the kernel's log"))
    glance.log = {Miss{Missing::kTimeout, late}, "kernel-log"};
  glance.look.unread = std::move(unread);
  glance.look.took = std::chrono::duration<double>(Clock::now() - began).count();
  return glance;
}

}  // namespace railbed
