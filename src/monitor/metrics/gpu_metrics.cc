// Exports GPUs under the names, labels and units of NVIDIA's dcgm-exporter (etc/default-counters.csv of its
// repository), with values from NVML. Also exports how often each Xid is in the kernel's log, because
// dcgm-exporter's gauge holds only the last one.
#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "monitor/metrics/families.h"

namespace railbed {
namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;

// One metric of a GPU; `value` returns nullopt if the GPU does not report it.
struct GpuField {
  std::string_view metric;
  std::string_view type;
  std::string_view help;
  std::optional<double> (*value)(const NvmlGpu& gpu);
};

template <class T>
std::optional<double> number(const Reading<T>& reading) {
  return reading.ok() ? std::optional(static_cast<double>(*reading)) : std::nullopt;
}

std::optional<double> mebibytes(const Reading<std::uint64_t>& bytes) {
  return bytes.ok() ? std::optional(static_cast<double>(*bytes) / kMebibyte) : std::nullopt;
}

// Returns the sum over the links that have this counter; nullopt if none has.
std::optional<double> sum_of_links(const NvmlGpu& gpu, std::string_view counter) {
  if (!gpu.nvlinks.ok()) return std::nullopt;
  std::optional<double> sum;
  for (const auto& [number, link] : *gpu.nvlinks)
    if (const auto found = link.errors.find(std::string(counter)); found != link.errors.end())
      sum = sum.value_or(0) + static_cast<double>(found->second);
  return sum;
}

constexpr std::array kGpuFields = {
    GpuField{"DCGM_FI_DEV_SM_CLOCK", "gauge", "Clock of the multiprocessors, MHz.",
             [](const NvmlGpu& gpu) { return number(gpu.sm_clock); }},
    GpuField{"DCGM_FI_DEV_MEM_CLOCK", "gauge", "Clock of the memory, MHz.",
             [](const NvmlGpu& gpu) { return number(gpu.memory_clock); }},
    GpuField{"DCGM_FI_DEV_GPU_TEMP", "gauge", "Temperature, degrees Celsius.",
             [](const NvmlGpu& gpu) { return number(gpu.temperature); }},
    GpuField{"DCGM_FI_DEV_MEMORY_TEMP", "gauge", "Temperature of the memory, degrees Celsius.",
             [](const NvmlGpu& gpu) { return number(gpu.memory_temperature); }},
    GpuField{"DCGM_FI_DEV_FAN_SPEED", "gauge", "Speed that the driver asks of the fan, percent.",
             [](const NvmlGpu& gpu) { return number(gpu.fan_speed); }},
    GpuField{"DCGM_FI_DEV_POWER_USAGE", "gauge", "Power, W.",
             [](const NvmlGpu& gpu) { return number(gpu.power); }},
    GpuField{"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", "Energy since the driver was loaded, mJ.",
             [](const NvmlGpu& gpu) { return number(gpu.energy); }},
    GpuField{"DCGM_FI_DEV_GPU_UTIL", "gauge", "Share of the time in which a kernel ran, percent.",
             [](const NvmlGpu& gpu) { return number(gpu.utilisation); }},
    GpuField{"DCGM_FI_DEV_MEM_COPY_UTIL", "gauge",
             "Share of the time in which memory was read or written, percent.",
             [](const NvmlGpu& gpu) { return number(gpu.memory_utilisation); }},
    GpuField{"DCGM_FI_DEV_ENC_UTIL", "gauge", "Use of the video encoder, percent.",
             [](const NvmlGpu& gpu) { return number(gpu.encoder_utilisation); }},
    GpuField{"DCGM_FI_DEV_DEC_UTIL", "gauge", "Use of the video decoder, percent.",
             [](const NvmlGpu& gpu) { return number(gpu.decoder_utilisation); }},
    GpuField{"DCGM_FI_DEV_FB_USED", "gauge", "Memory in use, MiB.",
             [](const NvmlGpu& gpu) { return mebibytes(gpu.memory_used); }},
    GpuField{"DCGM_FI_DEV_FB_FREE", "gauge", "Memory that is free, MiB; the driver keeps some of the rest.",
             [](const NvmlGpu& gpu) { return mebibytes(gpu.memory_free); }},
    GpuField{"DCGM_FI_DEV_FB_TOTAL", "gauge", "Memory, MiB.",
             [](const NvmlGpu& gpu) { return mebibytes(gpu.memory); }},
    GpuField{"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "counter", "Packets that were sent over PCIe again.",
             [](const NvmlGpu& gpu) { return number(gpu.pcie_replays); }},
    GpuField{"DCGM_FI_DEV_PCIE_LINK_GEN", "gauge",
             "Generation that the PCIe link runs at now; it sleeps when idle.",
             [](const NvmlGpu& gpu) { return number(gpu.pcie_generation); }},
    GpuField{"DCGM_FI_DEV_PCIE_LINK_WIDTH", "gauge", "Lanes of the PCIe link.",
             [](const NvmlGpu& gpu) { return number(gpu.pcie_width); }},
    GpuField{"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "counter",
             "Memory errors corrected since the driver was loaded.",
             [](const NvmlGpu& gpu) { return number(gpu.ecc_volatile_corrected); }},
    GpuField{"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "counter",
             "Memory errors that could not be corrected since the driver was loaded.",
             [](const NvmlGpu& gpu) { return number(gpu.ecc_volatile_uncorrectable); }},
    GpuField{"DCGM_FI_DEV_ECC_DBE_AGG_TOTAL", "counter", "Likewise, in the GPU's life.",
             [](const NvmlGpu& gpu) { return number(gpu.ecc_aggregate_uncorrectable); }},
    GpuField{"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "counter",
             "Rows of memory replaced for corrected errors.",
             [](const NvmlGpu& gpu) { return number(gpu.remapped_correctable); }},
    GpuField{"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "counter",
             "Rows of memory replaced for errors that could not be corrected.",
             [](const NvmlGpu& gpu) { return number(gpu.remapped_uncorrectable); }},
    GpuField{"DCGM_FI_DEV_ROW_REMAP_FAILURE", "gauge", "1 where a row could not be replaced.",
             [](const NvmlGpu& gpu) { return number(gpu.remap_failed); }},
    GpuField{"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "gauge", "Bits: why the clocks are not at their highest.",
             [](const NvmlGpu& gpu) { return number(gpu.event_reasons); }},
    GpuField{"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", "counter",
             "Checksum errors of NVLink, all links.",
             [](const NvmlGpu& gpu) { return sum_of_links(gpu, "crc"); }},
    GpuField{"DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", "counter", "Replays of NVLink, all links.",
             [](const NvmlGpu& gpu) { return sum_of_links(gpu, "replay"); }},
    GpuField{"DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", "counter", "Recoveries of NVLink, all links.",
             [](const NvmlGpu& gpu) { return sum_of_links(gpu, "recovery"); }},
};

// One metric of what a GPU did within a tenth of a second.
struct ActivityField {
  std::string_view metric;
  std::string_view help;
  Reading<double> GpuActivity::*reading;
  double factor;
};

constexpr ActivityField kActivityFields[] = {
    {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "Share of the time in which the engine is busy.",
     &GpuActivity::graphics, 1},
    {"DCGM_FI_PROF_SM_ACTIVE", "Share of the multiprocessors that have a warp.", &GpuActivity::sm, 1},
    {"DCGM_FI_PROF_SM_OCCUPANCY", "Warps as a share of those that fit.", &GpuActivity::occupancy, 1},
    {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "Share of the cycles in which the tensor pipe is busy.",
     &GpuActivity::tensor, 1},
    {"DCGM_FI_PROF_DRAM_ACTIVE", "Share of the cycles in which the memory moves data.", &GpuActivity::memory,
     1},
    {"DCGM_FI_PROF_PIPE_FP64_ACTIVE", "Share of the cycles in which the FP64 pipe is busy.",
     &GpuActivity::fp64, 1},
    {"DCGM_FI_PROF_PIPE_FP32_ACTIVE", "Share of the cycles in which the FP32 pipe is busy.",
     &GpuActivity::fp32, 1},
    {"DCGM_FI_PROF_PIPE_FP16_ACTIVE", "Share of the cycles in which the FP16 pipe is busy.",
     &GpuActivity::fp16, 1},
    {"DCGM_FI_PROF_PCIE_TX_BYTES", "Sent over PCIe, bytes per second.", &GpuActivity::pcie_sent, 1},
    {"DCGM_FI_PROF_PCIE_RX_BYTES", "Received over PCIe, bytes per second.", &GpuActivity::pcie_received, 1},
    {"DCGM_FI_PROF_NVLINK_TX_BYTES", "Sent over NVLink, bytes per second.", &GpuActivity::nvlink_sent, 1},
    {"DCGM_FI_PROF_NVLINK_RX_BYTES", "Received over NVLink, bytes per second.", &GpuActivity::nvlink_received,
     1},
    {"DCGM_FI_DEV_PCIE_TX_THROUGHPUT", "Sent over PCIe, kB per second.", &GpuActivity::pcie_sent, 1e-3},
    {"DCGM_FI_DEV_PCIE_RX_THROUGHPUT", "Received over PCIe, kB per second.", &GpuActivity::pcie_received,
     1e-3},
};

// Returns the address in NVML's form, which DCGM uses: eight digits of domain, upper case.
std::string dcgm_address(std::string_view address) {
  std::string text = (address.find(':') == 4 ? "0000" : "") + std::string(address);
  for (char& c : text)
    if (c >= 'a' && c <= 'f') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

struct GpuLabels {
  std::string sysfs;  // the address as sysfs has it: the key of the readings
  std::string number;
  std::string uuid;
  std::string address;
  std::string device;
  std::string model;
};

// Returns the GPUs that NVML could read, numbered in the order of their addresses.
std::vector<std::pair<GpuLabels, const NvmlGpu*>> gpus_that_answer(const GpuReadings& gpus) {
  std::vector<std::pair<GpuLabels, const NvmlGpu*>> found;
  for (const auto& [address, gpu] : gpus) {
    if (!gpu.ok()) continue;
    const std::string number = std::to_string(found.size());
    found.push_back({{address, number, gpu->uuid.value_or(""), dcgm_address(address), "nvidia" + number,
                      gpu->name.value_or("")},
                     &*gpu});
  }
  return found;
}

// Returns the labels by which dcgm-exporter names the job of a GPU, as far as they are known; none if jobs share the GPU,
// because its values are of all of them. Gauges alone get them: an error that ends a job would end the counter's series,
// too, and the series after it would begin with the error counted, which increase() misses.
std::vector<Exposition::Label> labels_of_job(const NodeState& state, const std::string& address) {
  if (!state.jobs) return {};
  const auto jobs = state.jobs->find(address);
  if (jobs == state.jobs->end() || jobs->second.size() != 1) return {};
  const GpuJob& job = jobs->second.front();
  std::vector<Exposition::Label> labels;
  if (!job.hpc_job.empty()) labels.emplace_back("hpc_job", job.hpc_job);
  if (job.pod.empty()) return labels;
  labels.emplace_back("pod", job.pod);
  if (!job.name_space.empty()) labels.emplace_back("namespace", job.name_space);
  if (!job.container.empty()) labels.emplace_back("container", job.container);
  return labels;
}

void add_jobs(const NodeState& state, Exposition& out) {
  if (!state.jobs || state.jobs->empty()) return;
  out.announce(
      "railbed_gpu_processes", "gauge",
      "Processes on the GPU, by Slurm's job, user, pod and container; a label that is not known is empty.");
  for (const auto& [address, jobs] : *state.jobs)
    for (const GpuJob& job : jobs)
      out.sample("railbed_gpu_processes",
                 {{"pci_bus_id", dcgm_address(address)},
                  {"hpc_job", job.hpc_job},
                  {"user", job.user},
                  {"pod", job.pod},
                  {"namespace", job.name_space},
                  {"container", job.container}},
                 job.processes);
}

void add_spells(const NodeState& state, Exposition& out) {
  if (!state.look || !state.look->watched || state.look->watched->work.jobs.empty()) return;
  out.announce(
      "railbed_job_spin_seconds", "gauge",
      "How long the job's GPUs here have spun or rested without traffic; 0: it works. Only jobs of several GPUs.");
  for (const JobSpell& spell : state.look->watched->work.jobs)
    if (spell.unread.empty())
      out.sample("railbed_job_spin_seconds",
                 {{"hpc_job", spell.job.hpc_job},
                  {"user", spell.job.user},
                  {"pod", spell.job.pod},
                  {"namespace", spell.job.name_space},
                  {"container", spell.job.container}},
                 spell.seconds());
}

// Returns the device of the event; empty if it concerns a process. Process names are arbitrary, and each
// would be a series that never ends.
std::string device_of(const LogEvent& event) {
  const bool is_process = event.kind == LogKind::kOutOfMemory || event.kind == LogKind::kJobOutOfMemory ||
                          event.kind == LogKind::kHungTask;
  return is_process ? "" : printable(event.subject);
}

bool is_xid(const LogEvent& event) {
  return event.kind == LogKind::kXid || event.kind == LogKind::kXidNvlinkFatal;
}

// Returns the number of the GPU's last Xid since boot; 0 if there is none.
int last_xid(const NodeState& state, std::string_view address) {
  if (!state.look || !state.look->facts.kernel_log.ok()) return 0;
  const LogEvent* last = nullptr;
  for (const LogEvent& event : state.look->facts.kernel_log->events)
    if (is_xid(event) && dcgm_address(event.subject) == address &&
        (last == nullptr || event.last > last->last))
      last = &event;
  return last == nullptr ? 0 : last->code;
}

}  // namespace

void add_gpus(const NodeState& state, Exposition& out) {
  if (!state.gpus || state.gpus->empty()) return;
  const std::string host = state.look ? state.look->facts.system.os.hostname.value_or("") : "";
  out.announce("railbed_gpu_answers", "gauge", "1 where NVML answers for the GPU.");
  for (const auto& [address, gpu] : *state.gpus)
    out.sample("railbed_gpu_answers", {{"pci_bus_id", dcgm_address(address)}}, gpu.ok() ? 1 : 0);
  add_jobs(state, out);
  add_spells(state, out);
  const auto gpus = gpus_that_answer(*state.gpus);
  std::vector<std::vector<Exposition::Label>> labels_of;
  for (const auto& [labels, gpu] : gpus)
    labels_of.push_back({{"gpu", labels.number},
                         {"UUID", labels.uuid},
                         {"pci_bus_id", labels.address},
                         {"device", labels.device},
                         {"modelName", labels.model},
                         {"Hostname", host}});
  auto labels_with_job = labels_of;
  for (std::size_t i = 0; i < gpus.size(); ++i)
    std::ranges::copy(labels_of_job(state, gpus[i].first.sysfs), std::back_inserter(labels_with_job[i]));
  const auto each = [&](std::string_view metric, std::string_view type, std::string_view help,
                        auto&& value_of) {
    bool announced = false;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const std::optional<double> value = value_of(gpus[i].first, *gpus[i].second);
      if (!value) continue;
      if (!announced) out.announce(metric, type, help);
      announced = true;
      out.sample(metric, (type == "gauge" ? labels_with_job : labels_of)[i], *value);
    }
  };
  for (const GpuField& field : kGpuFields)
    each(field.metric, field.type, field.help,
         [&](const GpuLabels&, const NvmlGpu& gpu) { return field.value(gpu); });
  for (const ActivityField& field : kActivityFields)
    each(field.metric, "gauge", field.help,
         [&](const GpuLabels& labels, const NvmlGpu&) -> std::optional<double> {
           if (!state.activity || !state.activity->contains(labels.sysfs)) return std::nullopt;
           const auto value = number(state.activity->at(labels.sysfs).*field.reading);
           return value ? std::optional(*value * field.factor) : value;
         });
  each("DCGM_FI_DEV_XID_ERRORS", "gauge", "The last Xid since boot; 0: none.",
       [&](const GpuLabels& labels, const NvmlGpu&) { return last_xid(state, labels.address); });
}

