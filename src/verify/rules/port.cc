// RDMA ports: state, rate, InfiniBand's management, traffic class.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "model/boot_network.h"
#include "model/expected_rate.h"
#include "model/link_remedy.h"
#include "model/tools.h"
#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

// Returns true after ending the case if there is no RDMA port (rdma.rail-device reports that).
bool lacks_port(Case& verdict, const RailEnd& end) {
  if (end.wants_rdma() && end.rdma) return false;
  verdict.not_applicable(end.wants_rdma() ? "no RDMA device behind this interface"
                                          : "the rail is plain Ethernet");
  return true;
}

std::string port_path(const RailEnd& end, std::string_view file) {
  return fmt::format("/sys/class/infiniband/{}/ports/{}/{}", end.rdma.device->name, end.rdma.port->number,
                     file);
}

constexpr std::string_view kNoGuid = "0000:0000:0000:0000";

// Returns true if the port is of a virtual function on InfiniBand that has no GUID yet, or one of zeros.
bool lacks_guid(const RdmaDevice& device, const RdmaPort& port, const PciDevice* function) {
  return function != nullptr && is_virtual_function(*function) &&
         port.link_layer.value_or("") == "InfiniBand" && device.node_guid.value_or("") == kNoGuid;
}

Remedy give_guid(const RdmaDevice& device) {
  return {
      fmt::format(
          "Where the physical function is (the hypervisor, or this node): give virtual function N of its "
          "interface PF a node GUID and a port GUID, let its link follow the port, and bind its driver again."),
      {"ip link show", command("cat /sys/class/infiniband/{}/node_guid", device.name)}};
}

std::string guid_text(std::string_view where) {
  return fmt::format("{} is a virtual function whose GUID is zero: its port stays down until it gets one",
                     where);
}

// Returns the verdict on a port that is down because it belongs to a virtual function; nothing if it does not.
// The cable is that of the physical function, which has a port of its own.
std::optional<Complaint> why_virtual_is_down(const RailEnd& end, const std::string& state,
                                             std::string_view expected) {
  if (end.adapter == nullptr || !is_virtual_function(*end.adapter)) return std::nullopt;
  if (lacks_guid(*end.rdma.device, *end.rdma.port, end.adapter))
    return Complaint{.message = guid_text(end.rdma_where()),
                     .expected = "a GUID",
                     .observed = std::string(kNoGuid),
                     .remedy = give_guid(*end.rdma.device)};
  return Complaint{
      .message = fmt::format(
          "{} is a virtual function whose port is {}: its physical port is down, or its link state is "
          "set to disabled there",
          end.rdma_where(), state),
      .expected = std::string(expected),
      .observed = state,
      .remedy = {
          "Look at the physical function's port first (the hypervisor, or this node); then let the virtual "
          "function's link follow it.",
          {command("cat {}", port_path(end, "state")), "ip link show"}}};
}

void physical_state(const Survey& survey, Judge& judge) {
  each_end(survey, judge, [](Case& verdict, const RailEnd& end) {
    if (lacks_port(verdict, end)) return;
    const std::string* state = verdict.read(end.rdma.port->physical_state);
    if (state == nullptr) return;
    if (*state == "LinkUp") return verdict.pass(*state);
    if (auto why = why_virtual_is_down(end, *state, "LinkUp")) return verdict.fail(std::move(*why));
    verdict.fail({.message = fmt::format(
                      "{} has no physical link ({}): no cable, a dead cable, or the other end is off",
                      end.rdma_where(), *state),
                  .expected = "LinkUp",
                  .observed = *state,
                  .remedy = {"Reseat the cable at both ends, then try another one.",
                             {command("cat {}", port_path(end, "phys_state")),
                              command("ip link show {}", end.name)}}});
  });
}

void port_state(const Survey& survey, Judge& judge) {
  each_end(survey, judge, [](Case& verdict, const RailEnd& end) {
    if (lacks_port(verdict, end)) return;
    const std::string* state = verdict.read(end.rdma.port->state);
    if (state == nullptr) return;
    if (*state == "ACTIVE") return verdict.pass(*state);
    if (*state == "DOWN")
      if (auto why = why_virtual_is_down(end, *state, "ACTIVE")) return verdict.fail(std::move(*why));
    verdict.fail(
        {.message = fmt::format("{} is {}, expected ACTIVE", end.rdma_where(), *state),
         .expected = "ACTIVE",
         .observed = fmt::format("{} ({})", *state, end.rdma.port->physical_state.value_or("?")),
         .remedy = {end.infiniband() ? "Check the cable; then that a subnet manager runs."
                                     : "Check that the interface is on and has a link.",
                    {command("cat {}", port_path(end, "state")), command("ip link show {}", end.name)}}});
  });
}

// Returns true if the node has to run the subnet manager: it is one that cluster.yaml names for that or, if
// it names none, the first node on InfiniBand.
bool is_to_manage(const Survey& survey, const NodeView& node) {
  const auto is_meant = [](const NodeView& each) { return each.expect().subnet_manager.value_or(false); };
  const auto has_port = [](const NodeView& each) {
    return std::ranges::any_of(each.ends, &RailEnd::infiniband);
  };
  if (std::ranges::any_of(survey.nodes, is_meant)) return is_meant(node);
  const auto first = std::ranges::find_if(survey.nodes, has_port);
  return first != survey.nodes.end() && &*first == &node;
}

