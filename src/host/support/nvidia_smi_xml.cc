// Reads nvidia-smi -q -x (nvsmi_device_v10.dtd to _v13.dtd). Elements without children hold values. Their paths
// are translated into those of nvidia-smi -q, so that one parser knows what each value means.
#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/xml.h"
#include "host/support/nvidia_smi.h"

namespace railbed {
namespace {

constexpr std::pair<std::string_view, std::string_view> kNames[] = {
    {"driver_version", "Driver Version"},
    {"kmd_version", "KMD Version"},
    {"cuda_version", "CUDA Version"},
    {"cuda_umd_version", "CUDA UMD Version"},
    {"product_name", "Product Name"},
    {"persistence_mode", "Persistence Mode"},
    {"mig_mode/current_mig", "MIG Mode/Current"},
    {"uuid", "GPU UUID"},
    {"vbios_version", "VBIOS Version"},
    {"gpu_recovery_action", "GPU Recovery Action"},
    {"gpu_reset_status/reset_required", "GPU Reset Status/Reset Required"},
    {"gpu_reset_status/drain_and_reset_recommended", "GPU Reset Status/Drain and Reset Recommended"},
    {"gsp_firmware_version", "GSP Firmware Version"},
    {"pci/pci_gpu_link_info/pcie_gen/max_link_gen", "PCI/GPU Link Info/PCIe Generation/Max"},
    {"pci/pci_gpu_link_info/pcie_gen/current_link_gen", "PCI/GPU Link Info/PCIe Generation/Current"},
    {"pci/pci_gpu_link_info/pcie_gen/max_device_link_gen", "PCI/GPU Link Info/PCIe Generation/Device Max"},
    {"pci/pci_gpu_link_info/link_widths/max_link_width", "PCI/GPU Link Info/Link Width/Max"},
    {"pci/pci_gpu_link_info/link_widths/current_link_width", "PCI/GPU Link Info/Link Width/Current"},
    {"pci/replay_counter", "PCI/Replays Since Reset"},
    {"fan_speed", "Fan Speed"},
    {"fb_memory_usage/total", "FB Memory Usage/Total"},
    {"fb_memory_usage/used", "FB Memory Usage/Used"},
    {"bar1_memory_usage/total", "BAR1 Memory Usage/Total"},
    {"compute_mode", "Compute Mode"},
    {"utilization/gpu_util", "Utilization/GPU"},
    {"ecc_mode/current_ecc", "ECC Mode/Current"},
    {"ecc_mode/pending_ecc", "ECC Mode/Pending"},
    {"retired_pages/multiple_single_bit_retirement/retired_count", "Retired Pages/Single Bit ECC"},
    {"retired_pages/double_bit_retirement/retired_count", "Retired Pages/Double Bit ECC"},
    {"retired_pages/pending_blacklist", "Retired Pages/Pending Page Blacklist"},
    {"retired_pages/pending_retirement", "Retired Pages/Pending"},
    {"remapped_rows/remapped_row_corr", "Remapped Rows/Correctable Error"},
    {"remapped_rows/remapped_row_unc", "Remapped Rows/Uncorrectable Error"},
    {"remapped_rows/remapped_row_pending", "Remapped Rows/Pending"},
    {"remapped_rows/remapped_row_failure", "Remapped Rows/Remapping Failure Occurred"},
    {"temperature/gpu_temp", "Temperature/GPU Current Temp"},
    {"temperature/gpu_temp_tlimit", "Temperature/GPU T.Limit Temp"},
    {"temperature/gpu_temp_slow_threshold", "Temperature/GPU Slowdown Temp"},
    {"temperature/memory_temp", "Temperature/Memory Current Temp"},
    {"power_readings/power_draw", "Power Readings/Power Draw"},
    {"power_readings/enforced_power_limit", "Power Readings/Enforced Power Limit"},
    {"power_readings/default_power_limit", "Power Readings/Default Power Limit"},
    {"gpu_power_readings/power_draw", "GPU Power Readings/Power Draw"},
    {"gpu_power_readings/average_power_draw", "GPU Power Readings/Average Power Draw"},
    {"gpu_power_readings/current_power_limit", "GPU Power Readings/Current Power Limit"},
    {"gpu_power_readings/default_power_limit", "GPU Power Readings/Default Power Limit"},
    {"clocks/sm_clock", "Clocks/SM"},
    {"clocks/mem_clock", "Clocks/Memory"},
    {"max_clocks/sm_clock", "Max Clocks/SM"},
    {"max_clocks/mem_clock", "Max Clocks/Memory"},
    {"fabric/state", "Fabric/State"},
    {"fabric/status", "Fabric/Status"},
    {"fabric/health/summary", "Fabric/Health/Summary"},
    {"processes/process_info/pid", "Processes/Process ID"}};

// Elements of ecc_errors/volatile and ecc_errors/aggregate.
constexpr std::pair<std::string_view, std::string_view> kEcc[] = {
    {"sram_correctable", "SRAM Correctable"},
    {"sram_uncorrectable", "SRAM Uncorrectable"},
    {"sram_uncorrectable_parity", "SRAM Uncorrectable Parity"},
    {"sram_uncorrectable_secded", "SRAM Uncorrectable SEC-DED"},
    {"dram_correctable", "DRAM Correctable"},
    {"dram_uncorrectable", "DRAM Uncorrectable"},
    {"sram_threshold_exceeded", "SRAM Threshold Exceeded"},
    {"single_bit/total", "Single Bit/Total"},
    {"double_bit/total", "Double Bit/Total"}};

// Ends of clocks_event_reason_… and, before driver 535, clocks_throttle_reason_….
constexpr std::pair<std::string_view, std::string_view> kReasons[] = {
    {"gpu_idle", "Idle"},
    {"applications_clocks_setting", "Applications Clocks Setting"},
    {"sw_power_cap", "SW Power Cap"},
    {"hw_slowdown", "HW Slowdown"},
    {"hw_thermal_slowdown", "HW Thermal Slowdown"},
    {"hw_power_brake_slowdown", "HW Power Brake Slowdown"},
    {"sync_boost", "Sync Boost"},
    {"sw_thermal_slowdown", "SW Thermal Slowdown"},
    {"display_clocks_setting", "Display Clock Setting"}};

constexpr std::string_view kBanks = "remapped_rows/row_remapper_histogram/row_remapper_histogram_";

template <class Table>
std::string_view looked_up(const Table& table, std::string_view name) {
  for (const auto& [theirs, ours] : table)
    if (theirs == name) return ours;
  return {};
}

// Returns the name in nvidia-smi -q; empty for a value that is not read.
std::string text_name(std::string_view path) {
  if (const auto name = looked_up(kNames, path); !name.empty()) return std::string(name);
  for (const auto& [begins, section] :
       {std::pair<std::string_view, std::string>{"ecc_errors/volatile/", "Volatile/"},
        {"ecc_errors/aggregate/", "Aggregate/"}})
    if (path.starts_with(begins)) {
      const auto name = looked_up(kEcc, path.substr(begins.size()));
      return name.empty() ? "" : "ECC Errors/" + section + std::string(name);
    }
  for (const std::string_view begins :
       {"clocks_event_reasons/clocks_event_reason_", "clocks_throttle_reasons/clocks_throttle_reason_"})
    if (path.starts_with(begins)) {
      const auto name = looked_up(kReasons, path.substr(begins.size()));
      return name.empty() ? "" : "Clocks Event Reasons/" + std::string(name);
    }
  if (!path.starts_with(kBanks) || path.size() == kBanks.size()) return "";
  std::string bank(path.substr(kBanks.size()));
  bank[0] = static_cast<char>(bank[0] - 'a' + 'A');
  return "Remapped Rows/Bank Remap Availability Histogram/" + bank;
}

void keep(SmiValues& values, std::string_view path, std::string_view text) {
  std::string name = text_name(path);
  if (name.empty() || values.size() >= kMostSmiValues) return;
  const std::string first = name;
  for (int times = 2; values.contains(name); ++times) name = first + "#" + std::to_string(times);
  values.emplace(std::move(name), xml_plain(trim(text)));
}

}  // namespace

bool is_nvidia_smi_xml(std::string_view text) {
  constexpr std::size_t kHead = 1024;
  return text.substr(0, kHead).find("<nvidia_smi_log>") != std::string_view::npos;
}

SmiOutput read_nvidia_smi_xml(std::string_view text) {
  SmiOutput xml;
  std::vector<std::string_view> open;  // names of the elements below nvidia_smi_log, or below gpu
  bool in_gpu = false;
  const auto values = [&]() -> SmiValues& { return in_gpu ? xml.gpus.back().second : xml.head; };
  const auto start = text.find("<nvidia_smi_log>");
  if (start == text.npos) return xml;
  XmlReader reader(text.substr(start + std::string_view("<nvidia_smi_log>").size()));
  constexpr std::size_t kDeepest = 16;
  bool leaf = false;  // the last tag opened an element
  while (const auto tag = reader.next()) {
    if (tag->kind == XmlTag::Kind::kAlone) continue;
    const bool opens = tag->kind == XmlTag::Kind::kOpen;
    const auto id = opens && tag->name == "gpu" ? tag->attribute("id") : std::nullopt;
    if (id && !in_gpu && open.empty() && xml.gpus.size() < kMostGpus) {
      xml.gpus.emplace_back(std::string(*id), SmiValues());
      in_gpu = true;
    } else if (!opens && tag->name == "gpu" && open.empty()) {
      in_gpu = false;
    } else if (opens) {
      if (open.size() >= kDeepest) break;
      open.push_back(tag->name);
      leaf = true;
      continue;
    } else if (!open.empty()) {
      std::string path;
      for (const auto name : open) path.append(path.empty() ? "" : "/").append(name);
      if (leaf && tag->name == open.back()) keep(values(), path, tag->before);
      // An empty list of processes: `<processes></processes>`.
      if (leaf && path == "processes") values().emplace("Processes", "None");
      open.pop_back();
    }
    leaf = false;
  }
  return xml;
}

}  // namespace railbed
