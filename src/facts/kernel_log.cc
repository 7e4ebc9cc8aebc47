#include "facts/kernel_log.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "base/json.h"
#include "base/text.h"
#include "host/host.h"
#include "host/kernel_log.h"

namespace railbed {
namespace {

using Found = std::optional<LogEvent>;

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// What stands behind `mark`; nothing when the mark is not there.
std::optional<std::string_view> behind(std::string_view text, std::string_view mark) {
  const auto at = text.find(mark);
  if (at == text.npos) return std::nullopt;
  return text.substr(at + mark.size());
}

std::string_view up_to(std::string_view text, std::string_view ends) {
  return text.substr(0, text.find_first_of(ends));
}

int leading_number(std::string_view text) {
  return parse_number<int>(text.substr(0, text.find_first_not_of("0123456789"))).value_or(0);
}

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

bool hex_at(std::string_view text, std::size_t at, std::size_t digits) {
  return at + digits <= text.size() && std::ranges::all_of(text.substr(at, digits), is_hex);
}

// The first PCI address in the text as sysfs writes it: "0000:06:00" and "00000000:06:00.0" → "0000:06:00.0",
// "06:00.0" likewise (Intel's IOMMU names no domain before Linux 5.13).
std::string pci_address_in(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is_hex(text[at]) || (at > 0 && is_hex(text[at - 1]))) continue;
    const auto colon = text.find_first_not_of("0123456789abcdefABCDEF", at);
    if (colon == text.npos || text[colon] != ':') continue;
    auto domain = std::string(text.substr(at, colon - at));
    std::size_t bus = colon + 1;
    if (domain.size() == 2 && hex_at(text, bus, 2) && text.substr(bus + 2, 1) == ".") {
      bus = at;
      domain = "0000";
    }
    while (domain.size() > 4 && domain.front() == '0') domain.erase(0, 1);
    if (domain.size() < 4 || domain.size() > 8) continue;
    if (!hex_at(text, bus, 2) || text.substr(bus + 2, 1) != ":" || !hex_at(text, bus + 3, 2)) continue;
    const bool function = text.substr(bus + 5, 1) == "." && hex_at(text, bus + 6, 1);
    return lower(domain + ":" + std::string(text.substr(bus, 5)) +
                 (function ? std::string(text.substr(bus + 5, 2)) : ".0"));
  }
  return "";
}

LogEvent event(LogKind kind, std::string subject, int code = 0) {
  return {.kind = kind, .code = code, .subject = std::move(subject), .text = {}};
}

// "NVRM: Xid (PCI:0000:06:00): 79, pid=…"; older drivers leave out "PCI:".
Found nvidia(std::string_view line) {
  if (const auto rest = behind(line, "NVRM: Xid (")) {
    if (const auto code = behind(*rest, "): "))
      if (const int number = leading_number(*code); number > 0)
        return event(LogKind::kXid, pci_address_in(*rest), number);
    return std::nullopt;
  }
  // "SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 …"; its Severity and Data lines repeat the code.
  if (const auto rest = behind(line, "SXid (PCI:")) {
    const auto code = behind(*rest, "): ");
    const auto words = code ? behind(*code, ", ") : std::nullopt;
    if (!words || leading_number(*code) == 0) return std::nullopt;
    if (words->starts_with("Fatal"))
      return event(LogKind::kSxidFatal, pci_address_in(*rest), leading_number(*code));
    if (words->starts_with("Non-fatal"))
      return event(LogKind::kSxidNonFatal, pci_address_in(*rest), leading_number(*code));
    return std::nullopt;
  }
  if (!line.starts_with("NVRM: ") && !line.starts_with("nvidia")) return std::nullopt;
  if (has(line, "fallen off the bus")) return event(LogKind::kGpuLost, pci_address_in(line));
  for (const auto part : {"RmInitAdapter failed", "rm_init_adapter failed", "NVIDIA probe routine failed"})
    if (has(line, part)) return event(LogKind::kGpuInitFailed, pci_address_in(line));
  if (has(line, "API mismatch")) return event(LogKind::kVersionMismatch, "");
  return std::nullopt;
}

// kernel/module/main.c: "nvidia: version magic '…' should be '…'", "mlx5_ib: disagrees about version of
// symbol …".
Found module(std::string_view line) {
  for (const auto mark : {": version magic '", ": disagrees about version of symbol"})
    if (const auto at = line.find(mark); at != line.npos)
      return event(LogKind::kModuleRejected, std::string(line.substr(0, std::min<std::size_t>(at, 64))));
  return std::nullopt;
}

