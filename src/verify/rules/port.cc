// RDMA ports: state, rate, InfiniBand's management, traffic class.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "verify/areas.h"
#include "verify/judge.h"

namespace railbed {
namespace {

// True, and the case has ended, when there is no RDMA port to look at (rdma.rail-device says that).
bool lacks_port(Case& one, const RailEnd& end) {
  if (end.wants_rdma() && end.rdma) return false;
  one.not_applicable(end.wants_rdma() ? "no RDMA device behind this interface"
                                      : "the rail is plain Ethernet");
  return true;
}

std::string port_path(const RailEnd& end, std::string_view file) {
  return fmt::format("/sys/class/infiniband/{}/ports/{}/{}", end.rdma.device->name, end.rdma.port->number,
                     file);
}

void physical_state(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends) {
      Case one = judge.on(end);
      if (lacks_port(one, end)) continue;
      const std::string* state = one.read(end.rdma.port->physical_state);
      if (state == nullptr) continue;
      if (*state == "LinkUp") {
        one.pass(*state);
        continue;
      }
      one.fail(
          {.message = fmt::format(
               "{} of {} has no physical link ({}): no cable, a dead cable, or the other end is off",
               end.rdma_name(), *node.name, *state),
           .expected = "LinkUp",
           .observed = *state,
           .remedy = {"Reseat the cable at both ends, then try another one.",
                      {"cat " + port_path(end, "phys_state"), fmt::format("ip link show {}", end.name)}}});
    }
}

void port_state(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends) {
      Case one = judge.on(end);
      if (lacks_port(one, end)) continue;
      const std::string* state = one.read(end.rdma.port->state);
      if (state == nullptr) continue;
      if (*state == "ACTIVE") {
        one.pass(*state);
        continue;
      }
      one.fail(
          {.message = fmt::format("{} of {} is {}, expected ACTIVE", end.rdma_name(), *node.name, *state),
           .expected = "ACTIVE",
           .observed = fmt::format("{} ({})", *state, end.rdma.port->physical_state.value_or("?")),
           .remedy = {end.infiniband() ? "Check the cable; then that a subnet manager runs."
                                       : "Check that the interface is on and has a link.",
                      {"cat " + port_path(end, "state"), fmt::format("ip link show {}", end.name)}}});
    }
}

void subnet_manager(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends) {
      Case one = judge.on(end);
      if (!end.infiniband()) {
        one.not_applicable("not InfiniBand");
        continue;
      }
      if (lacks_port(one, end)) continue;
      const std::string* state = one.read(end.rdma.port->state);
      if (state == nullptr) continue;
      if (*state == "INIT") {
        one.fail(
            {.message = fmt::format(
                 "{} of {} waits in INIT: the cable is good, no subnet manager has configured the fabric",
                 end.rdma_name(), *node.name),
             .expected = "ACTIVE",
             .observed = "INIT",
             .remedy = {"Start opensm on one node (an unmanaged switch has none of its own).",
                        {"systemctl enable --now opensm", "sminfo"}}});
        continue;
      }
      const int* manager = one.read(end.rdma.port->sm_lid);
      if (manager == nullptr) continue;
      *state == "ACTIVE" ? one.pass(fmt::format("at LID {}", *manager))
                         : one.not_applicable("the port has no link");
    }
}

void lid(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends) {
      Case one = judge.on(end);
      if (!end.infiniband()) {
        one.not_applicable("not InfiniBand");
        continue;
      }
      if (lacks_port(one, end)) continue;
      const int* own = one.read(end.rdma.port->lid);
      if (own == nullptr) continue;
      if (*own != 0 && *own != 0xffff) {
        one.pass(std::to_string(*own));
        continue;
      }
      one.fail({.message = fmt::format("{} of {} has no LID: nothing on the fabric can address it",
                                       end.rdma_name(), *node.name),
                .expected = "a LID",
                .observed = std::to_string(*own),
                .remedy = {"The subnet manager gives it one; restart it and read its log.",
                           {"systemctl restart opensm", "tail /var/log/opensm.log"}}});
    }
}

void link_layer(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends) {
      if (end.rail == nullptr) continue;
      Case one = judge.on(end);
      if (lacks_port(one, end)) continue;
      const std::string* have = one.read(end.rdma.port->link_layer);
      if (have == nullptr) continue;
      const std::string want = end.infiniband() ? "InfiniBand" : "Ethernet";
      if (*have == want) {
        one.pass(want);
        continue;
      }
      const std::string device = end.rdma.device->pci_address.value_or("ADDRESS");
      one.fail({.message = fmt::format("{} of {} is set to {}, the rail is {}", end.rdma_name(), *node.name,
                                       *have, want),
                .expected = want,
                .observed = *have,
                .remedy = {
                    "Set the port's type in the adapter's firmware and reboot, or correct the rail's fabric.",
                    {fmt::format("mstconfig -d {} set LINK_TYPE_P{}={}", device, end.rdma.port->number,
                                 end.infiniband() ? 1 : 2)},
                    true}});
    }
}

