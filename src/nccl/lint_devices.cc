// Checks the objects that variables refer to on this node: RDMA devices, interfaces, GIDs, files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "nccl/linter.h"

namespace railbed::nccl {
namespace {

struct Port {
  const RdmaDevice* device;
  const RdmaPort* port;
  bool active() const { return port->state.value_or("") == "ACTIVE"; }
  bool ethernet() const { return port->link_layer.value_or("") == "Ethernet"; }
  std::string name() const { return fmt::format("{}:{}", device->name, port->number); }
};

std::vector<Port> ports_of(const Rdma& rdma) {
  std::vector<Port> ports;
  if (!rdma.devices.ok()) return ports;
  for (const RdmaDevice& device : *rdma.devices) {
    if (!device.ports.ok()) continue;
    for (const RdmaPort& port : *device.ports) ports.push_back({&device, &port});
  }
  return ports;
}

std::string list_text(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

// Returns the list with "=" in front of its names, for exact matches.
std::string exact_form(std::string_view value) {
  const bool exclude = value.starts_with('^');
  return fmt::format("{}={}", exclude ? "^" : "", value.substr(exclude ? 1 : 0));
}

// Warns about a name that exists and is also a prefix of other names.
void prefix_trap(Linter& lint, const NcclVariable& set, const NameList& list,
                 const std::vector<std::string>& names) {
  if (list.exact) return;
  for (const NameList::Entry& entry : list.entries) {
    std::vector<std::string> hits;
    for (const std::string& name : names)
      if (name.starts_with(entry.name)) hits.push_back(name);
    const bool meant = std::ranges::find(hits, entry.name) != hits.end();
    if (hits.size() < 2 || !meant) continue;
    lint.say(Severity::kWarning, "prefix", set,
             fmt::format("takes names as prefixes: {} matches {}", entry.name, list_text(hits)),
             write(exact_form(set.value)));
    return;
  }
}

void hca_list(Linter& lint, const NcclVariable& set) {
  if (!lint.facts.rdma.devices.ok()) return;
  const NameList list = NameList::parse(set.value);
  const std::vector<Port> ports = ports_of(lint.facts.rdma);
  std::vector<std::string> names;
  for (const RdmaDevice& device : *lint.facts.rdma.devices) names.push_back(device.name);
  prefix_trap(lint, set, list, names);
  std::vector<std::string> lost;
  for (const NameList::Entry& entry : list.entries) {
    const auto hit = [&](const Port& port) {
      return list.matches(entry, port.device->name, port.port->number);
    };
    if (std::ranges::none_of(ports, hit))
      lost.push_back(entry.port < 0 ? entry.name : fmt::format("{}:{}", entry.name, entry.port));
  }
  if (!lost.empty())
    lint.say(list.exclude ? Severity::kWarning : Severity::kError, "no-such-device", set,
             fmt::format("names {}, which is not here; this node has {}", list_text(lost),
                         names.empty() ? "no RDMA device" : list_text(names)),
             "Write the names that `ibv_devices` prints; they change with udev rules.");
  std::vector<std::string> taken, inactive;
  for (const Port& port : ports) {
    if (!list.selects(port.device->name, port.port->number)) continue;
    (port.active() ? taken : inactive).push_back(port.name());
  }
  if (!inactive.empty() && !list.exclude)
    lint.say(taken.empty() ? Severity::kError : Severity::kWarning, "port-down", set,
             fmt::format("selects {}, which is not ACTIVE and is left out", list_text(inactive)),
             "Bring the port up (cable, peer, subnet manager), or take it off the list.");
  if (taken.empty() && lint.has_active_rdma() && lost.empty() && inactive.empty())
    lint.say(Severity::kError, "nothing-left", set, "leaves no active RDMA port: NCCL falls back to TCP",
             "Correct the list, or remove the line.");
}

void interface_list(Linter& lint, const NcclVariable& set) {
  if (!lint.facts.net.interfaces.ok()) return;
  const NameList list = NameList::parse(set.value);
  std::vector<std::string> names, running, down;
  for (const NetInterface& interface : *lint.facts.net.interfaces) {
    names.push_back(interface.name);
    if (!list.selects(interface.name)) continue;
    const bool up = interface.operational_state.value_or("up") != "down" && interface.carrier.value_or(true);
    const bool addressed = !interface.addresses.ok() || !interface.addresses->empty();
    (up && addressed ? running : down).push_back(interface.name);
  }
  prefix_trap(lint, set, list, names);
  std::vector<std::string> lost;
  for (const NameList::Entry& entry : list.entries)
    if (std::ranges::none_of(names, [&](const std::string& name) { return list.matches(entry, name); }))
      lost.push_back(entry.name);
  if (running.empty()) {
    lint.say(Severity::kError, "no-interface", set,
             down.empty() ? fmt::format("matches no interface of this node ({})", list_text(names))
                          : fmt::format("selects only {}, which is down or has no address", list_text(down)),
             "Name an interface that is up and reaches the other nodes, or remove the line: "
             "NCCL stops with \"no socket interface found\".");
    return;
  }
  if (!lost.empty() && !list.exclude)
    lint.say(Severity::kWarning, "no-such-interface", set,
             fmt::format("names {}, which is not here", list_text(lost)),
             "Remove the name, or write what this node calls it.");
  if (std::ranges::find(running, "lo") != running.end() && running.size() == 1)
    lint.say(Severity::kError, "loopback", set,
             "selects the loopback only: other nodes cannot reach this one",
             "Name the interface of the node's own address.");
  for (const std::string_view prefix : {"docker", "virbr", "veth", "br-"})
    for (const std::string& name : running)
      if (name.starts_with(prefix) && !list.exclude) {
        lint.say(Severity::kWarning, "local-interface", set,
                 fmt::format("selects {}, which usually does not leave the node", name),
                 "Name the interface of the node's own address.");
        return;
      }
}

// The problem of a RoCE port's pinned entry. An error if connections fail for certain.
struct PinTrouble {
  Severity severity = Severity::kNote;
  std::string_view text;
};

PinTrouble trouble_of(const GidChoice& choice) {
  if (choice.gid == nullptr) return {Severity::kError, "is empty: no connection can be made from it"};
  if (choice.gid->gid.ok() && choice.gid->gid->is_link_local())
    return {Severity::kWarning, "is link-local (fe80): it reaches no other subnet"};
  if (!choice.gid->type.value_or("RoCE v2").starts_with("RoCE v2"))
    return {Severity::kWarning,
            "is RoCE v1: it crosses no router, carries no DSCP, and finds no peer that uses RoCE v2"};
  return {};
}

// Returns the first entry of the table that NCCL 2.21 and newer use by default; null if there is none.
const Gid* roce_v2_over_ipv4(const RdmaPort& port) {
  for (const Gid& gid : items(port.gids))
    if (gid.gid.ok() && gid.gid->is_v4() && gid.type.value_or("").starts_with("RoCE v2")) return &gid;
  return nullptr;
}

// Returns the current entry of the address, for a message. Entries come and go with addresses and interfaces,
// so a pinned index may later refer to another address.
std::string where_now(const Gid* gid) {
  return gid == nullptr ? ""
                        : fmt::format("; RoCE v2 of {} is entry {} now", gid->gid->to_text(), gid->index);
}

Fix unpin(const Linter& lint, const Gid* now) {
  if (!lint.older_than({2, 21, 0}))
    return {
        "Remove the line: NCCL 2.21 and newer choose by NCCL_IB_ROCE_VERSION_NUM, NCCL_IB_ADDR_FAMILY and "
        "NCCL_IB_ADDR_RANGE.",
        ""};
  const std::string entry = now == nullptr ? "the entry of RoCE v2 over IPv4" : std::to_string(now->index);
  return {
      fmt::format("Write {}: this NCCL takes entry 0 unless told otherwise; 2.21 and newer choose.", entry)};
}

void gid_index(Linter& lint, const NcclVariable& set) {
  if (lint.settings.number(set.name).value_or(-1) < 0) return;
  bool bad = false;
  for (const Port& port : ports_of(lint.facts.rdma)) {
    if (!port.ethernet() || !port.active() || !port.port->gids.ok()) continue;
    const NameList list = NameList::parse(lint.settings.value("NCCL_IB_HCA"));
    if (!list.selects(port.device->name, port.port->number)) continue;
    const PinTrouble trouble = trouble_of(choose_gid(*port.port, lint.settings, true));
    if (trouble.text.empty()) continue;
    bad = true;
    const Gid* const now = roce_v2_over_ipv4(*port.port);
    lint.say(trouble.severity, "gid-wrong", set,
             fmt::format("points at an entry of {} that {}{}", port.name(), trouble.text, where_now(now)),
             unpin(lint, now));
  }
  if (bad || lint.older_than({2, 21, 0})) return;
  lint.say(Severity::kWarning, "gid-pinned", set,
           "is pinned; the table's order follows the order in which addresses came up", unpin(lint, nullptr));
}

void gid_range(Linter& lint, const NcclVariable& set) {
  const auto pair = key_value(set.value, '/');
  const auto address = pair ? IpAddress::parse(pair->first) : std::nullopt;
  const auto prefix = pair ? parse_number<int>(pair->second) : std::nullopt;
  if (!address || !prefix || !Subnet::of(*address, *prefix)) {
    lint.say(Severity::kError, "bad-range", set, "is no address range and is ignored",
             "Write it as 10.0.0.0/16.");
    return;
  }
  const bool v6 = lint.settings.value("NCCL_IB_ADDR_FAMILY") == "AF_INET6";
  if (address->is_v4() == v6) {
    lint.say(Severity::kError, "bad-range", set,
             fmt::format("is not of the family {}, so it is ignored", v6 ? "AF_INET6" : "AF_INET"),
             "Set NCCL_IB_ADDR_FAMILY to the range's family.");
    return;
  }
  const NameList devices = NameList::parse(lint.settings.value("NCCL_IB_HCA"));
  std::vector<std::string> without;
  for (const Port& port : ports_of(lint.facts.rdma))
    if (port.ethernet() && port.active() && devices.selects(port.device->name, port.port->number) &&
        port.port->gids.ok() && !choose_gid(*port.port, lint.settings, false).matched)
      without.push_back(port.name());
  if (!without.empty())
    lint.say(Severity::kError, "no-gid-in-range", set, fmt::format("holds no GID of {}", list_text(without)),
             "Correct the range, or give the ports addresses in it.");
}

void conf_file(Linter& lint, const NcclVariable& set) {
  if (in_own_file(lint.facts.nccl, set)) {
    lint.say(Severity::kWarning, "conf-in-conf", set, "has no effect inside a configuration file",
             "Set it in the environment.", "NCCL src/misc/param.cc");
  } else if (set.value.starts_with('~')) {
    lint.say(Severity::kError, "conf-tilde", set, "begins with ~, which NCCL does not expand",
             "Write the whole path.");
  } else if (lint.facts.nccl.user_file.absent()) {
    lint.say(Severity::kError, "conf-missing", set,
             "names a file that is not there; ~/.nccl.conf is not read either",
             "Correct the path, or remove the variable.");
  }
}

// NCCL continues without a plugin that it cannot open (src/plugin/plugin_open.cc).
void net_plugin(Linter& lint, const NcclVariable& set) {
  for (const auto name : split(set.value, ',')) {
    const auto& plugins = lint.facts.nccl.net_plugins;
    const auto found = std::ranges::find(plugins, name, &NcclPlugin::name);
    if (found == plugins.end() || !found->file.absent()) continue;
    const bool path = name.find('/') != std::string_view::npos;
    const std::string gone =
        path ? fmt::format("names {}, which is not there", name)
             : fmt::format(
                   "names {}, which the loader does not know: without a LD_LIBRARY_PATH that leads to it",
                   name.ends_with(".so") ? std::string(name) : fmt::format("libnccl-net-{}.so", name));
    lint.say(Severity::kWarning, "no-plugin", set,
             gone + (path ? ": NCCL" : " NCCL") + " takes its own network, and only INFO says so",
             "Install the plugin where `ldconfig -p` shows it, or remove the name.",
             "NCCL src/plugin/plugin_open.cc");
  }
}

}  // namespace

void lint_devices(Linter& lint) {
  constexpr std::pair<std::string_view, void (*)(Linter&, const NcclVariable&)> kChecks[] = {
      {"NCCL_IB_HCA", hca_list},        {"NCCL_SOCKET_IFNAME", interface_list},
      {"NCCL_IB_GID_INDEX", gid_index}, {"NCCL_IB_ADDR_RANGE", gid_range},
      {"NCCL_CONF_FILE", conf_file},    {"NCCL_NET_PLUGIN", net_plugin},
  };
  for (const auto& [name, check] : kChecks)
    if (const NcclVariable* const set = lint.settings.find(name); set != nullptr && !set->value.empty())
      check(lint, *set);
}

}  // namespace railbed::nccl
