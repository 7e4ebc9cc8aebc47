// Settings that keep RoCE lossless: trust, PFC, pause, ECN, and the mode in which connections are made.
#include <fmt/format.h>

#include <algorithm>

#include "model/tools.h"
#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

constexpr int kDefaultTrafficClass = 104;  // DSCP 26, as the guides and NVIDIA's RoCE quick start set it
constexpr std::string_view kNeedsDcb = " (dcb of iproute2 5.11, or mlnx_qos of NVIDIA's driver).";
constexpr int kNotificationDscp = 48;  // NVIDIA's default for congestion notifications

// Returns true after ending the case if there is no RoCE adapter behind this interface.
bool lacks_roce_adapter(Case& verdict, const RailEnd& end) {
  if (end.rdma && end.roce() && !end.software_rdma()) return false;
  verdict.not_applicable("no RoCE adapter behind this interface");
  return true;
}

// Returns true for RoCE on an adapter that shares its fabric with others, where settings must prevent losses.
// Returns false after ending the case otherwise.
bool needs_lossless(Case& verdict, const NodeView& node, const RailEnd& end) {
  if (lacks_roce_adapter(verdict, end)) return false;
  if (end.rail != nullptr && end.rail->topology == Topology::kBackToBack)
    verdict.not_applicable("a cable between two ports: nobody else's traffic to keep apart");
  else if (!node.expect().traffic_class)
    verdict.not_applicable("cluster.yaml asks for no traffic class (expect.traffic_class)");
  else
    return true;
  return false;
}

// Returns the value; null after ending the case if there is none: as not applicable if the driver does not
// offer it.
template <class T>
const T* from_driver(Case& verdict, const Reading<T>& reading, std::string_view what,
                     std::string not_recorded) {
  if (reading.ok() || reading.miss().missing != Missing::kUnsupported)
    return verdict.read_if_there(reading, std::move(not_recorded));
  verdict.seen(reading);
  verdict.not_applicable(fmt::format("the driver says nothing about {}: {}", what, reading.miss().why));
  return nullptr;
}

const Priorities* priorities_of(Case& verdict, const RailEnd& end) {
  if (verdict.lacks_interface(end)) return nullptr;
  return from_driver(verdict, end.interface->priorities, "priorities", "priorities were not recorded");
}

const RoceCongestion* congestion_of(Case& verdict, const RailEnd& end) {
  if (verdict.lacks_interface(end)) return nullptr;
  return verdict.read_if_there(end.interface->congestion,
                               "only NVIDIA's OFED driver shows its congestion control");
}

int dscp_of(const NodeView& node) { return node.expect().traffic_class.value_or(kDefaultTrafficClass) >> 2; }

// Returns the priority that a DSCP maps to; without a table, its upper three bits (Linux, mlx5).
int priority_of(const Priorities& priorities, int dscp) {
  const auto found = priorities.dscp.find(std::to_string(dscp));
  return found == priorities.dscp.end() ? dscp >> 3 : found->second;
}

template <class Look>
void each_lossless_end(const Survey& survey, Judge& judge, const Look& look) {
  each_end(survey, judge, [&](Case& verdict, const NodeView& node, const RailEnd& end) {
    if (needs_lossless(verdict, node, end)) look(verdict, node, end);
  });
}

void trust_dscp(const Survey& survey, Judge& judge) {
  each_lossless_end(survey, judge, [](Case& verdict, const NodeView& node, const RailEnd& end) {
    const Priorities* priorities = priorities_of(verdict, end);
    if (priorities == nullptr) return;
    if (!priorities->dscp.empty()) return verdict.pass("dscp");
    verdict.fail({.message = fmt::format(
                      "{} trusts the VLAN tag, not DSCP: RoCE packets without a tag all land in priority 0, "
                      "which is not lossless",
                      end.where()),
                  .expected = "dscp",
                  .observed = "pcp",
                  .remedy = {fmt::format("Trust DSCP, now and by a boot unit{}", kNeedsDcb),
                             trust_dscp_with(node, end.name, dscp_of(node),
                                             priority_of(*priorities, dscp_of(node)))}});
  });
}