void rate(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends) {
      Case one = judge.on(end);
      if (lacks_port(one, end)) continue;
      if (end.software_rdma()) {
        one.not_applicable("software RDMA states a rate that means nothing");
        continue;
      }
      const bool asked = end.rail != nullptr && end.rail->speed.has_value();
      BitRate want;
      if (asked)
        want = *end.rail->speed;
      else if (end.infiniband() && end.model != nullptr)
        want = end.model->infiniband;
      else if (end.interface != nullptr && end.interface->speed_mbps.ok())
        want = BitRate{*end.interface->speed_mbps * 1e6};  // on Ethernet it follows the interface
      if (want.bits_per_second <= 0) {
        one.not_applicable("no rate is expected");
        continue;
      }
      if (end.rdma.port->state.value_or("") != "ACTIVE") {
        one.not_applicable("the port is not active");
        continue;
      }
      const BitRate* have = one.read(end.rdma.port->rate);
      if (have == nullptr) continue;
      if (std::abs(have->gigabits() - want.gigabits()) < 0.5) {
        one.pass(to_text(*have));
        continue;
      }
      const std::string lanes = end.rdma.port->rate_text.value_or("?");
      one.red(asked ? Status::kFail : Status::kWarn,
              {.message = fmt::format(
                   "{} of {} runs at {} ({}), expected {}: bad cable, a slower peer, or failed negotiation",
                   end.rdma_name(), *node.name, to_text(*have), lanes, to_text(want)),
               .expected = to_text(want),
               .observed = fmt::format("{} ({})", to_text(*have), lanes),
               .remedy = {"Swap the cable; then compare what both ends and the switch can do.",
                          end.infiniband()
                              ? std::vector<std::string>{"ibstat " + end.rdma.device->name, "iblinkinfo"}
                              : std::vector<std::string>{fmt::format("ethtool {}", end.name)}}});
    }
}

void ipoib_mode(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends) {
      Case one = judge.on(end);
      if (!end.infiniband()) {
        one.not_applicable("not InfiniBand");
        continue;
      }
      if (one.lacks_interface(end)) continue;
      const std::string* mode = one.read_if_there(end.interface->ipoib_mode, "no IPoIB interface");
      if (mode == nullptr) continue;
      const bool can = end.model == nullptr || end.model->connected_ipoib;
      if (*mode == "datagram" || can) {
        one.pass(*mode);
        continue;
      }
      one.warn(
          {.message = fmt::format("{} of {} is in connected mode, which a {} does only without its offloads: "
                                  "enhanced IPoIB is datagram",
                                  end.name, *node.name, end.model->name),
           .expected = "datagram",
           .observed = *mode,
           .remedy = {"Go back to datagram mode; raise bandwidth by RDMA, not by IPoIB.",
                      {fmt::format(
                          "ip link set {0} down; echo datagram > /sys/class/net/{0}/mode; ip link set {0} up",
                          end.name)}}});
    }
}

void ipoib_mtu(const Survey& survey, Judge& judge) {
  constexpr int kEncapsulation = 4;  // RFC 4391: the IPoIB header
  constexpr int kConnected = 65520;  // RFC 4755
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends) {
      Case one = judge.on(end);
      if (!end.infiniband()) {
        one.not_applicable("not InfiniBand");
        continue;
      }
      if (one.lacks_interface(end)) continue;
      const std::string* mode = one.read_if_there(end.interface->ipoib_mode, "no IPoIB interface");
      if (mode == nullptr) continue;
      if (!end.rdma) {
        one.not_applicable("no RDMA device behind this interface");
        continue;
      }
      const int* have = one.read(end.interface->mtu);
      if (have == nullptr) continue;
      const int* port = one.read(end.rdma.port->active_mtu);
      if (port == nullptr) continue;
      const int most = *mode == "connected" ? kConnected : *port - kEncapsulation;
      if (*have == most) {
        one.pass(std::to_string(*have));
        continue;
      }
      one.warn({.message = fmt::format("{} of {} ({} mode) has MTU {}, best is {}", end.name, *node.name,
                                       *mode, *have, most),
                .expected = std::to_string(most),
                .observed = std::to_string(*have),
                .remedy = {"Set it on every node of the rail.",
                           {fmt::format("ip link set {} mtu {}", end.name, most)}}});
    }
}

