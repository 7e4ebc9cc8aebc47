#include "fabric/named_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"

namespace railbed {
namespace {

constexpr std::size_t kHead = 64 << 10;
constexpr std::size_t kLongestShown = 100;

std::string shown(std::string_view text) { return printable(trim(text).substr(0, kLongestShown)); }

// Returns the first line that has neither a warning of libibmad nor nothing.
std::string_view first_line(std::string_view text) {
  for (const std::string_view line : lines(text.substr(0, kHead)))
    if (const auto trimmed = trim(line); !trimmed.empty() && !trimmed.starts_with("ibwarn: ["))
      return trimmed;
  return {};
}

// Returns the text between two others; empty if it has not both.
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  const auto at = text.find(before);
  const auto rest = at == text.npos ? std::string_view() : text.substr(at + before.size());
  const auto end = rest.find(after);
  return end == rest.npos ? std::string_view() : rest.substr(0, end);
}

// "sminfo: sm lid 1 sm guid 0x…, activity count 506 priority 14 state 3 SMINFO_MASTER"
std::string of_manager(std::string_view text) {
  const auto line = first_line(text);
  constexpr std::string_view kState = "SMINFO_";
  if (!line.starts_with("sminfo: sm lid ") || line.rfind(kState) == line.npos) return "";
  return fmt::format(
      "a subnet manager by sminfo: LID {}, priority {}, {}; `railbed fabric sm` judges the managers of a subnet",
      shown(between(line, "sm lid ", " ")), shown(between(line, "priority ", " ")),
      shown(line.substr(line.rfind(kState) + kState.size())));
}

// "10 packets transmitted, 10 received, 0% packet loss, time 10000 ms" below "--- node01.(none) (Lid 5) ibping
// statistics ---"
std::string of_ping(std::string_view text) {
  constexpr std::string_view kMark = " ibping statistics ---";
  text = text.substr(0, std::min<std::size_t>(text.size(), 8 << 20));
  const auto mark = text.rfind(kMark);
  if (mark == text.npos) return "";
  const auto line_at = text.rfind('\n', mark);
  auto who = trim(
      text.substr(line_at == text.npos ? 0 : line_at + 1, mark - (line_at == text.npos ? 0 : line_at + 1)));
  if (who.starts_with("--- ")) who.remove_prefix(4);
  const auto rest = text.substr(mark + kMark.size());
  const auto sent = parse_number<std::uint64_t>(trim(rest.substr(0, rest.find(" packets transmitted"))));
  const auto received =
      parse_number<std::uint64_t>(trim(between(rest, "packets transmitted, ", " received")));
  if (!sent || !received) return "";
  const std::string counts =
      fmt::format("ibping of {}: {} of {} packets returned", shown(who), *received, *sent);
  if (*received == *sent)
    return counts + "; the way through the subnet works, its speed and its errors are in other outputs";
  if (*received > 0) return counts + "; for where the others are lost, give `ibqueryerrors` of the subnet";
  return counts +
         "; see that `ibping -S` runs at the other end, that the LID is its port's (ibstat), and give `iblinkinfo`";
}

// Records of the subnet administrator: "NodeRecord dump:", "PortInfoRecord dump:".
std::string of_records(std::string_view text) {
  const auto line = first_line(text);
  constexpr std::string_view kDump = " dump:";
  if (!line.ends_with(kDump) || line.find("Record") == line.npos || line.find(' ') != line.rfind(kDump))
    return "";
  return fmt::format(
      "{}s of a subnet's administrator by saquery, which are not judged; `iblinkinfo` and `ibnetdiscover` of the same "
      "subnet are",
      shown(line.substr(0, line.size() - kDump.size())));
}

// Tables of ibswinfo: "PSU0 status        | OK", and with -o status "psu0.status : OK".
bool is_switch_table(std::string_view text) {
  const auto head = text.substr(0, kHead);
  return head.find("uptime (d-h:m:s)") != head.npos || head.find("psu0.status") != head.npos ||
         head.find("psu1.status") != head.npos;
}

struct SwitchRow {
  std::string_view key, value;
  int supply = -1;             // its number, of "PSU0 status" and "psu0.dc"; -1: none is named
  std::string_view part = {};  // "status", "dc", "fan"; empty for what is no state of a supply
};

std::optional<SwitchRow> switch_row(std::string_view line) {
  const auto bar = line.find_first_of("|:");
  if (bar == line.npos) return std::nullopt;
  SwitchRow row{trim(line.substr(0, bar)), trim(line.substr(bar + 1))};
  const auto begin = row.key.substr(0, 3);
  const auto end = row.key.find_first_of(" .");
  if (end != row.key.npos && end > 3 && (begin == "PSU" || begin == "psu")) {
    row.supply = parse_number<int>(row.key.substr(3, end - 3)).value_or(-1);
    const auto part = row.key.substr(end + 1);
    if (row.supply >= 0 && (part == "status" || part == "dc" || part == "fan")) row.part = part;
  }
  if (row.key == "DC power") row.part = "dc";
  if (row.key == "fan status") row.part = "fan";
  return row;
}

// The power supplies of the switches in a text, and the lines about them.
struct SwitchSupplies {
  struct Supply {
    int number = 0;
    bool is_bad = false;
    bool indented = false;                            // as its rows below the first are
    std::vector<std::size_t> states = {}, fans = {};  // lines
  };
  struct Switch {
    bool has_firmware = true;
    std::vector<Supply> supplies = {};
    bool all_bad() const { return std::ranges::all_of(supplies, &Supply::is_bad); }
  };
  std::vector<Switch> switches = std::vector<Switch>(1);
  bool open = false;  // the next rows may be of the last supply

