// Converts nftables' rules to FirewallRule: libnftables-json(5) of `nft -j list ruleset`.
//
// The first pass over the document collects chains and the elements of named sets and maps, the second pass
// the rules. A rule is a list of statements that apply in order until one gives a verdict. A comparison
// becomes a FirewallMatch; some imply another one, as "tcp dport" implies that the protocol is TCP. A verdict
// map becomes one rule per entry. A statement that railbed cannot interpret becomes a match with the key
// "other", so that the rule is never taken for one that applies to all packets.
#include <algorithm>
#include <map>
#include <optional>

#include "base/json.h"
#include "base/text.h"
#include "facts/network/firewall.h"

namespace railbed {
namespace {

constexpr std::size_t kMostValues = 1024;  // of one comparison; longer lists are not compared
constexpr std::size_t kLongestWord = 128;  // NFT_NAME_MAXLEN is 256; real names are far shorter

using Values = std::optional<std::vector<std::string>>;  // nullopt: railbed cannot compare them

const json::Value* part(const json::Value& value, const char* key) {
  if (!value.is_object()) return nullptr;
  const auto found = value.find(key);
  return found == value.end() ? nullptr : &*found;
}

std::string text_part(const json::Value& value, const char* key) {
  const auto* found = part(value, key);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

// Elements of named sets and maps, by "family table name".
using Sets = std::map<std::string, const json::Value*>;

struct Scope {
  const Sets& sets;
  std::string table;  // "family table "
};

// Returns the elements of a set, either anonymous or named ("@name"); null if it is not known.
const json::Value* elements_of(const json::Value& set, const Scope& scope) {
  if (set.is_array()) return &set;
  if (!set.is_string()) return nullptr;
  const auto& name = set.get_ref<const std::string&>();
  const auto found = name.starts_with('@') ? scope.sets.find(scope.table + name.substr(1)) : scope.sets.end();
  return found == scope.sets.end() ? nullptr : found->second;
}

// Returns a word, a number, a prefix or a range as text; empty for any other value.
std::string value_text(const json::Value& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return value.dump();
  if (const auto* inner = part(value, "elem")) {
    const auto* held = part(*inner, "val");
    return held == nullptr || part(*held, "elem") != nullptr ? "" : value_text(*held);
  }
  if (const auto* prefix = part(value, "prefix")) {
    const auto* length = part(*prefix, "len");
    if (length != nullptr && length->is_number_integer())
      return text_part(*prefix, "addr") + "/" + length->dump();
  }
  const auto* range = part(value, "range");
  const auto plain = [](const json::Value& end) { return end.is_string() || end.is_number_integer(); };
  if (range != nullptr && range->is_array() && range->size() == 2 && plain((*range)[0]) && plain((*range)[1]))
    return value_text((*range)[0]) + "-" + value_text((*range)[1]);
  return "";
}

Values list_values(const json::Value& list) {
  if (list.size() > kMostValues) return std::nullopt;
  std::vector<std::string> values;
  for (const auto& one : list) {
    values.push_back(value_text(one));
    if (values.back().empty() || values.back().size() > kLongestWord) return std::nullopt;
  }
  return values;
}

// Returns the right side of a comparison as a list of values; nullopt if railbed cannot compare them.
Values values_of(const json::Value& right, const Scope& scope) {
  const bool named = right.is_string() && right.get_ref<const std::string&>().starts_with('@');
  const auto* set = part(right, "set");
  if (set == nullptr && named) set = &right;
  const auto* list = set != nullptr ? elements_of(*set, scope) : right.is_array() ? &right : nullptr;
  if (list != nullptr) return list_values(*list);
  if (set != nullptr) return std::nullopt;
  std::string text = value_text(right);
  if (text.empty() || text.size() > kLongestWord) return std::nullopt;
  return std::vector<std::string>{std::move(text)};
}

struct Compared {
  std::vector<FirewallMatch> implied;  // "tcp dport" implies that the protocol is TCP
  std::string key = "other";
};

// Returns the property that a comparison with the packet's content tests.
Compared payload_key(const json::Value& payload) {
  const std::string protocol = text_part(payload, "protocol"), field = text_part(payload, "field");
  Compared found;
  const auto imply = [&](const char* key, const char* value) { found.implied = {{key, false, {value}}}; };
  if (protocol == "ip" || protocol == "ip6") {
    found.implied = {{"family", false, {protocol}}};
    if (field == "saddr") found.key = "source";
    if (field == "daddr") found.key = "destination";
    if (field == "protocol" || field == "nexthdr") found.key = "protocol";
  }
  if (protocol == "tcp") imply("protocol", "tcp");
  if (protocol == "udp") imply("protocol", "udp");
  if (protocol == "icmp") imply("protocol", "icmp");
  if (protocol == "icmpv6") imply("protocol", "ipv6-icmp");
  if (protocol == "sctp") imply("protocol", "sctp");
  if (protocol == "tcp" || protocol == "udp" || protocol == "th") {
    if (field == "dport") found.key = "port";
    if (field == "sport") found.key = "source-port";
  }
  if (protocol == "icmp" && field == "type") found.key = "icmp-type";
  return found;
}

// Returns the property on the left side of a comparison; "other" if railbed does not support it.
Compared compared_by(const json::Value& left) {
  Compared found;
  if (const auto* meta = part(left, "meta")) {
    const std::string key = text_part(*meta, "key");
    if (key == "iifname" || key == "iif") found.key = "interface";
    if (key == "l4proto") found.key = "protocol";
    if (key == "nfproto" || key == "protocol") found.key = "family";
    if (key == "pkttype") found.key = "packet-type";
  }
  if (const auto* payload = part(left, "payload")) return payload_key(*payload);
  if (const auto* connection = part(left, "ct")) {
    const std::string key = text_part(*connection, "key");
    if (key == "state" || key == "status") found.key = key;
  }
  if (const auto* fib = part(left, "fib"); fib != nullptr && text_part(*fib, "result") == "type") {
    const auto* flags = part(*fib, "flags");
    if (text_part(*fib, "flags") == "daddr") found.key = "destination-type";
    if (flags != nullptr && flags->is_array() && list_values(*flags) == std::vector<std::string>{"daddr"})
      found.key = "destination-type";
  }
  return found;
}

// Joins flags by commas. Depending on its version, nft writes them as a list or joined by "|".
void gather_flags(const json::Value& value, std::string& out, int depth = 0) {
  if (value.is_string()) out += (out.empty() ? "" : ",") + value.get<std::string>();
  const auto* joined = part(value, "|");
  const auto& list = joined != nullptr ? *joined : value;
  if (!list.is_array() || depth > 8) return;
  for (const auto& one : list) gather_flags(one, out, depth + 1);
}

// Parses a comparison such as "tcp flags & (fin | syn | rst | ack) == syn"; nullopt for any other.
std::optional<FirewallMatch> flags_match(const json::Value& left, const json::Value& right, bool negated) {
  const auto* masked = part(left, "&");
  if (masked == nullptr || !masked->is_array() || masked->size() != 2) return std::nullopt;
  const auto* payload = part((*masked)[0], "payload");
  if (payload == nullptr || text_part(*payload, "protocol") != "tcp" ||
      text_part(*payload, "field") != "flags")
    return std::nullopt;
  std::string mask, set;
  gather_flags((*masked)[1], mask);
  gather_flags(right, set);
  if (mask.size() > kLongestWord || set.size() > kLongestWord) return std::nullopt;
  return FirewallMatch{"tcp-flags", negated, {mask + "/" + set}};
}

// Adds one comparison to the rule. A comparison that is not supported becomes "other".
void add_match(const json::Value& match, const Scope& scope, FirewallRule& rule) {
  const auto *left = part(match, "left"), *right = part(match, "right");
  const std::string op = text_part(match, "op");
  const bool negated = op == "!=";
  if (left == nullptr || right == nullptr || (!negated && op != "==" && op != "in")) {
    rule.matches.push_back({"other", false, {}});
    return;
  }
  if (auto flags = flags_match(*left, *right, negated)) {
    rule.matches.push_back({"protocol", false, {"tcp"}});
    rule.matches.push_back(std::move(*flags));
    return;
  }
  Compared what = compared_by(*left);
  std::ranges::move(what.implied, std::back_inserter(rule.matches));
  auto values = what.key == "other" ? std::nullopt : values_of(*right, scope);
  if (values)
    rule.matches.push_back({what.key, negated, std::move(*values)});
  else
    rule.matches.push_back({"other", false, {}});
}

// Sets the rule's verdict if the statement gives one; returns whether the rule has one. Statements that
// redirect a packet give "other".
bool take_verdict(const json::Value& statement, FirewallRule& rule) {
  for (const char* verdict : {"accept", "drop", "reject", "return"})
    if (part(statement, verdict) != nullptr) rule.verdict = verdict;
  for (const char* verdict : {"jump", "goto"})
    if (const auto* to = part(statement, verdict)) {
      rule.verdict = verdict;
      rule.target = text_part(*to, "target");
    }
  for (const char* ends : {"queue", "tproxy", "synproxy", "fwd", "redirect", "dnat"})
    if (part(statement, ends) != nullptr) rule.verdict = "other";
  return !rule.verdict.empty();
}

// Expands a verdict map such as "ct state vmap { established : accept, invalid : drop }" to one rule per
// entry.
std::vector<FirewallRule> rules_of_map(const json::Value& map, const Scope& scope,
                                       const FirewallRule& before) {
  const auto *key = part(map, "key"), *data = part(map, "data");
  const auto* set = data == nullptr ? nullptr : part(*data, "set");
  const auto* pairs = data == nullptr ? nullptr : elements_of(set == nullptr ? *data : *set, scope);
  FirewallRule unknown = before;
  unknown.matches.push_back({"other", false, {}});
  unknown.verdict = "other";
  if (key == nullptr || pairs == nullptr || pairs->size() > kMostValues) return {unknown};
  std::vector<FirewallRule> rules;
  for (const auto& pair : *pairs) {
    if (!pair.is_array() || pair.size() != 2) return {unknown};
    FirewallRule rule = before;
    add_match({{"op", "=="}, {"left", *key}, {"right", pair[0]}}, scope, rule);
    take_verdict(pair[1], rule);
    rules.push_back(std::move(rule));
  }
  return rules;
}

// Returns true for statements that neither compare nor end a rule.
bool goes_on(const json::Value& statement) {
  if (const auto* set = part(statement, "set")) return part(*set, "stmt") == nullptr;
  return std::ranges::any_of(
      std::initializer_list<const char*>{"counter", "log", "mangle", "notrack", "ct helper", "ct timeout",
                                         "dup", "last", "continue"},
      [&](const char* name) { return part(statement, name) != nullptr; });
}

std::vector<FirewallRule> read_rule(const json::Value& value, const Scope& scope) {
  FirewallRule rule;
  const auto* statements = part(value, "expr");
  if (statements == nullptr || !statements->is_array()) return {};
  for (const auto& statement : *statements) {
    if (const auto* match = part(statement, "match"))
      add_match(*match, scope, rule);
    else if (const auto* map = part(statement, "vmap"))
      return rules_of_map(*map, scope, rule);
    else if (take_verdict(statement, rule))
      break;
    else if (!goes_on(statement))  // limits, and matches of iptables-nft that nftables cannot express
      rule.matches.push_back({"other", false, {}});
  }
  return {std::move(rule)};
}

bool fit_names(const FirewallChain& chain) {
  return is_plain_word(chain.family, kLongestWord) && is_plain_word(chain.table, kLongestWord) &&
         is_plain_word(chain.name, kLongestWord);
}

// Reads a chain's description. Chains that only translate addresses get the hook "nat", so that they are not
// followed.
FirewallChain read_chain(const json::Value& value) {
  FirewallChain chain{text_part(value, "family"),
                      text_part(value, "table"),
                      text_part(value, "name"),
                      text_part(value, "hook"),
                      0,
                      text_part(value, "policy"),
                      {}};
  if (const auto* priority = part(value, "prio"); priority != nullptr && priority->is_number_integer())
    chain.priority = static_cast<int>(std::clamp<std::int64_t>(priority->get<std::int64_t>(), -9999, 9999));
  if (text_part(value, "type") == "nat") chain.hook = "nat";
  return chain;
}

}  // namespace

std::optional<Firewall> parse_nft_ruleset(std::string_view text) {
  const auto document = json::parse(text);
  const auto* items = document ? part(*document, "nftables") : nullptr;
  if (items == nullptr || !items->is_array()) return std::nullopt;
  Sets sets;
  Firewall firewall;
  std::map<std::string, std::size_t> places;  // of chains
  const auto table_of = [](const json::Value& value) {
    return text_part(value, "family") + " " + text_part(value, "table") + " ";
  };
  for (const auto& item : *items) {
    for (const char* kind : {"set", "map"})
      if (const auto* set = part(item, kind))
        if (const auto* elements = part(*set, "elem"); elements != nullptr && elements->is_array())
          sets[table_of(*set) + text_part(*set, "name")] = elements;
    if (const auto* chain = part(item, "chain")) {
      firewall.chains.push_back(read_chain(*chain));
      if (!fit_names(firewall.chains.back())) return std::nullopt;
      places[table_of(*chain) + firewall.chains.back().name] = firewall.chains.size() - 1;
    }
  }
  for (const auto& item : *items) {
    const auto* value = part(item, "rule");
    const auto place =
        value == nullptr ? places.end() : places.find(table_of(*value) + text_part(*value, "chain"));
    if (place == places.end()) continue;
    auto rules = read_rule(*value, {sets, table_of(*value)});
    std::ranges::move(rules, std::back_inserter(firewall.chains[place->second].rules));
  }
  return firewall;
}

}  // namespace railbed
