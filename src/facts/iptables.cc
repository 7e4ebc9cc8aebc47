// Parser of iptables-save(8): "-A CHAIN -i ens6 -p tcp -m tcp --dport 22 -j ACCEPT" under "*TABLE".
#include <algorithm>
#include <map>
#include <optional>

#include "base/text.h"
#include "facts/firewall.h"

namespace railbed {
namespace {

constexpr std::size_t kMostWords = 256;  // words of a line; iptables itself accepts 255 (MAX_ARGC)
constexpr std::size_t kLongestChain = 128;

// Returns the words of a line. Text in double quotes is one word and may contain \".
std::vector<std::string> quoted_words(std::string_view line) {
  std::vector<std::string> found;
  bool inside = false, open = false;
  for (std::size_t i = 0; i < line.size() && found.size() < kMostWords; ++i) {
    const char c = line[i];
    if (c == '"') inside = !inside;
    if (!inside && (c == ' ' || c == '\t')) {
      open = false;
      continue;
    }
    if (!open) found.emplace_back();
    open = true;
    if (c == '\\' && inside && i + 1 < line.size()) ++i;
    if (c != '"') found.back() += line[i];
  }
  return found;
}

std::vector<std::string> comma_list(const std::string& text, bool ports) {
  std::vector<std::string> values;
  for (const auto one : split(text, ',')) {
    values.push_back(lower(one));
    if (ports) std::ranges::replace(values.back(), ':', '-');
  }
  return values;
}

struct MatchOption {
  std::string_view word;
  const char* key;
};
// iptables(8) and iptables-extensions(8); each takes one word.
constexpr MatchOption kMatchOptions[] = {{"-s", "source"},
                                         {"-d", "destination"},
                                         {"-p", "protocol"},
                                         {"--dport", "port"},
                                         {"--dports", "port"},
                                         {"--sport", "source-port"},
                                         {"--ctstate", "state"},
                                         {"--sports", "source-port"},
                                         {"--state", "state"},
                                         {"--ctstatus", "status"},
                                         {"--icmp-type", "icmp-type"},
                                         {"--dst-type", "destination-type"},
                                         {"--pkt-type", "packet-type"}};

std::string verdict_of(const std::string& target) {
  if (target == "ACCEPT") return "accept";
  if (target == "DROP") return "drop";
  if (target == "REJECT") return "reject";
  if (target == "RETURN") return "return";
  for (const std::string_view ends : {"QUEUE", "NFQUEUE", "TPROXY", "SYNPROXY", "DNAT", "REDIRECT"})
    if (target == ends) return "other";
  // All other targets only log or mark, unless a chain has that name.
  return "jump";
}

struct Line {
  const std::vector<std::string>& words;
  std::size_t at = 2;  // behind "-A CHAIN"
  bool negated = false;
  std::string next() { return at < words.size() ? words[at++] : std::string(); }
};

// Converts iptables' "ens+" to "ens*".
std::string interface_pattern(std::string name) {
  if (name.ends_with('+')) name.back() = '*';
  return name;
}

// Adds a match option to the rule and consumes its arguments; false if the word is not a known option.
bool take_plain(const std::string& word, Line& line, FirewallRule& rule) {
  const auto option = std::ranges::find(kMatchOptions, word, &MatchOption::word);
  if (option != std::end(kMatchOptions)) {
    const bool ports = std::string_view(option->key).ends_with("port");
    rule.matches.push_back({option->key, line.negated, comma_list(line.next(), ports)});
  } else if (word == "-i") {
    rule.matches.push_back({"interface", line.negated, {interface_pattern(line.next())}});
  } else if (word == "--tcp-flags") {
    const std::string mask = lower(line.next());
    rule.matches.push_back({"tcp-flags", line.negated, {mask + "/" + lower(line.next())}});
  } else if (word == "-m" || word == "--comment") {
    line.next();
  } else {
    return false;
  }
  return true;
}

// Parses one rule. An option that is not known becomes a match with the key "other". Parsing ends at the
// target.
FirewallRule read_line_rule(const std::vector<std::string>& words) {
  FirewallRule rule;
  Line line{words};
  while (line.at < words.size()) {
    const std::string word = line.next();
    if (word == "!") {
      line.negated = true;
      continue;
    }
    if (word == "-j" || word == "-g") {  // the rest are options of the target
      rule.target = line.next();
      rule.verdict = word == "-g" ? "goto" : verdict_of(rule.target);
      if (rule.verdict != "jump" && rule.verdict != "goto") rule.target.clear();
      break;
    }
    if (!take_plain(word, line, rule) && word.starts_with('-')) rule.matches.push_back({"other", false, {}});
    line.negated = false;
  }
  return rule;
}

struct Hook {
  std::string_view table, chain;
  const char* hook;
  int priority;
};
// NF_IP_PRI_* of linux/netfilter_ipv4.h
constexpr Hook kHooks[] = {{"raw", "PREROUTING", "prerouting", -300},
                           {"mangle", "PREROUTING", "prerouting", -150},
                           {"mangle", "INPUT", "input", -150},
                           {"filter", "INPUT", "input", 0},
                           {"security", "INPUT", "input", 50}};

// Returns an empty chain; a built-in chain gets its hook, priority and policy.
FirewallChain new_chain(std::string_view table, std::string_view name, std::string_view policy) {
  FirewallChain chain{"ip", std::string(table), std::string(name), "", 0, "", {}};
  for (const Hook& hook : kHooks)
    if (hook.table == table && hook.chain == name) {
      chain.hook = hook.hook;
      chain.priority = hook.priority;
      chain.policy = lower(policy);
    }
  return chain;
}

// Clears targets that are no chain of the table. They do something to a packet that then goes on: LOG, MARK.
void drop_other_targets(Firewall& firewall) {
  std::map<std::string, std::vector<std::string_view>> chains;
  for (const auto& chain : firewall.chains) chains[chain.table].push_back(chain.name);
  for (auto& [table, names] : chains) std::ranges::sort(names);
  for (auto& chain : firewall.chains)
    for (auto& rule : chain.rules)
      if (!rule.target.empty() && !std::ranges::binary_search(chains[chain.table], rule.target))
        rule.verdict.clear(), rule.target.clear();
}

}  // namespace

std::optional<Firewall> parse_iptables_save(std::string_view text) {
  Firewall firewall;
  std::string table;
  std::map<std::string, std::size_t, std::less<>> places;
  for (const auto line : lines(text)) {
    const auto words = quoted_words(line);
    if (words.empty() || line.starts_with('#') || line == "COMMIT") continue;
    if (line.starts_with('*')) {
      table = line.substr(1);
      if (!is_plain_word(table, kLongestChain)) return std::nullopt;
    } else if (line.starts_with(':')) {
      const std::string name = words.front().substr(1);
      if (!is_plain_word(name, kLongestChain) || table.empty()) return std::nullopt;
      places[table + " " + name] = firewall.chains.size();
      firewall.chains.push_back(new_chain(table, name, words.size() > 1 ? words[1] : ""));
    } else if (words.size() > 1 && words.front() == "-A") {
      const auto place = places.find(table + " " + words[1]);
      if (place == places.end()) return std::nullopt;
      firewall.chains[place->second].rules.push_back(read_line_rule(words));
    } else {
      return std::nullopt;
    }
  }
  drop_other_targets(firewall);
  return firewall;
}

}  // namespace railbed
