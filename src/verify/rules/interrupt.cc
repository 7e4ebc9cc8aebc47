// Cores that serve the interrupts of adapters.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

const AdapterInterrupts* interrupts_of(const NodeView& node, const std::string& pci_address) {
  for (const AdapterInterrupts& interrupts : items(node.facts->system.interrupts))
    if (interrupts.pci_address == pci_address) return &interrupts;
  return nullptr;
}

// Returns the CPU list of the adapter's NUMA node; "" if all cores are equally near or the node is unknown.
std::string near_cores(const NodeView& node, const PciDevice& adapter) {
  const auto& numa = node.facts->system.cpu.numa_nodes;
  for (const NumaNode& numa_node : numa)
    if (numa.size() > 1 && numa_node.id == adapter.numa_node.value_or(-1)) return numa_node.cpus.value_or("");
  return "";
}

bool share_a_core(const std::string& left, const std::string& right) {
  const auto a = parse_list(left), b = parse_list(right);
  return a && b && std::ranges::find_first_of(*a, *b) != a->end();
}

struct Spread {
  int all = 0;
  int near = 0;
  bool one_core = false;  // all interrupts are on the same core
};

Spread spread_of(const std::map<std::string, int>& cores, const std::string& near) {
  Spread spread;
  for (const auto& [list, count] : cores) {
    spread.all += count;
    if (!near.empty() && share_a_core(list, near)) spread.near += count;
  }
  spread.one_core = cores.size() == 1 && parse_number<int>(cores.begin()->first).has_value();
  return spread;
}

Remedy spread_them(const PciDevice& adapter, const std::string& cores, const Service* balancer) {
  const std::string_view who =
      balancer != nullptr && balancer->active_state == "active"
          ? "irqbalance runs and may move them back: see its bans in its configuration."
          : "irqbalance would keep them near; by hand they stay until the next boot.";
  return {fmt::format("Spread them over the cores near the adapter; {}", who),
          {command("ls /sys/bus/pci/devices/{}/msi_irqs | xargs -I IRQ sh -c {}", adapter.address,
                   command("echo {} > /proc/irq/IRQ/smp_affinity_list", cores).text())}};
}

void interrupts_near(const Survey& survey, Judge& judge) {
  constexpr int kFew = 4;  // one core serves this many well
  each_adapter(survey, judge, [](Case& verdict, const NodeView& node, const PciDevice& adapter) {
    const AdapterInterrupts* found = interrupts_of(node, adapter.address);
    if (found == nullptr) return verdict.not_applicable("its interrupts were not recorded");
    const auto* cores = verdict.read(found->cores);
    if (cores == nullptr) return;
    const std::string near = near_cores(node, adapter);
    const Spread spread = spread_of(*cores, near);
    if (spread.all == 0) return verdict.not_applicable("it has no interrupts");
    const bool far = !near.empty() && spread.near == 0;
    const bool crowded =
        spread.one_core && spread.all > kFew && node.facts->system.cpu.online.value_or(1) > 1;
    if (!far && !crowded) return verdict.pass(fmt::format("{} interrupts", spread.all));
    const std::string observed = crowded ? fmt::format("all {} on core {}", spread.all, cores->begin()->first)
                                         : fmt::format("none of {} on cores {}", spread.all, near);
    const std::string all = near.empty() ? fmt::format("0-{}", *node.facts->system.cpu.online - 1) : near;
    verdict.warn(
        {.message = fmt::format("interrupts of {} of {} are served {}: {}", adapter.address, *node.name,
                                crowded ? "by one core, " + observed : "far from it, " + observed,
                                "TCP is slower for it; RDMA that polls is not"),
         .expected = near.empty() ? "several cores" : "cores " + near,
         .observed = observed,
         .remedy = spread_them(adapter, all, find_service(node, {"irqbalance"}))});
  });
}

}  // namespace

std::span<const Rule> interrupt_rules() {
  static const Rule kRules[] = {
      {.id = "net.interrupts",
       .title = "adapter's interrupts are served near it",
       .why = "One core for all queues of an adapter, or cores of another socket, hold up TCP at high rates.",
       .source = "/sys/bus/pci/devices/*/msi_irqs, /proc/irq/*/effective_affinity_list",
       .standard =
           "at least one on a core of the adapter's NUMA node, and more than four not all on one core; "
           "the limits are ours",
       .remedy = "Spread them over the cores near the adapter.",
       .fixture = "h100-interrupts-far",
       .explained_by = {},
       .check = interrupts_near},
  };
  return kRules;
}

}  // namespace railbed