void pfc(const Survey& survey, Judge& judge) {
  each_lossless_end(survey, judge, [](Case& verdict, const NodeView& node, const RailEnd& end) {
    const Priorities* priorities = priorities_of(verdict, end);
    if (priorities == nullptr) return;
    const int wanted = priority_of(*priorities, dscp_of(node));
    if (priorities->lossless == std::vector<int>{wanted})
      return verdict.pass(fmt::format("priority {} alone", wanted));
    const std::string have = priorities->lossless.empty()
                                 ? "no priority"
                                 : fmt::format("priority {}", fmt::join(priorities->lossless, ", "));
    const bool covered = std::ranges::find(priorities->lossless, wanted) != priorities->lossless.end();
    verdict.red(covered ? Status::kWarn : Status::kFail,
                {.message = fmt::format(
                     "{} has PFC on {}; RoCE travels in priority {}: {}", end.where(), have, wanted,
                     covered ? "others can stop it" : "it is dropped when a buffer is full"),
                 .expected = fmt::format("priority {} alone", wanted),
                 .observed = have,
                 .remedy = {fmt::format("Turn PFC on for this priority only, as on the switch{}", kNeedsDcb),
                            make_lossless_with(node, end.name, wanted)}});
  });
}

void global_pause(const Survey& survey, Judge& judge) {
  each_lossless_end(survey, judge, [](Case& verdict, const NodeView&, const RailEnd& end) {
    if (verdict.lacks_interface(end)) return;
    const Pause* pause = from_driver(verdict, end.interface->pause, "pause", "pause was not recorded");
    if (pause == nullptr) return;
    if (!pause->receive && !pause->transmit) return verdict.pass("off");
    const std::string observed =
        fmt::format("receive {}, transmit {}", pause->receive ? "on" : "off", pause->transmit ? "on" : "off");
    verdict.warn({.message = fmt::format(
                      "{} sends or obeys pauses for the whole port: one slow receiver stops all traffic, "
                      "and PFC is off while they are on",
                      end.where()),
                  .expected = "off",
                  .observed = observed,
                  .remedy = {"Turn global pause off; PFC protects the priority that needs it.",
                             {command("ethtool -A {} rx off tx off", end.name)}}});
  });
}

void ecn(const Survey& survey, Judge& judge) {
  each_lossless_end(survey, judge, [](Case& verdict, const NodeView& node, const RailEnd& end) {
    const RoceCongestion* congestion = congestion_of(verdict, end);
    if (congestion == nullptr) return;
    const Priorities none;
    const int wanted =
        priority_of(end.interface->priorities.ok() ? *end.interface->priorities : none, dscp_of(node));
    const auto has = [&](const std::vector<int>& list) {
      return std::ranges::find(list, wanted) != list.end();
    };
    if (has(congestion->notifies) && has(congestion->reacts))
      return verdict.pass(fmt::format("on for priority {}", wanted));
    const std::string observed =
        fmt::format("notification {}, reaction {}", has(congestion->notifies) ? "on" : "off",
                    has(congestion->reacts) ? "on" : "off");
    verdict.warn(
        {.message = fmt::format("{} does not take part in congestion control for priority {} ({}): "
                                "PFC alone has to stop senders, and spreads",
                                end.where(), wanted, observed),
         .expected = "notification on, reaction on",
         .observed = observed,
         .remedy = {"Turn both on, now and by a boot unit.",
                    {command("echo 1 > /sys/class/net/{}/ecn/roce_np/enable/{}", end.name, wanted),
                     command("echo 1 > /sys/class/net/{}/ecn/roce_rp/enable/{}", end.name, wanted)}}});
  });
}

void notification_dscp(const Survey& survey, Judge& judge) {
  each_lossless_end(survey, judge, [](Case& verdict, const NodeView&, const RailEnd& end) {
    const RoceCongestion* congestion = congestion_of(verdict, end);
    if (congestion == nullptr) return;
    const int* dscp = verdict.read(congestion->notification_dscp);
    if (dscp == nullptr) return;
    if (*dscp == kNotificationDscp) return verdict.pass(std::to_string(*dscp));
    verdict.warn({.message = fmt::format("{} sends congestion notifications with DSCP {}, expected {}: "
                                         "they wait in the queues they should relieve",
                                         end.where(), *dscp, kNotificationDscp),
                  .expected = std::to_string(kNotificationDscp),
                  .observed = std::to_string(*dscp),
                  .remedy = {"Set the DSCP that the switches give strict priority.",
                             {command("echo {} > /sys/class/net/{}/ecn/roce_np/cnp_dscp", kNotificationDscp,
                                      end.name)}}});
  });
}

