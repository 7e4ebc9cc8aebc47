#include "report/text/fabric_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/wording.h"
#include "fabric/layout.h"
#include "report/documents.h"

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

FabricLinkDocument link_document(const IbLink& link) {
  return {link.width, std::string(link.width == 0 ? "" : railbed::word(link.speed))};
}

FabricPortDocument port_document(const IbFabric& fabric, const IbPort& port) {
  FabricPortDocument document{.number = port.number, .lid = port.lid, .active = link_document(port.active)};
  if (port.guid != 0) document.guid = guid_text(port.guid);
  if (fabric.live) {
    document.state = railbed::word(port.state);
    document.link_up = port.link_up;
    document.supported = link_document(port.supported);
  }
  if (port.peer)
    document.peer = {guid_text(fabric.at(port.peer).guid), fabric.at(port.peer).description, port.peer.port};
  return document;
}

std::string mute_text(const std::string& place) {
  return fmt::format("subnet manager on {}: it does not answer (IsSM is set)\n", printable(place));
}

FabricManagerDocument manager_document(const IbManager& manager, const std::string& node) {
  return {.node = node,
          .guid = guid_text(manager.port_guid),
          .lid = manager.lid,
          .state = std::string(railbed::word(manager.state)),
          .priority = manager.priority,
          .activity = manager.activity};
}

}  // namespace

std::string fabric_text(const IbFabric& fabric) {
  const auto switches = static_cast<std::size_t>(std::ranges::count_if(fabric.nodes, &IbNode::is_switch));
  const auto hcas = static_cast<std::size_t>(std::ranges::count_if(fabric.nodes, &IbNode::is_hca));
  std::size_t cables = 0;
  each_cable(fabric, [&](const IbEnd&, const IbEnd&) { ++cables; });
  std::string out =
      fmt::format("{}, {}, {}: {}\n", counted(switches, "switch", "switches"), counted(hcas, "HCA"),
                  counted(cables, "cable"), describe(fabric, layout_of(fabric)));
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
  FabricDocument document{.layout = describe(fabric, layout_of(fabric))};
  for (const IbNode& node : fabric.nodes) {
    FabricNodeDocument& added = document.nodes.emplace_back();
    added.type = word(node.type);
    added.guid = guid_text(node.guid);
    added.system_guid = guid_text(node.system_guid);
    added.description = node.description;
    added.vendor = node.vendor;
    added.device = node.device;
    added.revision = node.revision;
    added.lid = node.is_switch() ? node.ports[0].lid : 0;
    for (const IbPort& port : node.ports)
      if (port.number > 0 && (fabric.live || port.peer)) added.ports.push_back(port_document(fabric, port));
  }
  for (const IbManager& manager : fabric.managers)
    document.managers.push_back(manager_document(manager, name_of(fabric.at(manager.end))));
  for (const IbEnd& end : fabric.mute_managers) document.mute_managers.push_back(place_of(fabric, end));
  return document_text(kFabricDocument, document);
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
  ManagersDocument document{.mute_managers = look.mute,
                            .seconds = look.seconds,
                            .layout = look.shape,
                            .routing_engine = look.routing,
                            .routing_advice = std::string(look.advice.engines)};
  for (const ManagerSeen& seen : look.managers) {
    document.managers.push_back(manager_document(seen.manager, seen.node));
    document.managers.back().activity_before = seen.before;
  }
  return document_text(kManagersDocument, document);
}

}  // namespace railbed