void one_subnet_manager(const Survey& survey, Judge& judge) {
  for (const Rail& rail : survey.evidence.cluster.rails) {
    if (rail.fabric != Fabric::kInfiniband) continue;
    std::vector<std::string> running;
    Case one = judge.on_cluster(rail.name, {"rail:" + rail.name});
    for (const RailEnd* end : survey.ends_of(rail)) {
      if (!end->facts->system.services.ok()) continue;
      one.seen(end->facts->system.services);
      for (const Service& service : *end->facts->system.services)
        if (service.name == "opensm" && service.active_state == "active") running.push_back(*end->node);
    }
    if (running.empty()) {
      one.not_applicable("no node runs opensm: the switch has to");
      continue;
    }
    if (running.size() == 1) {
      one.pass(running.front());
      continue;
    }
    for (const std::string& node : running) one.touch("node:" + node);
    one.warn({.message = fmt::format("opensm runs on {}: at a failover routes may change under running jobs",
                                     fmt::join(running, ", ")),
              .expected = "one node, or priorities set on purpose",
              .observed = fmt::format("{}", fmt::join(running, " ")),
              .remedy = {"Keep it on one node, or give each an explicit sm_priority.",
                         {fmt::format("systemctl disable --now opensm  # on all but {}", running.front())}}});
  }
}

void traffic_class(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes)
    for (const RailEnd& end : node.ends) {
      Case one = judge.on(end);
      if (!node.expect().traffic_class || end.infiniband() || end.software_rdma()) {
        one.not_applicable("no traffic class is expected");
        continue;
      }
      if (lacks_port(one, end)) continue;
      const int* have = one.read(end.rdma.port->roce_tos);
      if (have == nullptr) continue;
      const int want = *node.expect().traffic_class;
      if (*have == want) {
        one.pass(std::to_string(want));
        continue;
      }
      const std::string path = fmt::format("/sys/kernel/config/rdma_cm/{}/ports/{}/default_roce_tos",
                                           end.rdma.device->name, end.rdma.port->number);
      one.fail(
          {.message = fmt::format("{} of {} marks RDMA-CM connections with ToS {}, expected {} (DSCP {}): "
                                  "they travel outside the lossless class",
                                  end.rdma_name(), *node.name, *have, want, want / 4),
           .expected = std::to_string(want),
           .observed = std::to_string(*have),
           .remedy = {"Set it, and let a service set it at every boot.",
                      {fmt::format("mkdir -p /sys/kernel/config/rdma_cm/{}", end.rdma.device->name),
                       fmt::format("echo {} > {}", want, path)}}});
    }
}

void traffic_class_service(const Survey& survey, Judge& judge) {
  for (const NodeView& node : survey.nodes) {
    Things touches;
    for (const RailEnd& end : node.ends)
      if (!end.infiniband() && !end.software_rdma() && end.wants_rdma()) touches.add(end.touches);
    Case one = judge.on(node, "rdma-cm-tos", touches);
    if (!node.expect().traffic_class || touches.empty()) {
      one.not_applicable("no traffic class is expected");
      continue;
    }
    const auto* services = one.read_if_there(node.facts->system.services, "no systemd here");
    if (services == nullptr) continue;
    const auto found = std::ranges::find(*services, "rdma-cm-tos", &Service::name);
    const bool enabled = found != services->end() && found->unit_file_state == "enabled";
    if (enabled && found->active_state == "active") {
      one.pass("enabled, active");
      continue;
    }
    const std::string have = found == services->end()
                                 ? "not installed"
                                 : fmt::format("{}, {}", found->unit_file_state, found->active_state);
    one.warn(
        {.message = fmt::format("rdma-cm-tos on {} is {}: the RoCE traffic class is lost at the next reboot",
                                *node.name, have),
         .expected = "enabled and active",
         .observed = have,
         .remedy = {"Install and enable the unit that writes default_roce_tos.",
                    {"systemctl enable --now rdma-cm-tos"}}});
  }
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
       .remedy = "Cable, transceiver, the other end.",
       .fixture = "r730-cable-out",
       .explained_by = {"net.admin-up", "net.carrier", "rdma.rail-device", "rdma.cable-unplugged",
                        "rdma.cable-error", "rdma.device-health"},
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
       .remedy = "mstconfig LINK_TYPE, then reboot.",
       .fixture = "r730-link-layer-ethernet",
       .explained_by = {},
       .check = link_layer},
      {.id = "rdma.rate",
       .title = "RDMA port runs at its rate",
       .why =
           "A narrow or slow port (1X instead of 4X, QDR instead of EDR) works and silently costs bandwidth.",
       .source = "/sys/class/infiniband/*/ports/*/rate",
       .standard = "the rail's speed, else the adapter's table on InfiniBand, else the interface's speed",
       .remedy = "Another cable; then the slower end.",
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
       .check = ipoib_mode},
      {.id = "rdma.ipoib-mtu",
       .title = "IPoIB MTU is the largest of its mode",
       .why = "Datagram mode carries the InfiniBand MTU less 4 bytes, connected mode 65520; "
              "less wastes packets, unequal values lose large ones.",
       .source = "/sys/class/net/*/{mtu,mode}, ibv_query_port: active_mtu",
       .standard = "active_mtu − 4 (RFC 4391), or 65520 (RFC 4755)",
       .remedy = "ip link set mtu on every node.",
       .fixture = "r730-ipoib-mtu",
       .explained_by = {"rdma.ipoib-mode", "net.mtu"},
       .check = ipoib_mtu},
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
       .check = traffic_class_service},
  };
  return kRules;
}

}  // namespace railbed
