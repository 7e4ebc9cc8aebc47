#include "verify/tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace railbed {
namespace {

std::string_view id_of(const NodeView& node) {
  const auto& id = node.facts->system.os.id;
  return id.ok() ? std::string_view(*id) : std::string_view();
}

int major_version(const NodeView& node) {
  const std::string version = node.facts->system.os.version.value_or("");
  return parse_number<int>(version.substr(0, version.find('.'))).value_or(0);
}

// Programs that a server's installation does not bring along, and their packages: packages.debian.org,
// packages.ubuntu.com (bookworm, noble), Red Hat's BaseOS and AppStream.
struct Packaged {
  std::string_view program;
  std::string_view apt;
  std::string_view dnf;
};
constexpr Packaged kPackaged[] = {
    {"fwupdmgr", "fwupd", "fwupd"},
    {"ibstat", "infiniband-diags", "infiniband-diags"},
    {"iblinkinfo", "infiniband-diags", "infiniband-diags"},
    {"ibqueryerrors", "infiniband-diags", "infiniband-diags"},
    {"perfquery", "infiniband-diags", "infiniband-diags"},
    {"saquery", "infiniband-diags", "infiniband-diags"},
    {"sminfo", "infiniband-diags", "infiniband-diags"},
    {"ibv_devices", "ibverbs-utils", "libibverbs-utils"},
    {"ipmitool", "ipmitool", "ipmitool"},
    {"mstconfig", "mstflint", "mstflint"},
    {"mstflint", "mstflint", "mstflint"},
    {"mstlink", "mstflint", "mstflint"},
    {"numactl", "numactl", "numactl"},
    {"nvidia-ctk", "nvidia-container-toolkit", "nvidia-container-toolkit"},
    {"nvme", "nvme-cli", "nvme-cli"},
    {"ras-mc-ctl", "rasdaemon", "rasdaemon"},
    {"smartctl", "smartmontools", "smartmontools"},
    {"tc", "iproute2", "iproute-tc"},
};

std::string package_of(std::string_view program, PackageTool tool) {
  const auto found = std::ranges::find(kPackaged, program, &Packaged::program);
  if (found == std::end(kPackaged)) return {};
  return std::string(tool == PackageTool::kDnf ? found->dnf : found->apt);
}

// Empty: nothing there does it.
std::string without_systemd(const std::string& command) {
  for (const std::string_view log : {"journalctl -k -b", "journalctl -k", "journalctl -b"})
    if (command.starts_with(log)) return "dmesg" + command.substr(log.size());
  const auto programs = programs_of(command);
  const bool asks = std::ranges::any_of(programs, [](const std::string& one) {
    return one == "systemctl" || one == "journalctl" || one == "timedatectl";
  });
  return asks ? std::string() : command;
}

std::string with_packages(std::string command, PackageTool tool) {
  std::string names;
  for (const std::string& program : programs_of(command)) {
    const std::string package = package_of(program, tool);
    if (package.empty() || names.find(package) != std::string::npos) continue;
    names += (names.empty() ? "" : ", ") + package;
  }
  if (names.empty()) return command;
  return fmt::format("{}{}of package {}", command, command.find("  # ") == std::string::npos ? "  # " : ", ",
                     names);
}

}  // namespace

PackageTool package_tool(const NodeView& node) {
  constexpr std::array<std::string_view, 2> kDebian = {"debian", "ubuntu"};
  constexpr std::array<std::string_view, 7> kRedHat = {"rhel",   "rocky", "almalinux", "centos",
                                                       "fedora", "ol",    "amzn"};
  const std::string_view id = id_of(node);
  if (std::ranges::find(kDebian, id) != kDebian.end()) return PackageTool::kApt;
  if (std::ranges::find(kRedHat, id) != kRedHat.end()) return PackageTool::kDnf;
  return PackageTool::kUnknown;
}

