#include "facts/firewall.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/json.h"
#include "facts/readings.h"

namespace railbed {
namespace {

// A node with more has them for its containers, and they would fill its facts.
constexpr std::size_t kMostRules = 4096;

using ChainNames = std::set<std::string, std::less<>>;

std::string table_of(const FirewallChain& chain) { return chain.family + " " + chain.table; }

std::map<std::string, ChainNames> by_table(const Firewall& firewall) {
  std::map<std::string, ChainNames> tables;
  for (const auto& chain : firewall.chains) tables[table_of(chain)].insert(chain.name);
  return tables;
}

// iptables-nft keeps its tables where nft sees them too, without the words for all of its matches: of a table
// that both list, chain for chain, iptables' text says more.
Firewall merged(Firewall nft, Firewall iptables) {
  const auto theirs = by_table(iptables);
  const auto ours = by_table(nft);
  std::erase_if(nft.chains, [&](const FirewallChain& chain) {
    const auto same = theirs.find(table_of(chain));
    return same != theirs.end() && same->second == ours.at(table_of(chain));
  });
  std::ranges::move(iptables.chains, std::back_inserter(nft.chains));
  return nft;
}

// Without the chains that nothing which comes in passes.
void keep_reached(Firewall& firewall) {
  std::map<std::string, const FirewallChain*> named;
  for (const auto& chain : firewall.chains) named[table_of(chain) + " " + chain.name] = &chain;
  std::set<const FirewallChain*> reached;
  std::vector<const FirewallChain*> next;
  const auto reach = [&](const FirewallChain* chain) {
    if (reached.insert(chain).second) next.push_back(chain);
  };
  for (const auto& chain : firewall.chains)
    if (chain.hook == "prerouting" || chain.hook == "input") reach(&chain);
  while (!next.empty()) {
    const FirewallChain* chain = next.back();
    next.pop_back();
    for (const auto& rule : chain->rules)
      if (!rule.target.empty())
        if (const auto to = named.find(table_of(*chain) + " " + rule.target); to != named.end())
          reach(to->second);
  }
  std::vector<FirewallChain> kept;
  for (const auto& chain : firewall.chains)
    if (reached.contains(&chain)) kept.push_back(chain);
  firewall.chains = std::move(kept);
}

Reading<Firewall> list_rules(Host& host, const std::vector<std::string>& words,
                             std::optional<Firewall> (*parse)(std::string_view)) {
  const auto output = host.run(words);
  if (!output) return {output.miss(), output.from()};
  if (output->exit_code != 0) return {Miss{Missing::kDenied, "only root may list the rules"}, output.from()};
  return output.parsed([&](const CommandOutput& said) { return parse(said.output); });
}

// A comparison that nft could only name may be iptables-nft's; tables of the older iptables nft does not see.
bool wants_iptables(Host& host, const Reading<Firewall>& nft) {
  if (nft.absent()) return true;
  if (!nft) return false;
  if (host.read_line("/proc/net/ip_tables_names").ok()) return true;
  const auto is_theirs = [](const FirewallChain& chain) {
    return chain.family == "ip" && chain.name == "INPUT";
  };
  return std::ranges::any_of(nft->chains, is_theirs);
}

// The kernel holds rules in nftables, or in the older iptables' tables: where it holds none, no program is
// asked.
bool has_no_rules(Host& host, const Reading<std::string>& nf_tables) {
  if (!nf_tables) return false;
  const auto tables = json::read<std::vector<std::string>>(*nf_tables);
  const auto older = host.read_line("/proc/net/ip_tables_names");
  return tables && tables->empty() && (older.absent() || (older && older->empty()));
}

std::size_t count_rules(const Firewall& firewall) {
  std::size_t count = 0;
  for (const auto& chain : firewall.chains) count += chain.rules.size() + 1;
  return count;
}

}  // namespace

Reading<Firewall> collect_firewall(Host& host) {
  if (const auto nf_tables = host.call("nf-tables"); has_no_rules(host, nf_tables))
    return {Firewall{}, nf_tables.from()};
  auto found = list_rules(host, {"nft", "-j", "list", "ruleset"}, parse_nft_ruleset);
  if (wants_iptables(host, found)) {
    const auto iptables = list_rules(host, {"iptables-save"}, parse_iptables_save);
    if (iptables && found)
      found = {merged(*found, *iptables), found.from() + ", " + iptables.from()};
    else if (iptables || !iptables.absent())
      found = iptables;
  }
  if (!found) return found;
  Firewall reached = *found;
  keep_reached(reached);
  if (const std::size_t count = count_rules(reached); count > kMostRules)
    return {Miss{Missing::kUnsupported, "more than 4096 rules"}, found.from()};
  return {std::move(reached), found.from()};
}

}  // namespace railbed
