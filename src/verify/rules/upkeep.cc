// The node's upkeep: what its next boot brings, and how it is found and reached.
#include <fmt/format.h>

#include <algorithm>

#include "verify/areas.h"
#include "verify/tools.h"
#include "verify/walk.h"

namespace railbed {
namespace {

void reboot_pending(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "reboot", [](Case& one, const NodeView& node) {
    const bool* required =
        one.read_if_there(node.facts->system.kernel.reboot_required, "only Debian and Ubuntu leave a mark");
    if (required == nullptr) return;
    if (!*required) return one.pass("not required");
    one.warn({.message = fmt::format("{} waits for a reboot: what was upgraded and what runs differ, "
                                     "and the next boot is not the one that was tested",
                                     *node.name),
              .expected = "not required",
              .observed = "required",
              .remedy = {"Drain the node and reboot it at a time of your choosing.",
                         {"cat /run/reboot-required.pkgs", "reboot"},
                         true}});
  });
}

// Modules that a job needs; DKMS may also keep others.
bool matters(const DkmsModule& module) {
  for (const std::string_view part : {"nvidia", "mlnx", "ofed", "gdrcopy", "gdrdrv", "knem", "xpmem"})
    if (module.name.find(part) != std::string::npos) return true;
  return false;
}

void next_kernel(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "next kernel", [](Case& one, const NodeView& node) {
    const Kernel& kernel = node.facts->system.kernel;
    const auto* modules = one.read_if_there(kernel.dkms, "no DKMS here");
    if (modules == nullptr) return;
    const auto* installed = one.read_if_there(kernel.installed, "no kernels in /lib/modules");
    if (installed == nullptr) return;
    if (installed->empty()) return one.not_applicable("no kernels in /lib/modules");
    const std::string& next = installed->back();
    const bool runs = kernel.release.value_or("") == next;
    std::vector<std::string> missing;
    std::size_t used = 0;
    for (const DkmsModule& module : *modules) {
      if (!matters(module) || module.kernels.empty()) continue;
      ++used;
      if (runs && module.name.starts_with("nvidia")) continue;  // gpu.module-built looks at what runs now
      if (std::ranges::find(module.kernels, next) == module.kernels.end()) missing.push_back(module.name);
    }
    if (missing.empty()) {
      if (used == 0)
        one.not_applicable("DKMS builds nothing that matters here");
      else
        one.pass(next);
      return;
    }
    one.warn({.message = fmt::format(
                  "kernel {} {} {} without {}{}", next, runs ? "runs on" : "is installed on", *node.name,
                  fmt::join(missing, ", "), runs ? " of DKMS" : ": after the next boot they are gone"),
              .expected = fmt::format("built for {}", next),
              .observed = fmt::format("{} missing", fmt::join(missing, ", ")),
              .remedy = {"Build them for that kernel, and read why DKMS did not.",
                         {fmt::format("dkms autoinstall -k {}", next), "dkms status"}}});
  });
}

void kernel_headers(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "kernel headers", Things{"module-build"}, [](Case& one, const NodeView& node) {
    const Kernel& kernel = node.facts->system.kernel;
    const auto* modules = one.read_if_there(kernel.dkms, "no DKMS here");
    if (modules == nullptr) return;
    if (!std::ranges::any_of(*modules, matters))
      return one.not_applicable("DKMS builds nothing that matters here");
    const bool* headers = one.read_if_there(kernel.headers, "no /lib/modules");
    if (headers == nullptr) return;
    const std::string release = kernel.release.value_or("this kernel");
    if (*headers) return one.pass(release);
    one.warn({.message = fmt::format(
                  "{} has no headers for {}: DKMS cannot rebuild its drivers when they are upgraded",
                  *node.name, release),
              .expected = "installed",
              .observed = "missing",
              .remedy = {"Install them.", for_system(node, {"apt-get install linux-headers-" + release},
                                                     {"dnf install kernel-devel-" + release})}});
  });
}

bool has_address(const RailEnd& end) { return end.address() != nullptr; }

bool lets_in(const Firewall& firewall, const RailEnd& end) {
  return std::ranges::find(firewall.interfaces, end.name) != firewall.interfaces.end() ||
         std::ranges::any_of(firewall.sources,
                             [&](const Subnet& source) { return source.contains(*end.address()); });
}

Things interfaces_of_rails(const NodeView& node) {
  Things touches;
  for (const RailEnd& end : node.ends) touches.add("netdev:" + end.name);
  return touches;
}

void firewall(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "firewall", interfaces_of_rails, [](Case& one, const NodeView& node) {
    if (std::ranges::none_of(node.ends, has_address)) return one.not_applicable("no rail with addresses");
    const auto& reading = node.facts->system.firewall;
    one.seen(reading);
    if (reading.absent()) return one.not_applicable("no nftables here");
    if (needs_root(reading)) return one.not_applicable("listing the rules needs root");
    const Firewall* rules = one.read(reading);
    if (rules == nullptr) return;
    std::vector<std::string> shut;
    for (const RailEnd& end : node.ends)
      if (has_address(end) && !lets_in(*rules, end)) shut.push_back(end.name);
    if (!rules->drops) return one.pass("open");
    if (shut.empty()) return one.pass("rails are let in");
    std::vector<std::string> commands;
    for (const std::string& interface : shut)
      for (std::string& command : let_in_with(node, interface))
        if (std::ranges::find(commands, command) == commands.end()) commands.push_back(std::move(command));
    one.warn(
        {.message = fmt::format("{} drops what arrives and has no rule for {}: "
                                "NCCL's connections and railbed's TCP measurements will not get in",
                                *node.name, fmt::join(shut, ", ")),
         .expected = "rails are let in",
         .observed = "dropped",
         .remedy = {"Let the rails in, at the place where this node's firewall is written: they are private "
                    "networks.",
                    commands}});
  });
}

