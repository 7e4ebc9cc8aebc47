#include "model/firewall_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "base/text.h"

namespace railbed {
namespace {

// Follows a packet through the chains of a firewall.
//
// A Packet represents many: any of its sources may send it to any of its ports. A match is therefore no,
// maybe or yes: a span in a rule that covers only part of the packet's span is "maybe", and so is a match
// that railbed cannot evaluate. A rule matches as well as the worst of its matches.
//
// Walk computes the possible ends of a packet in a chain (Ways): accepted, refused, or back to the caller. A
// rule that surely matches ends the walk, unless its jump comes back or its verdict is unknown; one that may
// match adds its effect, and the walk continues. Results are kept per chain, so each chain is walked once; a
// loop of chains counts as uncertain. At a chain with a hook, the packet is dropped if it can only be
// refused, accepted if it cannot be refused, and else the result is uncertain.
enum class Match { kNo, kMaybe, kYes };

Match either(Match a, Match b) { return std::max(a, b); }
Match both(Match a, Match b) { return std::min(a, b); }
Match yes_if(bool yes) { return yes ? Match::kYes : Match::kNo; }
Match opposite(Match match) { return match == Match::kMaybe ? match : yes_if(match == Match::kNo); }

using Values = std::vector<std::string>;

bool has(const Values& values, std::initializer_list<std::string_view> any) {
  return std::ranges::any_of(values, [&](const std::string& value) {
    return std::ranges::find(any, std::string_view(value)) != any.end();
  });
}

// Matches a name against "ens6" or "ens*".
bool fits_name(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

// Compares a span in a rule with the packet's span: contains it, is disjoint, or overlaps it partly.
template <class T>
Match covers(const T& first, const T& last, const T& asked_first, const T& asked_last) {
  if (first <= asked_first && asked_last <= last) return Match::kYes;
  return last < asked_first || asked_last < first ? Match::kNo : Match::kMaybe;
}

struct AddressSpan {
  IpAddress first, last;
};

std::optional<AddressSpan> parse_span(std::string_view text) {
  if (text.find('/') != std::string_view::npos) {
    const auto pair = key_value(text, '/');
    const auto address = IpAddress::parse(pair->first);
    const auto prefix = parse_number<int>(pair->second);
    const auto subnet = address && prefix ? Subnet::of(*address, *prefix) : std::nullopt;
    if (!subnet) return std::nullopt;
    return AddressSpan{subnet->network(), subnet->last()};
  }
  const auto pair = key_value(text, '-').value_or(std::pair{text, text});
  const auto first = IpAddress::parse(pair.first), last = IpAddress::parse(pair.second);
  if (!first || !last) return std::nullopt;
  return AddressSpan{*first, *last};
}

Match match_addresses(const Values& values, const IpAddress& first, const IpAddress& last) {
  Match found = Match::kNo;
  for (const auto& value : values) {
    const auto span = parse_span(value);
    found = either(found, span ? covers(span->first, span->last, first, last) : Match::kMaybe);
  }
  return found;
}

// Returns yes if all senders match, no if none does, else maybe.
Match match_sources(const Values& values, const std::vector<Subnet>& sources) {
  bool in = false, out = false, unclear = sources.empty();
  for (const Subnet& source : sources) {
    const Match match = match_addresses(values, source.network(), source.last());
    (match == Match::kYes ? in : match == Match::kNo ? out : unclear) = true;
  }
  return unclear || in == out ? Match::kMaybe : yes_if(in);
}

Match match_ports(const Values& values, const PortRange& asked) {
  Match found = Match::kNo;
  for (const auto& value : values) {
    const auto pair =
        key_value(value, '-').value_or(std::pair<std::string_view, std::string_view>{value, value});
    const auto first = parse_number<int>(pair.first), last = parse_number<int>(pair.second);
    found = either(found, first && last ? covers(*first, *last, asked.first, asked.last) : Match::kMaybe);
  }
  return found;
}

// The first packet of a TCP connection has only SYN set.
Match match_flags(const Values& values) {
  const auto pair = values.empty() ? std::nullopt : key_value(values.front(), '/');
  if (!pair) return Match::kMaybe;
  const auto mask = split(pair->first, ',');
  const bool asks_syn = std::ranges::find(mask, "syn") != mask.end() || pair->first == "all";
  return yes_if(pair->second == (asks_syn ? "syn" : "none") || (!asks_syn && pair->second.empty()));
}

Match match_values(const FirewallMatch& match, const Packet& packet) {
  const auto& [key, negated, values] = match;
  if (key == "interface")
    return yes_if(std::ranges::any_of(
        values, [&](const std::string& pattern) { return fits_name(pattern, packet.interface); }));
  if (key == "source") return match_sources(values, packet.sources);
  if (key == "destination") return match_addresses(values, packet.destination, packet.destination);
  if (key == "destination-type") return yes_if(has(values, {"local"}));
  if (key == "protocol") {
    const std::string_view number = packet.protocol == "tcp" ? "6" : packet.protocol == "udp" ? "17" : "1";
    return yes_if(has(values, {packet.protocol, number, "all"}));
  }
  if (key == "port") return match_ports(values, packet.ports);
  // clients use ports above those of services
  if (key == "source-port") return match_ports(values, {1024, 65535});
  if (key == "state") return yes_if(has(values, {"new"}));
  if (key == "status") return Match::kNo;
  if (key == "icmp-type") return yes_if(has(values, {"echo-request", "8", "8/0", "any", "255"}));
  if (key == "family")
    return yes_if(packet.destination.is_v4() ? has(values, {"ip", "ipv4"}) : has(values, {"ip6", "ipv6"}));
  if (key == "packet-type") return yes_if(has(values, {"host", "unicast"}));
  return key == "tcp-flags" ? match_flags(values) : Match::kMaybe;
}

Match match_rule(const FirewallRule& rule, const Packet& packet) {
  Match all = Match::kYes;
  for (const auto& match : rule.matches) {
    const Match one = match_values(match, packet);
    all = both(all, match.negated ? opposite(one) : one);
  }
  return all;
}

std::string match_text(const FirewallMatch& match) {
  constexpr std::size_t kShown = 3;
  if (match.key == "other") return "something railbed cannot compare";
  const auto shown = std::min(match.values.size(), kShown);
  return fmt::format(
      "{}{} {}{}", match.negated ? "not " : "", match.key,
      fmt::join(match.values.begin(), match.values.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
      shown < match.values.size() ? ", …" : "");
}

std::string chain_text(const FirewallChain& chain) {
  return fmt::format("{} {} {}", chain.family, chain.table, chain.name);
}

std::string rule_text(const FirewallChain& chain, const FirewallRule& rule) {
  std::vector<std::string> matches;
  for (const auto& match : rule.matches) matches.push_back(match_text(match));
  if (matches.empty()) matches.push_back("anything");
  return fmt::format("{}: {} → {}{}", chain_text(chain), fmt::join(matches, ", "), rule.verdict,
                     rule.target.empty() ? "" : " " + rule.target);
}

// The possible ends of a packet in a chain.
struct Ways {
  bool accepts = false;
  bool refuses = false;
  bool rejects = false;  // refuses and notifies the sender
  bool leaves = false;   // returns to the calling chain
  std::string refused_by;
  std::string doubt;  // the first rule that matters and could not be judged
  void add(const Ways& other) {
    accepts = accepts || other.accepts;
    refuses = refuses || other.refuses;
    if (refused_by.empty()) {
      refused_by = other.refused_by;
      rejects = other.rejects;
    }
    if (doubt.empty()) doubt = other.doubt;
  }
};

class Walk {
 public:
  Walk(const Firewall& firewall, const Packet& packet) : packet_(packet) {
    for (const auto& chain : firewall.chains) chains_[{chain.family, chain.table, chain.name}] = &chain;
  }
  Ways through(const FirewallChain& chain, int depth = 0) {
    if (const auto known = known_.find(&chain); known != known_.end()) return known->second;
    // until it is known
    known_[&chain] = {true, true, false, true, "", chain_text(chain) + " leads to itself"};
    Ways ways;
    bool over = false;
    for (std::size_t i = 0; i < chain.rules.size() && !over; ++i)
      over = take(chain, chain.rules[i], depth, ways);
    if (!over) ways.leaves = true;
    known_[&chain] = ways;
    return ways;
  }

 private:
  static constexpr int kDeepest = 16;  // NFT_JUMP_STACK_SIZE, net/netfilter/nf_tables.h

  // Returns the effect of a rule on the packets that it matches.
  Ways effect(const FirewallChain& chain, const FirewallRule& rule, int depth) {
    Ways ways;
    if (rule.verdict == "accept") ways.accepts = true;
    if (rule.verdict == "drop" || rule.verdict == "reject") {
      ways.refuses = true;
      ways.rejects = rule.verdict == "reject";
      ways.refused_by = rule_text(chain, rule);
    }
    if (rule.verdict == "jump" || rule.verdict == "goto") {
      const auto to = chains_.find({chain.family, chain.table, rule.target});
      if (to != chains_.end() && depth < kDeepest) return through(*to->second, depth + 1);
    } else if (rule.verdict != "other") {
      return ways;
    }
    return {true, true, false, true, "", rule_text(chain, rule)};
  }

  // Applies a rule. Returns true if no packet reaches the rules after it.
  bool take(const FirewallChain& chain, const FirewallRule& rule, int depth, Ways& ways) {
    const Match match = rule.verdict.empty() ? Match::kNo : match_rule(rule, packet_);
    if (match == Match::kNo) return false;
    const Ways here = effect(chain, rule, depth);
    ways.add(here);
    if (match == Match::kMaybe && (here.accepts || here.refuses || rule.verdict == "return") &&
        ways.doubt.empty())
      ways.doubt = rule_text(chain, rule);
    const bool comes_back = rule.verdict == "jump" && here.leaves;
    const bool ends_chain = rule.verdict == "return" || (rule.verdict == "goto" && here.leaves);
    if (ends_chain) ways.leaves = true;
    if (rule.verdict == "other") return false;
    return match == Match::kYes && !comes_back;
  }

  const Packet& packet_;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, const FirewallChain*> chains_;
  std::map<const FirewallChain*, Ways> known_;
};

bool sees(const FirewallChain& chain, const Packet& packet) {
  const bool family = chain.family == "inet" || chain.family == (packet.destination.is_v4() ? "ip" : "ip6");
  return family && (chain.hook == "prerouting" || chain.hook == "input");
}

FirewallAnswer outcome_of(Walk& walk, const FirewallChain& chain) {
  Ways ways = walk.through(chain);
  if (ways.leaves && chain.policy == "drop") {
    if (!ways.refuses) ways.refused_by = chain_text(chain) + ": policy drop";
    ways.refuses = true;
  } else if (ways.leaves) {
    ways.accepts = true;
  }
  if (!ways.refuses) return {};
  if (ways.accepts) return {Fate::kUncertain, ways.doubt, &chain};
  return {ways.rejects ? Fate::kRejected : Fate::kDropped, ways.refused_by, &chain};
}

}  // namespace

FirewallAnswer fate_of(const Firewall& firewall, const Packet& packet) {
  Walk walk(firewall, packet);
  FirewallAnswer worst;
  for (const auto& chain : firewall.chains) {
    if (!sees(chain, packet)) continue;
    FirewallAnswer answer = outcome_of(walk, chain);
    if (answer.fate == Fate::kDropped || answer.fate == Fate::kRejected) return answer;
    if (answer.fate == Fate::kUncertain && worst.fate == Fate::kAccepted) worst = std::move(answer);
  }
  return worst;
}

}  // namespace railbed
