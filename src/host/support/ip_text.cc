// Interfaces from the outputs of iproute2 and ethtool, as files of /sys/class/net and as the JSON that
// collectors read from `ip`.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/fields.h"
#include "base/json.h"
#include "base/text.h"
#include "host/device_calls.h"
#include "host/support/texts.h"

namespace railbed {
namespace {

const std::string kNet = "/sys/class/net";
constexpr std::size_t kMostSentInterfaces = 4096;

struct IpInfoData {
  int id = 0;
  std::string mode;  // of a bond
  FIELDS(IpInfoData, id, mode);
};
struct IpInfo {
  std::string info_kind;
  IpInfoData info_data;
  FIELDS(IpInfo, info_kind, info_data);
};
// One interface with the field names of `ip -j -d address`; text output is converted to it.
struct IpLink {
  std::string ifname;
  std::string link;  // for a VLAN: the interface below it
  std::vector<std::string> flags;
  int mtu = 0;
  std::string operstate;
  std::string link_type;  // ether, loopback, infiniband
  std::string address;
  std::string master;
  std::string parentbus;
  std::string parentdev;
  IpInfo linkinfo;
  std::vector<InterfaceAddressInfo> addr_info;
  FIELDS(IpLink, ifname, link, flags, mtu, operstate, link_type, address, master, parentbus, parentdev,
         linkinfo, addr_info);
};

struct IpDefaultRoute {
  std::string dev;
  FIELDS(IpDefaultRoute, dev);
};

bool is_interface(std::string_view name) { return is_plain_word(name, 15) && name.find('/') == name.npos; }

// Returns the word after `key`; empty if there is none.
std::string_view word_after(const std::vector<std::string_view>& words, std::string_view key) {
  const auto found = std::ranges::find(words, key);
  return found == words.end() || found + 1 == words.end() ? std::string_view() : *(found + 1);
}

// Parses "2: ens1np0: <BROADCAST,UP> mtu 9000 qdisc mq master bond0 state UP …" or "5: v100@ens1np0: …".
std::optional<IpLink> head_in(std::string_view line) {
  const auto parts = words(line);
  if (parts.size() < 3 || !parts[0].ends_with(':') || !parts[1].ends_with(':') || !parts[2].starts_with('<'))
    return std::nullopt;
  IpLink link;
  const auto name = parts[1].substr(0, parts[1].size() - 1);
  link.ifname = name.substr(0, name.find('@'));
  if (const auto at = name.find('@'); at != name.npos) link.link = name.substr(at + 1);
  for (const auto flag : split(parts[2].substr(1, parts[2].find('>') - 1), ','))
    link.flags.emplace_back(flag);
  link.mtu = parse_number<int>(word_after(parts, "mtu")).value_or(0);
  link.operstate = word_after(parts, "state");
  link.master = word_after(parts, "master");
  return link;
}

void read_line(std::string_view line, IpLink& link) {
  const auto parts = words(line);
  if (parts.empty()) return;
  const bool is_inet = parts[0] == "inet" || parts[0] == "inet6";
  if (parts[0].starts_with("link/") && parts.size() > 1) {
    link.link_type = parts[0].substr(5);
    link.address = parts[1];
  } else if (is_inet && parts.size() > 1) {
    const auto slash = parts[1].find('/');
    const auto length =
        slash == std::string_view::npos ? std::nullopt : parse_number<int>(parts[1].substr(slash + 1));
    if (length) link.addr_info.push_back({std::string(parts[1].substr(0, slash)), *length});
  }
  if (is_inet) return;  // the label behind an address is untrusted text
  if (const auto device = word_after(parts, "parentdev"); !device.empty()) {
    link.parentbus = word_after(parts, "parentbus");
    link.parentdev = device;
  }
  if (parts[0] == "vlan") {
    link.linkinfo.info_kind = "vlan";
    link.linkinfo.info_data.id = parse_number<int>(word_after(parts, "id")).value_or(0);
  }
  if (parts[0] == "bond") {
    link.linkinfo.info_kind = "bond";
    link.linkinfo.info_data.mode = word_after(parts, "mode");
  }
}

std::vector<IpLink> links_of_text(std::string_view text) {
  std::vector<IpLink> found;
  for (const auto line : lines(text)) {
    const bool begins = !line.empty() && line[0] >= '0' && line[0] <= '9';
    if (!begins) {
      if (!found.empty()) read_line(line, found.back());
      continue;
    }
    auto link = head_in(line);
    if (link && found.size() < kMostSentInterfaces) found.push_back(std::move(*link));
  }
  return found;
}

std::vector<IpLink> links_in(std::string_view text) {
  if (!trim(text).starts_with('[')) return links_of_text(text);
  auto parsed = json::read<std::vector<IpLink>>(text);
  if (!parsed) return {};
  parsed->resize(std::min(parsed->size(), kMostSentInterfaces));
  return std::move(*parsed);
}

// ARPHRD_… of linux/if_arp.h
std::string_view type_number(std::string_view link_type) {
  if (link_type == "ether") return "1";
  if (link_type == "infiniband") return "32";
  return link_type == "loopback" ? "772" : "";
}

// Adds the link to the interface's device, if its parent is known, or records that it has none.
void add_device(const std::string& folder, const IpLink& link, bool parents_are_told, ReportTree& report) {
  const std::string address = link.parentbus == "pci" ? full_pci_address(link.parentdev) : "";
  const bool is_virtual =
      link.link_type == "loopback" || !link.link.empty() || !link.linkinfo.info_kind.empty();
  if (!address.empty())
    report.link(folder + "/device", "/sys/bus/pci/devices/" + address);
  else if (is_virtual || (parents_are_told && link.parentdev.empty()))
    report.nothing(folder + "/device");
}

void add_bond(const std::string& folder, const IpLink& link, const std::vector<IpLink>& all,
              ReportTree& report) {
  if (link.linkinfo.info_kind != "bond") return report.nothing(folder + "/bonding");
  std::string members;
  for (const IpLink& ip_link : all)
    if (ip_link.master == link.ifname) members += (members.empty() ? "" : " ") + ip_link.ifname;
  report.line(folder + "/bonding/slaves", members);
  if (!link.linkinfo.info_data.mode.empty())
    report.line(folder + "/bonding/mode", link.linkinfo.info_data.mode);
}

void add_interface(const IpLink& link, const std::vector<IpLink>& all, bool details, bool parents,
                   ReportTree& report) {
  const std::string folder = kNet + "/" + link.ifname;
  const auto has_flag = [&](std::string_view flag) {
    return std::ranges::find(link.flags, flag) != link.flags.end();
  };
  const bool up = has_flag("UP");
  report.line(folder + "/flags", up ? "0x1" : "0x0");
  report.line(folder + "/carrier", has_flag("LOWER_UP") ? "1" : "0");
  if (link.mtu > 0) report.line(folder + "/mtu", std::to_string(link.mtu));
  if (!link.operstate.empty()) report.line(folder + "/operstate", lower(link.operstate));
  if (!link.address.empty()) report.line(folder + "/address", link.address);
  if (const auto type = type_number(link.link_type); !type.empty()) report.line(folder + "/type", type);
  if (is_interface(link.master))
    report.link(folder + "/master", kNet + "/" + link.master);
  else
    report.nothing(folder + "/master");
  if (!details) return;
  add_device(folder, link, parents, report);
  add_bond(folder, link, all, report);
}

void add_vlans(const std::vector<IpLink>& all, ReportTree& report) {
  std::vector<IpLink> vlans;
  for (const IpLink& link : all)
    if (link.linkinfo.info_kind == "vlan") vlans.push_back(link);
  report.command("ip -d -j link show type vlan", json::dump(json::encode(vlans)));
}

}  // namespace

void add_ip_address(std::string_view text, bool details, ReportTree& report) {
  auto all = links_in(text);
  std::erase_if(all, [](const IpLink& link) { return !is_interface(link.ifname); });
  if (all.empty()) return;
  report.whole(kNet);
  const bool parents = std::ranges::any_of(all, [](const IpLink& link) { return !link.parentdev.empty(); });
  for (const IpLink& link : all) add_interface(link, all, details, parents, report);
  report.command("ip -j address show", json::dump(json::encode(all)));
  if (details) add_vlans(all, report);
}

// Reads "default via 10.0.0.1 dev eno1 proto static". Routes of other tables, which name their table, are
// skipped.
void add_ip_route(std::string_view text, ReportTree& report) {
  std::vector<IpDefaultRoute> routes;
  if (trim(text).starts_with('[')) return;
  for (const auto line : lines(text)) {
    const auto parts = words(line);
    if (parts.empty() || parts[0] != "default" || !word_after(parts, "table").empty()) continue;
    if (const auto device = word_after(parts, "dev");
        is_interface(device) && routes.size() < kMostSentInterfaces)
      routes.push_back({std::string(device)});
  }
  report.command("ip -j route show default", json::dump(json::encode(routes)));
}

// Reads "	Speed: 400000Mb/s"; "Unknown!" is the kernel's -1.
void add_ethtool(const std::string& interface, std::string_view text, ReportTree& report) {
  if (!is_interface(interface) || !report.has(kNet + "/" + interface)) return;
  for (const auto line : lines(text)) {
    const auto pair = key_value(line, ':');
    if (!pair || pair->first != "Speed") continue;
    const auto speed = parse_number<int>(pair->second.substr(0, pair->second.find("Mb/s")));
    report.line(kNet + "/" + interface + "/speed", std::to_string(speed.value_or(-1)));
  }
}

// Reads "bus-info: 0000:19:00.0".
void add_ethtool_driver(const std::string& interface, std::string_view text, ReportTree& report) {
  if (!is_interface(interface) || !report.has(kNet + "/" + interface)) return;
  for (const auto line : lines(text)) {
    const auto pair = key_value(line, ':');
    if (!pair || pair->first != "bus-info") continue;
    const std::string address = full_pci_address(pair->second);
    if (!address.empty()) report.link(kNet + "/" + interface + "/device", "/sys/bus/pci/devices/" + address);
  }
}

}  // namespace railbed
