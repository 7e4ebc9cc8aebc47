// All rails between two nodes at once, compared with each rail alone and with the limits that they share.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "hardware/rails_ceiling.h"
#include "results/all_rails.h"
#include "verify/areas.h"
#include "verify/judge.h"
#include "verify/numbers.h"

namespace railbed {
namespace {

// Rails of adapters share nothing but what their ceiling accounts for, so sound rails carry together what
// each carries alone, less some noise and cold caches. TCP has to serve all rails with the same processors,
// which may carry well below the sum: it warns below half and never fails. Our values.
constexpr double kAdaptersWarn = 0.8;
constexpr double kAdaptersFail = 0.6;
constexpr double kTcpWarns = 0.5;
// Share of both nodes' processors that the measurement's own threads used. Packets cost about as much again
// in interrupts that are charged to no thread, so above this share the processors may be the limit. Our
// value.
constexpr double kProcessorsSpent = 0.25;
constexpr std::size_t kRailsNamed = 8;

// The rate that all rails together are compared with.
struct Held {
  double bits = 0;  // the expected total, in bits per second
  std::string name;
  double share = 0;  // measured total as a share of it
};

Held hold(const AllRails& all) {
  const Ceiling& ceiling = all.total->ceiling;
  Held held{all.alone(), "the sum of what each carries alone", 0};
  const Limit* limit = ceiling.nominal || ceiling.limits.empty() ? nullptr : &ceiling.limits.front();
  const double least = limit == nullptr ? held.bits : limit->least.value_or(limit->rate).bits_per_second;
  if (least < held.bits) held = {least, "the ceiling of all together (" + limit->name + ")", 0};
  if (held.bits > 0) held.share = all.total->summary.median / held.bits;
  return held;
}

bool are_software(const Survey& survey, const AllRails& all) {
  return all.total->ceiling.nominal || std::ranges::any_of(all.rails, [&](const RailPart& part) {
           return part.at_once->engine == Engine::kRdma && is_software(survey, *part.at_once);
         });
}

// Returns why the processors may limit TCP; empty if they have capacity left.
std::string processors_bound(const Measurement& total) {
  if (total.engine != Engine::kTcp) return "";
  if (!total.from.other_work || !total.to.other_work)
    return "how many processors the nodes have is not known";
  const double all = total.from.other_work->processors + total.to.other_work->processors;
  const double spent = total.cpu_seconds_per_gigabyte * total.summary.median / 8e9;
  if (spent > 0 && spent < kProcessorsSpent * all) return "";
  return fmt::format("TCP took {:.1f} of both nodes' {:.0f} processors", spent, all);
}

// Returns "rail3 195 of 390 Gb/s alone" for each rail, worst first.
std::string shares_text(const AllRails& all) {
  std::vector<RailPart> parts = all.rails;
  std::ranges::sort(parts, {}, [](const RailPart& part) {
    return part.at_once->summary.median / part.alone->summary.median;
  });
  std::vector<std::string> texts;
  for (const RailPart& part : parts)
    if (texts.size() < kRailsNamed)
      texts.push_back(fmt::format("{} {} of {} alone", part.at_once->rail,
                                  to_text(BitRate{part.at_once->summary.median}),
                                  to_text(BitRate{part.alone->summary.median})));
  return fmt::format("{}", fmt::join(texts, ", "));
}

// Returns "adapters of gpu01 by NUMA node: ens1 0, ens2 0"; empty if PCI shows none of the adapters.
std::string numa_text(const Facts& facts, const std::string& node,
                      const std::vector<std::string>& interfaces) {
  std::vector<std::string> texts;
  for (const std::string& interface : interfaces) {
    const auto address = adapter_address({node, interface, &facts});
    const PciDevice* adapter = address ? find_pci(items(facts.pci), *address) : nullptr;
    if (adapter != nullptr && adapter->numa_node.value_or(-1) >= 0)
      texts.push_back(fmt::format("{} {}", interface, *adapter->numa_node));
  }
  return texts.empty() ? "" : fmt::format("adapters of {} by NUMA node: {}", node, fmt::join(texts, ", "));
}

// Adds the hops that the rails of one node share to the evidence.
void add_shared(Case& each, const Survey& survey, const AllRails& all, Endpoint Measurement::*end) {
  const std::string& node = (all.total->*end).node;
  const auto found = survey.evidence.nodes.find(node);
  if (found == survey.evidence.nodes.end()) return;
  std::vector<std::string> interfaces;
  for (const RailPart& part : all.rails) interfaces.push_back((part.at_once->*end).interface);
  for (const SharedHop& hop : shared_hops(found->second, node, interfaces))
    each.add_evidence(fmt::format("{} share {}, {}", fmt::join(hop.interfaces, ", "), hop.limit.name,
                                  to_text(hop.limit.rate)));
  if (const std::string text = numa_text(found->second, node, interfaces); !text.empty())
    each.add_evidence(text);
}

Complaint complaint(const AllRails& all, const Held& held, double warns) {
  const Measurement& total = *all.total;
  const std::string rate = to_text(BitRate{total.summary.median});
  return {
      .message = fmt::format("{} rails from {} to {} carry {} at once, {:.0f} % of the {} that is {}",
                             all.rails.size(), total.from.node, total.to.node, rate, 100 * held.share,
                             to_text(BitRate{held.bits}), held.name),
      .expected = fmt::format("at least {:.0f} % of {}", 100 * warns, to_text(BitRate{held.bits})),
      .observed = shares_text(all),
      .remedy = {"Look on both nodes for what these rails share: a PCIe switch or root port (first command: "
                 "the tree, with each adapter's place in it), one NUMA node's memory (second), then uplinks "
                 "and buffers of the network's switches. A cluster.yaml with two of the rails tells which "
                 "of them hinder each other.",
                 {"lspci -tv", "grep -H . /sys/class/net/*/device/numa_node"}}};
}

void judge_total(Case& each, const Survey& survey, const AllRails& all) {
  const Held held = hold(all);
  if (all.alone() <= 0) return each.not_applicable("not each rail was measured alone");
  const Measurement& total = *all.total;
  const bool tcp = total.engine == Engine::kTcp;
  const double warns = tcp ? kTcpWarns : kAdaptersWarn;
  const std::string seen =
      fmt::format("{}, {:.0f} % of {}", to_text(BitRate{total.summary.median}), 100 * held.share, held.name);
  if (held.share >= warns) return each.pass(seen);
  if (are_software(survey, all))
    return each.not_applicable(seen + ": virtual links and software RDMA share the processors");
  if (const auto why = processors_bound(total); !why.empty())
    return each.unknown(fmt::format("{}; {}, which may be the limit", seen, why));
  const bool fails = !tcp && held.share < kAdaptersFail;
  if (!fails && total.summary.high >= warns * held.bits)
    return each.unknown(seen + "; it varies too much within the run: measure for longer (--seconds)");
  for (const auto end : {&Measurement::from, &Measurement::to}) add_shared(each, survey, all, end);
  Complaint slow = complaint(all, held, warns);
  if (excused_by_traffic(each, total, may_lack_for_traffic(total, BitRate{warns * held.bits}), slow)) return;
  accuse(each, fails, busy_ends({&total}), std::move(slow));
}

void all_rails(const Survey& survey, Judge& judge) {
  for (const AllRails& all : all_rails_of(survey.evidence.measurements)) {
    const Measurement& total = *all.total;
    Case each = judge.on_cluster(
        fmt::format("{} {} → {} over all rails", total.engine == Engine::kTcp ? "TCP" : "RDMA",
                    total.from.node, total.to.node),
        {"node:" + total.from.node, "node:" + total.to.node});
    for (const RailPart& part : all.rails) each.touch("rail:" + part.at_once->rail);
    judge_total(each, survey, all);
  }
}

}  // namespace

std::span<const Rule> all_rails_rules() {
  static const Rule kRules[] = {
      {.id = "measured.all-rails",
       .title = "all rails at once carry what each carries alone",
       .why =
           "A collective uses all rails at once. Rails that share a PCIe link, a NUMA node or an uplink look "
           "sound one by one.",
       .source = "bandwidth over all rails between two nodes at once, beside that of each alone",
       .standard =
           "80 % of the sum of each alone, or of the ceiling of all together where that is less (fails "
           "below 60 %); TCP 50 % while the processors have room; virtual links and software RDMA are "
           "not judged",
       .remedy = "Look at what the rails share: PCIe, NUMA, uplinks.",
       .fixture = "measured-all-rails-half",
       .explained_by = {"net.held-back", "measured.loss"},
       .check = all_rails},
  };
  return kRules;
}

}  // namespace railbed
