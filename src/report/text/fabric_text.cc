#include "report/text/fabric_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "base/wording.h"
#include "fabric/layout.h"

namespace railbed {
namespace {

std::string_view word(IbNodeType type) {
  return type == IbNodeType::kSwitch ? "switch" : type == IbNodeType::kRouter ? "router" : "HCA";
}

std::string state_text(const IbPort& port) {
  return port.state == IbState::kNotSaid ? "" : fmt::format("  {}", railbed::word(port.state));
}

std::string port_line(const IbFabric& fabric, const IbPort& port) {
  const IbNode& peer = fabric.at(port.peer);
  const IbPort& far = fabric.port(port.peer);
  const unsigned lid = peer.is_switch() ? peer.ports[0].lid : far.lid;
  return fmt::format("  {:>4}  {:<8}  {} port {}{}{}\n", port.number, port.active.to_text(),
                     printable(name_of(peer)), port.peer.port, lid != 0 ? fmt::format(", lid {}", lid) : "",
                     state_text(port));
}

std::string node_head(const IbNode& node) {
  const unsigned lid = node.is_switch() ? node.ports[0].lid : 0;
  return fmt::format("\n{} {}  {}{}, GUID {}, device 0x{:x}\n", word(node.type), printable(name_of(node)),
                     counted(static_cast<std::size_t>(node.last_port()), "port"),
                     lid != 0 ? fmt::format(", lid {}", lid) : "", guid_text(node.guid), node.device);
}

bool only_on_switches(const IbFabric& fabric, const IbNode& node) {
  return !node.is_switch() && std::ranges::all_of(node.ports, [&](const IbPort& port) {
    return !port.peer || fabric.at(port.peer).is_switch();
  }) && std::ranges::any_of(node.ports, [](const IbPort& port) { return bool(port.peer); });
}

json::Value link_json(const IbLink& link) {
  return {{"width", link.width}, {"speed", link.width == 0 ? "" : railbed::word(link.speed)}};
}

json::Value port_json(const IbFabric& fabric, const IbPort& port) {
  json::Value value;
  value["number"] = port.number;
  if (port.guid != 0) value["guid"] = guid_text(port.guid);
  value["lid"] = port.lid;
  if (fabric.live) {
    value["state"] = railbed::word(port.state);
    value["link_up"] = port.link_up;
    value["supported"] = link_json(port.supported);
  }
  value["active"] = link_json(port.active);
  if (port.peer)
    value["peer"] = {{"node", guid_text(fabric.at(port.peer).guid)},
                     {"description", fabric.at(port.peer).description},
                     {"port", port.peer.port}};
  return value;
}

std::string mute_text(const std::string& place) {
  return fmt::format("subnet manager on {}: it does not answer (IsSM is set)\n", printable(place));
}

json::Value mute_json(const std::vector<std::string>& places) {
  json::Value all = json::Value::array();
  for (const std::string& place : places) all.push_back(place);
  return all;
}

json::Value manager_json(const IbManager& manager, const std::string& node) {
  return {{"node", node},
          {"guid", guid_text(manager.port_guid)},
          {"lid", manager.lid},
          {"state", railbed::word(manager.state)},
          {"priority", manager.priority},
          {"activity", manager.activity}};
}

}  // namespace

std::string fabric_text(const IbFabric& fabric) {
  const auto switches = static_cast<std::size_t>(std::ranges::count_if(fabric.nodes, &IbNode::is_switch));
  std::size_t cables = 0;
  each_cable(fabric, [&](const IbEnd&, const IbEnd&) { ++cables; });
  std::string out = fmt::format("{}, {}, {}: {}\n", counted(switches, "switch", "switches"),
                                counted(fabric.nodes.size() - switches, "HCA"), counted(cables, "cable"),
                                describe(fabric, layout_of(fabric)));
  for (const IbManager& manager : fabric.managers)
    out += fmt::format("subnet manager on {}, lid {}: {}, priority {}\n",
                       printable(name_of(fabric.at(manager.end))), manager.lid, railbed::word(manager.state),
                       manager.priority);
  for (const IbEnd& end : fabric.mute_managers) out += mute_text(place_of(fabric, end));
  for (const bool is_switch : {true, false})
    for (const IbNode& node : fabric.nodes) {
      if (node.is_switch() != is_switch || only_on_switches(fabric, node)) continue;
      out += node_head(node);
      for (const IbPort& port : node.ports)
        if (port.peer) out += port_line(fabric, port);
    }
  return out;
}

std::string fabric_json(const IbFabric& fabric) {
  json::Value document;
  document["format"] = "railbed-fabric";
  document["version"] = 1;
  document["layout"] = describe(fabric, layout_of(fabric));
  json::Value nodes = json::Value::array();
  for (const IbNode& node : fabric.nodes) {
    json::Value value;
    value["type"] = word(node.type);
    value["guid"] = guid_text(node.guid);
    value["system_guid"] = guid_text(node.system_guid);
    value["description"] = node.description;
    value["vendor"] = node.vendor;
    value["device"] = node.device;
    value["revision"] = node.revision;
    value["lid"] = node.is_switch() ? node.ports[0].lid : 0;
    json::Value ports = json::Value::array();
    for (const IbPort& port : node.ports)
      if (port.number > 0 && (fabric.live || port.peer)) ports.push_back(port_json(fabric, port));
    value["ports"] = std::move(ports);
    nodes.push_back(std::move(value));
  }
  document["nodes"] = std::move(nodes);
  json::Value managers = json::Value::array();
  for (const IbManager& manager : fabric.managers)
    managers.push_back(manager_json(manager, name_of(fabric.at(manager.end))));
  document["managers"] = std::move(managers);
  std::vector<std::string> mute;
  for (const IbEnd& end : fabric.mute_managers) mute.push_back(place_of(fabric, end));
  document["mute_managers"] = mute_json(mute);
  return json::dump_pretty(document);
}

std::string managers_text(const ManagerLook& look) {
  std::string out = look.managers.empty() ? "no subnet manager answers\n" : "";
  for (const std::string& place : look.mute) out += mute_text(place);
  for (const ManagerSeen& seen : look.managers) {
    out += fmt::format("{:<11}  {}, lid {}, priority {}, GUID {}\n", railbed::word(seen.manager.state),
                       printable(seen.node), seen.manager.lid, seen.manager.priority,
                       guid_text(seen.manager.port_guid));
    if (look.seconds > 0)
      out += fmt::format("{:13}activity {}{}\n", "", seen.manager.activity,
                         seen.moves() ? fmt::format(", {} more in {:.0f} s",
                                                    seen.manager.activity - seen.before, look.seconds)
                                      : fmt::format(": it did not move in {:.0f} s", look.seconds));
  }
  out += fmt::format("\nsubnet    {}\n", printable(look.shape));
  out += look.routing.ok()
             ? fmt::format("routing   {} ({})\n", printable(*look.routing), printable(look.routing.from()))
             : fmt::format("routing   not known: {} ({})\n", printable(look.routing.miss().why),
                           printable(look.routing.from()));
  out += fmt::format("should be {}: {}\n", look.advice.engines, look.advice.why);
  return out;
}

std::string managers_json(const ManagerLook& look) {
  json::Value document;
  document["format"] = "railbed-subnet-managers";
  document["version"] = 1;
  json::Value managers = json::Value::array();
  for (const ManagerSeen& seen : look.managers) {
    json::Value entry = manager_json(seen.manager, seen.node);
    entry["activity_before"] = seen.before;
    managers.push_back(std::move(entry));
  }
  document["managers"] = std::move(managers);
  document["mute_managers"] = mute_json(look.mute);
  document["seconds"] = look.seconds;
  document["layout"] = look.shape;
  document["routing_engine"] = json::encode(look.routing);
  document["routing_advice"] = look.advice.engines;
  return json::dump_pretty(document);
}

}  // namespace railbed
