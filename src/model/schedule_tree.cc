#include "model/schedule_tree.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <set>

#include "base/text.h"

namespace railbed {
namespace {

using Switches = std::set<std::size_t>;

constexpr std::size_t kLongestSwitch = 63;  // a value of a Kubernetes label; Slurm has no such limit

bool is_letter_or_digit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Returns whether a scheduler may call a node so (RFC 1123, and Slurm's hostlists).
bool can_name_node(std::string_view name) {
  return !name.empty() && name.size() <= 253 && is_letter_or_digit(name.front()) &&
         is_letter_or_digit(name.back()) && std::ranges::all_of(name, [](char c) {
           return is_letter_or_digit(c) || c == '-' || c == '.' || c == '_';
         });
}

// Returns a name with which no list of Slurm's and no label has trouble: other characters become "-".
std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    const bool kept = is_letter_or_digit(c) || c == '.' || c == '_';
    if (kept)
      plain += c;
    else if (!plain.empty() && plain.back() != '-')
      plain += '-';
  }
  while (!plain.empty() && !is_letter_or_digit(plain.front())) plain.erase(plain.begin());
  plain.resize(std::min(plain.size(), kLongestSwitch));
  while (!plain.empty() && !is_letter_or_digit(plain.back())) plain.pop_back();
  return plain.empty() ? "switch" : plain;
}

// Compares names as people do: leaf2 is before leaf10.
bool before(std::string_view one, std::string_view other) {
  while (!one.empty() && !other.empty()) {
    const auto digits = [](std::string_view text) {
      return std::min(text.find_first_not_of("0123456789"), text.size());
    };
    const std::size_t a = digits(one), b = digits(other);
    if (a > 0 && b > 0) {
      auto left = one.substr(0, a), right = other.substr(0, b);
      while (left.size() > 1 && left.front() == '0') left.remove_prefix(1);
      while (right.size() > 1 && right.front() == '0') right.remove_prefix(1);
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
      one.remove_prefix(a);
      other.remove_prefix(b);
    } else {
      if (one.front() != other.front()) return one.front() < other.front();
      one.remove_prefix(1);
      other.remove_prefix(1);
    }
  }
  return one.size() < other.size();
}

// Nodes that are together, and the switches through which the next level is reached.
struct Unit {
  std::size_t place = 0;  // in ScheduleTree::switches
  Switches own;           // the group's leaves, or the switches of its level
  Switches reach;         // all of its switches so far
};

class TreeMaker {
 public:
  explicit TreeMaker(const Wiring& wiring) : wiring_(wiring) { tree_.notes = wiring.notes; }

  ScheduleTree make() {
    group_nodes();
    int top = 1;
    for (const WiredSwitch& one : wiring_.switches) top = std::max(top, one.level);
    for (int level = 2; level <= top && units_.size() > 1; ++level) join_by_level(level);
    if (units_.size() > 1) join_the_rest(top + 1);
    return std::move(tree_);
  }

 private:
  // Puts each node into the group with its set of leaves, or into one that has all of its leaves and not over
  // twice as many.
  void group_nodes() {
    std::map<Switches, std::vector<std::string>> by_set;
    std::vector<std::string> loose, odd;
    for (const auto& [name, switches] : wiring_.nodes) {
      if (!can_name_node(name))
        odd.push_back(printable(name.substr(0, 80)));
      else if (switches.empty())
        loose.push_back(name);
      else
        by_set[Switches(switches.begin(), switches.end())].push_back(name);
    }
    if (!loose.empty()) note(fmt::format("on no switch, so left out: {}", listed(loose)));
    if (!odd.empty()) note(fmt::format("no scheduler can call a node so, so left out: {}", listed(odd)));
    std::vector<Switches> sets;
    for (const auto& [set, nodes] : by_set) sets.push_back(set);
    std::ranges::stable_sort(sets, [&](const Switches& one, const Switches& other) {
      if (one.size() != other.size()) return one.size() > other.size();
      return by_set.at(one).size() > by_set.at(other).size();
    });
    std::vector<Switches> groups;
    std::map<std::size_t, std::vector<std::size_t>> groups_on;  // by leaf
    for (const Switches& set : sets) {
      const auto& beside = groups_on[*set.begin()];
      const auto whole = std::ranges::find_if(beside, [&](std::size_t group) {
        return set.size() * 2 >= groups[group].size() && std::ranges::includes(groups[group], set);
      });
      if (whole == beside.end()) {
        for (const std::size_t leaf : set) groups_on[leaf].push_back(groups.size());
        groups.push_back(set);
        continue;
      }
      const Switches& group = groups[*whole];
      auto& nodes = by_set.at(group);
      const auto& added = by_set.at(set);
      note(fmt::format("on {} of the {} leaves of their group: {}", set.size(), group.size(), listed(added)));
      nodes.insert(nodes.end(), added.begin(), added.end());
    }
    std::ranges::sort(groups, [&](const Switches& one, const Switches& other) {
      return before(first_name(one), first_name(other));
    });
    for (const Switches& group : groups) {
      auto& nodes = by_set.at(group);
      std::ranges::sort(nodes, before);
      units_.push_back({add(1, group, {}, nodes), group, group});
    }
  }

  // Joins the units that a switch of this level joins, directly or through others of this level's switches.
  void join_by_level(int level) {
    std::vector<Switches> above;
    for (const Unit& unit : units_) {
      Switches found;
      for (const std::size_t one : unit.reach) {
        if (wiring_.switches[one].level == level) found.insert(one);
        for (const std::size_t next : wiring_.switches[one].next)
          if (wiring_.switches[next].level == level) found.insert(next);
      }
      above.push_back(std::move(found));
    }
    join(level, above);
  }

