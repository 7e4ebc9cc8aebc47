// The verdict on processors and their memory (`burn --host`).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "base/wording.h"
#include "bench/burn/burn_verdict.h"

namespace railbed {
namespace {

// Adds the findings about one node.
class HostJudge : private NodeFindings {
 public:
  HostJudge(const BurnNode& node, std::vector<BurnFinding>& findings)
      : NodeFindings(node, findings), node_(node), host_(*node.host) {}

  void judge() {
    judge_end();
    judge_results();
    count(host_.ecc_uncorrectable, node_.node, BurnStatus::kFailure, "host-ecc-uncorrectable",
          "uncorrectable errors of the host's memory (EDAC)", find_module());
    count(host_.ecc_corrected, node_.node, BurnStatus::kWarning, "host-ecc-corrected",
          "corrected errors of the host's memory (EDAC)", find_module());
    count(host_.throttled, node_.node, BurnStatus::kWarning, "host-throttled",
          "times a core was too hot and slowed down",
          "Look at its fans, its heat sinks and the inlet temperature.");
    judge_memory_size();
  }

 private:
  std::string find_module() const {
    return fmt::format("Find the module in its BMC's event log: railbed sel {}", node_.node);
  }

  void judge_end() {
    if (host_.trouble.empty()) return;
    if (host_.began)
      add(BurnStatus::kFailure, "host-ended",
          fmt::format("the load on the processors of {} ended after {}: {}", node_.node,
                      short_time_text(host_.seconds), host_.trouble));
    else
      add(BurnStatus::kUnknown, "not-begun",
          fmt::format("the processors of {} could not be burned in: {}", node_.node, host_.trouble));
  }

  void judge_results() {
    std::vector<const BurnHostFault*> computed, remembered;
    for (const BurnHostFault& fault : host_.faults)
      (fault.of.starts_with("memory") ? remembered : computed).push_back(&fault);
    if (!computed.empty()) {
      const BurnHostFault& first = *computed.front();
      add(BurnStatus::kFailure, "wrong-cpu",
          fmt::format("{} of {} computed wrong: first after {}, {} (bits {}){}", cpus_text(computed),
                      node_.node, short_time_text(first.at),
                      first.of == "integers"
                          ? "a chain of integers"
                          : counted(first.elements, "element of a product", "elements of a product"),
                      first.bits, more_text()),
          "Take this node out of service: its processor computes wrong without an error message.",
          made_by_drills(computed));
    }
    if (!remembered.empty()) {
      const BurnHostFault& first = *remembered.front();
      add(BurnStatus::kFailure, "wrong-host-memory",
          fmt::format("memory of {} changed: first after {}, {} that {} had {} (offset {}, bits {}){}",
                      node_.node, short_time_text(first.at), counted(first.elements, "word"),
                      cpus_text(remembered),
                      first.of == "memory" ? "just written" : "kept since the turn before", first.first * 8,
                      first.bits, more_text()),
          fmt::format("Take this node out of service. {}", find_module()), made_by_drills(remembered));
    }
  }

  static std::string cpus_text(const std::vector<const BurnHostFault*>& faults) {
    std::set<int> cpus;
    for (const BurnHostFault* const fault : faults) cpus.insert(fault->cpu);
    return fmt::format("CPU {}", fmt::join(cpus, ", "));
  }
  // Faults that are not described may be of either kind.
  std::string more_text() const {
    return host_.faults.size() == host_.fault_count
               ? ""
               : fmt::format("; {} comparisons of this node failed in all", host_.fault_count);
  }
  bool made_by_drills(const std::vector<const BurnHostFault*>& faults) const {
    return host_.faults.size() == host_.fault_count && std::ranges::all_of(faults, &BurnHostFault::injected);
  }

  void judge_memory_size() {
    if (host_.gave_back)
      add(BurnStatus::kNote, "host-memory-short",
          fmt::format("{} ran short of memory: its memory was not tested to the end", node_.node));
    else if (host_.ended && host_.memory_rate <= 0)
      add(BurnStatus::kUnknown, "not-run",
          fmt::format("the host's memory of {} was not tested: {}", node_.node,
                      host_.memory == 0 ? "none could be spared" : "its turns were too short for a pass"));
  }

  const BurnNode& node_;
  const BurnHost& host_;
};

struct HostRate {
  const BurnNode* node;
  double rate;
};

void name_slow(const BurnNode& node, std::string_view what, double share, std::size_t members,
               std::vector<BurnFinding>& findings) {
  const bool memory = what == "memory";
  NodeFindings(node, findings)
      .add(
          share >= kSlowFailsFrom ? BurnStatus::kFailure : BurnStatus::kWarning, "host-slow",
          fmt::format("the {} of {} {} {:.3g} % slower than {}{}", memory ? "memory" : "processors",
                      node.node, memory ? "is" : "are", share * 100, siblings_text(members),
                      node.host->throttled.value_or(0) > 0 ? ", and cores were too hot" : ""),
          memory
              ? "Compare its memory modules with a sound node's, by number, size and speed: dmidecode -t memory"
              : "Compare its cooling, governor, power profile and firmware with a sound node's.");
}

}  // namespace

void judge_burn_hosts(BurnReport& report, int tests) {
  report.host_families.clear();
  std::map<std::pair<std::string, std::string>, std::vector<HostRate>> families;
  for (const BurnNode& node : report.nodes) {
    if (!node.host) continue;
    HostJudge(node, report.findings).judge();
    for (const auto& [what, rate] :
         {std::pair{"products", node.host->products}, std::pair{"memory", node.host->memory_rate}})
      if (rate > 0) families[{node.host->processor, what}].push_back({&node, rate});
  }
  for (const auto& [key, members] : families) {
    const auto& [name, what] = key;
    std::vector<double> rates;
    for (const HostRate& one : members) rates.push_back(one.rate);
    const Siblings siblings = compare_siblings(rates, tests);
    for (const auto& [i, share] : siblings.slow)
      name_slow(*members[i].node, what, share, members.size(), report.findings);
    report.host_families.push_back({name, what, static_cast<int>(members.size()), siblings.median,
                                    siblings.low, siblings.high, siblings.spread, siblings.smallest});
  }
}

}  // namespace railbed
