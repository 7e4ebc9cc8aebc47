#include "configure/answers.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

namespace railbed {
namespace {

using Rules = std::vector<std::string_view>;

// By section and not by setting: on a node, what a section still wants and what its rules find are one thing
// seen from two sides.
const Rules& table(Section section) {
  static const std::array<Rules, enum_names(Section()).size()> kTable = [] {
    std::array<Rules, enum_names(Section()).size()> rules;
    const auto of = [&](Section one) -> Rules& { return rules[static_cast<std::size_t>(one)]; };
    of(Section::kPackages) = {
        "gpu.driver",         "gpu.driver-expected",       "gpu.module-built", "host.kernel-headers",
        "toolkit.cuda",       "toolkit.nccl-header",       "toolkit.mpi",      "nccl.version",
        "gpu.fabric-manager", "gpu.fabric-manager-version"};
    of(Section::kNetwork) = {"net.mtu",          "net.address",       "net.admin-up", "net.kept-at-boot",
                             "net.vlan",         "net.vlan-mtu",      "rdma.gid",     "rdma.active-mtu",
                             "rdma.rail-device", "net.unused-adapter"};
    of(Section::kHosts) = {"host.hosts-file", "host.rail-names"};
    of(Section::kSysctl) = {"host.socket-buffers", "host.numa-balancing", "host.settings-at-boot"};
    of(Section::kLimits) = {"rdma.memlock", "rdma.service-memlock"};
    of(Section::kModules) = {"rdma.adapter-modules",    "rdma.core-modules", "rdma.software-module",
                             "rdma.infiniband-modules", "rdma.rail-device",  "rdma.verbs-devices",
                             "gpu.gpudirect-route"};
    of(Section::kGovernor) = {"host.governor"};
    of(Section::kServices) = {"host.clock", "host.automatic-upgrades", "gpu.persistence",
                              "gpu.fabric-manager"};
    of(Section::kRdma) = {"rdma.traffic-class", "rdma.traffic-class-service", "pcie.read-request"};
    of(Section::kQos) = {"rdma.trust-dscp", "rdma.pfc", "rdma.global-pause", "rdma.ecn", "rdma.cnp-dscp"};
    of(Section::kIpoib) = {"rdma.ipoib-mode", "rdma.ipoib-mtu"};
    of(Section::kOpensm) = {"rdma.subnet-manager", "ib.subnet-manager-at-boot", "ib.partition"};
    of(Section::kNccl) = {

        "nccl.hca-covers-rails",
        "nccl.gid-choice",
        "nccl.rdma-on",
        "nccl.net-forced",
        "nccl.hca",
        "nccl.hca-port",
        "nccl.hca-exact",
        "nccl.gid-index",
        "nccl.gid-entry",
        "nccl.gid-range",
        "nccl.socket-interface",
        "nccl.socket-interface-exact",
        "nccl.socket-interface-reach",
        "nccl.gdr-level",
        "nccl.traffic-class",
        "nccl.cross-rails"};
    return rules;
  }();
  return kTable[static_cast<std::size_t>(section)];
}

bool is_red(const Finding& finding) {
  return finding.status == Status::kFail || finding.status == Status::kWarn;
}

PlannedFinding planned(const Finding& finding) {
  return {finding.node, std::string(finding.rule), finding.subject, finding.message};
}

struct RedFinding {
  const Finding* finding;
  bool answered = false;
};

// The change answers it, as far as rules and nodes tell.
bool answers(const NodeChange& change, const Finding& finding) {
  return std::ranges::find(table(change.section), finding.rule) != table(change.section).end();
}

}  // namespace

std::span<const std::string_view> rules_answered_by(Section section) { return table(section); }

ClusterPlan answers_to(const Findings& findings, ClusterPlan plan, const std::set<std::string>& rules) {
  std::map<std::string_view, std::vector<RedFinding>> by_node;
  for (const Finding& one : findings)
    if (is_red(one) && (rules.empty() || rules.contains(std::string(one.rule))))
      by_node[one.node].push_back({&one});
  for (NodePlan& node : plan.nodes) {
    for (NodeChange& change : node.changes) {
      if (change.risk == Risk::kAccess) continue;
      for (RedFinding& red : by_node[node.node]) {
        if (!answers(change, *red.finding)) continue;
        change.answers.push_back(planned(*red.finding));
        red.answered = true;
      }
    }
    std::erase_if(node.changes, [](const NodeChange& one) { return one.answers.empty(); });
  }
  for (const auto& [node, reds] : by_node)
    for (const RedFinding& red : reds)
      if (!red.answered && !red.finding->caused_by) plan.unanswered.push_back(planned(*red.finding));
  return plan;
}

}  // namespace railbed
