#include "model/tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

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

// Programs that a server installation does not include, and their packages: packages.debian.org,
// packages.ubuntu.com (bookworm, noble), Red Hat's BaseOS and AppStream; NVIDIA's repositories.
struct Packaged {
  std::string_view program;
  ShellFixed apt;
  ShellFixed dnf;
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
    {"nvidia-imex-ctl", "nvidia-imex", "nvidia-imex"},
    {"nvme", "nvme-cli", "nvme-cli"},
    {"ras-mc-ctl", "rasdaemon", "rasdaemon"},
    {"smartctl", "smartmontools", "smartmontools"},
    {"tc", "iproute2", "iproute-tc"},
};

std::optional<ShellFixed> package_of(std::string_view program, PackageTool tool) {
  const auto found = std::ranges::find(kPackaged, program, &Packaged::program);
  if (found == std::end(kPackaged)) return std::nullopt;
  return tool == PackageTool::kDnf ? found->dnf : found->apt;
}

// Returns the command for a node without systemd; nullopt if there is no equivalent.
std::optional<ShellCommand> without_systemd(const ShellCommand& line) {
  for (const std::string_view log : {"journalctl -k -b", "journalctl -k", "journalctl -b"})
    if (const auto rest = line.after(log)) return command("dmesg{}", *rest);
  const auto programs = programs_of(line);
  const bool asks = std::ranges::any_of(programs, [](const std::string& one) {
    return one == "systemctl" || one == "journalctl" || one == "timedatectl";
  });
  return asks ? std::nullopt : std::optional(line);
}

// Returns the offset of the comment at the end of a command; npos if there is none.
std::size_t comment_at(std::string_view command) {
  char quote = 0;
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (quote == 0 && command[i] == '#' && (i == 0 || command[i - 1] == ' ')) return i;
    if (quote == 0 && command[i] == '\\')
      ++i;  // an escaped character is literal
    else if (quote == 0 && (command[i] == '\'' || command[i] == '"'))
      quote = command[i];
    else if (command[i] == quote)
      quote = 0;
  }
  return std::string_view::npos;
}

ShellCommand with_packages(const ShellCommand& line, PackageTool tool) {
  std::optional<ShellCommand> names;
  for (const std::string& program : programs_of(line)) {
    const auto package = package_of(program, tool);
    if (!package || (names && names->text().find(package->text()) != std::string::npos)) continue;
    names = names ? command("{}, {}", *names, *package) : command("{}", *package);
  }
  if (!names) return line;
  return comment_at(line) != std::string_view::npos ? command("{}, of package {}", line, *names)
                                                    : command("{}  # of package {}", line, *names);
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

std::vector<ShellCommand> for_system(const NodeView& node, std::vector<ShellCommand> apt,
                                     std::vector<ShellCommand> dnf) {
  const PackageTool tool = package_tool(node);
  if (tool == PackageTool::kDnf) return dnf;
  if (tool == PackageTool::kUnknown) apt.insert(apt.end(), dnf.begin(), dnf.end());
  return apt;
}

bool has_systemd(const NodeView& node) { return !node.facts->system.services.absent(); }

// The vendor's versions have a release of three numbers, 24.10-1.1.4; older distribution kernels have 5.0-0
// for mlx5_core and 4.0-0 for mlx4_core (DRIVER_VERSION in Linux 5.4).
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

// mlx5 changes its trust to DSCP when the first DSCP is mapped (mlx5e_dcbnl_ieee_setapp in
// drivers/net/ethernet/mellanox/mlx5/core/en_dcbnl.c).
std::vector<ShellCommand> trust_dscp_with(const NodeView& node, const std::string& interface, int dscp,
                                          int priority) {
  if (has_vendor_driver(node)) return {command("mlnx_qos -i {} --trust dscp", interface)};
  if (!has_dcb(node)) return {};
  return {command("dcb app replace dev {} dscp-prio {}:{}", interface, dscp, priority)};
}

std::vector<ShellCommand> make_lossless_with(const NodeView& node, const std::string& interface,
                                             int priority) {
  if (!has_vendor_driver(node)) {
    if (!has_dcb(node)) return {};
    return {command("dcb pfc set dev {} prio-pfc all:off {}:on", interface, priority)};
  }
  std::string flags;
  for (int i = 0; i < 8; ++i) flags += fmt::format("{}{}", i == 0 ? "" : ",", i == priority ? 1 : 0);
  return {command("mlnx_qos -i {} --pfc {}", interface, flags)};
}

std::vector<ShellCommand> show_lossless_with(const NodeView& node, const std::string& interface) {
  if (has_vendor_driver(node)) return {command("mlnx_qos -i {}", interface)};
  if (!has_dcb(node)) return {};
  return {command("dcb pfc show dev {}", interface), command("dcb buffer show dev {}", interface)};
}

// Red Hat's kernels take their command line from their own entries, which grubby writes (RHEL 8 and later).
std::vector<ShellCommand> set_at_boot_with(const NodeView& node, std::string_view kernel_parameters) {
  return for_system(
      node,
      {command("sed -i.bak {} /etc/default/grub",
               fmt::format("s/^GRUB_CMDLINE_LINUX=\"/&{} /", sed_replacement(kernel_parameters))),
       "update-grub"},
      {command("grubby --update-kernel=ALL --args={}", ShellQuoted{std::string(kernel_parameters)})});
}

std::vector<ShellCommand> keep_time_with(const NodeView& node) {
  for (const std::string unit : {"chrony", "chronyd", "ntpsec", "systemd-timesyncd"})
    if (is_loaded_unit(node, unit)) return {command("systemctl enable --now {}", unit), "timedatectl"};
  return for_system(node, {"apt-get install chrony", "systemctl enable --now chrony"},
                    {"dnf install chrony", "systemctl enable --now chronyd"});
}

std::vector<ShellCommand> keep_driver_with(const NodeView& node) {
  if (is_loaded_unit(node, "nvidia-persistenced")) return {"systemctl enable --now nvidia-persistenced"};
  return {"nvidia-smi -pm 1"};
}

// mlx5 exposes its sensors as hwmon since Linux 6.7.
std::vector<ShellCommand> show_temperature_with(const NodeView& node, const std::string& pci_address) {
  if (has_vendor_driver(node)) return {command("mget_temp -d {}", pci_address)};
  return {command("grep . /sys/bus/pci/devices/{}/hwmon/hwmon*/temp*_input", pci_address)};
}

ShellCommand show_firmware_with(const std::string& pci_address) {
  return command("mstflint -d {} query", pci_address);
}

std::vector<ShellCommand> flash_with(const RdmaDevice& device) {
  if (!device.pci_address.ok()) return {};
  return {show_firmware_with(*device.pci_address),
          command("mstflint -d {} -i FILE burn", *device.pci_address)};
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
  command = command.substr(0, comment_at(command));
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
    if (c == '\\') {  // an escaped character is literal
      if (++i < command.size()) word += command[i];
      continue;
    }
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

// Adds conditions and costs of a command that the rule does not mention.
void say_conditions(const NodeView* node, Remedy& remedy) {
  const auto has = [&](std::string_view what) {
    return std::ranges::any_of(remedy.commands, [&](const ShellCommand& command) {
      return command.text().find(what) != std::string::npos;
    });
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
  std::vector<ShellCommand> fitting;
  for (const ShellCommand& command : remedy.commands) {
    const auto line =
        node == nullptr || has_systemd(*node) ? std::optional(command) : without_systemd(command);
    if (line) fitting.push_back(with_packages(*line, tool));
  }
  remedy.commands = std::move(fitting);
  say_conditions(node, remedy);
}

}  // namespace railbed
