// Remedies run on the very node that they are for, and harm nothing that works there: every command of every
// finding of every machine is held against what that machine's system and drivers have.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/testing/sample.h"
#include "base/text.h"
#include "cli/testing/machines.h"
#include "model/tools.h"

namespace railbed {
namespace {

enum class From {
  kAnywhere,    // coreutils, util-linux, kmod, iproute2, pciutils, ethtool: part of every server installation
  kSystemd,     // where it was booted with systemd
  kApt,         // Debian, Ubuntu
  kDnf,         // RHEL and its siblings
  kIproute511,  // dcb: Ubuntu 22.04, Debian 12, RHEL 9
  kVendorDriver,  // MLNX_OFED, DOCA-OFED
  kPackage,       // a distribution's package, which the command has to name
  kFirewalld,
  kNetplan,         // Ubuntu's
  kNetworkManager,  // where it runs
  kUfw,
  kGpu,         // comes with NVIDIA's driver
  kDkms,        // where DKMS builds modules
  kSecureBoot,  // shim brings mokutil along
  kDocker,      // where containers were started by it
  kPodman,
  kLldpd,  // where it told of neighbours
  kSlurm,  // the command has the number of a job that Slurm started there
};

struct Tool {
  From from;
  std::set<std::string_view> programs;
};

// packages.debian.org, packages.ubuntu.com, Red Hat's package manifests; docs.nvidia.com, MLNX_OFED and
// DOCA-OFED.
const std::vector<Tool>& tools() {
  static const std::vector<Tool> kTools = {
      {From::kAnywhere,
       {"awk",     "cat",       "chcpu",  "chmod",     "cp",      "test",    "mv",     "cut",
        "dmesg",   "dmidecode", "du",     "echo",      "env",     "ethtool", "export", "fuser",
        "grep",    "head",      "ip",     "ldconfig",  "ls",      "lscpu",   "lspci",  "mkdir",
        "modinfo", "modprobe",  "mount",  "multipath", "nfsstat", "ping",    "printf", "ps",
        "railbed", "rdma",      "reboot", "sed",       "setpci",  "sort",    "ssh",    "swapoff",
        "sysctl",  "tail",      "tee",    "udevadm",   "uname",   "uniq",    "unset",  "nft",
        "chronyc", "rmmod",     "true",   "sh",        "xargs",   "findmnt", "umount"}},
      {From::kSystemd, {"journalctl", "systemctl", "timedatectl"}},
      {From::kApt,
       {"netplan", "apt-cache", "apt-get", "apt-mark", "dpkg", "update-grub", "update-initramfs"}},
      {From::kDnf, {"akmods", "dnf", "dracut", "grub2-mkconfig", "grubby"}},
      {From::kIproute511, {"dcb"}},
      {From::kVendorDriver,
       {"cma_roce_mode", "cma_roce_tos", "ibdiagnet", "mget_temp", "mlnx_qos", "mlxconfig", "mlxfwmanager",
        "mlxlink", "mst", "ofed_info", "show_gids"}},
      {From::kPackage,
       {"fwupdmgr", "ibv_devices", "tc", "ibqueryerrors", "ibstat", "iblinkinfo", "ipmitool", "mstconfig",
        "mstflint", "mstlink", "numactl", "nvme", "perfquery", "ras-mc-ctl", "saquery", "smartctl", "sminfo",
        "nvidia-ctk", "nvidia-imex-ctl"}},
      {From::kFirewalld, {"firewall-cmd"}},
      {From::kNetplan, {"netplan"}},
      {From::kNetworkManager, {"nmcli"}},
      {From::kUfw, {"ufw"}},
      {From::kGpu, {"nvidia-smi"}},
      {From::kDkms, {"dkms"}},
      {From::kSecureBoot, {"mokutil"}},
      {From::kDocker, {"docker"}},
      {From::kPodman, {"podman"}},
      {From::kLldpd, {"lldpcli"}},
      {From::kSlurm, {"scontrol"}},
  };
  return kTools;
}

bool is_one_of(const Facts& facts, std::initializer_list<std::string_view> systems) {
  const std::string id = facts.system.os.id.value_or("");
  return id.empty() || std::ranges::find(systems, id) != systems.end();
}
bool is_debian(const Facts& facts) { return is_one_of(facts, {"debian", "ubuntu"}); }
bool is_red_hat(const Facts& facts) {
  return is_one_of(facts, {"rhel", "rocky", "almalinux", "centos", "fedora", "ol", "amzn"});
}

const Service* service_of(const Facts& facts, std::string_view unit) {
  for (const Service& service : items(facts.system.services))
    if (service.name == unit && service.load_state == "loaded") return &service;
  return nullptr;
}
bool runs(const Facts& facts, std::string_view unit) {
  const Service* service = service_of(facts, unit);
  return service != nullptr && service->active_state == "active";
}

bool has_dcb(const Facts& facts) {
  const std::string version = facts.system.os.version.value_or("");
  const int major = parse_number<int>(version.substr(0, version.find('.'))).value_or(0);
  const std::string id = facts.system.os.id.value_or("");
  return major >= (id == "ubuntu" ? 22 : id == "debian" ? 12 : 9);
}

bool has(const Facts& facts, From from, const std::string& command) {
  switch (from) {
    case From::kAnywhere:
      return true;
    case From::kSystemd:
      return !facts.system.services.absent();
    case From::kApt:
      return is_debian(facts);
    case From::kDnf:
      return is_red_hat(facts);
    case From::kIproute511:
      return has_dcb(facts);
    case From::kVendorDriver:
      return facts.rdma.driver_version.value_or("").find("-1.") != std::string::npos;
    case From::kPackage:
      return command.find("of package ") != std::string::npos;
    case From::kFirewalld:
      return runs(facts, "firewalld");
    case From::kNetplan:
      return is_one_of(facts, {"ubuntu"});
    case From::kNetworkManager:
      return runs(facts, "NetworkManager");
    case From::kUfw:
      return runs(facts, "ufw");
    case From::kGpu:
      return std::ranges::any_of(items(facts.pci), is_gpu);
    case From::kDkms:
      return facts.system.kernel.dkms.ok();
    case From::kSecureBoot:
      return facts.system.kernel.signatures_required.value_or(true);
    case From::kDocker:
      return facts.container.ok() && facts.container->runtime == "docker";
    case From::kPodman:
      return facts.container.ok() && facts.container->runtime == "podman";
    case From::kLldpd:
      return facts.net.lldp.ok();
    case From::kSlurm:
      return command.find("show job ") != std::string::npos;
  }
  return false;
}

// Returns the program of the command that the node lacks; empty if it has them all.
std::string lacks(const Facts& facts, const std::string& command) {
  for (const std::string& program : programs_of(command)) {
    if (program.starts_with('/')) continue;  // the Python of a virtual environment
    const auto found =
        std::ranges::find_if(tools(), [&](const Tool& tool) { return tool.programs.contains(program); });
    if (found == tools().end()) return program + " is in no table: where does it come from?";
    if (!has(facts, found->from, command)) return program + " is not on this node";
  }
  return {};
}

// Returns why a command is unfit: it has a part to replace by hand, or it guesses.
std::string unfit(const std::string& command) {
  // The text that printf writes is a file, which its setting's own tests check.
  if (!command.starts_with("printf ") && command.find("||") != std::string::npos)
    return "tries one command and then another";
  for (const std::string_view word : words(command))
    for (const std::string_view blank : {"ADDRESS", "IF", "DEV", "DEVICE"})
      if (word.find(blank) == 0 && word.size() == blank.size()) return "leaves a blank to fill in";
  return {};
}

// RHEL 10 and its siblings have no mlx4 (Considerations in adopting RHEL 10).
std::string absent_module(const Facts& facts, const std::string& command) {
  if (!command.starts_with("modprobe mlx4") || is_debian(facts)) return {};
  return facts.system.os.version.value_or("").starts_with("10") ? "has no such module there" : "";
}

std::string_view word_after(const std::string& command, std::string_view what) {
  const auto all = words(command);
  const auto found = std::ranges::find(all, what);
  return found == all.end() || found + 1 == all.end() ? std::string_view() : *(found + 1);
}

bool carries_more(const Facts& facts, std::string_view name) {
  const auto& routes = facts.net.default_routes;
  if (routes.ok() && std::ranges::find(*routes, name) != routes->end()) return true;
  const std::string vlan = std::string(name) + ".";
  for (const NetInterface& interface : items(facts.net.interfaces))
    if (interface.name.starts_with(vlan)) return true;
  const NetInterface* interface = find_interface(facts.net, name);
  return interface == nullptr || interface->master.ok();
}

// Returns the harm that a command does to links and addresses that work; empty if there is none.
std::string harm(const Facts& facts, const std::string& command, const Remedy& remedy) {
  const bool warns = remedy.text.find("cut") != std::string::npos;
  if (command.starts_with("ip link set") && command.find(" down") != std::string::npos) {
    const std::string_view name = word_after(command, "set");
    if (carries_more(facts, name)) return "takes a link down that carries more";
    const NetInterface* interface = find_interface(facts.net, name);
    if (!warns && !items(interface->addresses).empty()) return "does not say that it cuts connections";
  }
  if (command.starts_with("ip address del")) {
    if (carries_more(facts, word_after(command, "dev"))) return "takes an address that carries more";
    if (!warns) return "does not say that it cuts connections";
  }
  if (command.starts_with("ip address add")) {
    const NetInterface* interface = find_interface(facts.net, word_after(command, "dev"));
    if (interface == nullptr || interface->master.ok()) return "gives an address to a bond's member";
  }
  return {};
}

// Returns the error of a command about a unit that is missing and that no command before installs.
std::string wrong_unit(const Facts& facts, const std::string& command, const Remedy& remedy) {
  const auto all = words(command);
  const auto call = std::ranges::find_if(
      all, [](std::string_view word) { return word == "enable" || word == "disable" || word == "restart"; });
  if (call == all.begin() || call == all.end() || *(call - 1) != "systemctl") return {};
  const auto unit =
      std::find_if(call + 1, all.end(), [](std::string_view word) { return !word.starts_with('-'); });
  if (unit == all.end()) return {};
  const std::string_view name = unit->ends_with(".service") ? unit->substr(0, unit->size() - 8) : *unit;
  if (service_of(facts, name) != nullptr) return {};
  // The file of "x@eth0" is "x@.service".
  const std::string_view file = name.substr(0, name.find('@') == name.npos ? name.npos : name.find('@') + 1);
  const bool installed = std::ranges::any_of(remedy.commands, [&](const std::string& other) {
    return &other < &command && other.find(file) != std::string::npos;
  });
  // Units whose limits were read from a running process, and those that every systemd and apt have.
  const auto& limits = facts.system.memory.service_memlock;
  const bool there = std::ranges::find(limits, name, &ServiceLimit::service) != limits.end() ||
                     unit->starts_with("systemd-") || unit->starts_with("apt-daily");
  return installed || there ? std::string() : fmt::format("the unit {} is not there", *unit);
}

std::string wrong_place(const Facts& facts, const std::string& command) {
  if (command.find("/etc/opensm/") != std::string::npos && !is_debian(facts)) return "is in /etc/rdma there";
  if (command.find("/etc/rdma/") != std::string::npos && !is_red_hat(facts)) return "is in /etc/opensm there";
  const std::size_t ecn = command.find("/ecn/");
  for (const NetInterface& interface : items(facts.net.interfaces))
    if (ecn != std::string::npos && command.find("/" + interface.name + "/ecn/") != std::string::npos &&
        !interface.congestion.ok())
      return "its driver has no such switch";
  return {};
}

std::string unsaid_reboot(const std::string& command, const Remedy& remedy) {
  for (const std::string_view needs : {"reboot", "grubby", "update-grub", " burn"})
    if (command.find(needs) != std::string::npos && !remedy.needs_reboot)
      return "does not say that it reboots";
  return {};
}

// NCCL_IB_HCA of a remedy names rails alone: other adapters are for storage or management.
std::string foreign_adapter(const Machine& machine, const Finding& finding, const Facts& facts,
                            const std::string& command) {
  const std::size_t at = command.rfind("NCCL_IB_HCA==");
  if (at == std::string::npos || finding.rule != "nccl.hca") return {};
  std::set<std::string> rails;
  for (const Rail& rail : machine.evidence.cluster.rails)
    for (const RailPort& port : rail.ports)
      if (const RdmaPortRef found = rdma_port_of(facts.rdma, facts.net, port.interface))
        rails.insert(found.device->name);
  std::string list = command.substr(at + 13);
  list = list.substr(0, list.find('/'));
  for (const std::string_view entry : split(list, ','))
    if (!rails.contains(std::string(entry.substr(0, entry.find(':')))))
      return "gives NCCL an adapter of no rail";
  return {};
}

std::vector<std::string> faults_of(const Machine& machine, const Finding& finding,
                                   const std::string& command) {
  std::vector<std::string> faults = {unfit(command), unsaid_reboot(command, finding.remedy)};
  const std::size_t on = command.find("  # on ");
  std::string name = finding.node;
  if (name.empty() && on != std::string::npos) name = std::string(split(command.substr(on + 7), ',').front());
  const auto node = machine.evidence.nodes.find(name);
  if (node == machine.evidence.nodes.end()) {
    Facts unknown;  // any system, with systemd
    unknown.system.services = {std::vector<Service>(), "systemctl show"};
    faults.push_back(lacks(unknown, command));
  } else {
    const Facts& facts = node->second;
    for (std::string fault :
         {lacks(facts, command), harm(facts, command, finding.remedy),
          wrong_unit(facts, command, finding.remedy), wrong_place(facts, command),
          absent_module(facts, command), foreign_adapter(machine, finding, facts, command)})
      faults.push_back(std::move(fault));
  }
  std::erase(faults, std::string());
  return faults;
}

TEST(Remedies, RunOnTheNodeAndHarmNothingThatWorks) {
  for (const auto& folder : sampled(machine_folders())) {
    const std::string name = folder.filename().string();
    const Machine& machine = machine_of(name);
    for (const Finding& finding : machine.verdict.findings)
      for (const std::string& command : finding.remedy.commands)
        for (const std::string& fault : faults_of(machine, finding, command))
          ADD_FAILURE() << name << ": " << finding.rule << " " << finding.node << ": " << command << "\n  "
                        << fault;
  }
}

std::vector<Remedy> remedies_of(std::string_view machine, std::string_view rule) {
  std::vector<Remedy> remedies;
  for (const Finding& finding : machine_of(machine).verdict.findings)
    if (finding.rule == rule && (finding.status == Status::kFail || finding.status == Status::kWarn))
      remedies.push_back(finding.remedy);
  return remedies;
}

Remedy remedy_of(std::string_view machine, std::string_view rule) {
  const auto all = remedies_of(machine, rule);
  EXPECT_EQ(all.size(), 1U) << machine << " " << rule;
  return all.empty() ? Remedy() : all.front();
}

bool mentions(const Remedy& remedy, std::string_view what) {
  return remedy.text.find(what) != std::string::npos ||
         std::ranges::any_of(remedy.commands, [&](const std::string& command) {
           return command.find(what) != std::string::npos;
         });
}

using Lines = std::vector<ShellCommand>;

TEST(Remedies, LeaveWhatCarriesARailAlone) {
  EXPECT_TRUE(remedies_of("v100-vlan-rail", "net.unused-adapter").empty()) << "ens6 carries ens6.100";
  const Remedy member = remedy_of("v100-bond-address-missing", "net.address");
  EXPECT_TRUE(member.commands.empty());
  EXPECT_TRUE(mentions(member, "bond0"));
}

TEST(Remedies, OfGidsFitTheTable) {
  EXPECT_EQ(
      remedy_of("v100-gid-missing", "rdma.gid").commands,
      (Lines{"ip address del 10.0.1.1/24 dev ens6", "ip address add 10.0.1.1/24 dev ens6", "rdma link show"}))
      << "the kernel lost the event";
  const Remedy old = remedy_of("v100-gid-v1-only", "rdma.gid");
  EXPECT_TRUE(mentions(old, "RoCE v2")) << old.text;
  EXPECT_FALSE(mentions(old, "ip address")) << "the address is there";
  EXPECT_TRUE(mentions(remedy_of("v100-address-missing", "rdma.gid"), "give it its address"));
}

TEST(Remedies, OfADuplicateAddressNameTheWrongHolder) {
  EXPECT_EQ(remedy_of("v100-duplicate-address", "net.duplicate-address").commands,
            Lines{"ip address del 10.0.1.1/24 dev ens6  # on gpuserver2"});
}

TEST(Remedies, OfIpoibFitTheAdapterAndTheSubnetManager) {
  for (const Remedy& remedy : remedies_of("r730-ipoib-mtu", "rdma.ipoib-mtu")) {
    EXPECT_TRUE(mentions(remedy, "mtu=5") && mentions(remedy, "/etc/rdma/partitions.conf")) << remedy.text;
    EXPECT_TRUE(mentions(remedy, "cuts")) << remedy.text;
  }
  for (const Remedy& remedy : remedies_of("r730-ipoib-connected", "rdma.ipoib-mtu"))
    EXPECT_FALSE(mentions(remedy, "65520")) << "enhanced IPoIB has no connected mode";
  EXPECT_EQ(remedy_of("r730-ipoib-modes-differ", "rdma.ipoib-mode-equal").commands,
            (Lines{"echo datagram > /sys/class/net/ib0/mode  # on r730-c",
                   "nmcli connection modify uuid 4e8d5f0c-92f1-4c0a-8f0e-8b3a3a6f1a13 "
                   "infiniband.transport-mode datagram infiniband.mtu 0  # on r730-c"}));
  EXPECT_TRUE(mentions(remedy_of("r730-ipoib-partition", "rdma.ipoib-link"), "/etc/rdma/partitions.conf"));
}

TEST(Remedies, StartOneSubnetManager) {
  std::size_t starts = 0;
  for (const Remedy& remedy : remedies_of("r730-no-subnet-manager", "rdma.subnet-manager"))
    starts += mentions(remedy, "systemctl enable --now opensm") ? 1 : 0;
  EXPECT_EQ(starts, 1U);
}

TEST(Remedies, GiveNcclNoAdapterThatNobodyCallsARail) {
  EXPECT_FALSE(mentions(remedy_of("v100-nccl-no-cluster", "nccl.hca"), "NCCL_IB_HCA=="));
}

}  // namespace
}  // namespace railbed
