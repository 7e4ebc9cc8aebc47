// The node's firewall for incoming packets: rules of nftables and iptables in one form.
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
  // The compared property: interface, source, destination, destination-type, protocol, port (of the
  // destination), source-port, state (of the connection), status, icmp-type, family, packet-type, tcp-flags
  // (values "mask/those set"). "other" is a comparison that railbed does not support.
  std::string key;
  bool negated = false;
  // Matches any of these: "ens*", "10.0.0.0/24", "10.0.0.1-10.0.0.9", "1024-65535".
  std::vector<std::string> values;
  FIELDS(FirewallMatch, key, negated, values);
};

struct FirewallRule {
  std::vector<FirewallMatch> matches;  // all have to match
  // accept, drop, reject, return, jump, goto; "other": the rule may end the packet's way; empty: the next
  // rule follows
  std::string verdict;
  std::string target;  // target chain of jump and goto
  FIELDS(FirewallRule, matches, verdict, target);
};

struct FirewallChain {
  std::string family;  // ip, inet; for iptables always ip
  std::string table;
  std::string name;
  std::string hook;  // prerouting, input; empty: reached only by jumps
  int priority = 0;
  std::string policy;  // accept or drop; only for a chain with a hook
  std::vector<FirewallRule> rules;
  FIELDS(FirewallChain, family, table, name, hook, priority, policy, rules);
};

// The chains that incoming packets pass, including those reached by jumps; chains that only translate
// addresses are left out. From `nft -j list ruleset`, and from `iptables-save` for rules that nft cannot
// express.
struct Firewall {
  std::vector<FirewallChain> chains;
  FIELDS(Firewall, chains);
};

// Reads the rules. The reading is denied if the programs fail, as they do unless root runs them, and
// unsupported if the chains have more than 4096 entries.
Reading<Firewall> collect_firewall(Host& host);

// Parse the output of `nft -j list ruleset` and of `iptables-save`; nullopt if the text has another form.
std::optional<Firewall> parse_nft_ruleset(std::string_view text);
std::optional<Firewall> parse_iptables_save(std::string_view text);

}  // namespace railbed