Remedy start_subnet_manager(const Survey& survey, const NodeView& node) {
  if (!is_to_manage(survey, node))
    return {"Start a subnet manager on one other node, or in the switch (unmanaged ones have none).",
            {"sminfo"}};
  Remedy remedy{"Start opensm on this node alone (an unmanaged switch has none of its own)."};
  const std::string unit = subnet_manager_unit(node);
  const Service* service = find_service(node, {unit});
  if (service == nullptr || service->load_state != "loaded")
    remedy.commands = for_system(node, {"apt-get install opensm"}, {"dnf install opensm"});
  remedy.commands.push_back(command("systemctl enable --now {}", unit));
  remedy.commands.push_back("sminfo");
  return remedy;
}

bool is_infiniband_port(const RdmaPort& port) { return port.link_layer.value_or("") == "InfiniBand"; }

int active_infiniband_ports(const NodeView& node) {
  int count = 0;
  for (const RdmaDevice& device : items(node.facts->rdma.devices))
    count += static_cast<int>(std::ranges::count_if(items(device.ports), [](const RdmaPort& port) {
      return is_infiniband_port(port) && port.state.value_or("") == "ACTIVE";
    }));
  return count;
}

// A port in INIT. Active ports beside it refute that the fabric has no subnet manager: this port is not on it.
Complaint waits_for_manager(const Survey& survey, const NodeView& node, const RdmaDevice& device, int port) {
  const int active = active_infiniband_ports(node);
  const std::string where = fmt::format("{}/{} of {}", device.name, port, *node.name);
  if (active == 0)
    return {.message = fmt::format(
                "{} waits in INIT: the cable is good, no subnet manager has configured the fabric", where),
            .expected = "ACTIVE",
            .observed = "INIT",
            .remedy = start_subnet_manager(survey, node)};
  return {
      .message = fmt::format(
          "{} waits in INIT: the cable is good, and no subnet manager reaches it, although {} other "
          "InfiniBand port{} of the node {} ACTIVE",
          where, active, active == 1 ? "" : "s", active == 1 ? "is" : "are"),
      .expected = "ACTIVE",
      .observed = "INIT",
      .remedy = {
          .text =
              "See to which switch it is cabled: another fabric needs a subnet manager of its own. On the fabric "
              "of its siblings read the subnet manager's log for this port.",
          .commands = {command("ibstat {} {}", device.name, port),
                       command("sminfo -C {} -P {}", device.name, port),
                       command("iblinkinfo -C {} -P {}", device.name, port)},
          .by_hand_only = true}};
}

bool serves_an_end(const NodeView& node, const RdmaPort& port) {
  return std::ranges::any_of(node.ends, [&](const RailEnd& end) { return end.rdma.port == &port; });
}

// Returns true for the functions by which the board's own switches are managed: on an HGX board with NVLink 5 they are
// adapters with InfiniBand ports, which nvlsm configures and no job uses. Their board is not that of a rail's adapter.
bool manages_nvlink(const NodeView& node, const RdmaDevice& device) {
  return node.has_nvlink_manager() && std::ranges::none_of(node.ends, [&](const RailEnd& end) {
           return end.rdma && end.rdma.device->board_id.value_or("?") == device.board_id.value_or("");
         });
}

// Judges ports that no rail and no IPoIB interface names. Unused ones without a cable are nobody's fault.
void ports_without_interface(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const RdmaDevice& device : items(node.facts->rdma.devices))
      for (const RdmaPort& port : items(device.ports)) {
        if (!is_infiniband_port(port) || port.state.value_or("") != "INIT") continue;
        if (serves_an_end(node, port) || manages_nvlink(node, device)) continue;
        const std::string name = fmt::format("{}/{}", device.name, port.number);
        Case verdict = judge.on(node, name, {"rdma:" + name});
        verdict.seen(port.state);
        verdict.fail(waits_for_manager(survey, node, device, port.number));
      }
}

void subnet_manager(const Survey& survey, Judge& judge) {
  ports_without_interface(survey, judge);
  each_infiniband_end(survey, judge, [&](Case& verdict, const NodeView& node, const RailEnd& end) {
    if (lacks_port(verdict, end)) return;
    const std::string* state = verdict.read(end.rdma.port->state);
    if (state == nullptr) return;
    if (*state == "INIT")
      return verdict.fail(waits_for_manager(survey, node, *end.rdma.device, end.rdma.port->number));
    const int* manager = verdict.read(end.rdma.port->sm_lid);
    if (manager == nullptr) return;
    *state == "ACTIVE" ? verdict.pass(fmt::format("at LID {}", *manager))
                       : verdict.not_applicable("the port has no link");
  });
}

Remedy ask_for_lid(const NodeView& node, const RailEnd& end) {
  const std::string state = end.rdma.port->state.value_or("");
  if (state == "DOWN") return {"Bring the link up first: then the subnet manager gives it one."};
  const std::string unit = subnet_manager_unit(node);
  const Service* service = find_service(node, {unit});
  if (service == nullptr || service->active_state != "active")
    return {"The subnet manager gives it one: restart that where it runs and read its log.",
            {"sminfo", command("ibstat {}", end.rdma.device->name)}};
  return {"The subnet manager gives it one; restart it and read its log.",
          {command("systemctl restart {}", unit), "tail /var/log/opensm.log"}};
}

