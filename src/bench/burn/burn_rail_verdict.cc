// The verdict on the rails of a burn-in (`burn --rails`).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/wording.h"
#include "bench/burn/burn_verdict.h"
#include "results/measurement.h"

namespace railbed {
namespace {

constexpr double kOfCeiling = 0.5;  // half of the ports below this share of it

std::string port_text(const BurnPort& port) {
  return fmt::format("{} of {} ({})", port.interface, port.node, port.rail);
}

// The faults of one rail that are alike.
struct RailFaults {
  std::vector<const BurnRailFault*> faults;
  std::set<std::pair<std::string, std::string>> pairs;

  // Returns the node that all pairs have in common; nullptr for one pair, which has two ends, and if there is none.
  const std::string* common() const {
    if (pairs.size() < 2) return nullptr;
    for (const std::string* const node : {&pairs.begin()->first, &pairs.begin()->second})
      if (std::ranges::all_of(pairs,
                              [&](const auto& pair) { return pair.first == *node || pair.second == *node; }))
        return node;
    return nullptr;
  }
  std::string between() const {
    if (const std::string* const node = common())
      return fmt::format("between {} and {}", *node, counted(pairs.size(), "other node"));
    const auto& [a, b] = *pairs.begin();
    return pairs.size() == 1
               ? fmt::format("between {} and {}", a, b)
               : fmt::format("between {} of nodes, first {} and {}", counted(pairs.size(), "pair"), a, b);
  }
};

class RailJudge {
 public:
  RailJudge(BurnReport& report, int tests) : report_(report), rails_(*report.rails), tests_(tests) {}

  void judge() {
    judge_faults();
    for (const BurnPort& port : rails_.ports) judge_port(port);
    judge_rates();
  }

 private:
  void add(BurnStatus status, const std::string& node, std::string what, std::string message,
           std::string remedy = {}) {
    report_.findings.push_back({.status = status,
                                .node = node,
                                .what = std::move(what),
                                .message = std::move(message),
                                .remedy = std::move(remedy)});
  }

  bool is_lost(const std::string& node) const {
    const auto found = std::ranges::find(report_.nodes, node, &BurnNode::node);
    return found != report_.nodes.end() && found->lost;
  }

  // Leaves out failures with a node that was lost: they are no evidence about the rail.
  void judge_faults() {
    std::map<std::pair<std::string, bool>, RailFaults> groups;
    for (const BurnRailFault& fault : rails_.faults) {
      if (!fault.wrong && (is_lost(fault.from) || is_lost(fault.to))) continue;
      RailFaults& group = groups[{fault.rail, fault.wrong}];
      group.faults.push_back(&fault);
      group.pairs.insert(std::minmax(fault.from, fault.to));
    }
    for (const auto& [key, group] : groups) {
      const BurnRailFault& first = *group.faults.front();
      const std::string* const common = group.common();
      add(BurnStatus::kFailure, common != nullptr ? *common : "",
          first.wrong ? "wrong-rail-data" : "rail-failed",
          fmt::format("{} {} {}, {}; first after {}, {} to {}: {}{}", key.first,
                      first.wrong ? "delivered wrong data" : "failed", group.between(),
                      counted(group.faults.size(), "time"), short_time_text(first.at), first.from, first.to,
                      first.cause,
                      rails_.fault_count > rails_.faults.size()
                          ? fmt::format("; {} faults of all rails in all", rails_.fault_count)
                          : ""),
          !first.remedy.empty() ? first.remedy
          : first.wrong
              ? "Exchange cable and adapter of one end at a time; and test both nodes' memory: --host"
              : "railbed bench rdma on that pair names the layer that fails.");
    }
  }

  void judge_port(const BurnPort& port) {
    if (!port.skipped.empty())
      return add(BurnStatus::kUnknown, port.node, "not-run",
                 fmt::format("{} was not loaded: {}", port_text(port), port.skipped));
    if (port.turns == 0)
      return add(
          BurnStatus::kUnknown, port.node, "not-run",
          fmt::format("{} was not loaded: no turn with another node came to its end", port_text(port)));
    judge_losses(port);
  }

  // TCP fills every queue until packets drop, so its losses count only if they are many.
  void judge_losses(const BurnPort& port) {
    if (port.packets == 0 || port.lost == 0) return;
    const double share = static_cast<double>(port.lost) / static_cast<double>(port.packets);
    const bool tcp = port.engine == "tcp";
    if (share <= (tcp ? kTcpLossWarns : kLossWarns)) return;
    std::vector<std::string> moved;
    for (const auto& [name, more] : port.counters) moved.push_back(fmt::format("{} +{}", name, more));
    add(!tcp && share > kLossFails ? BurnStatus::kFailure : BurnStatus::kWarning, port.node, "rail-losses",
        fmt::format("{}: {} of {} packets were lost in its turns{}{}", port_text(port), port.lost,
                    port.packets, moved.empty() ? "" : ": ", fmt::join(moved, ", ")),
        "Exchange the cable if its errors grow; else look for congestion (PFC, ECN) and for drops at both ends.");
  }

  struct Rate {
    const BurnPort* port;
    double rate;
  };

  // Ports with the same limit are siblings. Processors limit TCP, and nobody knows the limit of a virtual device.
  void judge_rates() {
    std::map<std::pair<std::string, std::string>, std::vector<Rate>> families;
    for (const BurnPort& port : rails_.ports) {
      if (port.engine != "rdma" || port.ceiling <= 0) continue;
      const std::string name = fmt::format("{:.4g} Gb/s", port.ceiling * 8 / 1e9);
      if (port.sent > 0) families[{name, "sent"}].push_back({&port, port.sent});
      if (port.received > 0) families[{name, "received"}].push_back({&port, port.received});
    }
    for (const auto& [key, members] : families) {
      std::vector<double> rates;
      for (const Rate& one : members) rates.push_back(one.rate);
      const Siblings siblings = compare_siblings(rates, tests_);
      for (const auto& [i, share] : siblings.slow)
        add(share >= kSlowFailsFrom ? BurnStatus::kFailure : BurnStatus::kWarning, members[i].port->node,
            "rail-slow",
            fmt::format("{} {} {:.3g} % less than {}", port_text(*members[i].port), key.second, share * 100,
                        siblings_text(members.size())),
            "Compare its PCIe link, MTU, cable and NUMA node with a sound port's: railbed verify, then railbed bench rdma");
      const double ceiling = members.front().port->ceiling;
      if (siblings.median < kOfCeiling * ceiling)
        add(BurnStatus::kWarning, "", "rail-below-ceiling",
            fmt::format("half of {} {} less than {:.3g} % of their ceiling, {}: all are slow",
                        counted(members.size(), "port"), key.second, siblings.median / ceiling * 100,
                        members.front().port->ceiling_name),
            "railbed bench rdma on one pair names the limit.");
      rails_.families.push_back({key.first, key.second, static_cast<int>(members.size()), siblings.median,
                                 siblings.low, siblings.high, siblings.spread, siblings.smallest, ceiling});
    }
  }

  BurnReport& report_;
  BurnRails& rails_;
  const int tests_;
};

}  // namespace

int rail_tests(const BurnReport& report) {
  if (!report.rails) return 0;
  return 2 * static_cast<int>(std::ranges::count_if(report.rails->ports, [](const BurnPort& port) {
           return port.engine == "rdma" && port.ceiling > 0 && port.turns > 0;
         }));
}

void judge_burn_rails(BurnReport& report, int tests) {
  if (!report.rails) return;
  report.rails->families.clear();
  RailJudge(report, tests).judge();
}

}  // namespace railbed
