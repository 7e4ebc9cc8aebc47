// Parses nvidia-smi -q: sections by indentation, with "Name : value" in them. If drivers use different names
// for a value, both are listed here. A value of words ("N/A", "Unknown Error", "[GPU is lost]") is not a
// number and never becomes 0.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "host/support/nvidia_smi.h"
#include "host/support/texts.h"
#include "nvidia/gpu_answers.h"

namespace railbed {
namespace {

constexpr const char* kFrom = "nvidia-smi -q";
constexpr const char* kLinksFrom = "nvidia-smi nvlink -s";
constexpr const char* kNamesFrom = "nvidia-smi -L";

using Values = SmiValues;

struct Section {
  std::size_t indent;
  std::string name;
};

std::size_t indent_of(std::string_view line) { return std::min(line.find_first_not_of(" \t"), line.size()); }

std::string path_of(const std::vector<Section>& open, std::string_view name) {
  std::string path;
  for (const Section& section : open) path += section.name + "/";
  return path + std::string(name);
}

// Returns the values of one GPU by their path. Repeated names, as those of processes, are numbered:
// "Processes/Process ID#2".
Values values_in(const std::vector<std::string_view>& text) {
  Values values;
  std::vector<Section> open;
  std::map<std::string, int> seen;
  for (const auto line : text) {
    const std::size_t indent = indent_of(line);
    if (indent == line.size() || values.size() > kMostSmiValues) continue;
    while (!open.empty() && open.back().indent >= indent) open.pop_back();
    const auto pair = key_value(line, ':');
    constexpr std::size_t kDeepest = 8;
    if (!pair) {
      if (open.size() < kDeepest) open.push_back({indent, std::string(trim(line))});
      continue;
    }
    std::string path = path_of(open, pair->first);
    if (const int times = ++seen[path]; times > 1) path += fmt::format("#{}", times);
    values.emplace(std::move(path), pair->second);
    if (pair->second.empty()) open.push_back({indent, std::string(pair->first)});
  }
  return values;
}

// Returns one GPU's values as Readings.
class Said {
 public:
  explicit Said(const Values& values) : values_(values) {}

  using Names = std::initializer_list<std::string_view>;  // alternatives; the first that exists is used

  Reading<std::string> text(Names names) const {
    for (const auto name : names) {
      const auto found = values_.find(name);
      if (found == values_.end()) continue;
      const std::string& value = found->second;
      if (value == "N/A" || value == "[N/A]" || value == "Not Supported" || value == "[Not Supported]" ||
          value == "Requested functionality has been deprecated")
        return {Miss{Missing::kUnsupported, value}, kFrom};
      return {value, kFrom};
    }
    return {not_in_report(), kFrom};
  }

  // Parses "1980 MHz", "61.62 W", "16x", "2560 bank(s)".
  template <class T>
  Reading<T> number(Names names) const {
    return text(names).parsed([](const std::string& value) -> std::optional<T> {
      auto word = std::string_view(value).substr(0, value.find(' '));
      if (word.ends_with('x')) word.remove_suffix(1);
      const auto real = parse_real(word);
      if (!real || *real < 0 || *real > 1e15) return std::nullopt;
      return static_cast<T>(*real);
    });
  }
  // Parses a margin, which may be below zero: "-3 C".
  Reading<int> degrees(Names names) const {
    return text(names).parsed([](const std::string& value) {
      return parse_number<int>(std::string_view(value).substr(0, value.find(' ')));
    });
  }
  Reading<std::uint64_t> bytes(Names names) const {
    return text(names).parsed([](const std::string& value) -> std::optional<std::uint64_t> {
      const auto mebibytes = parse_number<std::uint64_t>(std::string_view(value).substr(0, value.find(' ')));
      if (!mebibytes || !value.ends_with(" MiB") || *mebibytes > (std::uint64_t{1} << 40))
        return std::nullopt;
      return *mebibytes << 20;
    });
  }
  Reading<bool> flag(Names names, std::string_view yes, std::string_view no) const {
    return text(names).parsed([&](const std::string& value) {
      return value == yes ? std::optional(true) : value == no ? std::optional(false) : std::nullopt;
    });
  }
  // Returns the sum of several counts; no value if one of them has none.
  Reading<std::uint64_t> sum(const std::vector<std::string>& names) const {
    std::uint64_t total = 0;
    for (const std::string& name : names) {
      const auto count = number<std::uint64_t>({name});
      if (!count) return count;
      total += *count;
    }
    return {total, kFrom};
  }
  bool has(std::string_view name) const { return values_.contains(name); }