void lid(const Survey& survey, Judge& judge) {
  each_infiniband_end(survey, judge, [](Case& verdict, const NodeView& node, const RailEnd& end) {
    if (lacks_port(verdict, end)) return;
    const int* own = verdict.read(end.rdma.port->lid);
    if (own == nullptr) return;
    if (*own != 0 && *own != 0xffff) return verdict.pass(std::to_string(*own));
    verdict.fail(
        {.message = fmt::format("{} has no LID: nothing on the fabric can address it", end.rdma_where()),
         .expected = "a LID",
         .observed = std::to_string(*own),
         .remedy = ask_for_lid(node, end)});
  });
}

// Returns the number of the port on its card, by which LINK_TYPE_Pn names it: mlx5 makes a function of each.
int port_of_card(const RdmaDevice& device, const RdmaPort& port) {
  const std::string address = device.pci_address.value_or("");
  const bool of_function =
      device.driver.value_or("").starts_with("mlx5") && !address.empty() && is_digit(address.back());
  return of_function ? address.back() - '0' + 1 : port.number;
}

std::vector<ShellCommand> set_link_type_with(const RdmaPortRef& rdma, bool infiniband) {
  if (!rdma.device->pci_address.ok()) return {};
  return {command("mstconfig -d {} set LINK_TYPE_P{}={}", *rdma.device->pci_address,
                  port_of_card(*rdma.device, *rdma.port), infiniband ? 1 : 2)};
}

// Returns the RDMA device that other nodes have on this rail; null if none has.
const RdmaDevice* usual_device(const Survey& survey, const RailEnd& end) {
  for (const RailEnd* other : survey.ends_of(*end.rail))
    if (other->rdma && other->rdma.device->pci_address.ok()) return other->rdma.device;
  return nullptr;
}

// Returns the ports that may be the missing interface of this end: of the other link layer, used by no end, and of the
// kind that the rail or the node's other rails have. The one at the PCI address where other nodes have the rail,
// if there is such; else all, unless they are more than the interfaces that are missing.
std::vector<RdmaPortRef> ports_of_other_layer(const Survey& survey, const NodeView& node,
                                              const RailEnd& end) {
  const std::string_view other = end.infiniband() ? "Ethernet" : "InfiniBand";
  const RdmaDevice* usual = usual_device(survey, end);
  std::set<std::string> kinds;
  if (usual != nullptr) kinds.insert(usual->hca_type.value_or(""));
  std::size_t missing = 0;
  for (const RailEnd& each : node.ends) {
    if (each.rdma) kinds.insert(each.rdma.device->hca_type.value_or(""));
    missing += each.interface == nullptr && each.wants_rdma() && !each.software_rdma() ? 1 : 0;
  }
  std::vector<RdmaPortRef> found;
  for (const RdmaDevice& device : items(node.facts->rdma.devices))
    for (const RdmaPort& port : items(device.ports)) {
      if (port.link_layer.value_or("") != other || serves_an_end(node, port)) continue;
      if (!device.pci_address.ok() || (!kinds.empty() && !kinds.contains(device.hca_type.value_or(""))))
        continue;
      if (usual != nullptr && *usual->pci_address == *device.pci_address) return {{&device, &port}};
      found.push_back({&device, &port});
    }
  return found.size() <= missing ? found : std::vector<RdmaPortRef>();
}

// Returns true after ending the case if the interface is missing because its port has the other link layer, which also
// gives it another kind of interface and name.
bool is_of_other_layer(Case& verdict, const Survey& survey, const NodeView& node, const RailEnd& end) {
  if (end.interface != nullptr || !end.wants_rdma() || end.software_rdma() || !end.facts->net.interfaces.ok())
    return false;
  const auto ports = ports_of_other_layer(survey, node, end);
  if (ports.empty()) return false;
  std::vector<std::string> names;
  std::vector<ShellCommand> commands;
  for (const RdmaPortRef& each : ports) {
    names.push_back(fmt::format("{}/{}", each.device->name, each.port->number));
    verdict.touch("rdma:" + names.back());
    verdict.seen(each.port->link_layer);
    for (ShellCommand& set : set_link_type_with(each, end.infiniband())) commands.push_back(std::move(set));
  }
  const std::string want = end.infiniband() ? "InfiniBand" : "Ethernet";
  const std::string have = end.infiniband() ? "Ethernet" : "InfiniBand";
  verdict.fail(
      {.message = fmt::format("{} of {} is set to {} (LINK_TYPE), and {} is {}: so {} does not exist there",
                              fmt::join(names, " or "), *end.node, have, end.rail->name, want, end.name),
       .expected = want,
       .observed = have,
       .remedy = {
           "Set the port's type in the adapter's firmware (VPI cards have both) and reboot: the interface gets its "
           "name back. Or correct the rail's fabric.",
           std::move(commands), true}});
  return true;
}

void link_layer(const Survey& survey, Judge& judge) {
  each_end_that(
      survey, judge, [](const RailEnd& end) { return end.rail != nullptr; },
      [&](Case& verdict, const NodeView& node, const RailEnd& end) {
        if (is_of_other_layer(verdict, survey, node, end) || lacks_port(verdict, end)) return;
        const std::string* have = verdict.read(end.rdma.port->link_layer);
        if (have == nullptr) return;
        const std::string want = end.infiniband() ? "InfiniBand" : "Ethernet";
        if (*have == want) return verdict.pass(want);
        verdict.fail(
            {.message = fmt::format("{} is set to {}, the rail is {}", end.rdma_where(), *have, want),
             .expected = want,
             .observed = *have,
             .remedy = {"Set the port's type in the adapter's firmware (VPI cards have both) and reboot; "
                        "or correct the rail's fabric.",
                        set_link_type_with(end.rdma, end.infiniband()), true}});
      });
}