void roce_mode(const Survey& survey, Judge& judge) {
  each_end(survey, judge, [](Case& verdict, const RailEnd& end) {
    if (lacks_roce_adapter(verdict, end)) return;
    const std::string* mode =
        verdict.read_if_there(end.rdma.port->roce_mode, "nobody made the port's folder in configfs");
    if (mode == nullptr) return;
    if (*mode == "RoCE v2") return verdict.pass(*mode);
    verdict.fail(
        {.message =
             fmt::format("RDMA-CM makes {} connections on {} of {}: they carry no DSCP and cross no router",
                         *mode, end.rdma_name(), *end.node),
         .expected = "RoCE v2",
         .observed = *mode,
         .remedy = {"Set version 2, now and by a boot unit.",
                    {command("echo 'RoCE v2' > /sys/kernel/config/rdma_cm/{}/ports/{}/default_roce_mode",
                             end.rdma.device->name, end.rdma.port->number)}}});
  });
}

}  // namespace

std::span<const Rule> qos_rules() {
  static const Rule kRules[] = {
      {.id = "rdma.roce-mode",
       .title = "RDMA-CM speaks RoCE v2",
       .why = "RoCE v1 is no IP: switches cannot sort it by DSCP, and it ends at the first router.",
       .source = "/sys/kernel/config/rdma_cm/*/ports/*/default_roce_mode",
       .standard = "RoCE v2; not judged where nobody made that folder",
       .remedy = "Set default_roce_mode in configfs.",
       .fixture = "h100-roce-v1",
       .explained_by = {},
       .check = roce_mode},
      {.id = "rdma.trust-dscp",
       .title = "port sorts packets by DSCP",
       .why = "RoCE v2 carries its class in DSCP. "
              "A port that looks at VLAN tags instead puts all of it in priority 0.",
       .source = "DCB netlink (dcb app show)",
       .standard = "dscp, where expect.traffic_class is set and a switch is between",
       .remedy = "Set it with dcb app, or with mlnx_qos --trust dscp.",
       .fixture = "h100-trust-pcp",
       .explained_by = {},
       .settings = {"qos/lossless"},
       .check = trust_dscp},
      {.id = "rdma.pfc",
       .title = "PFC protects RoCE's priority, and only it",
       .why = "Without PFC full buffers drop RoCE packets; with PFC on more priorities they stop each other.",
       .source = "DCB netlink (dcb pfc show)",
       .standard = "exactly the priority of expect.traffic_class (104 is DSCP 26, priority 3)",
       .remedy = "Set it with dcb pfc, or with mlnx_qos --pfc.",
       .fixture = "h100-pfc-off",
       .explained_by = {"rdma.global-pause"},
       .settings = {"qos/lossless"},
       .check = pfc},
      {.id = "rdma.global-pause",
       .title = "pause of the whole port is off",
       .why = "A pause frame stops every priority, and adapters run either pause or PFC, not both.",
       .source = "ETHTOOL_GPAUSEPARAM (ethtool -a)",
       .standard = "off, where expect.traffic_class is set and a switch is between",
       .remedy = "ethtool -A IF rx off tx off.",
       .fixture = "h100-global-pause",
       .explained_by = {},
       .settings = {"qos/lossless"},
       .check = global_pause},
      {.id = "rdma.ecn",
       .title = "adapter takes part in congestion control",
       .why = "ECN slows senders before buffers fill; "
              "PFC alone stops whole links and spreads through the fabric.",
       .source = "/sys/class/net/*/ecn/roce_{np,rp}/enable",
       .standard = "both on for RoCE's priority; not judged with inbox drivers, which do not tell",
       .remedy = "Enable roce_np and roce_rp.",
       .fixture = "h100-ecn-off",
       .explained_by = {},
       .settings = {"qos/lossless"},
       .check = ecn},
      {.id = "rdma.cnp-dscp",
       .title = "congestion notifications have their class",
       .why = "A notification that waits behind the congestion comes too late.",
       .source = "/sys/class/net/*/ecn/roce_np/cnp_dscp",
       .standard = "48 (NVIDIA's default); not judged with inbox drivers",
       .remedy = "Set cnp_dscp.",
       .fixture = "h100-cnp-dscp",
       .explained_by = {},
       .settings = {"qos/lossless"},
       .check = notification_dscp},
  };
  return kRules;
}

}  // namespace railbed