std::vector<std::string> for_system(const NodeView& node, std::vector<std::string> apt,
                                    std::vector<std::string> dnf) {
  const PackageTool tool = package_tool(node);
  if (tool == PackageTool::kDnf) return dnf;
  if (tool == PackageTool::kUnknown) apt.insert(apt.end(), dnf.begin(), dnf.end());
  return apt;
}

bool has_systemd(const NodeView& node) { return !node.facts->system.services.absent(); }

// The vendor's versions have a release of three numbers, 24.10-1.1.4; older kernels of the distributions
// state 5.0-0 for mlx5_core and 4.0-0 for mlx4_core (DRIVER_VERSION in Linux 5.4).
bool has_vendor_driver(const NodeView& node) {
  const std::string version = node.facts->rdma.driver_version.value_or("");
  const std::size_t dash = version.find('-');
  return dash != std::string::npos && version.find('.', dash) != std::string::npos;
}

// iproute2 5.11. Debian 11 has 5.10, Ubuntu 20.04 5.5 and 22.04 5.15, RHEL 9 5.15 and later.
bool has_dcb(const NodeView& node) {
  const std::string_view id = id_of(node);
  if (package_tool(node) == PackageTool::kUnknown) return true;
  const int first = id == "ubuntu" ? 22 : id == "debian" ? 12 : 9;
  return major_version(node) >= first;
}

// mlx5 changes its trust to DSCP with the first DSCP it is told (mlx5e_dcbnl_ieee_setapp in
// drivers/net/ethernet/mellanox/mlx5/core/en_dcbnl.c).
std::vector<std::string> trust_dscp_with(const NodeView& node, const std::string& interface, int dscp,
                                         int priority) {
  if (has_vendor_driver(node)) return {fmt::format("mlnx_qos -i {} --trust dscp", interface)};
  if (!has_dcb(node)) return {};
  return {fmt::format("dcb app replace dev {} dscp-prio {}:{}", interface, dscp, priority)};
}

std::vector<std::string> make_lossless_with(const NodeView& node, const std::string& interface,
                                            int priority) {
  if (!has_vendor_driver(node)) {
    if (!has_dcb(node)) return {};
    return {fmt::format("dcb pfc set dev {} prio-pfc all:off {}:on", interface, priority)};
  }
  std::string flags;
  for (int i = 0; i < 8; ++i) flags += fmt::format("{}{}", i == 0 ? "" : ",", i == priority ? 1 : 0);
  return {fmt::format("mlnx_qos -i {} --pfc {}", interface, flags)};
}

std::vector<std::string> show_lossless_with(const NodeView& node, const std::string& interface) {
  if (has_vendor_driver(node)) return {"mlnx_qos -i " + interface};
  if (!has_dcb(node)) return {};
  return {"dcb pfc show dev " + interface, "dcb buffer show dev " + interface};
}

// Red Hat's kernels take their line from entries of their own, which grubby writes (RHEL 8 and later).
std::vector<std::string> set_at_boot_with(const NodeView& node, std::string_view kernel_parameters) {
  return for_system(
      node,
      {fmt::format("sed -i.bak 's/^GRUB_CMDLINE_LINUX=\"/&{} /' /etc/default/grub", kernel_parameters),
       "update-grub"},
      {fmt::format("grubby --update-kernel=ALL --args='{}'", kernel_parameters)});
}

std::vector<std::string> keep_time_with(const NodeView& node) {
  for (const std::string unit : {"chrony", "chronyd", "ntpsec", "systemd-timesyncd"})
    if (is_loaded_unit(node, unit)) return {fmt::format("systemctl enable --now {}", unit), "timedatectl"};
  return for_system(node, {"apt-get install chrony", "systemctl enable --now chrony"},
                    {"dnf install chrony", "systemctl enable --now chronyd"});
}

std::vector<std::string> keep_driver_with(const NodeView& node) {
  if (is_loaded_unit(node, "nvidia-persistenced")) return {"systemctl enable --now nvidia-persistenced"};
  return {"nvidia-smi -pm 1"};
}