// Returns the port of a card's setting, as of "LINK_TYPE_P2"; null if it is none of a port that the node has.
const RdmaPort* port_of_link_type(const Rdma& rdma, const AdapterAnswer& adapter, std::string_view setting) {
  constexpr std::string_view kLinkType = "LINK_TYPE_P";
  if (!setting.starts_with(kLinkType) || adapter.pci_address.empty()) return nullptr;
  const auto number = parse_number<int>(setting.substr(kLinkType.size()));
  const std::string card = adapter.pci_address.substr(0, adapter.pci_address.rfind('.') + 1);
  for (const RdmaDevice& device : items(rdma.devices))
    for (const RdmaPort& port : items(device.ports))
      if (device.pci_address.value_or("").starts_with(card) && port_of_card(device, port) == number)
        return &port;
  return nullptr;
}

// Returns the value in force: the output's, else for a link type the port's link layer; empty if neither is known.
std::string value_in_force(const Rdma& rdma, const AdapterAnswer& adapter, const AdapterSetting& setting) {
  if (!setting.current.empty()) return setting.current;
  const RdmaPort* port = port_of_link_type(rdma, adapter, setting.name);
  const std::string layer = port == nullptr ? "" : port->link_layer.value_or("");
  return layer == "InfiniBand" ? "IB(1)" : layer == "Ethernet" ? "ETH(2)" : "";
}

// A port set to VPI(3) takes the fabric that it is cabled to, so no value in force contradicts it.
bool is_settled(const AdapterSetting& setting) {
  return !setting.next.empty() && !setting.next.starts_with("VPI");
}

void adapter_settings(const Survey& survey, Judge& judge) {
  each_of(
      survey, judge, [](const NodeView& node) { return items(node.facts->rdma.adapters); },
      &AdapterAnswer::device,
      [&](Case& verdict, const NodeView& node, const AdapterAnswer& adapter) {
        verdict.seen(node.facts->rdma.adapters);
        if (!adapter.configured) return verdict.not_applicable("its settings were not printed");
        if (adapter.settings.empty()) return verdict.unknown("the output holds no setting");
        std::vector<std::string> changes;
        std::size_t known = 0;
        for (const AdapterSetting& setting : adapter.settings) {
          const std::string now = value_in_force(node.facts->rdma, adapter, setting);
          if (now.empty() || !is_settled(setting)) continue;
          ++known;
          if (now != setting.next)
            changes.push_back(fmt::format("{} is {} and becomes {}", setting.name, now, setting.next));
        }
        if (changes.empty() && known < adapter.settings.size())
          return verdict.unknown(fmt::format(
              "the output does not state the values in force of {} settings; mlxconfig -e query does",
              adapter.settings.size() - known));
        if (changes.empty()) return verdict.pass(fmt::format("{} settings in force", known));
        constexpr std::size_t kMost = 4;
        const std::size_t more = changes.size() > kMost ? changes.size() - kMost : 0;
        changes.resize(changes.size() - more);
        const std::string text =
            fmt::format("{}{}", fmt::join(changes, "; "), more > 0 ? fmt::format("; and {} more", more) : "");
        verdict.warn(
            {.message = fmt::format("the adapter {} of {} changes at its next reset: {}", adapter.device,
                                    *node.name, text),
             .expected = "what the firmware is set to is in force",
             .observed = text,
             .remedy = {"Reboot the node if the change is meant, and look at it again; else set the value "
                        "in force with mstconfig before the next boot.",
                        {},
                        true}});
      });
}

void judge_rate(Case& verdict, const RailEnd& end, const ExpectedRate& expected) {
  const BitRate* have = verdict.read(end.rdma.port->rate);
  if (have == nullptr) return;
  const bool stated = end.rail != nullptr && end.rail->speed.has_value();
  const double more = have->gigabits() - expected.rate.gigabits();
  if (std::abs(more) < 0.5 || (more > 0 && !stated)) return verdict.pass(to_text(*have));
  const std::string lanes = end.rdma.port->rate_text.value_or("?");
  verdict.red(
      expected.certain ? Status::kFail : Status::kWarn,
      {.message = fmt::format("{} runs at {} ({}), expected {} ({}): the cable, a slower other end, or "
                              "their negotiation",
                              end.rdma_where(), to_text(*have), lanes, to_text(expected.rate), expected.from),
       .expected = to_text(expected.rate),
       .observed = fmt::format("{} ({})", to_text(*have), lanes),
       .remedy = {"Compare what both ends and the switch offer; then swap the cable.",
                  end.infiniband()
                      ? std::vector<ShellCommand>{command("ibstat {}", end.rdma.device->name), "iblinkinfo"}
                      : std::vector<ShellCommand>{command("ethtool {}", end.name)}}});
}

// Returns the expected rate; nullopt if unknown. On Ethernet it is the interface's own speed, which net.speed
// judges.
std::optional<ExpectedRate> expected_rate(const ExpectedRates& rates, const RailEnd& end) {
  const bool asked = end.rail != nullptr && end.rail->speed.has_value();
  if (asked || end.infiniband()) return rates.of(end);
  if (end.interface == nullptr || end.interface->speed_mbps.value_or(0) <= 0) return std::nullopt;
  return ExpectedRate{{*end.interface->speed_mbps * 1e6}, false, "the speed of " + end.name};
}

