// What the node's firewall does to packets that come in: rules of nftables and iptables in one form.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/reading.h"

namespace railbed {

class Host;

// One comparison of a rule with a packet.
struct FirewallMatch {
  // interface, source, destination, destination-type, protocol, port (of the destination), source-port,
  // state (of the connection), status, icmp-type, family, packet-type, tcp-flags ("mask/those set"); other:
  // what railbed cannot compare
  std::string key;
  bool negated = false;
  std::vector<std::string> values;  // any of them: "ens*", "10.0.0.0/24", "10.0.0.1-10.0.0.9", "1024-65535"
  static void fields(auto&& field) {
    field("key", &FirewallMatch::key);
    field("negated", &FirewallMatch::negated);
    field("values", &FirewallMatch::values);
  }
};

struct FirewallRule {
  std::vector<FirewallMatch> matches;  // all of them
  std::string verdict;  // accept, drop, reject, return, jump, goto; other: it may end here; empty: goes on
  std::string target;   // the chain of jump and goto
  static void fields(auto&& field) {
    field("matches", &FirewallRule::matches);
    field("verdict", &FirewallRule::verdict);
    field("target", &FirewallRule::target);
  }
};

struct FirewallChain {
  std::string family;  // ip, inet; iptables' are ip
  std::string table;
  std::string name;
  std::string hook;  // prerouting, input; empty: reached by jumps only
  int priority = 0;
  std::string policy;  // of a chain with a hook: accept, drop
  std::vector<FirewallRule> rules;
  static void fields(auto&& field) {
    field("family", &FirewallChain::family);
    field("table", &FirewallChain::table);
    field("name", &FirewallChain::name);
    field("hook", &FirewallChain::hook);
    field("priority", &FirewallChain::priority);
    field("policy", &FirewallChain::policy);
    field("rules", &FirewallChain::rules);
  }
};

// The chains that see what comes in, and those they lead to, without those that only translate addresses.
// `nft -j list ruleset`; `iptables-save` for what nft cannot say in its own words.
struct Firewall {
  std::vector<FirewallChain> chains;
  static void fields(auto&& field) { field("chains", &Firewall::chains); }
};

Reading<Firewall> collect_firewall(Host& host);

// Parsers take text; nothing: it is not such a text.
std::optional<Firewall> parse_nft_ruleset(std::string_view text);
std::optional<Firewall> parse_iptables_save(std::string_view text);

}  // namespace railbed