// mlx5 shows its sensors as hwmon since Linux 6.7.
std::vector<std::string> show_temperature_with(const NodeView& node, const std::string& pci_address) {
  if (has_vendor_driver(node)) return {"mget_temp -d " + pci_address};
  return {fmt::format("grep . /sys/bus/pci/devices/{}/hwmon/hwmon*/temp*_input", pci_address)};
}

Remedy lift_memlock() {
  return {"Raise the limit for all users (root is not covered by *), then log in again.",
          {"printf '* soft memlock unlimited\\n* hard memlock unlimited\\nroot soft memlock unlimited\\n"
           "root hard memlock unlimited\\n' > /etc/security/limits.d/90-rdma.conf"}};
}

std::string show_firmware_with(const std::string& pci_address) {
  return fmt::format("mstflint -d {} query", pci_address);
}

std::vector<std::string> flash_with(const RdmaDevice& device) {
  if (!device.pci_address.ok()) return {};
  return {show_firmware_with(*device.pci_address),
          fmt::format("mstflint -d {} -i FILE burn", *device.pci_address)};
}

std::string subnet_manager_unit(const NodeView& node) {
  return !is_loaded_unit(node, "opensm") && is_loaded_unit(node, "opensmd") ? "opensmd" : "opensm";
}

// Red Hat's opensm is built with /etc/rdma as its folder (RHEL, "Configuring InfiniBand and RDMA networks").
std::string partitions_file(const NodeView& node) {
  const bool red_hat = package_tool(node) == PackageTool::kDnf && !has_vendor_driver(node);
  return red_hat ? "/etc/rdma/partitions.conf" : "/etc/opensm/partitions.conf";
}

std::vector<std::string> programs_of(std::string_view command) {
  std::vector<std::string> programs;
  std::string word;
  char quote = 0;
  bool first = true;  // the next word is a program
  const auto end_word = [&] {
    const bool prefix = word == "sudo" || word == "env" || word.find('=') != std::string::npos;
    if (first && !word.empty() && !prefix) {
      programs.push_back(word);
      first = false;
    }
    word.clear();
  };
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    const char before = i == 0 ? ' ' : command[i - 1];
    if (quote != 0) {
      if (c == quote) quote = 0;
      continue;
    }
    if (c == '#' && before == ' ') break;
    const bool starts = c == '|' || c == ';' || (c == '&' && before != '>') || (c == '(' && before == '$');
    if (starts || c == ' ' || c == ')') end_word();
    if (starts) first = true;
    if (c == '\'' || c == '"')
      quote = c;
    else if (!starts && c != ' ' && c != ')')
      word += c;
  }
  end_word();
  return programs;
}

namespace {

// What a command asks for or costs beside what the rule says of it.
void say_conditions(const NodeView* node, Remedy& remedy) {
  const auto has = [&](std::string_view what) {
    return std::ranges::any_of(
        remedy.commands, [&](const std::string& command) { return command.find(what) != std::string::npos; });
  };
  if (has("--gpu-reset") && remedy.text.find("reset all GPUs") == std::string::npos)
    remedy.text += " Nothing may run on it; behind NVSwitch reset all GPUs together.";
  // kernel_lockdown(7): direct access to PCI configuration space
  if (has("setpci") && node != nullptr && node->facts->system.kernel.signatures_required.value_or(false))
    remedy.text += " Under Secure Boot the kernel refuses setpci: then set it in the BIOS.";
}

}  // namespace

void fit_to_node(const NodeView* node, Remedy& remedy) {
  const PackageTool tool = node == nullptr ? PackageTool::kUnknown : package_tool(*node);
  for (std::string& command : remedy.commands) {
    if (node != nullptr && !has_systemd(*node)) command = without_systemd(command);
    command = with_packages(std::move(command), tool);
  }
  std::erase(remedy.commands, std::string());
  say_conditions(node, remedy);
}

}  // namespace railbed
