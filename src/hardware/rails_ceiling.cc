// The rates of rails do not simply add up: two ports of one card share its slot, cards below one PCIe switch
// share the link above it, and two functions of a DGX Spark's adapter may be paths to one cable. On a node
// the hops that interfaces share form a tree. From its leaves up, each hop passes the sum of its rails'
// rates, or its own rate if that is lower. The sum at the root is the rate of all rails of that node
// together.
#include "hardware/rails_ceiling.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "facts/facts.h"
#include "hardware/spark.h"

namespace railbed {
namespace {

const PciDevice* adapter_of(const Facts& facts, std::string_view interface) {
  const auto address = adapter_address({{}, interface, &facts});
  return address ? find_pci(items(facts.pci), *address) : nullptr;
}

// Returns the limit of the hop at this address alone; nullopt if it states no link.
std::optional<Limit> hop_limit(PciePath path, std::string_view address, std::string_view node) {
  std::erase_if(path.hops,
                [&](const PcieHop& hop) { return hop.at != fmt::format("{} of {}", address, node); });
  path.published.reset();  // of one function, and here others share the hop
  return pcie_path_limit(path, PcieWay::kToMemory, false);
}

// Adds an interface to all PCIe hops between its adapter and memory.
void add_pcie_hops(std::map<std::string, SharedHop>& hops, const Facts& facts, std::string_view node,
                   const std::string& interface) {
  const PciDevice* adapter = adapter_of(facts, interface);
  if (adapter == nullptr) return;
  const PciePath path = pcie_path_of(items(facts.pci), adapter->address, node);
  for (const PciDevice* hop : path_to_root(items(facts.pci), *adapter)) {
    auto limit = hop_limit(path, hop->address, node);
    if (!limit) continue;
    SharedHop& shared = hops[hop == adapter ? std::string(pci_slot_of(hop->address)) : hop->address];
    shared.interfaces.push_back(interface);
    shared.limit = std::move(*limit);
  }
}

double rate_of(const Limit& limit) { return limit.rate.bits_per_second; }
double least_of(const Limit& limit) { return limit.least.value_or(limit.rate).bits_per_second; }
// The least of a path, whose binding limit need not be the one with the lowest least.
double least_of(const Ceiling& path) {
  double least = rate_of(path.limits.front());
  for (const Limit& limit : path.limits) least = std::min(least, least_of(limit));
  return least;
}

// Returns the sum of the interfaces' rates after all shared hops, in the order of `hops`. A hop that is
// exceeded lowers the rates of its interfaces in proportion. `of` gives a hop's rate or its least.
double carried(const std::vector<SharedHop>& hops, std::map<std::string, double> rates,
               double (*of)(const Limit&) = rate_of) {
  for (const SharedHop& hop : hops) {
    double sum = 0;
    for (const std::string& interface : hop.interfaces) sum += rates[interface];
    if (sum <= of(hop.limit) || sum <= 0) continue;
    for (const std::string& interface : hop.interfaces) rates[interface] *= of(hop.limit) / sum;
  }
  return std::accumulate(rates.begin(), rates.end(), 0.0,
                         [](double sum, const auto& rate) { return sum + rate.second; });
}

// Returns the pairs of rails whose interfaces are paths to one cable, with the rate of its wire.
std::vector<SharedHop> shared_cables(const std::vector<RailPath>& rails, const CeilingEnd RailPath::*end) {
  std::vector<SharedHop> cables;
  for (std::size_t i = 0; i < rails.size(); ++i)
    for (std::size_t k = i + 1; k < rails.size(); ++k) {
      const CeilingEnd& ceiling_end = rails[i].*end;
      const CeilingEnd& other = rails[k].*end;
      const Limit* wire = find_wire(rails[i].alone);
      if (wire == nullptr || !share_spark_cable(*ceiling_end.facts, ceiling_end.interface, other.interface))
        continue;
      cables.push_back({{std::string(ceiling_end.interface), std::string(other.interface)},
                        {"their one cable", wire->rate, wire->source}});
    }
  return cables;
}

// Adds the limit of one node, if shared hops lower the sum of the rails.
void add_node(Ceiling& ceiling, const std::vector<RailPath>& rails, const CeilingEnd RailPath::*end) {
  const Facts* facts = (rails.front().*end).facts;
  const std::string_view node = (rails.front().*end).node;
  std::map<std::string, double> rates;
  std::map<std::string, double> least;
  std::vector<std::string> interfaces;
  for (const RailPath& rail : rails) {
    interfaces.emplace_back((rail.*end).interface);
    rates[interfaces.back()] = rate_of(rail.alone.limits.front());
    least[interfaces.back()] = least_of(rail.alone);
  }
  auto hops = shared_hops(*facts, node, interfaces);
  std::ranges::move(shared_cables(rails, end), std::back_inserter(hops));
  const double sum = carried({}, rates);
  std::vector<std::string> binding;
  for (const SharedHop& hop : hops)
    if (carried({hop}, rates) < sum)
      binding.push_back(fmt::format("{} share {}", fmt::join(hop.interfaces, ", "), hop.limit.name));
  if (binding.empty()) return;
  const std::string more =
      binding.size() > 1 ? fmt::format(", and {} more share likewise", binding.size() - 1) : "";
  ceiling.limits.push_back({fmt::format("rails of {}, where {}{}", node, binding.front(), more),
                            {carried(hops, rates)},
                            "the sum of the rails' ceilings, held at each hop that they share"});
  if (const BitRate low{carried(hops, least, least_of)}; low < ceiling.limits.back().rate)
    ceiling.limits.back().least = low;
}

}  // namespace

std::vector<SharedHop> shared_hops(const Facts& facts, std::string_view node,
                                   const std::vector<std::string>& interfaces) {
  std::map<std::string, SharedHop> hops;
  for (const std::string& interface : interfaces) add_pcie_hops(hops, facts, node, interface);
  std::vector<SharedHop> shared;
  for (auto& [name, hop] : hops) {
    if (hop.interfaces.size() < 2) continue;
    const auto same = std::ranges::find(shared, hop.interfaces, &SharedHop::interfaces);
    if (same == shared.end())
      shared.push_back(std::move(hop));
    else if (hop.limit.rate < same->limit.rate)
      *same = std::move(hop);
  }
  std::ranges::stable_sort(shared, {}, [](const SharedHop& hop) { return hop.interfaces.size(); });
  return shared;
}

Ceiling rails_ceiling(const std::vector<RailPath>& rails) {
  Ceiling ceiling;
  BitRate sum, least;
  for (const RailPath& rail : rails) {
    ceiling.nominal = ceiling.nominal || rail.alone.nominal;
    if (ceiling.note.empty()) ceiling.note = rail.alone.note;
    if (rail.alone.limits.empty() || rail.a.facts == nullptr || rail.b.facts == nullptr)
      return {{}, ceiling.note};
    sum.bits_per_second += rate_of(rail.alone.limits.front());
    least.bits_per_second += least_of(rail.alone);
  }
  if (rails.empty()) return ceiling;
  ceiling.limits.push_back(
      {fmt::format("sum of {} rails", rails.size()), sum, "the sum of the rails' ceilings"});
  if (least < sum) ceiling.limits.back().least = least;
  for (const auto end : {&RailPath::a, &RailPath::b}) add_node(ceiling, rails, end);
  std::ranges::stable_sort(ceiling.limits, {}, &Limit::rate);
  return ceiling;
}

}  // namespace railbed
