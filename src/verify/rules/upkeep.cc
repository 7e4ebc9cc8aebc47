// The node's upkeep: effects of its next boot.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "model/boot_network.h"
#include "model/boot_setting.h"
#include "model/tools.h"
#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

void reboot_pending(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "reboot", [](Case& verdict, const NodeView& node) {
    const bool* required = verdict.read_if_there(node.facts->system.kernel.reboot_required,
                                                 "only Debian and Ubuntu leave a mark");
    if (required == nullptr) return;
    if (!*required) return verdict.pass("not required");
    verdict.warn({.message = fmt::format("{} waits for a reboot: what was upgraded and what runs differ, "
                                         "and the next boot is not the one that was tested",
                                         *node.name),
                  .expected = "not required",
                  .observed = "required",
                  .remedy = {"Drain the node and reboot it at a time of your choosing.",
                             {"cat /run/reboot-required.pkgs", "reboot"},
                             true}});
  });
}

// Returns true for modules that a job needs; DKMS may also manage others.
bool matters(const DkmsModule& module) {
  for (const std::string_view part : {"nvidia", "mlnx", "ofed", "gdrcopy", "gdrdrv", "knem", "xpmem"})
    if (module.name.find(part) != std::string::npos) return true;
  return false;
}

void next_kernel(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "next kernel", [](Case& verdict, const NodeView& node) {
    const Kernel& kernel = node.facts->system.kernel;
    const auto* modules = verdict.read_if_there(kernel.dkms, "no DKMS here");
    if (modules == nullptr) return;
    const auto* installed = verdict.read_if_there(kernel.installed, "no kernels in /lib/modules");
    if (installed == nullptr) return;
    if (installed->empty()) return verdict.not_applicable("no kernels in /lib/modules");
    const std::string& next = installed->back();
    const bool runs = kernel.release.value_or("") == next;
    std::vector<std::string> missing;
    std::size_t used = 0;
    for (const DkmsModule& module : *modules) {
      if (!matters(module) || module.kernels.empty()) continue;
      ++used;
      if (runs && module.name.starts_with("nvidia")) continue;  // gpu.module-built judges the running kernel
      if (std::ranges::find(module.kernels, next) == module.kernels.end()) missing.push_back(module.name);
    }
    if (missing.empty()) {
      if (used == 0)
        verdict.not_applicable("DKMS builds nothing that matters here");
      else
        verdict.pass(next);
      return;
    }
    verdict.warn({.message = fmt::format(
                      "kernel {} {} {} without {}{}", next, runs ? "runs on" : "is installed on", *node.name,
                      fmt::join(missing, ", "), runs ? " of DKMS" : ": after the next boot they are gone"),
                  .expected = fmt::format("built for {}", next),
                  .observed = fmt::format("{} missing", fmt::join(missing, ", ")),
                  .remedy = {"Build them for that kernel, and read why DKMS did not.",
                             {command("dkms autoinstall -k {}", next), "dkms status"}}});
  });
}

void kernel_headers(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "kernel headers", Things{"module-build"}, [](Case& verdict, const NodeView& node) {
    const Kernel& kernel = node.facts->system.kernel;
    const auto* modules = verdict.read_if_there(kernel.dkms, "no DKMS here");
    if (modules == nullptr) return;
    if (!std::ranges::any_of(*modules, matters))
      return verdict.not_applicable("DKMS builds nothing that matters here");
    const bool* headers = verdict.read_if_there(kernel.headers, "no /lib/modules");
    if (headers == nullptr) return;
    const std::string release = kernel.release.value_or("this kernel");
    if (*headers) return verdict.pass(release);
    verdict.warn(
        {.message =
             fmt::format("{} has no headers for {}: DKMS cannot rebuild its drivers when they are upgraded",
                         *node.name, release),
         .expected = "installed",
         .observed = "missing",
         .remedy = {"Install them.", for_system(node, {command("apt-get install linux-headers-{}", release)},
                                                {command("dnf install kernel-devel-{}", release)})}});
  });
}

