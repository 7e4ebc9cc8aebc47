// Lossless RoCE on an adapter: DSCP decides the priority, PFC protects only that priority, global pause is
// off, and congestion control takes part. Drivers and reboots lose all of it: a template unit restores it
// whenever the interface appears.
#include <fmt/format.h>

#include <algorithm>

#include "model/tools.h"
#include "settings/render.h"
#include "settings/unit_instance.h"

namespace railbed {
namespace {

constexpr int kUsualTrafficClass = 104;  // DSCP 26, as the guides and NVIDIA's RoCE quick start set it
constexpr int kNotificationDscp = 48;    // NVIDIA's default for congestion notifications
constexpr const char* kQosUnit = "railbed-qos";

// The lossless traffic: its DSCP, and its priority.
struct LosslessClass {
  int dscp = 0;
  int priority = 0;
};

LosslessClass lossless_class(const Target& target) {
  const int dscp = target.node().expect.traffic_class.value_or(kUsualTrafficClass) >> 2;
  return {dscp, target.configure().pfc_priority.value_or(dscp >> 3)};
}

// Returns true if the end gets lossless settings. A cable between two ports carries no other traffic, so it
// gets them only if the priority is configured.
bool wants_qos(const Target& target, const RailEnd& end) {
  if (!is_roce_port(end)) return false;
  if (target.configure().pfc_priority) return true;
  return target.node().expect.traffic_class && end.rail->topology == Topology::kSwitch;
}

// ConnectX-3's driver cannot sort by DSCP (drivers/net/ethernet/mellanox/mlx4/en_dcb_nl.c).
bool sorts_by_dscp(const RailEnd& end, const NetInterface* port) {
  if (end.model != nullptr && end.model->module == "mlx4_core") return false;
  return port == nullptr || port->priorities.ok() || port->priorities.miss().missing != Missing::kUnsupported;
}

// --- the needs of one port ---

Need sorts(const NetInterface* port, const std::string& name, const LosslessClass& wanted) {
  Need need{.what = fmt::format("{} puts DSCP {} into priority {}", name, wanted.dscp, wanted.priority)};
  if (port == nullptr || !port->priorities.ok()) return need;
  const auto& map = port->priorities->dscp;
  const auto found = map.find(std::to_string(wanted.dscp));
  // The upper three bits decide if there is no entry (mlx5).
  const int priority = found == map.end() ? wanted.dscp >> 3 : found->second;
  need.now = !map.empty() && priority == wanted.priority;
  if (!*need.now) need.found = map.empty() ? "it trusts the VLAN tag" : fmt::format("priority {}", priority);
  return need;
}

Need protects(const NetInterface* port, const std::string& name, int priority) {
  Need need{.what = fmt::format("{} has PFC on priority {} alone", name, priority)};
  if (port == nullptr || !port->priorities.ok()) return need;
  const auto& lossless = port->priorities->lossless;
  need.now = lossless == std::vector<int>{priority};
  if (!*need.now)
    need.found = lossless.empty() ? "none" : fmt::format("PFC on {}", fmt::join(lossless, ", "));
  return need;
}

Need does_not_pause(const NetInterface& port) {
  Need need{.what = fmt::format("{} sends and obeys no pause of the whole port", port.name)};
  need.now = !port.pause->receive && !port.pause->transmit;
  if (!*need.now)
    need.found = fmt::format("receive {}, transmit {}", port.pause->receive ? "on" : "off",
                             port.pause->transmit ? "on" : "off");
  return need;
}

Need takes_part(const NetInterface& port, int priority) {
  const RoceCongestion& congestion = *port.congestion;
  const auto has = [&](const std::vector<int>& list) {
    return std::ranges::find(list, priority) != list.end();
  };
  const int dscp = congestion.notification_dscp.value_or(kNotificationDscp);
  Need need{
      .what = fmt::format("{} takes part in congestion control of priority {}, with notifications of DSCP {}",
                          port.name, priority, kNotificationDscp)};
  need.now = has(congestion.notifies) && has(congestion.reacts) && dscp == kNotificationDscp;
  if (!*need.now)
    need.found = fmt::format("notification {}, reaction {}, DSCP {}", has(congestion.notifies) ? "on" : "off",
                             has(congestion.reacts) ? "on" : "off", dscp);
  return need;
}

void add_needs(const Target& target, const std::string& name, const LosslessClass& wanted, Setting& setting) {
  const NetInterface* port = find_interface(target.facts().net, name);
  setting.needs.push_back(sorts(port, name, wanted));
  setting.needs.push_back(protects(port, name, wanted.priority));
  if (port == nullptr) return;
  if (port->pause.ok()) setting.needs.push_back(does_not_pause(*port));
  // Only NVIDIA's OFED driver shows it. With the kernel's driver, firmware controls it, and it is on.
  if (port->congestion.ok()) setting.needs.push_back(takes_part(*port, wanted.priority));
}

// --- the unit ---

std::string start_line(std::string_view command, bool may_fail = false) {
  return fmt::format("ExecStart={}{}\n", may_fail ? "-" : "", command);
}

// Returns the lines for what mlnx_qos --trust does not set: the map, which may have been changed, and congestion
// control.
std::string vendor_lines(const LosslessClass& wanted) {
  return start_line(fmt::format("mlnx_qos -i %I --dscp2prio set,{},{}", wanted.dscp, wanted.priority)) +
         start_line(fmt::format("/bin/sh -c 'cd /sys/class/net/%I/ecn && echo 1 >roce_np/enable/{0} && "
                                "echo 1 >roce_rp/enable/{0} && echo {1} >roce_np/cnp_dscp'",
                                wanted.priority, kNotificationDscp));
}

// Returns the unit's commands; empty if the node has no tool for it. ethtool fails if nothing changes, so its
// failure is ignored.
std::string service_lines(const Target& target, const LosslessClass& wanted) {
  const auto trust = trust_dscp_with(target.view, "%I", wanted.dscp, wanted.priority);
  const auto lossless = make_lossless_with(target.view, "%I", wanted.priority);
  if (trust.empty() || lossless.empty()) return {};
  std::string lines = start_line("ethtool -A %I rx off tx off", true);
  for (const std::string& command : trust) lines += start_line(command);
  for (const std::string& command : lossless) lines += start_line(command);
  if (has_vendor_driver(target.view)) lines += vendor_lines(wanted);
  return lines;
}

void add_unit(const Target& target, const std::vector<std::string>& ports, const LosslessClass& wanted,
              Setting& setting) {
  const std::string service = service_lines(target, wanted);
  if (service.empty()) {
    setting.notes.push_back(
        "This system has no dcb (iproute2 5.11) and no mlnx_qos (NVIDIA's driver): "
        "install one of them, and plan again.");
    return;
  }
  setting.files.push_back({.path = fmt::format("/etc/systemd/system/{}@.service", kQosUnit),
                           .content = unit_of_interface("Lossless priority of RoCE on %I", service)});
  setting.steps.push_back({StepKind::kReloadUnits, {}});
  for (const std::string& port : ports) {
    setting.steps.push_back({StepKind::kEnableUnit, {instance_of(kQosUnit, port)}});
    setting.steps.push_back({StepKind::kRestartUnit, {instance_of(kQosUnit, port)}});
  }
}

void add_notes(const Target& target, const LosslessClass& wanted, Setting& setting) {
  setting.notes.push_back(fmt::format(
      "The switch has to do the same on every port of the rail: DSCP {} into priority {}, PFC on priority {} "
      "alone, and ECN marks before buffers are full.",
      wanted.dscp, wanted.priority, wanted.priority));
  if (!target.node().expect.traffic_class)
    setting.notes.push_back("expect.traffic_class is not said: 104 is assumed, DSCP 26.");
  if (!has_vendor_driver(target.view))
    setting.notes.push_back(
        "The kernel's own driver does not show congestion control; the adapter's firmware has it on for all "
        "priorities unless somebody changed that.");
}

struct QosPorts {
  std::vector<std::string> able;
  std::vector<std::string> unable;
};

QosPorts qos_ports(const Target& target) {
  QosPorts ports;
  for (const RailEnd& end : target.view.ends) {
    if (!wants_qos(target, end)) continue;
    for (const std::string& name : carriers_of(target, end)) {
      if (!is_plain_interface(name)) continue;
      auto& list = sorts_by_dscp(end, find_interface(target.facts().net, name)) ? ports.able : ports.unable;
      if (std::ranges::find(list, name) == list.end()) list.push_back(name);
    }
  }
  return ports;
}

}  // namespace

void render_qos(const Target& target, std::vector<Setting>& settings) {
  const QosPorts ports = qos_ports(target);
  if (ports.able.empty()) return;
  const LosslessClass wanted = lossless_class(target);
  Setting setting{
      .section = Section::kQos,
      .name = "qos/lossless",
      .title = fmt::format("lossless RoCE: DSCP {} in priority {}", wanted.dscp, wanted.priority),
      .reason =
          "an adapter sorts by the VLAN tag until it is told DSCP, so RoCE lands in priority 0 and is "
          "dropped when a buffer is full; all of it is lost at every boot",
      .risk = Risk::kTraffic};  // a change of PFC takes the link down and up (mlx5e_dcbnl_ieee_setpfc)
  for (const std::string& port : ports.able) add_needs(target, port, wanted, setting);
  add_unit(target, ports.able, wanted, setting);
  add_notes(target, wanted, setting);
  for (const std::string& port : ports.unable)
    setting.notes.push_back(fmt::format("{} cannot sort by DSCP: it is left as it is.", port));
  settings.push_back(std::move(setting));
}

}  // namespace railbed