 private:
  const Values& values_;
};

// Returns the paths of the counts of uncorrectable errors. GPUs before Ampere count by the number of bits, and
// their total covers the memory and the caches.
std::vector<std::string> uncorrectable_of(const Said& said, const std::string& which) {
  const std::string start = "ECC Errors/" + which + "/";
  if (said.has(start + "SRAM Uncorrectable Parity"))  // since driver 535
    return {start + "SRAM Uncorrectable Parity", start + "SRAM Uncorrectable SEC-DED",
            start + "DRAM Uncorrectable"};
  if (said.has(start + "Double Bit/Total")) return {start + "Double Bit/Total"};
  return {start + "SRAM Uncorrectable", start + "DRAM Uncorrectable"};
}

std::vector<std::string> corrected_of(const Said& said) {
  if (said.has("ECC Errors/Volatile/Single Bit/Total")) return {"ECC Errors/Volatile/Single Bit/Total"};
  return {"ECC Errors/Volatile/SRAM Correctable", "ECC Errors/Volatile/DRAM Correctable"};
}

void read_errors(const Said& said, NvmlGpu& gpu) {
  gpu.ecc = said.flag({"ECC Mode/Current", "Ecc Mode/Current"}, "Enabled", "Disabled");
  gpu.ecc_pending = said.flag({"ECC Mode/Pending", "Ecc Mode/Pending"}, "Enabled", "Disabled");
  gpu.ecc_volatile_uncorrectable = said.sum(uncorrectable_of(said, "Volatile"));
  gpu.ecc_volatile_corrected = said.sum(corrected_of(said));
  auto aggregate = uncorrectable_of(said, "Aggregate");
  gpu.ecc_aggregate_uncorrectable = said.sum(aggregate);
  if (aggregate.size() > 1) {
    aggregate.pop_back();
    gpu.sram_aggregate_uncorrectable = said.sum(aggregate);
  }
  gpu.sram_threshold_exceeded = said.flag({"ECC Errors/Aggregate/SRAM Threshold Exceeded"}, "Yes", "No");
  gpu.remapped_correctable = said.number<std::uint32_t>({"Remapped Rows/Correctable Error"});
  gpu.remapped_uncorrectable = said.number<std::uint32_t>({"Remapped Rows/Uncorrectable Error"});
  gpu.remap_pending = said.flag({"Remapped Rows/Pending"}, "Yes", "No");
  gpu.remap_failed = said.flag({"Remapped Rows/Remapping Failure Occurred"}, "Yes", "No");
  gpu.retired_pages =
      said.sum({"Retired Pages/Single Bit ECC", "Retired Pages/Double Bit ECC"})
          .parsed([](std::uint64_t pages) { return std::optional(static_cast<std::uint32_t>(pages)); });
  gpu.retired_pending =
      said.flag({"Retired Pages/Pending Page Blacklist", "Retired Pages/Pending"}, "Yes", "No");
}

void read_banks(const Said& said, NvmlGpu& gpu) {
  NvmlHistogram banks;
  for (const auto& [name, field] : {std::pair{"Max", &NvmlHistogram::max},
                                    {"High", &NvmlHistogram::high},
                                    {"Partial", &NvmlHistogram::partial},
                                    {"Low", &NvmlHistogram::low},
                                    {"None", &NvmlHistogram::none}}) {
    const std::string path = fmt::format("Remapped Rows/Bank Remap Availability Histogram/{}", name);
    const auto count = said.number<std::uint32_t>({path});
    if (!count) {
      gpu.remap_banks = {count.miss(), kFrom};
      return;
    }
    banks.*field = *count;
  }
  gpu.remap_banks = {banks, kFrom};
}

// Bits as nvml.h names them (nvmlClocksEventReason…).
Reading<std::uint64_t> event_reasons(const Said& said) {
  constexpr std::pair<std::string_view, std::uint64_t> kReasons[] = {
      {"Idle", 0x1},        {"Applications Clocks Setting", 0x2}, {"SW Power Cap", 0x4},
      {"HW Slowdown", 0x8}, {"HW Thermal Slowdown", 0x40},        {"HW Power Brake Slowdown", 0x80},
      {"Sync Boost", 0x10}, {"SW Thermal Slowdown", 0x20},        {"Display Clock Setting", 0x100}};
  std::uint64_t reasons = 0;
  bool any = false;
  for (const auto& [name, bit] : kReasons) {
    const std::string now = fmt::format("Clocks Event Reasons/{}", name);
    const std::string before = fmt::format("Clocks Throttle Reasons/{}", name);  // before driver 535
    const auto active = said.flag({now, before}, "Active", "Not Active");
    if (active) any = true;
    if (active.value_or(false)) reasons |= bit;
  }
  if (!any) return {not_in_report(), kFrom};
  return {reasons, kFrom};
}

// Returns the margin, which GPUs before Hopper do not print: they print the temperature at which they slow down.
Reading<int> margin_in(const Said& said) {
  const auto margin = said.degrees({"Temperature/GPU T.Limit Temp"});
  const auto slow = said.degrees({"Temperature/GPU Slowdown Temp", "Temperature/GPU Slow Temp"});
  const auto now = said.degrees({"Temperature/GPU Current Temp"});
  if (margin || !slow || !now) return margin;
  return {*slow - *now, kFrom};
}

void read_clocks_and_power(const Said& said, NvmlGpu& gpu) {
  gpu.sm_clock = said.number<int>({"Clocks/SM"});
  gpu.sm_clock_max = said.number<int>({"Max Clocks/SM"});
  gpu.memory_clock = said.number<int>({"Clocks/Memory"});
  gpu.memory_clock_max = said.number<int>({"Max Clocks/Memory"});
  gpu.event_reasons = event_reasons(said);
  gpu.power = said.number<double>({"GPU Power Readings/Average Power Draw", "GPU Power Readings/Power Draw",
                                   "Power Readings/Power Draw"});
  gpu.power_limit =
      said.number<double>({"GPU Power Readings/Current Power Limit", "Power Readings/Enforced Power Limit"});
  gpu.power_limit_default =
      said.number<double>({"GPU Power Readings/Default Power Limit", "Power Readings/Default Power Limit"});
  gpu.temperature = said.degrees({"Temperature/GPU Current Temp"});
  gpu.temperature_margin = margin_in(said);
  gpu.memory_temperature = said.degrees({"Temperature/Memory Current Temp"});
  gpu.fan_speed = said.number<int>({"Fan Speed"});
}

void read_link_and_memory(const Said& said, NvmlGpu& gpu) {
  gpu.pcie_generation = said.number<int>({"PCI/GPU Link Info/PCIe Generation/Current"});
  gpu.pcie_generation_max = said.number<int>({"PCI/GPU Link Info/PCIe Generation/Max"});
  gpu.pcie_generation_gpu = said.number<int>({"PCI/GPU Link Info/PCIe Generation/Device Max"});
  gpu.pcie_width = said.number<int>({"PCI/GPU Link Info/Link Width/Current"});
  gpu.pcie_width_max = said.number<int>({"PCI/GPU Link Info/Link Width/Max"});
  gpu.pcie_replays = said.number<std::uint32_t>({"PCI/Replays Since Reset", "PCI/Replays since reset"});
  gpu.bar1 = said.bytes({"BAR1 Memory Usage/Total"});
  gpu.memory = said.bytes({"FB Memory Usage/Total"});
  gpu.memory_used = said.bytes({"FB Memory Usage/Used"});
  gpu.utilisation = said.number<int>({"Utilization/GPU", "Utilization/Gpu"});
}

Reading<std::string> among(const Reading<std::string>& said,
                           std::initializer_list<std::pair<std::string_view, std::string_view>> words) {
  return said.parsed([&](const std::string& value) -> std::optional<std::string> {
    for (const auto& [theirs, ours] : words)
      if (value == theirs) return std::string(ours);
    return std::nullopt;
  });
}

// Returns the action that the driver asks for. Drivers 525 to 565 state two flags instead; "No" in both does not
// mean that nothing is to be done, so only "Yes" is used.
Reading<std::string> recovery_in(const Said& said) {
  auto action = among(said.text({"GPU Recovery Action"}), {{"None", "none"},
                                                           {"Reset", "reset"},
                                                           {"GPU Reset", "reset"},
                                                           {"Reboot", "reboot"},
                                                           {"Node Reboot", "reboot"},
                                                           {"Drain P2P", "drain P2P"},
                                                           {"Drain and Reset", "drain and reset"}});
  if (action || !action.unknown()) return action;
  if (said.text({"GPU Reset Status/Drain and Reset Recommended"}).value_or("") == "Yes")
    return {"drain and reset", kFrom};
  if (said.text({"GPU Reset Status/Reset Required"}).value_or("") == "Yes") return {"reset", kFrom};
  return action;
}

void read_modes(const Said& said, NvmlGpu& gpu) {
  gpu.name = said.text({"Product Name"});
  gpu.uuid = said.text({"GPU UUID"});
  gpu.vbios = said.text({"VBIOS Version"});
  gpu.gsp_firmware = said.text({"GSP Firmware Version"});
  gpu.persistence = said.flag({"Persistence Mode"}, "Enabled", "Disabled");
  gpu.mig = said.flag({"MIG Mode/Current"}, "Enabled", "Disabled");
  gpu.compute_mode = among(said.text({"Compute Mode"}), {{"Default", "default"},
                                                         {"Exclusive_Thread", "exclusive thread"},
                                                         {"Prohibited", "prohibited"},
                                                         {"Exclusive_Process", "exclusive process"}});
  gpu.recovery_action = recovery_in(said);
}

Reading<NvmlFabric> fabric_in(const Said& said) {
  const auto state =
      among(said.text({"Fabric/State"}),
            {{"Completed", "completed"}, {"In Progress", "in progress"}, {"Not Started", "not started"}});
  if (!state) return {state.miss(), kFrom};
  NvmlFabric fabric{*state, said.text({"Fabric/Status"}).value_or(""), ""};
  if (fabric.status == "Success") fabric.status = "NVML_SUCCESS";
  fabric.health =
      among(said.text({"Fabric/Health/Summary"}),
            {{"Healthy", "healthy"}, {"Unhealthy", "unhealthy"}, {"Limited Capacity", "limited capacity"}})
          .value_or("");
  return {std::move(fabric), kFrom};
}

Reading<std::vector<NvmlProcess>> processes_in(const Said& said) {
  constexpr int kMost = 1024;
  std::vector<NvmlProcess> found;
  for (int number = 1; number <= kMost; ++number) {
    const std::string again = number == 1 ? "" : fmt::format("#{}", number);
    const std::string name = "Processes/Process ID" + again;
    const auto pid = said.number<std::uint32_t>({name});
    if (!pid) break;
    found.push_back({*pid, std::nullopt});
  }
  const bool told = !found.empty() || said.text({"Processes"}).value_or("") == "None";
  if (!told) return {not_in_report(), kFrom};
  return {std::move(found), kFrom};
}

// A GPU as "GPU 0: NAME (UUID: GPU-…)" names it, and what `nvidia-smi nvlink -s` prints below.
struct NamedGpu {
  int index = -1;
  std::string name;
  std::string uuid;
  Reading<NvmlLinks> links;
};

std::optional<NamedGpu> named_gpu_in(std::string_view line) {
  constexpr std::string_view kUuid = "(UUID: ";
  const auto at = line.find(kUuid);
  const auto pair = key_value(line, ':');
  if (at == std::string_view::npos || !pair || !pair->first.starts_with("GPU ")) return std::nullopt;
  const auto rest = line.substr(at + kUuid.size());
  const auto colon = line.find(':');
  NamedGpu gpu;
  gpu.index = parse_number<int>(pair->first.substr(4)).value_or(-1);
  gpu.name = trim(line.substr(colon + 1, std::max(at, colon + 1) - colon - 1));
  gpu.uuid = rest.substr(0, rest.find(')'));
  gpu.links = {not_in_report(), kLinksFrom};
  return gpu;
}

// Parses `nvidia-smi nvlink -s` and `nvidia-smi -L`: below each GPU "Link 0: 26.562 GB/s" or "Link 0: <inactive>", or
// why there is none: "Nvlink queries are not supported for Devices in MIG mode", "NVML: Unable to retrieve NVLink
// information as all links are inActive".
std::vector<NamedGpu> named_gpus_in(std::string_view text) {
  std::vector<NamedGpu> found;
  NvmlLinks own;
  for (const auto line : lines(text)) {
    if (auto gpu = named_gpu_in(line); gpu && found.size() < kMostGpus) {
      found.push_back(std::move(*gpu));
      own.clear();
      continue;
    }
    if (found.empty()) continue;
    auto& links = found.back().links;
    if (line.find("not supported") != line.npos)
      links = {Miss{Missing::kUnsupported, std::string(trim(line))}, kLinksFrom};
    if (lower(line).find("all links are inactive") != std::string::npos) links = {NvmlLinks(), kLinksFrom};
    const auto pair = key_value(line, ':');
    if (!pair || !pair->first.starts_with("Link ")) continue;
    const auto number = parse_number<int>(pair->first.substr(5));
    const auto speed = parse_real(pair->second.substr(0, pair->second.find(' ')));
    if (!number || *number < 0 || *number > 99) continue;
    NvmlLink& link = own[fmt::format("{:02}", *number)];
    link.active = speed.has_value();
    if (speed && *speed < 1e6) link.speed_mbps = static_cast<int>(*speed * 1000);
    links = {own, kLinksFrom};
  }
  return found;
}

// Returns the GPU of the same UUID; where nvidia-smi prints none, in its table, that of the same index.
const NamedGpu* find_named(const std::vector<NamedGpu>& named, const NvmlGpu& gpu, const Values& values) {
  const auto index = values.find(kSmiIndex);
  const auto found = std::ranges::find_if(named, [&](const NamedGpu& other) {
    return gpu.uuid ? other.uuid == *gpu.uuid
                    : index != values.end() && parse_number<int>(index->second) == other.index;
  });
  return found == named.end() ? nullptr : &*found;
}

NvmlGpu gpu_in(const Values& values, const std::vector<NamedGpu>& named) {
  NvmlGpu gpu;
  NvmlGpu::fields([&](std::string_view, auto member) { gpu.*member = {not_in_report(), kFrom}; });
  const Said said(values);
  read_modes(said, gpu);
  read_errors(said, gpu);
  read_banks(said, gpu);
  read_clocks_and_power(said, gpu);
  read_link_and_memory(said, gpu);
  gpu.fabric = fabric_in(said);
  gpu.processes = processes_in(said);
  const NamedGpu* own = find_named(named, gpu, values);
  if (own == nullptr) return gpu;
  gpu.nvlinks = own->links;
  if (!gpu.uuid) gpu.uuid = {own->uuid, kNamesFrom};
  if (!gpu.name && !own->name.empty()) gpu.name = {own->name, kNamesFrom};
  return gpu;
}

void add_system(const Values& head, const Reading<int>& gpus, ReportTree& report) {
  const Said said(head);
  NvmlSystem system;
  system.driver_version = said.text({"Driver Version", "KMD Version"});  // the second since driver 610
  system.nvml_version = {not_in_report(), kFrom};
  // "13.0" → 13000
  system.cuda_version =
      said.text({"CUDA Version", "CUDA UMD Version"})
          .parsed([](const std::string& text) -> std::optional<int> {
            const auto pair = key_value(text, '.');
            const auto major = pair ? parse_number<int>(pair->first) : std::nullopt;
            const auto minor = pair ? parse_number<int>(pair->second) : std::nullopt;
            if (!major || !minor || *major < 1 || *major > 1000 || *minor < 0 || *minor > 99)
              return std::nullopt;
            return *major * 1000 + *minor * 10;
          });
  system.gpus = gpus;
  report.call("nvml", json::dump(json::encode(system)));
}

void add_gpu(const std::string& address, const NvmlGpu& gpu, ReportTree& report) {
  report.call("nvml " + address, json::dump(json::encode(gpu)));
  if (gpu.name && gpu.uuid)
    report.copy("/proc/driver/nvidia/gpus/" + address + "/information",
                fmt::format("Model: {}\nGPU UUID: {}\n", printable(*gpu.name), printable(*gpu.uuid)));
}

}  // namespace

std::optional<SmiOutput> read_nvidia_smi(std::string_view query) {
  if (is_nvidia_smi_xml(query)) return read_nvidia_smi_xml(query);
  if (is_nvidia_smi_table(query)) return read_nvidia_smi_table(query);
  if (query.find("NVSMI LOG") == std::string_view::npos) return std::nullopt;
  std::vector<std::string_view> head;
  std::vector<std::pair<std::string_view, std::vector<std::string_view>>> gpus;
  for (const auto line : lines(query)) {
    if (line.starts_with("GPU ") && gpus.size() < kMostGpus)
      gpus.emplace_back(trim(line.substr(4)), std::vector<std::string_view>());
    else
      (gpus.empty() ? head : gpus.back().second).push_back(line);
  }
  SmiOutput output;
  output.head = values_in(head);
  for (const auto& [name, text] : gpus) {
    output.gpus.emplace_back(name, values_in(text));
    if (name == "N/A") output.without_address.push_back(output.gpus.back().second["Product Name"]);
  }
  return output;
}

GpuAddresses find_gpu_addresses(std::string_view query) {
  const auto output = read_nvidia_smi(query);
  if (!output) return {};
  const auto attached = output->head.find("Attached GPUs");
  const bool all =
      lost_gpus_in(query).empty() &&
      (attached == output->head.end() || parse_number<std::size_t>(attached->second) == output->gpus.size());
  GpuAddresses addresses;
  int place = 0;  // without a number of its own a GPU has that of its place, unless one is missing
  for (const auto& [name, values] : output->gpus) {
    const auto own = values.find(kSmiIndex);
    const auto index = own != values.end() ? parse_number<int>(own->second)
                       : all               ? std::optional(place)
                                           : std::nullopt;
    const std::string address = full_pci_address(name);
    if (index && !address.empty()) addresses.emplace(*index, address);
    ++place;
  }
  return addresses;
}

void add_nvidia_smi(std::string_view query, std::string_view named, ReportTree& report) {
  const auto output = read_nvidia_smi(query);
  if (!output) return;
  std::vector<std::string> addresses;
  const auto others = named_gpus_in(named);
  for (const auto& [name, values] : output->gpus) {
    const std::string address = full_pci_address(name);
    if (address.empty() || addresses.size() >= kMostGpus) continue;
    add_gpu(address, gpu_in(values, others), report);
    addresses.push_back(address);
  }
  // An output without a GPU is one of a machine without any if it states that, and else a part of one.
  const auto attached = output->head.find("Attached GPUs");
  const auto lost = lost_gpus_in(query);
  const bool states_none = query.find("No devices were found") != query.npos ||
                           (attached != output->head.end() && attached->second == "0");
  const bool is_list = !addresses.empty() || !lost.empty() || states_none;
  add_system(output->head,
             is_list ? Reading<int>(static_cast<int>(addresses.size()), kFrom)
                     : Reading<int>(not_in_report(), kFrom),
             report);
  if (!output->without_address.empty())
    report.leave_out(
        fmt::format("`nvidia-smi`: {} has no PCI address in it, as on a Jetson; GPUs on PCI are read",
                    printable(output->without_address.front())));
  if (!is_list) return;
  addresses.insert(addresses.end(), lost.begin(), lost.end());
  report.call("nvml list", json::dump(json::encode(addresses)));
}

}  // namespace railbed