bool owns(const NodeView& node, const IpAddress& address) {
  for (const NetInterface& interface : items(node.facts->net.interfaces))
    for (const InterfaceAddress& one : items(interface.addresses))
      if (one.address == address) return true;
  return false;
}

bool addresses_known(const NodeView& node) {
  return node.facts->net.interfaces.ok() &&
         std::ranges::any_of(*node.facts->net.interfaces, [](const NetInterface& one) {
           return one.addresses.ok() && !one.addresses->empty();
         });
}

bool is_loopback(const IpAddress& address) {
  static const Subnet kFour = *Subnet::parse("127.0.0.0/8");
  return kFour.contains(address) || address.to_text() == "::1";
}

// Names of nodes in a node's hosts file: how many, and the lines that send programs elsewhere.
struct HostNames {
  std::size_t judged = 0;
  std::vector<std::string> wrong;
};

HostNames judge_names(Case& one, const Survey& survey, const NodeView& node, const HostsEntry& entry) {
  HostNames found;
  for (const std::string& name : entry.names) {
    const NodeView* owner = survey.find(name);
    // A node's own name may stand for itself (Debian's 127.0.1.1).
    if (owner == nullptr || !addresses_known(*owner) || (owner == &node && is_loopback(entry.address)))
      continue;
    ++found.judged;
    if (!is_loopback(entry.address) && owns(*owner, entry.address)) continue;
    found.wrong.push_back(fmt::format("{} {}", entry.address.to_text(), name));
    one.touch("node:" + *owner->name);
    for (const RailEnd& end : owner->ends)
      if (has_address(end) && *end.address() == entry.address) one.touch(end.touches);
  }
  return found;
}

void hosts_file(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "/etc/hosts", [&](Case& one, const NodeView& node) {
    const auto* entries = one.read_if_there(node.facts->system.hosts, "not recorded");
    if (entries == nullptr) return;
    HostNames all;
    for (const HostsEntry& entry : *entries) {
      HostNames found = judge_names(one, survey, node, entry);
      all.judged += found.judged;
      std::ranges::move(found.wrong, std::back_inserter(all.wrong));
    }
    if (all.judged == 0) return one.not_applicable("it names none of the nodes");
    if (all.wrong.empty()) return one.pass(fmt::format("{} names", all.judged));
    const std::string wrong = fmt::format("{}", fmt::join(all.wrong, ", "));
    one.warn(
        {.message = fmt::format("/etc/hosts of {} sends programs to addresses those nodes do not have: {}",
                                *node.name, wrong),
         .expected = "addresses of the nodes",
         .observed = wrong,
         .remedy = {"Correct the lines; with an address of a rail, names mean the fast network.",
                    {"grep -n . /etc/hosts"}}});
  });
}

}  // namespace

std::span<const Rule> upkeep_rules() {
  static const Rule kRules[] = {
      {.id = "host.reboot-pending",
       .title = "no reboot is pending",
       .why = "A node that waits for a reboot is not the node that was tested.",
       .source = "/run/reboot-required",
       .standard = "not there; not judged outside of Debian and Ubuntu",
       .remedy = "Drain and reboot.",
       .fixture = "v100-reboot-pending",
       .explained_by = {"host.next-kernel"},
       .check = reboot_pending},
      {.id = "host.next-kernel",
       .title = "next kernel has its drivers",
       .why =
           "An upgrade installed a kernel for which DKMS built no driver: the node comes back without GPUs.",
       .source = "/lib/modules, /var/lib/dkms",
       .standard = "what DKMS builds for one kernel is there for the newest",
       .remedy = "dkms autoinstall -k RELEASE.",
       .fixture = "h100-next-kernel",
       .explained_by = {},
       .check = next_kernel},
      {.id = "host.kernel-headers",
       .title = "kernel headers are installed",
       .why = "Without headers DKMS cannot build, and a driver upgrade leaves the node without one.",
       .source = "/lib/modules/RELEASE/build",
       .standard = "there, where DKMS builds GPU or RDMA drivers",
       .remedy = "Install the headers of the running kernel.",
       .fixture = "h100-kernel-headers",
       .explained_by = {"gpu.module-built"},
       .check = kernel_headers},
      {.id = "host.firewall",
       .title = "firewall lets the rails in",
       .why = "RDMA passes by the firewall, NCCL's start-up and its sockets do not: jobs hang at init.",
       .source = "nft -j list ruleset (root)",
       .standard = "no input chain that drops, or a rule that names the rail's interface or network",
       .remedy = "Let the rails in.",
       .fixture = "v100-firewall",
       .explained_by = {},
       .check = firewall},
      {.id = "host.hosts-file",
       .title = "hosts file gives nodes their addresses",
       .why =
           "Launchers and PyTorch find nodes by name; a stale line sends them elsewhere, or to themselves.",
       .source = "/etc/hosts, compared with the nodes' addresses",
       .standard = "each node's name stands for an address it has, and not for loopback on other nodes",
       .remedy = "Correct /etc/hosts.",
       .fixture = "v100-hosts-stale",
       .explained_by = {"net.address", "net.subnet"},
       .check = hosts_file},
  };
  return kRules;
}

}  // namespace railbed