void rate(const Survey& survey, Judge& judge) {
  const ExpectedRates rates(survey);
  each_end(survey, judge, [&](Case& verdict, const RailEnd& end) {
    if (lacks_port(verdict, end)) return;
    if (end.software_rdma()) return verdict.not_applicable("software RDMA states a rate that means nothing");
    const auto expected = expected_rate(rates, end);
    if (!expected)
      return verdict.not_applicable(
          "nothing says how fast it should be: state the rail's speed in cluster.yaml");
    if (end.rdma.port->state.value_or("") != "ACTIVE")
      return verdict.not_applicable("the port is not active");
    judge_rate(verdict, end, *expected);
  });
}

bool connects_ipoib(const RailEnd& end) { return end.model == nullptr || end.model->connected_ipoib; }

std::vector<ShellCommand> go_datagram_with(const NodeView& node, const RailEnd& end) {
  std::vector<ShellCommand> commands = {command("echo datagram > /sys/class/net/{}/mode", end.name)};
  std::ranges::move(keep_ipoib_with(node, end, "datagram", 0), std::back_inserter(commands));
  return commands;
}

void ipoib_mode(const Survey& survey, Judge& judge) {
  each_infiniband_end(survey, judge, [](Case& verdict, const NodeView& node, const RailEnd& end) {
    if (verdict.lacks_interface(end)) return;
    const std::string* mode = verdict.read_if_there(end.interface->ipoib_mode, "no IPoIB interface");
    if (mode == nullptr) return;
    if (*mode == "datagram" || connects_ipoib(end)) return verdict.pass(*mode);
    verdict.warn(
        {.message = fmt::format("{} is in connected mode, which a {} does only without its offloads: "
                                "enhanced IPoIB is datagram",
                                end.where(), end.model->name),
         .expected = "datagram",
         .observed = *mode,
         .remedy = {"Go back to datagram mode, here (IPoIB pauses for a moment) and in the network "
                    "configuration; raise bandwidth by RDMA, not by IPoIB.",
                    go_datagram_with(node, end)}});
  });
}

// An end in connected mode sends datagrams to one in datagram mode, and large packets trigger messages to
// shrink them (the kernel's Documentation/infiniband/ipoib.rst): it works, but each pair behaves differently.
void ipoib_mode_equal(const Survey& survey, Judge& judge) {
  each_rail(survey, judge, [&](Case& verdict, const Rail& rail) {
    if (rail.fabric != Fabric::kInfiniband) return verdict.not_applicable("not InfiniBand");
    std::vector<std::string> connected, datagram;
    std::vector<ShellCommand> commands;
    for (const RailEnd* end : survey.ends_of(rail)) {
      if (end->interface == nullptr || !end->interface->ipoib_mode.ok()) continue;
      verdict.seen(end->interface->ipoib_mode);
      const bool connects = *end->interface->ipoib_mode == "connected";
      (connects ? connected : datagram).push_back(*end->node);
      if (!connects) continue;
      for (const ShellCommand& go : go_datagram_with(*survey.find(*end->node), *end))
        commands.push_back(command("{}  # on {}", go, *end->node));
    }
    if (connected.size() + datagram.size() < 2)
      return verdict.not_applicable("fewer than two IPoIB interfaces");
    if (connected.empty() || datagram.empty())
      return verdict.pass(connected.empty() ? "datagram" : "connected");
    for (const std::string& node : connected) verdict.touch("node:" + node);
    const std::string observed =
        fmt::format("connected on {}; datagram on {}", fmt::join(connected, ", "), fmt::join(datagram, ", "));
    verdict.warn(
        {.message =
             fmt::format("the ends of {} differ in IPoIB mode ({}): between them every packet is "
                         "cut to the smaller MTU, and larger multicast from the connected ends is lost",
                         rail.name, observed),
         .expected = "one mode at every end",
         .observed = observed,
         .remedy = {"Set datagram mode at every end, which every adapter has (IPoIB pauses for a moment); "
                    "connected at all of them where every adapter has that.",
                    std::move(commands)}});
  });
}

Remedy join_group(const NodeView& node, const RailEnd& end, bool is_member) {
  if (!is_member)
    return {
        "Put the port's GUID into that partition where the subnet manager runs, and restart it; or remove "
        "the interface, if nobody needs it.",
        {command("cat {}  # where opensm runs", partitions_file(node))}};
  return {
      "Read what the kernel says of the join. A group of a larger MTU or rate than this port's refuses it: "
      "the partition's mtu and rate in the subnet manager's configuration have to fit the slowest port.",
      {command("dmesg | grep {}", end.name), "saquery -g"}};
}

