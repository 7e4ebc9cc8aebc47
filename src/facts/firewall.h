// What the node's firewall does to packets that come in: rules of nftables and iptables in one form.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
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
  FIELDS(FirewallMatch, key, negated, values);
};

struct FirewallRule {
  std::vector<FirewallMatch> matches;  // all of them
  std::string verdict;  // accept, drop, reject, return, jump, goto; other: it may end here; empty: goes on
  std::string target;   // the chain of jump and goto
  FIELDS(FirewallRule, matches, verdict, target);
};

struct FirewallChain {
  std::string family;  // ip, inet; iptables' are ip
  std::string table;
  std::string name;
  std::string hook;  // prerouting, input; empty: reached by jumps only
  int priority = 0;
  std::string policy;  // of a chain with a hook: accept, drop
  std::vector<FirewallRule> rules;
  FIELDS(FirewallChain, family, table, name, hook, priority, policy, rules);
};

// The chains that see what comes in, and those they lead to, without those that only translate addresses.
// `nft -j list ruleset`; `iptables-save` for what nft cannot say in its own words.
struct Firewall {
  std::vector<FirewallChain> chains;
  FIELDS(Firewall, chains);
};

Reading<Firewall> collect_firewall(Host& host);

// Parsers take text; nothing: it is not such a text.
std::optional<Firewall> parse_nft_ruleset(std::string_view text);
std::optional<Firewall> parse_iptables_save(std::string_view text);

}  // namespace railbed