void settings_at_boot(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "sysctl.d", [](Case& verdict, const NodeView& node) {
    const auto wanted = wanted_settings(node);
    if (wanted.empty()) return verdict.not_applicable("no rule asks for a kernel setting here");
    if (verdict.lacks_systemd(node)) return;
    const auto* files =
        verdict.read_if_there(node.facts->system.sysctl_at_boot, "not recorded, or no sysctl.d here");
    if (files == nullptr) return;
    const BootOutlook outlook = after_reboot(node, wanted, *files);
    if (outlook.nothing_fits()) return verdict.not_applicable("what rules ask for is not set now");
    if (outlook.lost.empty() && !outlook.doubts.empty())
      return verdict.unknown(fmt::format("{}", fmt::join(outlook.doubts, "; ")));
    if (outlook.lost.empty()) return verdict.pass(fmt::format("{}", fmt::join(outlook.kept, ", ")));
    const std::string why = why_lost(outlook);
    verdict.warn({.message = fmt::format("{} has settings that are right now and gone after a reboot: {}",
                                         *node.name, why),
                  .expected = "set by a file of sysctl.d, or by the kernel itself",
                  .observed = why});
  });
}

void rails_at_boot(const Survey& survey, Judge& judge) {
  each_rail_end(survey, judge, [](Case& verdict, const NodeView& node, const RailEnd& end) {
    if (verdict.lacks_interface(end) || verdict.lacks_systemd(node)) return;
    const auto& files = node.facts->net.at_boot;
    if (needs_root(files)) return verdict.not_applicable("reading the files needs root");
    const auto* profiles =
        verdict.read_if_there(files, "not recorded, or no file of a network configuration that is known");
    if (profiles == nullptr) return;
    if (!has_known_manager(node, *profiles))
      return verdict.not_applicable("nobody who is known configures interfaces here");
    if (end.interface->master.ok()) return verdict.not_applicable("its bond or bridge has them");
    const RailOutlook outlook = rail_after_reboot(node, end, *profiles);
    if (outlook.nothing_fits()) return verdict.not_applicable("what cluster.yaml says is not set now");
    if (outlook.lost.empty() && !outlook.doubts.empty())
      return verdict.unknown(fmt::format("{}", fmt::join(outlook.doubts, "; ")));
    if (outlook.lost.empty()) return verdict.pass(fmt::format("{}", fmt::join(outlook.kept, ", ")));
    std::vector<std::string> what, why;
    for (const auto& [lost, reason] : outlook.lost) {
      what.push_back(lost);
      why.push_back(fmt::format("{}: {}", lost, reason));
    }
    verdict.warn({.message = fmt::format("{} has {} now and not after a reboot: {}", end.where(),
                                         fmt::join(what, " and "), outlook.lost.front().why),
                  .expected = "set by a file that a reboot leaves",
                  .observed = fmt::format("{}", fmt::join(why, "; ")),
                  .remedy = keep_rail_at_boot(node, end, outlook, *profiles)});
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
       .settings = {"packages/driver"},
       .check = kernel_headers},
      {.id = "host.settings-at-boot",
       .title = "next boot brings the same settings",
       .why = "What was set by hand passes every test and is gone after the next reboot, on this node only.",
       .source = "/proc/sys beside /etc/sysctl.d, /run/sysctl.d, /usr/lib/sysctl.d",
       .standard =
           "what host.socket-buffers, host.numa-balancing and host.zone-reclaim ask for, by sysctl.d(5)",
       .remedy = "Write the settings into a file in /etc/sysctl.d.",
       .fixture = "h100-settings-unsaved",
       .explained_by = {},
       .settings = {"sysctl/socket-buffers", "sysctl/numa-balancing", "sysctl/zone-reclaim"},
       .of_next_boot = true,
       .check = settings_at_boot},
      {.id = "net.kept-at-boot",
       .title = "next boot brings the same rails",
       .why =
           "An MTU or an address that was set by hand, or lies in /run, passes every test and is gone after "
           "the next reboot, on this node only.",
       .source = "/etc/netplan, /etc/NetworkManager/system-connections, /etc/systemd/network, "
                 "/etc/network/interfaces, /run",
       .standard =
           "the MTU and address that cluster.yaml wants and the interface has are in a file outside of "
           "/run: netplan.io/reference, nm-settings-keyfile(5), systemd.network(5), interfaces(5)",
       .remedy =
           "Write them with netplan set, with nmcli connection modify, or into a file of systemd-networkd.",
       .fixture = "spark-rails-in-run",
       .explained_by = {},
       .settings = {"network/rails"},
       .of_next_boot = true,
       .check = rails_at_boot},
  };
  return kRules;
}

}  // namespace railbed
