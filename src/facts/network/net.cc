#include "facts/network/net.h"

#include <algorithm>

#include "base/fields.h"
#include "base/json.h"
#include "facts/pcie.h"
#include "facts/readings.h"
#include "host/device_calls.h"

namespace railbed {
namespace {

using Addresses = std::map<std::string, std::vector<InterfaceAddress>, std::less<>>;

// The members of iproute2's JSON that are used here.
struct IpRoute {
  std::string dev;
  FIELDS(IpRoute, dev);
};

struct IpVlanData {
  int id = 0;
  FIELDS(IpVlanData, id);
};
struct IpVlanInfo {
  IpVlanData info_data;
  FIELDS(IpVlanInfo, info_data);
};
struct IpVlan {
  std::string ifname;
  std::string link;
  IpVlanInfo linkinfo;
  FIELDS(IpVlan, ifname, link, linkinfo);
};

// Parses the output of iproute2, which prints nothing for an empty list.
template <class T>
Reading<T> read_json(const Reading<std::string>& text) {
  if (!text) return {text.miss(), text.from()};
  if (trim(*text).empty()) return {T{}, text.from()};
  auto parsed = json::read<T>(*text);
  if (!parsed) return {Miss{Missing::kGarbled, parsed.error().text}, text.from()};
  return {std::move(*parsed), text.from()};
}

template <class T>
Reading<T> run_json(Host& host, const std::vector<std::string>& words) {
  return read_json<T>(run_and_read(host, words));
}

// Reads the addresses. Support reports and older captures have the output of ip(8) only.
Reading<Addresses> collect_addresses(Host& host) {
  auto text = host.call("addresses");
  if (!text) text = run_and_read(host, {"ip", "-j", "address", "show"});
  return read_json<std::vector<InterfaceAddresses>>(text).parsed(
      [](const std::vector<InterfaceAddresses>& interfaces) {
        Addresses addresses;
        for (const auto& interface : interfaces)
          for (const auto& info : interface.addr_info)
            if (const auto address = IpAddress::parse(info.local))
              addresses[interface.ifname].push_back({*address, info.prefixlen});
        return std::optional(std::move(addresses));
      });
}

Reading<std::vector<std::string>> collect_default_routes(Host& host) {
  if (const auto routes = host.call("default-routes"); routes.ok())
    return read_json<std::vector<std::string>>(routes).parsed([](std::vector<std::string> interfaces) {
      std::erase_if(interfaces, [](const auto& name) { return !is_device_name(name, kLongestInterface); });
      return std::optional(std::move(interfaces));
    });
  return run_json<std::vector<IpRoute>>(host, {"ip", "-j", "route", "show", "default"})
      .parsed([](const std::vector<IpRoute>& routes) {
        std::vector<std::string> interfaces;
        for (const auto& route : routes)
          if (!route.dev.empty() &&
              std::find(interfaces.begin(), interfaces.end(), route.dev) == interfaces.end())
            interfaces.push_back(route.dev);
        return std::optional(std::move(interfaces));
      });
}

// Reads the VLANs. The kernel's 8021q has a folder for them; without it there are none, and no program has to
// run.
Reading<std::vector<Vlan>> collect_vlans(Host& host) {
  const std::string folder = "/proc/net/vlan";
  if (host.list(folder).absent()) return {std::vector<Vlan>{}, folder};
  return run_json<std::vector<IpVlan>>(host, {"ip", "-d", "-j", "link", "show", "type", "vlan"})
      .parsed([](const std::vector<IpVlan>& links) {
        std::vector<Vlan> vlans;
        const auto named = [](const std::string& name) { return is_device_name(name, kLongestInterface); };
        for (const auto& link : links)
          if (vlans.size() < kMostOfAKind && named(link.ifname) && (link.link.empty() || named(link.link)))
            vlans.push_back({link.ifname, link.link, link.linkinfo.info_data.id});
        return std::optional(std::move(vlans));
      });
}

// Reads the speed. The kernel returns -1 if the driver reports none (ethtool's SPEED_UNKNOWN).
Reading<int> read_speed(Host& host, const std::string& path) {
  const auto speed = read_number<int>(host, path);
  if (speed && *speed < 0) return {Miss{Missing::kUnsupported, "the driver does not know (-1)"}, path};
  return speed;
}

Reading<std::string> read_pci_address(Host& host, const std::string& path) {
  const auto resolved = host.resolve(path);
  if (!resolved) return resolved;
  const std::string address = last_pci_address(*resolved);
  if (address.empty()) return {Miss{Missing::kAbsent, "not on PCI"}, path};
  return {address, path};
}

Reading<bool> read_administratively_up(Host& host, const std::string& path) {
  constexpr std::uint32_t kUp = 1;  // IFF_UP, include/uapi/linux/if.h
  return read_number<std::uint32_t>(host, path, 16).parsed([](std::uint32_t flags) {
    return std::optional((flags & kUp) != 0);
  });
}

Reading<std::vector<std::string>> read_words(Host& host, const std::string& path) {
  return host.read_line(path).parsed([](const std::string& line) {
    std::vector<std::string> found;
    for (const auto word : words(line)) found.emplace_back(word);
    return std::optional(std::move(found));
  });
}

// Returns the link modes; absent if none is stated, as in captures of earlier versions of railbed.
Reading<LinkModes> modes_in(const EthernetAnswer& answer, const std::string& from) {
  if (!answer.modes_error.empty()) return {Miss{Missing::kUnsupported, answer.modes_error}, from};
  if (answer.supported_mbps == 0 && answer.advertised_mbps == 0)
    return {Miss{Missing::kAbsent, "no link mode is stated"}, from};
  return {LinkModes{answer.autonegotiates, answer.supported_mbps, answer.advertised_mbps, answer.peer_mbps},
          from};
}

// Sets modes, pause and priorities. Each is missing on its own if the driver does not support it.
void collect_ethernet(Host& host, NetInterface& interface) {
  const auto answer = host.call("ethernet " + interface.name)
                          .parsed([](const std::string& text) -> std::optional<EthernetAnswer> {
                            auto parsed = json::read<EthernetAnswer>(text);
                            if (!parsed) return std::nullopt;
                            return std::move(*parsed);
                          });
  if (!answer) {
    interface.modes = {answer.miss(), answer.from()};
    interface.pause = {answer.miss(), answer.from()};
    interface.priorities = {answer.miss(), answer.from()};
    return;
  }
  interface.modes = modes_in(*answer, answer.from());
  if (answer->pause_error.empty())
    interface.pause = {Pause{answer->pause_receive, answer->pause_transmit}, answer.from()};
  else
    interface.pause = {Miss{Missing::kUnsupported, answer->pause_error}, answer.from()};
  if (answer->dcb_error.empty())
    interface.priorities = {Priorities{answer->pfc_priorities, answer->dscp}, answer.from()};
  else
    interface.priorities = {Miss{Missing::kUnsupported, answer->dcb_error}, answer.from()};
}

// Returns the priorities whose file contains 1.
std::vector<int> enabled_in(Host& host, const std::string& folder) {
  std::vector<int> found;
  for (int priority = 0; priority < 8; ++priority)
    if (read_flag(host, folder + "/" + std::to_string(priority)).value_or(false)) found.push_back(priority);
  return found;
}

Reading<RoceCongestion> collect_congestion(Host& host, const std::string& folder) {
  if (const auto there = host.list(folder); !there) return {there.miss(), folder};
  return {RoceCongestion{enabled_in(host, folder + "/roce_np/enable"),
                         enabled_in(host, folder + "/roce_rp/enable"),
                         read_number<int>(host, folder + "/roce_np/cnp_dscp")},
          folder};
}

NetInterface collect_interface(Host& host, const std::string& name, const Reading<Addresses>& addresses) {
  const std::string folder = "/sys/class/net/" + name;
  NetInterface interface;
  interface.name = name;
  read_link(host, interface);
  interface.link_type = read_number<int>(host, folder + "/type");
  interface.mac = host.read_line(folder + "/address");
  interface.driver = read_link_name(host, folder + "/device/driver");
  interface.pci_address = read_pci_address(host, folder + "/device");
  interface.device_port = read_number<int>(host, folder + "/dev_port");
  interface.master = read_link_name(host, folder + "/master");
  interface.bond_mode = host.read_line(folder + "/bonding/mode").parsed([](const std::string& line) {
    return std::optional(line.substr(0, line.find(' ')));  // "802.3ad 4"
  });
  interface.bond_members = read_words(host, folder + "/bonding/slaves");
  interface.ipoib_mode = host.read_line(folder + "/mode");
  interface.ipoib_pkey = read_number<std::uint16_t>(host, folder + "/pkey", 16);
  interface.receive_errors = read_number<std::uint64_t>(host, folder + "/statistics/rx_errors");
  interface.receive_dropped = read_number<std::uint64_t>(host, folder + "/statistics/rx_dropped");
  interface.received_packets = read_number<std::uint64_t>(host, folder + "/statistics/rx_packets");
  interface.addresses = addresses.parsed([&](const Addresses& all) {
    const auto mine = all.find(name);
    return std::optional(mine == all.end() ? std::vector<InterfaceAddress>{} : mine->second);
  });
  constexpr int kEthernet = 1;  // ARPHRD_ETHER
  if (interface.pci_address && interface.link_type.value_or(0) == kEthernet) {
    collect_ethernet(host, interface);
    interface.fec = read_fec(host, name);
    interface.congestion = collect_congestion(host, folder + "/ecn");
  }
  return interface;
}

}  // namespace

void limit(FecState& fec) {
  fec.configured.resize(std::min(fec.configured.size(), enum_names(FecMode()).size()));
  for (auto* counter : {&fec.corrected_blocks, &fec.uncorrectable_blocks, &fec.corrected_bits})
    if (*counter) (*counter)->lanes.resize(std::min((*counter)->lanes.size(), kMostFecLanes));
}

Reading<FecState> read_fec(Host& host, const std::string& interface) {
  return host.call("fec " + interface).parsed([](const std::string& text) -> std::optional<FecState> {
    auto parsed = json::read<FecState>(text);
    if (!parsed || parsed->configured.size() > enum_names(FecMode()).size()) return std::nullopt;
    limit(*parsed);
    return std::move(*parsed);
  });
}

void read_link(Host& host, NetInterface& interface) {
  const std::string folder = "/sys/class/net/" + interface.name;
  interface.mtu = read_number<int>(host, folder + "/mtu");
  interface.speed_mbps = read_speed(host, folder + "/speed");
  interface.operational_state = host.read_line(folder + "/operstate");
  interface.carrier = read_flag(host, folder + "/carrier");
  interface.carrier_changes = read_number<std::uint64_t>(host, folder + "/carrier_changes");
  interface.administratively_up = read_administratively_up(host, folder + "/flags");
}

Net collect_net(Host& host) {
  Net net;
  const auto addresses = collect_addresses(host);
  net.default_routes = collect_default_routes(host);
  net.vlans = collect_vlans(host);
  net.shapers = collect_shapers(host);
  net.lldp = collect_lldp(host);
  net.interfaces = device_names(host, "/sys/class/net", kLongestInterface)
                       .parsed([&](const std::vector<std::string>& names) {
                         std::vector<NetInterface> interfaces;
                         for (const auto& name : names)
                           // bonding_masters is a file of the bonding driver, not an interface.
                           if (name != "bonding_masters")
                             interfaces.push_back(collect_interface(host, name, addresses));
                         return std::optional(std::move(interfaces));
                       });
  net.at_boot = collect_net_at_boot(host, net);
  return net;
}

const NetInterface* find_interface(const Net& net, std::string_view name) {
  if (!net.interfaces) return nullptr;
  for (const auto& interface : *net.interfaces)
    if (interface.name == name) return &interface;
  return nullptr;
}

const Vlan* find_vlan(const Net& net, std::string_view interface) {
  for (const Vlan& vlan : items(net.vlans))
    if (vlan.interface == interface) return &vlan;
  return nullptr;
}

bool has_default_route(const Net& net, std::string_view interface) {
  const auto& routes = items(net.default_routes);
  return std::ranges::find(routes, interface) != routes.end();
}

const NetInterface* carrier_of(const Net& net, std::string_view name) {
  const Vlan* vlan = find_vlan(net, name);
  const NetInterface* parent = vlan == nullptr ? nullptr : find_interface(net, vlan->parent);
  return parent == nullptr ? find_interface(net, name) : parent;
}

}  // namespace railbed
