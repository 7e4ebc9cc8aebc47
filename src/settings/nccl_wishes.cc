// NCCL's variables, derived from the rails. Choices that NCCL makes well by itself are left to it:
//  - RoCE v2 over IPv4 is its default since 2.21 (src/transport/net_ib); NCCL_IB_ROCE_VERSION_NUM and
//    NCCL_IB_ADDR_FAMILY would only repeat it. The address range is set, because a second address may come
//    up at any time.
//  - Ports of one card are fused since 2.20, including both ways of a DGX Spark's cable: NCCL_IB_MERGE_NICS
//    is only set if they must not be fused.
//  - The largest distance between GPU and adapter for GPUDirect RDMA: where PHB would enable it, only a
//    measurement shows whether it helps.
#include "settings/nccl_wishes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "nccl/settings.h"
#include "nccl/variables.h"
#include "settings/contact.h"

namespace railbed {
namespace {

constexpr nccl::Version kChoosesGids{2, 21, 0};
constexpr int kDefaultPrefix = 24;  // default of NCCL_IB_SUBNET_PREFIX_LEN
constexpr int kEcnBits = 3;

// Builds the variables of one node.
struct Wisher {
  const Target& target;
  std::optional<nccl::Version> version = {};  // the running version, as the lint determines it
  nccl::Settings settings;
  std::vector<const RailEnd*> rdma_ends = {};
  NcclWishes out = {};

