#include "facts/network/firewall.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/json.h"
#include "facts/readings.h"

namespace railbed {
namespace {

// The limit of a node's chains and rules together. Nodes with more have them for their containers; they would
// fill the facts.
constexpr std::size_t kMostRules = 4096;

using ChainNames = std::set<std::string, std::less<>>;

std::string table_of(const FirewallChain& chain) { return chain.family + " " + chain.table; }

std::map<std::string, ChainNames> by_table(const Firewall& firewall) {
  std::map<std::string, ChainNames> tables;
  for (const auto& chain : firewall.chains) tables[table_of(chain)].insert(chain.name);
  return tables;
}

// Combines both lists. A table of iptables-nft is in both; if its chains are the same, iptables' text has
// more detail and replaces nft's.
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

// Removes the chains that no incoming packet passes: those that no prerouting or input hook reaches through
// jumps.
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

// Returns true if iptables-save may list more than nft: a comparison that nft could not express may be
// iptables-nft's, and tables of the older iptables are invisible to nft.
bool wants_iptables(Host& host, const Reading<Firewall>& nft) {
  if (nft.absent()) return true;
  if (!nft) return false;
  if (host.read_line("/proc/net/ip_tables_names").ok()) return true;
  const auto is_theirs = [](const FirewallChain& chain) {
    return chain.family == "ip" && chain.name == "INPUT";
  };
  return std::ranges::any_of(nft->chains, is_theirs);
}

// Returns true if the kernel has no rules, neither in nftables nor in the older iptables' tables. Then no
// program has to run.
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

// The kernel may hold rules of nftables, rules of iptables-nft (which are nftables' too), and rules of the
// older iptables in tables of its own. `nft` lists the first two, but it cannot express all matches of
// iptables-nft. So nft is read first, and `iptables-save` in addition if wants_iptables() sees a sign of
// iptables. merged() takes a table that both list from iptables-save. keep_reached() then follows jumps from
// the hooks of incoming packets and drops every chain that they do not reach. Its cost is linear in the
// rules, apart from the lookups by name.
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
