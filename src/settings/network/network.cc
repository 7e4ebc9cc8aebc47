// Addresses and MTUs of rails, the management interface if cluster.yaml describes it, and interfaces that
// stay down; written for netplan, NetworkManager or systemd-networkd, whichever the node uses.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "settings/files.h"
#include "settings/network/foreign_files.h"
#include "settings/network/interface_needs.h"
#include "settings/network/network_files.h"
#include "settings/render.h"

namespace railbed {
namespace {

constexpr std::size_t kMostInTitle = 4;
constexpr std::size_t kMostNamesInNote = 8;

constexpr std::string_view kRailReason =
    "both ends of a rail need the same MTU and an address of the rail's own subnet at every boot; what `ip "
    "link set` did is gone after a reboot, and so is what nmcli wrote to /run";
constexpr std::string_view kManagementReason =
    "cluster.yaml describes how the node is reached; a mistake here locks everybody out";
constexpr std::string_view kUnusedReason =
    "a port without a cable or a subnet offers GIDs and routes that NCCL and people take for a rail";

std::string shortened(const std::vector<std::string>& texts, std::size_t most) {
  const auto end = texts.begin() + std::min(texts.size(), most);
  std::string text = fmt::format("{}", fmt::join(texts.begin(), end, "; "));
  if (texts.size() > most) text += fmt::format("; and {} more", texts.size() - most);
  return text;
}

std::string title_of(const std::vector<WantedInterface>& all) {
  std::vector<std::string> texts;
  for (const WantedInterface& interface : all) texts.push_back(interface.to_text());
  return shortened(texts, kMostInTitle);
}

// Adds a note if the interface is missing. railbed renames none: a udev rule would move the problem to the
// next adapter.
void note_if_missing(const Target& target, const WantedInterface& wanted, Setting& setting) {
  const auto& interfaces = target.facts().net.interfaces;
  if (!target.looked() || !interfaces.ok() || wanted.kind == LinkKind::kVlan ||
      find_interface(target.facts().net, wanted.name) != nullptr)
    return;
  std::vector<std::string> names;
  for (const NetInterface& interface : *interfaces)
    if (interface.pci_address.ok()) names.push_back(interface.name);
  setting.notes.push_back(fmt::format(
      "{} is not on {}; on PCI there are: {}. railbed renames none: say the right name in cluster.yaml",
      wanted.name, target.node().name, names.empty() ? "none" : shortened(names, kMostNamesInNote)));
}

void describe(const Target& target, const WantedInterface& wanted, Setting& setting) {
  for (Need& need : interface_needs(target, wanted)) setting.needs.push_back(std::move(need));
  note_if_missing(target, wanted, setting);
}

Setting setting_of(const Target& target, const std::vector<WantedInterface>& all) {
  const bool rails = all.front().rail;
  Setting setting{.section = Section::kNetwork,
                  .name = rails ? "network/rails" : "network/management",
                  .title = title_of(all),
                  .reason = std::string(rails ? kRailReason : kManagementReason),
                  .risk = rails ? Risk::kTraffic : Risk::kAccess};
  for (const WantedInterface& interface : all) {
    setting.subjects.push_back(interface.name);
    describe(target, interface, setting);
  }
  return setting;
}

// A setting without files or steps: a person has to act.
Setting left_alone(const Target& target, const WantedInterface& wanted, std::string why) {
  Setting setting = setting_of(target, {wanted});
  setting.risk = Risk::kNone;
  setting.notes.push_back(std::move(why));
  return setting;
}

std::string unknown_keeper(const Target& target) {
  return fmt::format(
      "who keeps the network's settings here is not known ({}); say it in cluster.yaml, as in \"configure: "
      "{{network: netplan}}\", networkmanager or networkd",
      who_keeps_network(target));
}

std::string why_nothing_is_written(const Target& target, const WantedNetwork& network,
                                   const WantedInterface& wanted) {
  if (!target.platform.network) return unknown_keeper(target);
  if (std::string why = why_left_alone(target, network, wanted); !why.empty()) return why;
  if (std::string why = why_not_written(target, wanted); !why.empty()) return why;
  return foreign_files(target, network, wanted).blocked;
}

bool is_cloud_init(const BootProfile& profile) {
  return profile.file.find("cloud-init") != std::string::npos;
}

// cloud-init writes its file again if it takes the machine for a new one. Its present file stays: without it,
// as after `rm 50-cloud-init.yaml`, the management interface would lose its address.
bool needs_cloud_init_off(const Target& target) {
  if (!target.looked()) return target.platform.network == NetworkKeeper::kNetplan;
  const auto& files = target.facts().net.at_boot;
  return files.ok() && std::ranges::any_of(*files, is_cloud_init);
}

void turn_cloud_init_off(const Target& target, Setting& setting) {
  if (!needs_cloud_init_off(target)) return;
  setting.files.push_back({.path = "/etc/cloud/cloud.cfg.d/99-railbed-network.cfg",
                           .content = std::string(kFileMark) + "network: {config: disabled}\n"});
  setting.notes.emplace_back(
      "cloud-init no longer configures the network at its next run; the file that it wrote stays, since it "
      "may hold the management interface");
}

void write_files(const Target& target, const std::vector<WantedInterface>& all, Setting& setting) {
  switch (*target.platform.network) {
    case NetworkKeeper::kNetplan:
      setting.files.push_back(
          netplan_file(target, all.front().rail ? kNetplanRails : kNetplanManagement, all));
      setting.steps.push_back({StepKind::kApplyNetplan});
      return;
    case NetworkKeeper::kNetworkManager: {
      NodeStep load{StepKind::kLoadConnections};
      for (const WantedInterface& interface : all) {
        setting.files.push_back(keyfile(target, interface));
        load.arguments.push_back(setting.files.back().path);
      }
      setting.steps.push_back(std::move(load));
      return;
    }
    case NetworkKeeper::kNetworkd: {
      NodeStep reload{StepKind::kReloadNetworkd};
      for (const WantedInterface& interface : all) {
        for (DesiredFile& file : networkd_files(interface, all)) setting.files.push_back(std::move(file));
        // A VLAN that does not exist yet is created and configured with its carrier.
        if (interface.kind != LinkKind::kVlan) reload.arguments.push_back(interface.name);
      }
      setting.steps.push_back(std::move(reload));
    }
  }
}

Setting made(const Target& target, const WantedNetwork& network, const std::vector<WantedInterface>& all) {
  Setting setting = setting_of(target, all);
  write_files(target, all, setting);
  for (const WantedInterface& interface : all) {
    ForeignFiles foreign = foreign_files(target, network, interface);
    for (Contradiction& each : foreign.contradictions)
      if (std::ranges::find(setting.contradictions, each.path, &Contradiction::path) ==
          setting.contradictions.end())
        setting.contradictions.push_back(std::move(each));
    setting.notes.insert(setting.notes.end(), foreign.notes.begin(), foreign.notes.end());
  }
  return setting;
}

// Groups interfaces that are applied together: all of netplan's, which has one step for all; else an
// interface with its VLANs.
std::vector<std::vector<WantedInterface>> groups_of(const Target& target,
                                                    const std::vector<WantedInterface>& all) {
  if (all.empty()) return {};
  if (target.platform.network == NetworkKeeper::kNetplan) return {all};
  std::vector<std::vector<WantedInterface>> groups;
  for (const WantedInterface& interface : all) {
    const auto carries = [&](const auto& group) { return group.front().name == interface.parent; };
    const auto group = std::ranges::find_if(groups, carries);
    if (group != groups.end())
      group->push_back(interface);
    else
      groups.push_back({interface});
  }
  return groups;
}

void render_rails(const Target& target, const WantedNetwork& network, std::vector<Setting>& settings) {
  std::vector<WantedInterface> ready;
  for (const WantedInterface& interface : network.rails) {
    std::string why = why_nothing_is_written(target, network, interface);
    if (why.empty() && interface.kind == LinkKind::kVlan &&
        std::ranges::find(ready, interface.parent, &WantedInterface::name) == ready.end())
      why = fmt::format("{}, which carries it, is not written", interface.parent);
    if (why.empty())
      ready.push_back(interface);
    else
      settings.push_back(left_alone(target, interface, std::move(why)));
  }
  for (const auto& group : groups_of(target, ready)) settings.push_back(made(target, network, group));
}

void render_management(const Target& target, const WantedNetwork& network, std::vector<Setting>& settings) {
  if (!network.management) return;
  std::string why = why_nothing_is_written(target, network, *network.management);
  settings.push_back(why.empty() ? made(target, network, {*network.management})
                                 : left_alone(target, *network.management, std::move(why)));
}

void keep_down(const Target& target, const std::vector<std::string>& interfaces, Setting& setting) {
  std::vector<std::string> there;
  for (const std::string& interface : interfaces)
    if (!target.looked() || find_interface(target.facts().net, interface) != nullptr)
      there.push_back(interface);
  if (target.platform.network == NetworkKeeper::kNetworkd) {
    setting.files.push_back(networkd_unused(interfaces));
    if (!there.empty()) setting.steps.push_back({StepKind::kReloadNetworkd, there});
  } else if (target.platform.network == NetworkKeeper::kNetworkManager ||
             target.platform.netplan_by_networkmanager) {
    // netplan supports "activation-mode: off" only with systemd-networkd.
    setting.files.push_back(unmanaged(interfaces));
    if (!there.empty()) setting.steps.push_back({StepKind::kSetLinkDown, there});
  } else {
    setting.files.push_back(netplan_unused(target, interfaces));
    setting.steps.push_back({StepKind::kApplyNetplan});
  }
}

Setting down_setting(const Target& target, const std::vector<std::string>& interfaces) {
  Setting setting{.section = Section::kNetwork,
                  .name = "network/unused",
                  .subjects = interfaces,
                  .title = fmt::format("{} down", shortened(interfaces, kMostInTitle)),
                  .reason = std::string(kUnusedReason)};
  for (const std::string& interface : interfaces) setting.needs.push_back(stays_down(target, interface));
  return setting;
}

void render_unused(const Target& target, const WantedNetwork& network, std::vector<Setting>& settings) {
  std::vector<std::string> written;
  for (const std::string& one : network.unused) {
    std::string why = target.platform.network ? why_not_taken_down(target, one) : unknown_keeper(target);
    if (why.empty()) {
      written.push_back(one);
      continue;
    }
    settings.push_back(down_setting(target, {one}));
    settings.back().notes.push_back(std::move(why));
  }
  if (written.empty()) return;
  settings.push_back(down_setting(target, written));
  settings.back().risk = Risk::kTraffic;
  keep_down(target, written, settings.back());
}

}  // namespace

void render_network(const Target& target, std::vector<Setting>& settings) {
  const WantedNetwork network = wanted_network(target);
  std::vector<Setting> made_here;
  render_management(target, network, made_here);
  render_rails(target, network, made_here);
  // cloud-init is turned off with the last setting that has files: with the rails, if there are any.
  // Management comes first and may need no change.
  const auto last = std::ranges::find_if(made_here.rbegin(), made_here.rend(),
                                         [](const Setting& setting) { return !setting.files.empty(); });
  if (last != made_here.rend()) turn_cloud_init_off(target, *last);
  render_unused(target, network, made_here);
  std::ranges::move(made_here, std::back_inserter(settings));
}

}  // namespace railbed