void add_kernel_log(const NodeState& state, Exposition& out) {
  if (!state.look || !state.look->facts.kernel_log.ok()) return;
  const auto& events = state.look->facts.kernel_log->events;
  std::map<std::pair<std::string, int>, std::uint64_t> xids;
  for (const LogEvent& event : events)
    if (is_xid(event)) xids[{dcgm_address(event.subject), event.code}] += event.count;
  out.announce("railbed_xid_total", "counter", "Xids that the kernel's log holds since boot, by GPU.");
  for (const auto& [labels, count] : xids)
    out.sample("railbed_xid_total", {{"pci_bus_id", labels.first}, {"xid", std::to_string(labels.second)}},
               count);
  std::map<std::pair<std::string_view, std::string>, std::uint64_t> others;
  for (const LogEvent& event : events)
    if (!is_xid(event))
      others[{enum_names(event.kind)[static_cast<std::size_t>(event.kind)], device_of(event)}] += event.count;
  out.announce(
      "railbed_kernel_log_events_total", "counter",
      "Lines of the kernel's log since boot that tell of hardware, by kind and what they are about.");
  for (const auto& [labels, count] : others)
    out.sample("railbed_kernel_log_events_total", {{"kind", labels.first}, {"subject", labels.second}},
               count);
}

}  // namespace railbed