  // Returns false if the version is known to lack the variable. Without a version, it returns true: NCCL
  // ignores variables that it does not know.
  bool may_know(std::string_view name) const {
    const nccl::Variable* const known = nccl::find_variable(name);
    return known != nullptr && !(version && *version < known->since);
  }
  void wish(std::string_view name, std::string value, std::string_view why) {
    out.variables.push_back({std::string(name), std::move(value), std::string(why)});
  }
  bool wishes(std::string_view name) const {
    return std::ranges::find(out.variables, name, &NcclWish::name) != out.variables.end();
  }
  void note(std::string text) { out.notes.push_back(std::move(text)); }
  // Adds a need. It is open if the node has no facts.
  void need(std::string what, std::optional<bool> met, std::string found) {
    if (!target.looked()) met.reset();
    out.needs.push_back({std::move(what), met, met, met == true ? "" : std::move(found)});
  }
  std::string found(std::string_view name) const {
    const NcclVariable* const set = settings.find(name);
    return set == nullptr ? fmt::format("{} is not set", name)
                          : fmt::format("{} in {}", set->value.empty() ? "empty" : set->value, set->from);
  }
};

std::optional<nccl::Version> running_version(const Target& target) {
  const auto& expected = target.node().expect.nccl;
  const auto wanted = expected ? nccl::Version::parse(*expected) : std::nullopt;
  return wanted ? wanted : nccl::installed_version(target.facts().nccl);
}

bool known_without_gpus(const Target& target) {
  if (target.node().expect.gpus) return *target.node().expect.gpus == 0;
  const auto& devices = target.facts().gpus.devices;
  return target.looked() && target.facts().pci.ok() && target.view.gpus().empty() && items(devices).empty();
}

// ---- devices

std::string port_of(const RailEnd& end) {
  return fmt::format("{}:{}", end.rdma.device->name, end.rdma.port->number);
}

// Names come from the node: each must remain one entry of the list, and the list one line.
bool fits_a_list(const std::string& device) {
  constexpr std::size_t kLongest = 63;  // IB_DEVICE_NAME_MAX of the kernel is 64
  return is_plain_word(device, kLongest) && device.find_first_of(",:=^'\"") == std::string::npos;
}

// Returns true if both lists select the same of the node's ports.
bool selects_alike(const Facts& facts, const nccl::NameList& a, const nccl::NameList& b) {
  for (const RdmaDevice& device : items(facts.rdma.devices))
    for (const RdmaPort& port : items(device.ports))
      if (a.selects(device.name, port.number) != b.selects(device.name, port.number)) return false;
  return true;
}

void wish_devices(Wisher& wisher) {
  if (!wisher.target.looked())
    return wisher.note("which RDMA devices the rails are (NCCL_IB_HCA) only a look at the node tells");
  std::vector<std::string> ports;
  for (const RailEnd* const end : wisher.rdma_ends) {
    if (!end->rdma || !fits_a_list(end->rdma.device->name))
      return wisher.note(
          fmt::format("NCCL_IB_HCA is left out until {} has an RDMA device behind it", end->where()));
    if (std::ranges::find(ports, port_of(*end)) == ports.end()) ports.push_back(port_of(*end));
  }
  const std::string value = fmt::format("={}", fmt::join(ports, ","));
  wisher.wish(
      "NCCL_IB_HCA", value,
      "the rails and no other adapter; without the sign of equality names are prefixes, and mlx5_1 is "
      "mlx5_10 too");
  wisher.need("NCCL takes the rails' RDMA ports and no others",
              selects_alike(wisher.target.facts(), nccl::NameList::parse(value),
                            nccl::NameList::parse(wisher.settings.value("NCCL_IB_HCA"))),
              wisher.found("NCCL_IB_HCA"));
}

// ---- bootstrap network

// Returns true if the interface that this node's NCCL selects first shares a subnet with that of another
// node.
bool meets_the_others(const Target& target) {
  const auto first_of = [](const NodeView& node) {
    const auto& names = node.nccl_choices.interfaces;
    return names.empty() ? nullptr : find_interface(node.facts->net, names.front());
  };
  const NetInterface* const own = first_of(target.view);
  for (const NodeView& other : target.wide.survey.nodes) {
    const NetInterface* const theirs = &other == &target.view ? nullptr : first_of(other);
    if (own == nullptr || theirs == nullptr) continue;
    for (const InterfaceAddress& a : items(own->addresses))
      for (const InterfaceAddress& b : items(theirs->addresses))
        if (!a.address.is_link_local() && a.address.is_v4() == b.address.is_v4() && a.address != b.address &&
            Subnet::of(a.address, a.prefix) == Subnet::of(b.address, b.prefix))
          return true;
    return false;  // one other node represents all
  }
  return false;
}

// Returns true if NCCL meets the other nodes. If the variable already names the right interface, the
// interfaces that are up now do not matter.
bool is_contact(const Wisher& wisher, const std::vector<std::string>& wanted) {
  const auto& taken = wisher.target.view.nccl_choices.interfaces;
  if (wisher.settings.value("NCCL_SOCKET_IFNAME") == fmt::format("={}", fmt::join(wanted, ","))) return true;
  if (taken.empty()) return false;
  if (wisher.rdma_ends.empty())
    return std::set(taken.begin(), taken.end()) == std::set(wanted.begin(), wanted.end());
  return taken.front() == wanted.front() || meets_the_others(wisher.target);
}

void need_contact(Wisher& wisher, const std::vector<std::string>& wanted) {
  const auto& taken = wisher.target.view.nccl_choices.interfaces;
  const bool met = is_contact(wisher, wanted);
  wisher.need(
      fmt::format("NCCL's first contact goes over {}, or another way to every node", fmt::join(wanted, ", ")),
      met ? std::optional(true) : std::nullopt,
      taken.empty() ? "no interface of NCCL's choice is up"
                    : "NCCL takes " + taken.front() + ", and whether others reach it is not known");
}

// Returns the rails' interfaces. Without RDMA the rails carry the data over TCP, and NCCL spreads it over all
// interfaces that it is given.
std::vector<std::string> ethernet_rails(const Target& target) {
  std::vector<std::string> names;
  for (const RailEnd& end : target.view.ends)
    if (end.rail != nullptr && end.for_gpus() && end.name != "lo" && end.address() != nullptr)
      names.push_back(end.name);
  return names;
}

void wish_interfaces(Wisher& wisher) {
  std::vector<std::string> names;
  if (wisher.rdma_ends.empty())
    names = ethernet_rails(wisher.target);
  else if (const auto& meeting = wisher.target.wide.meeting)
    if (const auto contact = end_at(*meeting, wisher.target.view)) names.emplace_back(contact->interface);
  if (names.empty())
    return wisher.note(
        "NCCL_SOCKET_IFNAME is left out: no network is known that joins all nodes (configure.management_interface)");
  wisher.wish("NCCL_SOCKET_IFNAME", fmt::format("={}", fmt::join(names, ",")),
              wisher.rdma_ends.empty()
                  ? "the rails carry the data over TCP; NCCL would take every interface that is up"
                  : "ranks find each other here; NCCL would take the first interface that is up, a bridge of "
                    "containers too");
  need_contact(wisher, names);
}

// ---- traffic class and GIDs

void wish_traffic_class(Wisher& wisher) {
  const auto wanted = wisher.target.node().expect.traffic_class;
  const bool roce = std::ranges::any_of(wisher.rdma_ends, &RailEnd::roce);
  if (!wanted || !roce) return;
  wisher.wish(
      "NCCL_IB_TC", std::to_string(*wanted),
      fmt::format("DSCP {}, the switches' lossless class; default_roce_tos marks RDMA-CM's connections "
                  "only, and NCCL makes its own",
                  *wanted / 4));
  const auto now = wisher.settings.number("NCCL_IB_TC");
  wisher.need(fmt::format("NCCL_IB_TC is {}", *wanted),
              now.value_or(0) >= 0 && (now.value_or(0) & ~kEcnBits) == (*wanted & ~kEcnBits),
              wisher.found("NCCL_IB_TC"));
}

// Returns the smallest subnet that contains both; nullopt if they share no leading bit or are of two address
// families.
std::optional<Subnet> around(const Subnet& a, const Subnet& b) {
  if (a.network().is_v4() != b.network().is_v4()) return std::nullopt;
  for (int prefix = std::min(a.prefix(), b.prefix()); prefix > 0; --prefix)
    if (const auto both = Subnet::of(a.network(), prefix); both && both->contains(b.network())) return both;
  return std::nullopt;
}

std::optional<Subnet> around_rails(const std::vector<const RailEnd*>& ends) {
  std::optional<Subnet> all;
  for (const RailEnd* const end : ends) {
    if (!end->roce()) continue;
    if (!end->rail->subnet) return std::nullopt;
    all = all ? around(*all, *end->rail->subnet) : end->rail->subnet;
    if (!all) return std::nullopt;
  }
  return all;
}

// Returns the RoCE v2 entry of the rail's address; null if there is none now.
const Gid* gid_of(const RailEnd& end) {
  if (!end.rdma) return nullptr;
  for (const Gid& gid : items(end.rdma.port->gids))
    if (is_gid_of(gid, end)) return &gid;
  return nullptr;
}

void wish_gid_index(Wisher& wisher) {
  std::set<int> indexes;
  for (const RailEnd* const end : wisher.rdma_ends)
    if (end->roce()) {
      const Gid* const gid = gid_of(*end);
      indexes.insert(gid == nullptr ? -1 : gid->index);
    }
  if (indexes.size() == 1 && *indexes.begin() >= 0)
    return wisher.wish(
        "NCCL_IB_GID_INDEX", std::to_string(*indexes.begin()),
        "NCCL before 2.21 takes entry 0, which is link-local; the table's order follows the order "
        "in which addresses came up, so look again after each change, and upgrade NCCL");
  wisher.note(
      "NCCL before 2.21 needs NCCL_IB_GID_INDEX, one number for all ports, and the rails' addresses have no entry "
      "in common now: upgrade NCCL");
}

void need_gids(Wisher& wisher) {
  std::string other;
  bool judged = false;
  for (const RailEnd* const end : wisher.rdma_ends) {
    if (!end->roce() || gid_of(*end) == nullptr) continue;
    for (const nccl::PortChoice& port : wisher.target.view.nccl_choices.ports) {
      if (!port.used || port.device != end->rdma.device->name || port.port != end->rdma.port->number)
        continue;
      judged = true;
      if (port.gid != end->address()->to_text() && other.empty())
        other = fmt::format("on {} it sends from {}", end->rdma_name(),
                            port.gid.empty() ? "an empty GID" : port.gid);
    }
  }
  if (judged) wisher.need("NCCL sends from each rail's own address over RoCE v2", other.empty(), other);
}

void wish_gids(Wisher& wisher) {
  const bool roce = std::ranges::any_of(wisher.rdma_ends, &RailEnd::roce);
  if (!roce || !wisher.wishes("NCCL_IB_HCA")) return;  // a range would leave other adapters without a GID
  need_gids(wisher);
  if (wisher.version && *wisher.version < kChoosesGids) return wish_gid_index(wisher);
  const auto range = around_rails(wisher.rdma_ends);
  if (!range || !wisher.may_know("NCCL_IB_ADDR_RANGE")) return;
  if (!range->network().is_v4())
    wisher.wish("NCCL_IB_ADDR_FAMILY", "AF_INET6", "the rails have IPv6 addresses; NCCL looks for IPv4");
  wisher.wish(
      "NCCL_IB_ADDR_RANGE", range->to_text(),
      "NCCL looks up the GID of an address in here; an index would point elsewhere once addresses come up "
      "in another order");
}

// ---- rails

bool separate(const std::vector<const RailEnd*>& ends) {
  std::set<Subnet> subnets;
  for (const RailEnd* const end : ends)
    if (end->rail->subnet) subnets.insert(*end->rail->subnet);
  return subnets.size() > 1;
}

void wish_subnet_routing(Wisher& wisher, bool needed) {
  if (!wisher.may_know("NCCL_IB_SUBNET_AWARE_ROUTING")) {
    if (needed)
      wisher.note(
          fmt::format("NCCL {} pairs adapters by their order and takes wrong cables where each leads to "
                      "another node: it takes 2.30.7, which pairs them by subnet",
                      wisher.version->to_text()));
    return;
  }
  wisher.wish("NCCL_IB_SUBNET_AWARE_ROUTING", "1",
              "each cable is a subnet of its own: NCCL then takes the adapter that is on the peer's");
  if (needed)
    wisher.need("NCCL pairs adapters by subnet",
                wisher.settings.number("NCCL_IB_SUBNET_AWARE_ROUTING").value_or(0) == 1,
                wisher.found("NCCL_IB_SUBNET_AWARE_ROUTING"));
  std::set<int> prefixes;
  for (const RailEnd* const end : wisher.rdma_ends)
    if (end->rail->subnet && end->rail->subnet->network().is_v4())
      prefixes.insert(end->rail->subnet->prefix());
  if (prefixes.size() == 1 && *prefixes.begin() != kDefaultPrefix && *prefixes.begin() > 0)
    wisher.wish("NCCL_IB_SUBNET_PREFIX_LEN", std::to_string(*prefixes.begin()),
                "how long the rails' prefix is; NCCL takes 24");
}

// Cables between more than two nodes: each port leads to one neighbor, so rails are not planes that all nodes
// share.
void wish_mesh(Wisher& wisher) {
  wish_subnet_routing(wisher, true);
  if (!wisher.may_know("NCCL_IB_MERGE_NICS")) return;
  wisher.wish(
      "NCCL_IB_MERGE_NICS", "0",
      "each cable leads to another node: ports of one card must not be fused, which NCCL does by itself");
  wisher.need("NCCL fuses no ports", wisher.settings.number("NCCL_IB_MERGE_NICS").value_or(1) == 0,
              wisher.found("NCCL_IB_MERGE_NICS"));
}

void wish_rails(Wisher& wisher) {
  if (!separate(wisher.rdma_ends)) return;
  const bool cables = std::ranges::all_of(
      wisher.rdma_ends, [](const RailEnd* end) { return end->rail->topology == Topology::kBackToBack; });
  const bool planes = std::ranges::all_of(wisher.rdma_ends, [&](const RailEnd* end) {
    return wisher.target.wide.rails_of_all.contains(end->rail);
  });
  if (cables && !planes) return wish_mesh(wisher);
  wisher.wish("NCCL_CROSS_NIC", "0",
              "rails are networks of their own: what leaves by one arrives by the same");
  wisher.need("NCCL does not cross rails", wisher.settings.number("NCCL_CROSS_NIC").value_or(0) != 1,
              wisher.found("NCCL_CROSS_NIC"));
  if (cables) wish_subnet_routing(wisher, false);
}

void note_gpudirect(Wisher& wisher) {
  if (wisher.settings.find("NCCL_NET_GDR_LEVEL") != nullptr) return;
  for (const nccl::PairChoice& pair : wisher.target.view.nccl_choices.pairs)
    if (pair.nearest && !pair.gpudirect && pair.why.find("NCCL_NET_GDR_LEVEL=PHB") != std::string::npos)
      return wisher.note(fmt::format(
          "GPUDirect RDMA: GPU {} and {} are {} apart, where NCCL stages through host memory; measure "
          "with NCCL_NET_GDR_LEVEL=PHB before you keep it",
          pair.gpu, pair.nic, pair.path));
}

}  // namespace

bool means_the_same(const Facts& facts, const NcclWish& wish, const std::string& value) {
  if (wish.value == value) return true;
  return wish.name == "NCCL_IB_HCA" && facts.rdma.devices.ok() &&
         selects_alike(facts, nccl::NameList::parse(wish.value), nccl::NameList::parse(value));
}

NcclWishes nccl_wishes(const Target& target) {
  Wisher wisher{target, running_version(target), nccl::Settings(target.facts().nccl)};
  bool has_rail = false;
  for (const RailEnd& end : target.view.ends) {
    if (!end.for_gpus()) continue;
    has_rail = has_rail || end.rail != nullptr;
    if (end.rdma_rail()) wisher.rdma_ends.push_back(&end);
  }
  if (!has_rail || known_without_gpus(target)) return {};
  if (!wisher.rdma_ends.empty()) wish_devices(wisher);
  wish_interfaces(wisher);
  wish_traffic_class(wisher);
  wish_gids(wisher);
  wish_rails(wisher);
  note_gpudirect(wisher);
  return std::move(wisher.out);
}

}  // namespace railbed