// mlx5: drivers/net/ethernet/mellanox/mlx5/core/{health,cmd,events}.c. mlx4: catas.c.
Found adapter(std::string_view line) {
  if (!line.starts_with("mlx5_core ") && !line.starts_with("mlx4_core ")) return std::nullopt;
  const std::string address = pci_address_in(line);
  for (const auto part : {"reached miss count", "unrecoverable hardware error", "leak of a command resource",
                          "Internal error detected"})
    if (has(line, part)) return event(LogKind::kAdapterHealth, address);
  if (const auto watts = behind(line, "insufficient power on the PCIe slot ("))
    return event(LogKind::kSlotPower, address, leading_number(*watts));
  if (has(line, "igh temperature") || has(line, "High Temperature"))
    return event(LogKind::kAdapterHot, address);
  const auto port = behind(line, "Port module event");
  if (!port) return std::nullopt;
  const int number = leading_number(behind(*port, "module ").value_or(""));
  if (has(*port, "Cable unplugged")) return event(LogKind::kCableUnplugged, address, number);
  if (has(*port, "Cable plugged")) return event(LogKind::kCablePlugged, address, number);
  if (has(*port, "error")) return event(LogKind::kCableError, address, number);
  return std::nullopt;
}

// drivers/pci/pcie/aer.c, drivers/pci/pci.c (__pcie_print_link_status), drivers/pci/hotplug/pciehp_ctrl.c.
Found pcie(std::string_view line) {
  if (const auto severity = behind(line, "PCIe Bus Error: severity=")) {
    const std::string address = pci_address_in(line);
    if (severity->starts_with("Correct")) return event(LogKind::kAerCorrected, address);
    return event(has(severity->substr(0, 32), "(Fatal)") ? LogKind::kAerFatal : LogKind::kAerNonFatal,
                 address);
  }
  if (has(line, "available PCIe bandwidth, limited by"))
    return event(LogKind::kBandwidthLimited, pci_address_in(line));
  if (line.starts_with("pcieport ") && has(line, "pciehp: Slot(") && has(line, "): Link Down"))
    return event(LogKind::kSlotLinkDown, pci_address_in(line));
  return std::nullopt;
}

// drivers/iommu/intel/dmar.c: "DMAR: [DMA Read NO_PASID] Request device [06:00.0] fault addr …"; AMD's: "…
// AMD-Vi: Event logged [IO_PAGE_FAULT device=0000:06:00.0 …", or the device first.
Found iommu(std::string_view line) {
  if (line.starts_with("DMAR: ["))
    if (const auto device = behind(line, "Request device ["))
      return event(LogKind::kIommuFault, pci_address_in(up_to(*device, "]")));
  if (!has(line, "IO_PAGE_FAULT")) return std::nullopt;
  if (const auto device = behind(line, "device="))
    return event(LogKind::kIommuFault, pci_address_in(up_to(*device, " ]")));
  return event(LogKind::kIommuFault, pci_address_in(line));
}

bool is_interface_name(std::string_view name) {
  return !name.empty() && name.size() <= 15 && std::ranges::all_of(name, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-' || c == '.';
  });
}

// The drivers agree on little: "mlx5_core 0000:c1:00.0 ens3: Link down", "mlx4_en: ens6: Link Down", "bnxt_en
// … eno1: NIC Link is Down", "igb … eth0: igb: eth0 NIC Link is Down". The name stands before "Link", or
// before "NIC Link".
Found network(std::string_view line) {
  if (const auto rest = behind(line, "NETDEV WATCHDOG: ")) {
    const auto all = words(line);
    const auto mark = std::ranges::find(all, "WATCHDOG:");
    // Since Linux 6.8 the device stands in front, before it behind: "NETDEV WATCHDOG: ens3 (mlx5_core):
    // transmit …".
    std::string_view name = up_to(*rest, " ");
    if (name == "CPU:" && mark - all.begin() >= 2) name = *(mark - 2);
    if (name.ends_with(':')) name.remove_suffix(1);
    return has(*rest, "timed out") && is_interface_name(name)
               ? Found(event(LogKind::kTransmitTimeout, std::string(name)))
               : std::nullopt;
  }
  const auto all = words(line);
  for (std::size_t i = 1; i + 1 < all.size(); ++i) {
    if (lower(all[i]) != "link") continue;
    const bool is = lower(all[i + 1]) == "is";
    if (is && i + 2 >= all.size()) continue;
    const std::string state = lower(up_to(all[is ? i + 2 : i + 1], ",.:"));
    if (state != "up" && state != "down") continue;
    const bool nic = i >= 2 && all[i - 1] == "NIC";
    std::string_view name = all[nic ? i - 2 : i - 1];
    if (!nic && !name.ends_with(':')) continue;
    if (name.ends_with(':')) name.remove_suffix(1);
    if (is_interface_name(name))
      return event(state == "up" ? LogKind::kLinkUp : LogKind::kLinkDown, std::string(name));
  }
  return std::nullopt;
}