  // Joins what is connected by whatever switches.
  void join_the_rest(int level) {
    std::vector<Switches> connected;
    for (const Unit& unit : units_) {
      Switches found = unit.reach;
      std::vector<std::size_t> open(found.begin(), found.end());
      while (!open.empty()) {
        const std::size_t one = open.back();
        open.pop_back();
        for (const std::size_t next : wiring_.switches[one].next)
          if (found.insert(next).second) open.push_back(next);
      }
      connected.push_back(std::move(found));
    }
    join(level, connected);
    if (units_.size() > 1)
      note(fmt::format("{} parts that no cable joins: no job can span them", units_.size()));
  }

  // Makes one unit of those whose sets overlap. A unit that stays alone gets no switch of its own.
  void join(int level, const std::vector<Switches>& sets) {
    std::vector<std::size_t> root(units_.size());
    std::iota(root.begin(), root.end(), std::size_t{0});
    const auto find = [&](std::size_t unit) {
      while (root[unit] != unit) unit = root[unit] = root[root[unit]];
      return unit;
    };
    std::map<std::size_t, std::size_t> first_with;
    for (std::size_t unit = 0; unit < units_.size(); ++unit)
      for (const std::size_t one : sets[unit]) {
        const auto [first, fresh] = first_with.emplace(one, unit);
        if (!fresh)
          root[std::max(find(unit), find(first->second))] = std::min(find(unit), find(first->second));
      }
    std::map<std::size_t, std::vector<std::size_t>> parts;
    for (std::size_t unit = 0; unit < units_.size(); ++unit) parts[find(unit)].push_back(unit);
    std::vector<Unit> joined;
    for (const auto& [first, members] : parts) {
      Unit unit = units_[first];
      unit.own = sets[first];
      Switches reach = unit.reach;
      for (const std::size_t member : members) {
        unit.own.insert(sets[member].begin(), sets[member].end());
        reach.insert(units_[member].reach.begin(), units_[member].reach.end());
      }
      reach.insert(unit.own.begin(), unit.own.end());
      unit.reach = std::move(reach);
      if (members.size() > 1) {
        std::vector<std::string> children;
        for (const std::size_t member : members)
          children.push_back(tree_.switches[units_[member].place].name);
        Switches standing;  // a switch that has nodes of its own stands for itself already
        for (const std::size_t one : unit.own)
          if (!standing_.contains(one)) standing.insert(one);
        unit.place = add(level, standing, std::move(children), {});
      }
      joined.push_back(std::move(unit));
    }
    units_ = std::move(joined);
  }

  std::string first_name(const Switches& set) const {
    std::string first;
    for (const std::size_t one : set)
      if (first.empty() || before(wiring_.switches[one].name, first)) first = wiring_.switches[one].name;
    return first;
  }

  std::size_t add(int level, const Switches& set, std::vector<std::string> children,
                  std::vector<std::string> nodes) {
    ScheduleSwitch one;
    one.level = level;
    for (const std::size_t number : set) one.switches.push_back(wiring_.switches[number].name);
    standing_.insert(set.begin(), set.end());
    std::ranges::sort(one.switches, before);
    // "leaf01-to-leaf08": a name that a person finds in the room.
    const std::string first = one.switches.empty() ? "fabric" : plain_name(one.switches.front());
    std::string name = first;
    if (one.switches.size() > 1) name = fmt::format("{}-to-{}", first, plain_name(one.switches.back()));
    if (name.size() > kLongestSwitch) name = first;
    one.name = name;
    for (int again = 2; !names_.insert(one.name).second; ++again) {
      const std::string number = fmt::format("-{}", again);
      one.name = name.substr(0, kLongestSwitch - number.size()) + number;
    }
    one.children = std::move(children);
    one.nodes = std::move(nodes);
    tree_.switches.push_back(std::move(one));
    return tree_.switches.size() - 1;
  }

  static std::string listed(const std::vector<std::string>& names) {
    constexpr std::size_t kMost = 16;
    std::vector<std::string> sorted = names;
    std::ranges::sort(sorted, before);
    const std::size_t more = sorted.size() > kMost ? sorted.size() - kMost : 0;
    sorted.resize(sorted.size() - more);
    return fmt::format("{}{}", fmt::join(sorted, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
  }

  void note(std::string text) { tree_.notes.push_back(std::move(text)); }

  const Wiring& wiring_;
  ScheduleTree tree_;
  std::vector<Unit> units_;
  std::set<std::string> names_;
  Switches standing_;  // switches that one of the tree stands for
};

}  // namespace

ScheduleTree schedule_tree(const Wiring& wiring) { return TreeMaker(wiring).make(); }

std::map<std::string, std::vector<std::string>> switches_above(const ScheduleTree& tree) {
  std::map<std::string, std::string> parent;
  for (const ScheduleSwitch& one : tree.switches)
    for (const std::string& child : one.children) parent[child] = one.name;
  std::map<std::string, std::vector<std::string>> above;
  for (const ScheduleSwitch& one : tree.switches)
    for (const std::string& node : one.nodes)
      for (std::string at = one.name;; at = parent.at(at)) {
        above[node].push_back(at);
        if (!parent.contains(at)) break;
      }
  return above;
}

}  // namespace railbed