  void take(std::string_view line, std::size_t number) {
    if (trim(line).starts_with("---")) open = false;
    const auto row = switch_row(line);
    if (!row) return;
    if (row->key == "part number") start();
    if (row->key == "firmware version" && row->value == "0.0000.0000") switches.back().has_firmware = false;
    if (row->part.empty()) return;
    if (row->supply >= 0 && row->part == "status") {
      auto& supplies = switches.back().supplies;
      if (!supplies.empty() && row->supply <= supplies.back().number) start();
      switches.back().supplies.push_back({.number = row->supply});
      open = true;
    }
    if (!open) return;
    Supply& last = switches.back().supplies.back();
    const bool indented = line.starts_with(' ') || line.starts_with('\t');
    if (row->part == "dc") last.indented = indented;
    // A switch's own fans have a row of the same name.
    if (row->part == "fan" && row->supply < 0 && indented != last.indented) return;
    (row->part == "fan" ? last.fans : last.states).push_back(number);
    last.is_bad |= row->part != "fan" && row->value == "ERROR";
  }

  void start() {
    switches.emplace_back();
    open = false;
  }
};

SwitchSupplies supplies_in(std::string_view text) {
  SwitchSupplies all;
  std::size_t number = 0;
  for (const std::string_view line : lines(text)) all.take(line, number++);
  return all;
}

std::string of_switch(std::string_view text) {
  const auto head = text.substr(0, kHead);
  if (!is_switch_table(head)) return "";
  std::size_t states = 0, bad = 0;
  std::string_view part;
  for (const std::string_view line : lines(head)) {
    const auto row = switch_row(line);
    if (!row) continue;
    if (row->key == "part number") part = row->value;
    const bool is_state = !row->part.empty() || row->key == "fans";
    if (!is_state || (row->value != "OK" && row->value != "ERROR")) continue;
    ++states;
    bad += row->value == "ERROR" ? 1 : 0;
  }
  if (states == 0) return "";
  std::string what = fmt::format("a switch{} by ibswinfo: {} of {} states of power supplies and fans OK",
                                 part.empty() ? "" : " (" + shown(part) + ")", states - bad, states);
  for (const auto& one : supplies_in(head).switches)
    if (std::ranges::any_of(one.supplies, &SwitchSupplies::Supply::is_bad) &&
        (one.all_bad() || !one.has_firmware))
      return what + fmt::format("; how its power supplies are is not known: {}; their LEDs show it",
                                one.has_firmware ? "none reads OK, yet the switch responds"
                                                 : "ibswinfo could not read the firmware's version either");
  return what;
}

// "uptime (sec)       : 16982312", "fan#1.speed (rpm)  : 6355"; "node_desription : leaf1" (as ibswinfo spells it)
std::string of_part_of_switch(std::string_view text) {
  const auto line = first_line(text);
  const auto head = text.substr(0, kHead);
  if (line.starts_with("uptime (sec) ") && head.find(".speed (rpm)") != head.npos)
    return "temperatures, watts and speeds of fans of a switch (ibswinfo -o vitals), which have no limit in it; `ibswinfo` "
           "without -o has the states of fans and power supplies as well";
  if (line.starts_with("node_des") && head.find("\npart_number") != head.npos)
    return "what a switch is (ibswinfo -o inventory); `ibswinfo` without -o has the states of fans and power supplies";
  return "";
}

// "Switch\t: 0x0000000000200001 ports 8 "leaf1" base port 0 lid 3 lmc 0", "Ca\t: 0x… ports 2 "node01 mlx5_0""
std::string of_node_list(std::string_view text) {
  const auto line = first_line(text);
  const auto colon = line.find(':');
  const auto kind = trim(line.substr(0, colon));
  const bool is_list = colon != line.npos && (kind == "Switch" || kind == "Ca") &&
                       trim(line.substr(colon + 1)).starts_with("0x") && line.find(" ports ") != line.npos;
  return is_list
             ? "a list of nodes by ibnodes, ibhosts or ibswitches, which has no links; `iblinkinfo` and `ibnetdiscover` "
               "of the same subnet are judged"
             : "";
}

// A file of ibdiagnet's that holds nothing for the rules.
std::string of_ibdiagnet(std::string_view text) {
  const auto head = text.substr(0, kHead);
  const bool is_log = head.find("\n-I- ") != head.npos && head.find("ibdiagnet") != head.npos;
  if (head.substr(0, 512).find("automatically generated by IBDIAG") == head.npos && !is_log) return "";
  return "a file of ibdiagnet's of which nothing is judged; ibdiagnet2.db_csv and ibdiagnet2.net_dump beside it hold the "
         "subnet, ibdiagnet2.pm its error counters";
}

// Heads of perfquery's and smpquery's other attributes.
std::string of_attribute(std::string_view text) {
  const auto line = first_line(text);
  constexpr std::pair<std::string_view, std::string_view> kHeads[] = {
      {"# PortRcvErrorDetails counters: ",
       "why a port counted PortRcvErrors (perfquery -E): `perfquery` without -E, or "
       "ibqueryerrors, has the counters that are judged"},
      {"# PortXmitDiscardDetails counters: ",
       "why a port discarded packets (perfquery -D): `perfquery` without -D, or "
       "ibqueryerrors, has the counters that are judged"},
      {"Unicast lids [0x", "a switch's forwarding table by ibroute, which is not judged"},
      {"Multicast mlids [0x", "a switch's forwarding table by ibroute, which is not judged"},
      {"From ca {0x", "a way through the subnet by ibtracert; `iblinkinfo` has the states of its links"},
      {"From switch {0x", "a way through the subnet by ibtracert; `iblinkinfo` has the states of its links"},
      {"GID fe80:", "a port's addresses by ibaddr, which are not judged; `ibstat` has its state"},
      {"# Switch info: ", "a switch's own settings by smpquery, which are not judged"},
      {"# Node description: ", "a node's name by smpquery, which is not judged"},
      {"# Guid info: ", "a port's GUIDs by smpquery, which are not judged"},
      {"# P_Key table: ", "a port's partitions by smpquery, which are not judged"},
      {"# SL2VL table: ", "a port's virtual lanes by smpquery, which are not judged"}};
  for (const auto& [begin, what] : kHeads)
    if (line.starts_with(begin)) return std::string(what);
  return "";
}

}  // namespace

std::string without_unknown_supplies(std::string_view text) {
  if (!is_switch_table(text)) return std::string(text);
  std::set<std::size_t> unknown;
  for (const auto& one : supplies_in(text).switches)
    for (const auto& supply : one.supplies) {
      if (!supply.is_bad) continue;
      unknown.insert(supply.fans.begin(), supply.fans.end());
      if (one.all_bad() || !one.has_firmware) unknown.insert(supply.states.begin(), supply.states.end());
    }
  std::string kept;
  std::size_t number = 0;
  for (const std::string_view line : lines(text)) {
    if (!unknown.contains(number++)) kept.append(line);
    kept.append("\n");
  }
  return kept;
}

std::string named_fabric_text(std::string_view text) {
  for (const auto find : {of_manager, of_ping, of_records, of_switch, of_part_of_switch, of_node_list,
                          of_ibdiagnet, of_attribute})
    if (std::string what = find(text); !what.empty()) return what;
  return "";
}

}  // namespace railbed