// IPoIB has a carrier once it has joined the broadcast group of its partition: ipoib_mcast_join_finish() of
// drivers/infiniband/ulp/ipoib/ipoib_multicast.c.
void ipoib_link(const Survey& survey, Judge& judge) {
  constexpr std::uint16_t kKeyBits = 0x7fff;  // the highest bit marks a full member
  each_infiniband_end(survey, judge, [&](Case& verdict, const NodeView& node, const RailEnd& end) {
    if (verdict.lacks_interface(end)) return;
    if (verdict.read_if_there(end.interface->ipoib_mode, "no IPoIB interface") == nullptr) return;
    if (lacks_port(verdict, end)) return;
    if (end.rdma.port->state.value_or("") != "ACTIVE")
      return verdict.not_applicable("the port is not active");
    if (!end.interface->administratively_up.value_or(true))
      return verdict.not_applicable("the interface is switched off");
    const bool* link = verdict.read_if_there(end.interface->carrier, "its carrier was not recorded");
    if (link == nullptr) return;
    if (*link) return verdict.pass("it has joined its group");
    const auto& key = end.interface->ipoib_pkey;
    const auto& keys = end.rdma.port->pkeys;
    const bool is_member = !key || !keys || std::ranges::any_of(*keys, [&](std::uint16_t each) {
      return (each & kKeyBits) == (*key & kKeyBits);
    });
    const std::string why = is_member ? "it could not join its partition's broadcast group"
                                      : fmt::format("it is of partition {:#06x}, and its port is in {:#06x}",
                                                    *key, fmt::join(*keys, ", "));
    // Verbs do not need IPoIB; a rail with addresses does.
    const Status status = end.address() != nullptr ? Status::kFail : Status::kWarn;
    verdict.red(status,
                {.message = fmt::format("{} has no carrier on a port that is active: {}", end.where(), why),
                 .expected = "a carrier",
                 .observed = is_member ? "none" : fmt::format("none, partition {:#06x}", *key),
                 .remedy = join_group(node, end, is_member)});
  });
}

void ipoib_mtu(const Survey& survey, Judge& judge) {
  constexpr int kEncapsulation = 4;  // RFC 4391: the IPoIB header
  each_infiniband_end(survey, judge, [&](Case& verdict, const NodeView& node, const RailEnd& end) {
    if (verdict.lacks_interface(end)) return;
    const std::string* mode = verdict.read_if_there(end.interface->ipoib_mode, "no IPoIB interface");
    if (mode == nullptr) return;
    if (verdict.lacks_rdma(end)) return;
    const int* have = verdict.read(end.interface->mtu);
    if (have == nullptr) return;
    const int* port = verdict.read(end.rdma.port->active_mtu);
    if (port == nullptr) return;
    const bool connects = *mode == "connected" && connects_ipoib(end);
    const int most = connects ? kLargestConnected : *port - kEncapsulation;
    if (*have == most) return verdict.pass(std::to_string(*have));
    verdict.warn(
        {.message = fmt::format("{} ({} mode) has MTU {}, best is {}", end.where(), *mode, *have, most),
         .expected = std::to_string(most),
         .observed = std::to_string(*have),
         .remedy = set_ipoib_mtu(node, end, most, connects)});
  });
}

void one_subnet_manager(const Survey& survey, Judge& judge) {
  each_rail(survey, judge, [&](Case& verdict, const Rail& rail) {
    if (rail.fabric != Fabric::kInfiniband) return;
    std::vector<std::string> running;
    for (const RailEnd* end : survey.ends_of(rail)) {
      if (!end->facts->system.services.ok()) continue;
      verdict.seen(end->facts->system.services);
      for (const Service& service : *end->facts->system.services)
        if (service.name == "opensm" && service.active_state == "active") running.push_back(*end->node);
    }
    if (running.empty()) return verdict.not_applicable("no node runs opensm: the switch has to");
    if (running.size() == 1) return verdict.pass(running.front());
    for (const std::string& node : running) verdict.touch("node:" + node);
    const auto meant = std::ranges::find_if(running, [&](const std::string& name) {
      return survey.find(name)->expect().subnet_manager.value_or(false);
    });
    const std::string& keeper = meant == running.end() ? running.front() : *meant;
    verdict.warn(
        {.message = fmt::format("opensm runs on {}: at a failover routes may change under running jobs",
                                fmt::join(running, ", ")),
         .expected = "one node, or priorities set on purpose",
         .observed = fmt::format("{}", fmt::join(running, " ")),
         .remedy = {"Keep it on one node, or give each an explicit sm_priority.",
                    {command("systemctl disable --now opensm  # on all but {}", keeper)}}});
  });
}

void traffic_class(const Survey& survey, Judge& judge) {
  each_end(survey, judge, [](Case& verdict, const NodeView& node, const RailEnd& end) {
    if (!node.expect().traffic_class || end.infiniband() || end.software_rdma())
      return verdict.not_applicable("no traffic class is expected");
    if (lacks_port(verdict, end)) return;
    const int* have = verdict.read(end.rdma.port->roce_tos);
    if (have == nullptr) return;
    const int want = *node.expect().traffic_class;
    if (*have == want) return verdict.pass(std::to_string(want));
    const std::string path = fmt::format("/sys/kernel/config/rdma_cm/{}/ports/{}/default_roce_tos",
                                         end.rdma.device->name, end.rdma.port->number);
    verdict.fail({.message = fmt::format("{} marks RDMA-CM connections with ToS {}, expected {} (DSCP {}): "
                                         "they travel outside the lossless class",
                                         end.rdma_where(), *have, want, want / 4),
                  .expected = std::to_string(want),
                  .observed = std::to_string(*have),
                  .remedy = {"Set it, and let a service set it at every boot.",
                             {command("mkdir -p /sys/kernel/config/rdma_cm/{}", end.rdma.device->name),
                              command("echo {} > {}", want, path)}}});
  });
}