// mm/oom_kill.c: "Out of memory: Killed process 1234 (python3) total-vm:…", "Memory cgroup out of memory: …";
// kernel/hung_task.c: "INFO: task python3:1234 blocked for more than 120 seconds."
Found process(std::string_view line) {
  if (const auto killed = behind(line, "Killed process ")) {
    const std::string name(up_to(behind(*killed, "(").value_or(""), ")"));
    if (line.starts_with("Out of memory: ")) return event(LogKind::kOutOfMemory, name);
    if (line.starts_with("Memory cgroup out of memory: ")) return event(LogKind::kJobOutOfMemory, name);
    return std::nullopt;
  }
  if (const auto task = behind(line, "INFO: task "); task && has(line, "blocked for more than")) {
    const auto name = task->substr(0, task->find(" blocked"));
    return event(LogKind::kHungTask, std::string(name.substr(0, name.rfind(':'))));
  }
  for (const auto part : {"BUG: soft lockup", "hard LOCKUP", "detected stall", "self-detected stall"})
    if (has(line, part)) return event(LogKind::kLockup, "");
  for (const auto part : {"BUG: unable to handle", "kernel BUG at", "general protection fault", "Oops:"})
    if (has(line, part) && !line.starts_with("traps: ")) return event(LogKind::kOops, "");
  return std::nullopt;
}

// arch/x86/kernel/cpu/mce, drivers/acpi/apei/ghes.c, drivers/edac/edac_mc.c: "EDAC MC0: 1 UE memory read
// error on …".
Found machine(std::string_view line) {
  if (has(line, "[Hardware Error]: Machine check events logged")) return event(LogKind::kCorrectedCheck, "");
  if (has(line, "[Hardware Error]: CPU ") && has(line, "Machine Check:"))
    return event(LogKind::kMachineCheck, "");
  if (const auto severity = behind(line, "[Hardware Error]: event severity: "))
    return event(severity->starts_with("corrected") || severity->starts_with("info")
                     ? LogKind::kCorrectedCheck
                     : LogKind::kMachineCheck,
                 "");
  if (line.starts_with("EDAC MC")) {
    const std::string controller = "mc" + std::to_string(leading_number(line.substr(7)));
    if (has(line, " UE ")) return event(LogKind::kMachineCheck, controller);
    if (has(line, " CE ")) return event(LogKind::kCorrectedCheck, controller);
  }
  if (has(line, "temperature") && (has(line, "clock throttled") || has(line, "clock is throttled")))
    return event(LogKind::kCpuThrottled, "");
  return std::nullopt;
}

bool is_disk(std::string_view name) {
  return !name.empty() && !name.starts_with("fd") && !name.starts_with("sr") && !name.starts_with("loop");
}

// block/blk-core.c, fs/ext4, fs/xfs, drivers/nvme/host/pci.c.
Found storage(std::string_view line) {
  for (const auto mark : {"I/O error, dev ", "critical medium error, dev "})
    if (const auto device = behind(line, mark)) {
      const auto name = up_to(*device, ", ");
      return is_disk(name) ? Found(event(LogKind::kDiskError, std::string(name))) : std::nullopt;
    }
  const auto parens = std::string(up_to(behind(line, "(").value_or(""), "):"));
  if (has(line, "emounting filesystem read-only") || has(line, "Filesystem has been shut down"))
    return event(LogKind::kReadOnly, parens);
  if (line.starts_with("EXT4-fs error (device "))
    return event(LogKind::kDiskError, std::string(up_to(line.substr(22), "):")));
  if (line.starts_with("XFS (") && has(line, "etadata corruption detected"))
    return event(LogKind::kDiskError, parens);
  if (line.starts_with("nvme nvme") &&
      (has(line, "timeout, ") || has(line, "controller is down; will reset")))
    return event(LogKind::kDiskTimeout, std::string(up_to(line.substr(5), ":")));
  return std::nullopt;
}

}  // namespace

std::optional<LogEvent> parse_log_line(std::string_view line) {
  for (const auto parse : {nvidia, module, adapter, pcie, iommu, process, machine, storage, network})
    if (auto found = parse(line)) {
      found->text = line.substr(0, 400);
      return found;
    }
  return std::nullopt;
}

Reading<KernelLog> collect_kernel_log(Host& host, const std::string& since) {
  const auto text = host.call(since.empty() ? "kernel-log" : "kernel-log " + since);
  if (!text) return {text.miss(), text.from()};
  const auto answer = json::read<KernelLogAnswer>(*text);
  if (!answer) return {Miss{Missing::kGarbled, answer.error().text}, text.from()};
  KernelLog log{answer->begins, answer->ends, answer->beginning_lost, answer->dropped, {}};
  std::map<std::tuple<LogKind, std::string, int>, LogEvent> events;
  for (const KernelLogLine& line : answer->lines) {
    const auto found = parse_log_line(line.text);
    if (!found) continue;
    const auto [place, fresh] = events.try_emplace({found->kind, found->subject, found->code}, *found);
    LogEvent& one = place->second;
    if (fresh) one.first = line.first;
    one.count += line.count;
    one.first = std::min(one.first, line.first);
    if (line.last >= one.last) one.text = found->text;
    one.last = std::max(one.last, line.last);
  }
  for (auto& [key, one] : events) log.events.push_back(std::move(one));
  return {std::move(log), answer->source};
}

}  // namespace railbed
