// Reduces the kernel's command line to what a masked capture keeps.
//
// A site passes arbitrary text to its kernel and its init: addresses, passwords, names of volumes. So nothing
// is kept because it looks harmless. A parameter stays if its whole name is in the list of those that control
// how the kernel treats hardware. Of its value a piece stays if it is a number or a word of the list below.
// Every other piece becomes "masked", so that its place is still visible.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "facts/mask/mask.h"

namespace railbed {
namespace {

// Documentation/admin-guide/kernel-parameters.txt.
constexpr std::string_view kNames[] = {"amd_iommu",
                                       "amd_pstate",
                                       "clocksource",
                                       "console",
                                       "cpufreq.default_governor",
                                       "cpufreq.off",
                                       "cpuidle.off",
                                       "crashkernel",
                                       "default_hugepagesz",
                                       "hugepages",
                                       "hugepagesz",
                                       "idle",
                                       "init_on_alloc",
                                       "intel_idle.max_cstate",
                                       "intel_iommu",
                                       "intel_pstate",
                                       "iommu",
                                       "iommu.passthrough",
                                       "iommu.strict",
                                       "ipv6.disable",
                                       "irqaffinity",
                                       "isolcpus",
                                       "mitigations",
                                       "modprobe.blacklist",
                                       "module_blacklist",
                                       "nohz",
                                       "nohz_full",
                                       "nomodeset",
                                       "nomodule",
                                       "nosmt",
                                       "nouveau.modeset",
                                       "numa",
                                       "numa_balancing",
                                       "pci",
                                       "pcie_acs_override",
                                       "pcie_aspm",
                                       "pcie_port_pm",
                                       "processor.max_cstate",
                                       "quiet",
                                       "rcu_nocbs",
                                       "rd.driver.blacklist",
                                       "ro",
                                       "root",
                                       "rw",
                                       "skew_tick",
                                       "transparent_hugepage",
                                       "tsc"};
// Modules whose parameters are kept.
constexpr std::string_view kModules[] = {"mlx4_core",  "mlx4_en",    "mlx5_core",      "nvidia",
                                         "nvidia-drm", "nvidia_drm", "nvidia-modeset", "nvidia_modeset"};

// Pieces of values that are not numbers.
constexpr std::string_view kWords[] = {"active",
                                       "acpi_pm",
                                       "always",
                                       "assign-busses",
                                       "auto",
                                       "big_root_window",
                                       "cbs",
                                       "cpu",
                                       "disable",
                                       "domain",
                                       "downstream",
                                       "enable",
                                       "fake",
                                       "force",
                                       "forcedac",
                                       "full",
                                       "guided",
                                       "halt",
                                       "high",
                                       "hpet",
                                       "hpmemsize",
                                       "hpmmiosize",
                                       "ib_core",
                                       "ib_ipoib",
                                       "ib_uverbs",
                                       "legacy",
                                       "lazy",
                                       "low",
                                       "madvise",
                                       "managed_irq",
                                       "memaper",
                                       "merge",
                                       "mlx4_core",
                                       "mlx4_en",
                                       "mlx4_ib",
                                       "mlx5_core",
                                       "mlx5_ib",
                                       "multifunction",
                                       "native",
                                       "never",
                                       "no_guest_guest",
                                       "no_guest_host",
                                       "no_hwp",
                                       "noacs",
                                       "noaer",
                                       "noats",
                                       "nocrs",
                                       "nodefer",
                                       "nohpet",
                                       "nomerge",
                                       "nomsi",
                                       "nomwait",
                                       "none",
                                       "nopt",
                                       "nosmt",
                                       "nouveau",
                                       "nova_core",
                                       "nowatchdog",
                                       "nvidia",
                                       "nvidia_drm",
                                       "nvidia_modeset",
                                       "nvidia_peermem",
                                       "nvidia_uvm",
                                       "off",
                                       "on",
                                       "passive",
                                       "pcie_bus_peer2peer",
                                       "pcie_bus_perf",
                                       "pcie_bus_safe",
                                       "pcie_bus_tune_off",
                                       "performance",
                                       "poll",
                                       "powersave",
                                       "powersupersave",
                                       "pt",
                                       "realloc",
                                       "reliable",
                                       "rdma_cm",
                                       "rdma_rxe",
                                       "relax",
                                       "schedutil",
                                       "siw",
                                       "skip",
                                       "sm_on",
                                       "soft",
                                       "strict",
                                       "tsc",
                                       "unstable",
                                       "use_crs",
                                       "verbose"};

template <class List>
bool is_in(const List& list, std::string_view word) {
  return std::ranges::find(list, word) != std::end(list);
}

// "1", "0x2", "1G", "512M", "0-3", "9600n8", "tty0", "ttyS1", "ttyAMA0".
bool is_number(std::string_view text) {
  if (text.starts_with("tty")) {
    text.remove_prefix(3);
    text.remove_prefix(std::min(text.size(), text.find_first_not_of("AMSU")));
  }
  if (text.starts_with("0x")) text.remove_prefix(2);
  return !text.empty() && text.size() <= 12 && is_digit(text.front()) &&
         std::ranges::all_of(text, [](char c) {
           return is_digit(c) || std::string_view("KMGnoe-abcdf").find(c) != std::string_view::npos;
         });
}

// Returns the value with each unknown piece replaced. Pieces are separated by "," ":" "=" "@" and ";".
std::string masked_value(std::string_view value) {
  std::string result;
  while (!value.empty()) {
    const auto end = std::min(value.find_first_of(",:=@;"), value.size());
    const auto piece = value.substr(0, end);
    result += piece.empty() || is_number(piece) || is_in(kWords, piece) ? piece : "masked";
    if (end < value.size()) result += value[end];
    value.remove_prefix(std::min(end + 1, value.size()));
  }
  return result;
}

bool is_known(std::string_view name) {
  const auto dot = name.find('.');
  return is_in(kNames, name) || (dot != std::string_view::npos && is_in(kModules, name.substr(0, dot)) &&
                                 is_plain_word(name, 64) && name.find('"') == std::string_view::npos);
}

}  // namespace

std::string masked_command_line(std::string_view line) {
  std::string kept;
  // The words behind "--" are for init.
  for (const auto word : words(line.substr(0, line.find(" -- ")))) {
    const auto equals = word.find('=');
    const auto name = word.substr(0, equals);
    kept += kept.empty() ? "" : " ";
    if (!is_known(name))
      kept += "masked";
    else
      kept += equals == word.npos ? std::string(name)
                                  : std::string(name) + "=" + masked_value(word.substr(equals + 1));
  }
  return kept + "\n";
}

}  // namespace railbed