bool is_hardware_roce(const RailEnd& end) { return end.roce() && !end.software_rdma(); }

Things roce_ends(const NodeView& node) { return touches_of_ends(node, is_hardware_roce); }

// Returns the commands that enable the unit. A node without such a unit gets one for its rails' devices;
// systemd replaces $$ by one $.
std::vector<ShellCommand> enable_unit_with(const NodeView& node, const Service* service) {
  if (service != nullptr && service->load_state == "loaded") return {"systemctl enable --now rdma-cm-tos"};
  std::set<std::string> devices;
  for (const RailEnd& end : node.ends) {
    if (!is_hardware_roce(end) || !end.rdma) continue;
    // A unit's line is parsed by systemd and then by a shell: a name that needs quotes would be unsafe.
    if (shell_word(end.rdma.device->name) != end.rdma.device->name) return {};
    devices.insert(end.rdma.device->name);
  }
  return {command("printf '%s\\n' '[Unit]' 'After=network-online.target' '[Service]' 'Type=oneshot' "
                  "'RemainAfterExit=yes' {} '[Install]' 'WantedBy=multi-user.target' > "
                  "/etc/systemd/system/rdma-cm-tos.service",
                  fmt::format("ExecStart=/bin/sh -c \"cd /sys/kernel/config/rdma_cm; for d in {}; "
                              "do mkdir -p $$d; echo {} | tee $$d/ports/*/default_roce_tos; done\"",
                              fmt::join(devices, " "), *node.expect().traffic_class)),
          "systemctl daemon-reload", "systemctl enable --now rdma-cm-tos"};
}

void traffic_class_service(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "rdma-cm-tos", roce_ends, [](Case& verdict, const NodeView& node) {
    if (!node.expect().traffic_class || std::ranges::none_of(node.ends, is_hardware_roce))
      return verdict.not_applicable("no traffic class is expected");
    if (verdict.lacks_systemd(node)) return;
    const Service* service = find_service(node, {"rdma-cm-tos"});
    const std::string have = service == nullptr
                                 ? "not installed"
                                 : fmt::format("{}, {}", service->unit_file_state, service->active_state);
    if (have == "enabled, active") return verdict.pass(have);
    verdict.warn(
        {.message = fmt::format("rdma-cm-tos on {} is {}: the RoCE traffic class is lost at the next reboot",
                                *node.name, have),
         .expected = "enabled and active",
         .observed = have,
         .remedy = {"Let a unit write default_roce_tos at every boot.", enable_unit_with(node, service)}});
  });
}

}  // namespace

