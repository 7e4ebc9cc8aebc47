#include "model/boot_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "model/link_remedy.h"

namespace railbed {
namespace {

constexpr int kDefaultMtu = 1500;       // ETH_DATA_LEN of linux/if_ether.h; initial value of mlx4 and mlx5
constexpr int kFirstWithoutIfcfg = 10;  // RHEL 10: NetworkManager no longer reads ifcfg files
constexpr std::string_view kRemedyText = "Write it where the next boot reads it; nothing changes until then.";

}  // namespace

bool unit_starts_at_boot(const NodeView& node, std::string_view unit) {
  const Service* service = find_service(node, {unit});
  return service != nullptr && service->load_state == "loaded" &&
         (service->active_state == "active" || service->unit_file_state == "enabled");
}

bool is_read_at_boot(const NodeView& node, const BootProfile& profile) {
  const std::string version = node.facts->system.os.version.value_or("");
  const int major = parse_number<int>(version.substr(0, version.find('.'))).value_or(0);
  if (profile.file.find("/ifcfg-") != std::string::npos && major >= kFirstWithoutIfcfg) return false;
  return profile.manager == "udev" || profile.manager == "ifupdown" ||
         unit_starts_at_boot(node, profile.manager);
}

namespace {

// A file's statement about the MTU or the address.
enum class Says { kNothing, kWanted, kOther };
using AskFile = std::function<Says(const BootProfile&)>;

// The statements of all files about one of the end's present values; the first file of each kind.
struct Answers {
  const BootProfile* wanted = nullptr;  // has the wanted value, and is certainly read at boot
  const BootProfile* other = nullptr;   // has another value
  // has the wanted value, but it is not certain that it applies
  const BootProfile* perhaps = nullptr;
  const BootProfile* gone = nullptr;  // has the wanted value, but is in /run
  const BootProfile* dhcp = nullptr;
  const BootProfile* silent = nullptr;  // is for the interface and does not set this
};

// Returns true if it is unknown whether the file's reader starts, because systemd did not respond, as may
// happen for a while after a boot.
bool is_reader_unknown(const NodeView& node, const BootProfile& profile) {
  const auto& services = node.facts->system.services;
  return !services && !services.absent() && profile.manager != "udev" && profile.manager != "ifupdown";
}

// Collects the statements of all files that the next boot reads, or may read, for the interface.
Answers ask_files(const NodeView& node, const std::string& interface,
                  const std::vector<BootProfile>& profiles, const AskFile& ask) {
  Answers answers;
  const auto keep = [](const BootProfile*& place, const BootProfile& profile) {
    if (place == nullptr) place = &profile;
  };
  for (const BootProfile& profile : profiles) {
    if (profile.interface != interface) continue;
    const bool unknown = is_reader_unknown(node, profile);
    if (!unknown && !is_read_at_boot(node, profile)) continue;
    const Says says = ask(profile);
    if (!profile.kept) {
      if (says == Says::kWanted) keep(answers.gone, profile);
    } else if (!profile.certain || unknown) {
      if (says == Says::kWanted) keep(answers.perhaps, profile);
    } else {
      keep(says == Says::kWanted  ? answers.wanted
           : says == Says::kOther ? answers.other
                                  : answers.silent,
           profile);
      if (profile.dhcp) keep(answers.dhcp, profile);
    }
  }
  return answers;
}

// Returns true if the kernel's command line configures interfaces. The initramfs then writes the result to
// /run at each boot.
bool boots_from_network(const NodeView& node) {
  const auto& line = node.facts->system.kernel.command_line;
  return line && std::ranges::any_of(words(*line), [](auto word) { return word.starts_with("ip="); });
}

std::string why_gone(const std::string& interface, const Answers& answers) {
  if (answers.gone != nullptr)
    return fmt::format("only {} sets it, and a reboot empties /run", answers.gone->file);
  if (answers.other != nullptr) return fmt::format("{} sets MTU {}", answers.other->file, answers.other->mtu);
  if (answers.silent != nullptr) return fmt::format("{} does not set it", answers.silent->file);
  return fmt::format("no file of netplan, NetworkManager, systemd-networkd or ifupdown sets it for {}",
                     interface);
}

// Decides by the statements: contradicting files make a doubt, a wanted file keeps the value, another file
// loses it. `doubt` names another program that may set it; empty if there is none.
AtBoot conclude(const NodeView& node, const std::string& interface, const Answers& answers,
                std::string doubt) {
  if (answers.wanted != nullptr && answers.other != nullptr)
    doubt = fmt::format("{} and {} differ", answers.wanted->file, answers.other->file);
  else if (answers.wanted != nullptr)
    return {true, ""};
  else if (answers.other != nullptr)
    doubt.clear();
  else if (answers.perhaps != nullptr && is_reader_unknown(node, *answers.perhaps))
    doubt = fmt::format("whether {} starts at boot could not be read", answers.perhaps->manager);
  else if (answers.perhaps != nullptr)
    doubt = fmt::format("whether {} is for {} cannot be told", answers.perhaps->file, interface);
  else if (answers.gone != nullptr && boots_from_network(node))
    doubt = fmt::format("{} may be written again at each boot", answers.gone->file);
  if (doubt.empty()) return {false, why_gone(interface, answers)};
  return {std::nullopt, std::move(doubt)};
}

void place(const RailEnd& end, std::string what, AtBoot at_boot, RailOutlook& outlook) {
  if (at_boot.kept == true)
    outlook.kept.push_back(std::move(what));
  else if (at_boot.kept == false)
    outlook.lost.push_back({std::move(what), std::move(at_boot.why)});
  else
    outlook.doubts.push_back(fmt::format("{} of {}: {}", what, end.where(), at_boot.why));
}

void look_at_mtu(const NodeView& node, const RailEnd& end, const std::vector<BootProfile>& profiles,
                 RailOutlook& outlook) {
  const auto& wanted = end.rail->mtu;
  // IPoIB gets its MTU from the partition.
  if (!wanted || end.infiniband() || end.interface->mtu.value_or(0) != *wanted) return;
  AtBoot at_boot = mtu_at_boot(node, *end.interface, *wanted, profiles);
  outlook.mtu_lost = at_boot.kept == false;
  place(end, fmt::format("MTU {}", *wanted), std::move(at_boot), outlook);
}

void look_at_address(const NodeView& node, const RailEnd& end, const std::vector<BootProfile>& profiles,
                     RailOutlook& outlook) {
  const IpAddress* wanted = end.address();
  if (wanted == nullptr || held_as(*end.interface, *wanted).empty()) return;
  place(end, held_as(*end.interface, *wanted), address_at_boot(node, *end.interface, *wanted, profiles),
        outlook);
}

// Returns the profile that a remedy changes: one that is read at boot and configures this interface; null if
// there is none.
const BootProfile* own_profile(const NodeView& node, const RailEnd& end,
                               const std::vector<BootProfile>& profiles) {
  const auto found = std::ranges::find_if(profiles, [&](const BootProfile& profile) {
    return profile.interface == end.name && profile.kept && profile.certain && profile.manager != "udev" &&
           is_read_at_boot(node, profile);
  });
  return found == profiles.end() ? nullptr : &*found;
}

bool is_netplan(std::string_view file) { return file.find("/netplan/") != std::string_view::npos; }

// Writes files only: netplan-set(8) applies nothing.
std::vector<ShellCommand> set_with_netplan(const std::string& id, int mtu, const std::string& address) {
  std::vector<ShellCommand> commands;
  if (mtu > 0) commands.push_back(command("netplan set ethernets.{}.mtu={}", id, mtu));
  if (!address.empty())
    commands.push_back(
        command("netplan set {}", fmt::format("ethernets.{}.addresses=[\"{}\"]", id, address)));
  return commands;
}

std::vector<ShellCommand> set_with_nmcli(const RailEnd& end, const BootProfile* profile, int mtu,
                                         const std::string& address) {
  const std::string family = address.find(':') == std::string::npos ? "ipv4" : "ipv6";
  std::vector<std::string> settings;
  if (mtu > 0) settings = {"ethernet.mtu", std::to_string(mtu)};
  const auto add = [&](std::initializer_list<std::string> words) {
    if (!address.empty()) settings.insert(settings.end(), words);
  };
  if (profile != nullptr) {
    add({"+" + family + ".addresses", address, family + ".method", "manual"});
    return {command("nmcli connection modify uuid {} {}", profile->id, settings)};
  }
  add({family + ".method", "manual", family + ".addresses", address});
  return {command("nmcli connection add type {} con-name {} ifname {} {}",
                  end.infiniband() ? "infiniband" : "ethernet", end.name, end.name, settings)};
}

// Returns true if the id belongs to this interface only: a netplan device named like the interface, or a
// profile that nmcli created.
bool is_own_id(const std::string& id, const RailEnd& end) { return id == end.name || id.starts_with("NM-"); }

ShellCommand write_for_networkd(const RailEnd& end, int mtu, const std::string& address) {
  std::string file = fmt::format("[Match]\\nName={}\\n", printf_text(end.name));
  if (mtu > 0) file += fmt::format("\\n[Link]\\nMTUBytes={}\\n", mtu);
  if (!address.empty()) file += fmt::format("\\n[Network]\\nAddress={}\\n", address);
  return command("printf {} > /etc/systemd/network/05-{}.network", ShellQuoted{file}, end.name);
}

}  // namespace

// Returns true if the profile's MTU needs connected mode: datagram mode would reject the file or cut the MTU.
bool must_lose_mtu(const BootProfile& profile, std::string_view mode) {
  return mode == "datagram" && profile.mtu > kLargestDatagram;
}

// netplan supports "infiniband-mode" since 0.105. Without it, a port starts in datagram mode on every
// version.
std::vector<ShellCommand> keep_ipoib_with(const NodeView& node, const RailEnd& end, std::string_view mode,
                                          int mtu) {
  const auto& at_boot = node.facts->net.at_boot;
  const BootProfile* profile = at_boot ? own_profile(node, end, *at_boot) : nullptr;
  if (profile == nullptr || profile->id.empty()) return {};
  if (is_netplan(profile->file)) {
    if (!is_own_id(profile->id, end) || profile->id.find('.') != std::string::npos) return {};
    std::vector<ShellCommand> commands = {command("netplan set ethernets.{}.infiniband-mode={}", profile->id,
                                                  mode == "datagram" ? "null" : mode)};
    if (mtu > 0) commands.push_back(command("netplan set ethernets.{}.mtu={}", profile->id, mtu));
    if (mtu == 0 && must_lose_mtu(*profile, mode))
      commands.push_back(command("netplan set ethernets.{}.mtu=null", profile->id));
    return commands;
  }
  if (profile->manager != "NetworkManager") return {};
  const auto set = command("nmcli connection modify uuid {} infiniband.transport-mode {}", profile->id, mode);
  if (mtu > 0 || must_lose_mtu(*profile, mode)) return {command("{} infiniband.mtu {}", set, mtu)};
  return {set};
}

bool has_known_manager(const NodeView& node, const std::vector<BootProfile>& profiles) {
  return unit_starts_at_boot(node, "NetworkManager") || unit_starts_at_boot(node, "systemd-networkd") ||
         std::ranges::find(profiles, "ifupdown", &BootProfile::manager) != profiles.end();
}

AtBoot mtu_at_boot(const NodeView& node, const NetInterface& interface, int mtu,
                   const std::vector<BootProfile>& profiles) {
  const Answers answers = ask_files(node, interface.name, profiles, [&](const BootProfile& profile) {
    return profile.mtu == 0 ? Says::kNothing : profile.mtu == mtu ? Says::kWanted : Says::kOther;
  });
  const bool plain = interface.driver.value_or("").starts_with("mlx");
  if (plain && mtu == kDefaultMtu && answers.other == nullptr) return {true, ""};
  std::string doubt;
  if (!plain)
    doubt = "no file outside of /run sets it, and what such an interface starts with is not known";
  else if (unit_starts_at_boot(node, "rdma-optimize"))
    doubt = "no file outside of /run sets it; rdma-optimize.service may, and what it does was not read";
  else if (answers.dhcp != nullptr)
    doubt = "no file outside of /run sets it, and DHCP may bring it";
  return conclude(node, interface.name, answers, doubt);
}

AtBoot address_at_boot(const NodeView& node, const NetInterface& interface, const IpAddress& address,
                       const std::vector<BootProfile>& profiles) {
  const Answers answers = ask_files(node, interface.name, profiles, [&](const BootProfile& profile) {
    const bool says =
        std::ranges::find(profile.addresses, address, &InterfaceAddress::address) != profile.addresses.end();
    return says ? Says::kWanted : Says::kNothing;
  });
  const std::string doubt =
      answers.dhcp == nullptr ? "" : "no file outside of /run sets it, and DHCP may bring it";
  return conclude(node, interface.name, answers, doubt);
}

RailOutlook rail_after_reboot(const NodeView& node, const RailEnd& end,
                              const std::vector<BootProfile>& profiles) {
  RailOutlook outlook;
  look_at_mtu(node, end, profiles, outlook);
  look_at_address(node, end, profiles, outlook);
  return outlook;
}

Remedy keep_rail_at_boot(const NodeView& node, const RailEnd& end, const RailOutlook& outlook,
                         const std::vector<BootProfile>& profiles) {
  const int mtu = outlook.mtu_lost ? *end.rail->mtu : 0;
  const bool address_lost = outlook.lost.size() > (outlook.mtu_lost ? 1U : 0U);
  const std::string address = address_lost ? held_as(*end.interface, *end.address()) : "";
  const BootProfile* profile = own_profile(node, end, profiles);
  const std::string id = profile == nullptr || profile->id.empty() ? end.name : profile->id;
  const bool own_id = is_own_id(id, end);
  const bool ethernet =
      end.interface->pci_address.ok() && !end.infiniband() && id.find('.') == std::string::npos;
  const bool uses_netplan =
      profile == nullptr ? node.facts->system.os.id.value_or("") == "ubuntu" : is_netplan(profile->file);
  if (uses_netplan && own_id && ethernet)
    return {std::string(kRemedyText), set_with_netplan(id, mtu, address)};
  const bool uses_nmcli = unit_starts_at_boot(node, "NetworkManager");
  if (!uses_netplan && uses_nmcli &&
      (profile == nullptr ? end.interface->pci_address.ok() || end.infiniband()
                          : profile->manager == "NetworkManager" && !profile->id.empty()))
    return {std::string(kRemedyText), set_with_nmcli(end, profile, mtu, address)};
  if (profile != nullptr)
    return {fmt::format("Set it in {}, which configures {}, and for no other interface.", profile->file,
                        end.name)};
  if (unit_starts_at_boot(node, "systemd-networkd") && !uses_netplan)
    return {std::string(kRemedyText), {write_for_networkd(end, mtu, address)}};
  return {fmt::format("Set it where this system configures {} at boot.", end.name)};
}

}  // namespace railbed