std::span<const Rule> port_rules() {
  static const Rule kRules[] = {
      {.id = "rdma.physical-state",
       .title = "RDMA port has a physical link",
       .why = "Polling means the port looks for a signal and finds none; "
              "Disabled means it was told not to look.",
       .source = "/sys/class/infiniband/*/ports/*/phys_state",
       .standard = "LinkUp",
       .remedy = "Look at the cable, the transceiver and the other end.",
       .fixture = "r730-cable-out",
       .explained_by = {"net.admin-up", "net.carrier", "rdma.rail-device", "rdma.cable-unplugged",
                        "rdma.cable-error", "rdma.device-health", "rdma.link-trouble"},
       .check = physical_state},
      {.id = "rdma.subnet-manager",
       .title = "a subnet manager configured the port",
       .why = "InfiniBand has no addresses and no routes until a subnet manager has given them. "
              "Unmanaged switches bring none: one node must run opensm.",
       .source = "/sys/class/infiniband/*/ports/*/{state,sm_lid}",
       .standard = "the port is past INIT",
       .remedy = "Start opensm on one node.",
       .fixture = "r730-no-subnet-manager",
       .explained_by = {"rdma.infiniband-modules"},
       .settings = {"opensm/manager"},
       .check = subnet_manager},
      {.id = "rdma.port-state",
       .title = "RDMA port is active",
       .why = "Only an ACTIVE port carries data. DOWN is the cable or the interface, "
              "INIT the subnet manager, ARMED passes by itself.",
       .source = "/sys/class/infiniband/*/ports/*/state",
       .standard = "ACTIVE",
       .remedy = "Mend the link first; on InfiniBand then the subnet manager.",
       .fixture = "v100-port-down",
       .explained_by = {"net.admin-up", "net.carrier", "rdma.physical-state", "rdma.subnet-manager"},
       .check = port_state},
      {.id = "rdma.lid",
       .title = "InfiniBand port has a LID",
       .why = "The LID is the port's address within its subnet.",
       .source = "/sys/class/infiniband/*/ports/*/lid",
       .standard = "neither 0 nor 0xffff",
       .remedy = "Restart the subnet manager.",
       .fixture = "r730-no-lid",
       .explained_by = {"rdma.subnet-manager", "rdma.port-state"},
       .check = lid},
      {.id = "rdma.link-layer",
       .title = "port speaks the rail's fabric",
       .why = "VPI adapters are InfiniBand or Ethernet by a firmware setting; used ones come either way.",
       .source = "/sys/class/infiniband/*/ports/*/link_layer",
       .standard = "Ethernet on roce, InfiniBand on infiniband",
       .remedy = "Set LINK_TYPE with mstconfig, then reboot.",
       .fixture = "r730-link-layer-ethernet",
       .explained_by = {},
       .check = link_layer},
      {.id = "rdma.adapter-setting",
       .title = "adapter's settings are in force",
       .why =
           "A setting in the firmware counts from the next reset on: a LINK_TYPE that was changed and forgotten takes a "
           "rail away at the next reboot.",
       .source = "mlxconfig -e query, of a report; of LINK_TYPE also the port's link layer",
       .standard = "the value of the next boot is the one in force",
       .remedy = "Reboot the node, or set the value in force.",
       .fixture = "h100-adapter-setting-waits",
       .explained_by = {},
       .check = adapter_settings},
      {.id = "rdma.rate",
       .title = "RDMA port runs at its rate",
       .why =
           "A narrow or slow port (1X instead of 4X, QDR instead of EDR) works and silently costs bandwidth.",
       .source = "/sys/class/infiniband/*/ports/*/rate",
       .standard =
           "the rail's speed in cluster.yaml; else on InfiniBand what most nodes of the rail or most rails "
           "on the same adapter run at, and on Ethernet the interface's speed",
       .remedy = "Try another cable, then look at the slower end.",
       .fixture = "r730-rate-ddr",
       .explained_by = {"net.speed", "rdma.width"},
       .check = rate},
      {.id = "rdma.ipoib-mode",
       .title = "IPoIB mode suits the adapter",
       .why = "Connected mode ended with ConnectX-4: enhanced IPoIB is datagram only. "
              "Guides for older cards still ask for it.",
       .source = "/sys/class/net/*/mode",
       .standard = "datagram, or connected where src/hardware/nic.cc says that the adapter has it",
       .remedy = "echo datagram > mode.",
       .fixture = "r730-ipoib-connected",
       .explained_by = {},
       .settings = {"network/rails", "ipoib/mode"},
       .check = ipoib_mode},
      {.id = "rdma.ipoib-mtu",
       .title = "IPoIB MTU is the largest of its mode",
       .why = "Datagram mode carries the InfiniBand MTU less 4 bytes, connected mode 65520; "
              "less wastes packets, unequal values lose large ones.",
       .source = "/sys/class/net/*/{mtu,mode}, ibv_query_port: active_mtu",
       .standard = "active_mtu − 4 (RFC 4391), or 65520 (RFC 4755)",
       .remedy = "ip link set mtu on every node.",
       .fixture = "r730-ipoib-mtu",
       .explained_by = {"rdma.ipoib-mode", "rdma.ipoib-mode-equal", "net.mtu"},
       .settings = {"network/rails", "ipoib/mode", "opensm/partition"},
       .check = ipoib_mtu},
      {.id = "rdma.ipoib-mode-equal",
       .title = "ends of a rail have the same IPoIB mode",
       .why = "A connected end and a datagram one still talk, by datagrams: each large packet is first sent, "
              "then refused, then cut. Slow and hard to see.",
       .source = "/sys/class/net/*/mode of every end",
       .standard = "equal",
       .remedy = "Set datagram mode everywhere, in the network configuration as well.",
       .fixture = "r730-ipoib-modes-differ",
       .explained_by = {"rdma.ipoib-mode"},
       .check = ipoib_mode_equal},
      {.id = "rdma.ipoib-link",
       .title = "IPoIB has joined its partition",
       .why =
           "An IPoIB interface has a carrier once it is in the broadcast group of its partition. Without, the "
           "port is active, RDMA by LID works, and no IP packet passes.",
       .source = "/sys/class/net/*/{carrier,pkey}, /sys/class/infiniband/*/ports/*/pkeys",
       .standard = "carrier 1 where the port is ACTIVE and the interface is up",
       .remedy = "Look at the partition's members, MTU and rate where the subnet manager runs.",
       .fixture = "r730-ipoib-partition",
       .explained_by = {"rdma.subnet-manager", "rdma.lid", "ib.partition"},
       .check = ipoib_link},
      {.id = "rdma.one-subnet-manager",
       .title = "one subnet manager",
       .why = "Two with equal priority may swap roles and reroute the fabric while jobs run.",
       .source = "systemctl show opensm on every node",
       .standard = "active on exactly one node, where nodes run it at all",
       .remedy = "Disable the others.",
       .fixture = "r730-two-subnet-managers",
       .explained_by = {},
       .check = one_subnet_manager},
      {.id = "rdma.traffic-class",
       .title = "RDMA-CM marks the lossless class",
       .why = "Switches protect packets by their DSCP. "
              "Unmarked ones share the lossy queue and are dropped under load.",
       .source = "/sys/kernel/config/rdma_cm/*/ports/*/default_roce_tos",
       .standard = "expect.traffic_class of cluster.yaml (104 = DSCP 26); not judged without it",
       .remedy = "Write default_roce_tos, now and at boot.",
       .fixture = "h100-traffic-class",
       .explained_by = {},
       .settings = {"rdma/traffic-class"},
       .check = traffic_class},
      {.id = "rdma.traffic-class-service",
       .title = "a service restores the traffic class at boot",
       .why = "default_roce_tos lives in configfs: "
              "a reboot resets it to 0 and the fabric turns lossy a week later.",
       .source = "systemctl show rdma-cm-tos",
       .standard = "enabled and active where cluster.yaml expects a traffic class",
       .remedy = "systemctl enable --now rdma-cm-tos.",
       .fixture = "h100-tos-service-disabled",
       .explained_by = {},
       .settings = {"rdma/traffic-class"},
       .of_next_boot = true,
       .check = traffic_class_service},
  };
  return kRules;
}

}  // namespace railbed
