// Recognises what ipmitool prints and keeps it under one command for each kind; bmc/ipmitool_text.h reads it.
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "host/support/texts.h"

namespace railbed {
namespace {

constexpr std::size_t kIpmitoolHead = 64 << 10;

std::vector<std::string_view> columns_in(std::string_view line) {
  auto columns = split(line, '|');
  for (auto& column : columns) column = trim(column);
  return columns;
}

bool is_state(std::string_view word) {
  constexpr std::string_view kStates[] = {"ok",  "ns",  "nc",  "cr",  "nr",  "na",
                                          "lnc", "lcr", "lnr", "unc", "ucr", "unr"};
  return std::ranges::find(kStates, word) != std::end(kStates);
}

bool is_hexadecimal(std::string_view word) {
  return !word.empty() && word.size() <= 4 && word.find_first_not_of("0123456789abcdef") == word.npos;
}

// Returns true for "17:33:30", "17:33:30 UTC" and "11:31:42 PM EST".
bool is_clock(std::string_view text) {
  return text.size() >= 8 && text[2] == ':' && text[5] == ':' && is_digit(text[0]) && is_digit(text[7]);
}

// Returns true for a row of sel list: "3d | 10/02/2025 | 17:33:30 | Memory DIMM A3 | Uncorrectable ECC | Asserted". The
// date is that of a locale; old versions leave the direction out for many sensors.
bool is_event_row(const std::vector<std::string_view>& columns) {
  if (columns.size() < 2 || !is_hexadecimal(columns[0])) return false;
  if (columns[1].starts_with("OEM record ") || columns[1].starts_with("Linux kernel panic: ")) return true;
  if (columns.size() < 5) return false;
  const auto count = [&](char between) { return std::ranges::count(columns[1], between) == 2; };
  return columns[1] == "Pre-Init" || ((count('/') || count('.') || count('-')) && is_clock(columns[2]));
}

bool is_sensor_row(const std::vector<std::string_view>& columns) {
  return columns.size() == 10 &&
         (is_state(columns[3]) || (columns[2] == "discrete" && columns[3].starts_with("0x")));
}

// Returns true for what sdr prints as a reading: "45 degrees C", "0x01", "no reading".
bool is_sdr_reading(std::string_view text) {
  constexpr std::string_view kOthers[] = {"no reading", "No Reading", "disabled", "Disabled", "Not Readable"};
  return std::ranges::find(kOthers, text) != std::end(kOthers) ||
         (!text.empty() && (is_digit(text[0]) || text[0] == '-'));
}

// Many tools print three columns and "ok" in the last; sdr pads its names to 16 characters.
bool is_sdr_row(std::string_view line, const std::vector<std::string_view>& columns) {
  constexpr std::size_t kName = 17;
  return (columns.size() == 3 && is_state(columns[2]) && is_sdr_reading(columns[1]) &&
          line.find('|') >= kName) ||
         (columns.size() == 5 && columns[1].size() == 3 && columns[1].ends_with('h') && is_state(columns[2]));
}

// Returns true if columns are those of sdr elist: "CPU1 Temp | 01h | ok | 3.1 | 45 degrees C".
bool is_long_sdr(const std::vector<std::string_view>& columns) { return columns.size() == 5; }

// Returns the kind of a table by its first line; empty if it is none of ipmitool.
std::string_view kind_of_row(std::string_view line) {
  const auto columns = columns_in(line);
  if (is_event_row(columns)) return "sel list";
  if (is_sensor_row(columns)) return "sensor";
  if (!is_sdr_row(line, columns)) return "";
  return is_long_sdr(columns) ? "sdr elist" : "sdr";
}

// ipmitool mixes its messages ("Get HPM.x Capabilities request failed", "Unable to send command") into its tables.
std::string_view kind_of_table(std::string_view head) {
  constexpr std::size_t kMostMessages = 4;
  std::size_t messages = 0;
  for (const auto line : lines(head)) {
    if (trim(line).empty()) continue;
    if (line.find('|') != line.npos) return kind_of_row(line);
    if (++messages > kMostMessages) break;
  }
  return "";
}

bool is_inventory(std::string_view head) {
  if (head.starts_with("FRU Device Description :")) return true;
  const auto first = trim(head.substr(0, head.find('\n')));
  return (first.starts_with("Chassis Type  ") || first.starts_with("Board Mfg")) &&
         (head.find("\n Board ") != head.npos || head.find("\n Product ") != head.npos);
}

}  // namespace

std::string_view ipmitool_command(std::string_view text) {
  const auto head = text.substr(0, kIpmitoolHead);
  const auto has = [&](std::string_view mark) { return head.find(mark) != head.npos; };
  if (head.starts_with("SEL Information") || (head.starts_with("Version  ") && has("\nPercent Used")))
    return "sel info";
  if (head.starts_with("SEL has no entries")) return "sel list";
  if (head.starts_with("Set in Progress ") || head.starts_with("IP Address Source ")) return "lan print";
  if (is_inventory(head)) return "fru print";
  if (head.starts_with("Device ID  ") && has("\nIPMI Version ")) return "mc info";
  if (head.starts_with("System Power  ") && has("\nPower Restore Policy ")) return "chassis status";
  return kind_of_table(head);
}

std::string_view ipmitool_kind(std::string_view text) {
  const auto command = ipmitool_command(text);
  return command == "sdr elist" ? "sdr" : command;
}

void add_ipmitool(const std::vector<IpmitoolOutput>& outputs, ReportTree& report) {
  struct Kept {
    std::string text;
    bool in_part = false;
  };
  std::map<std::string, Kept, std::less<>> kept;
  for (const IpmitoolOutput& output : outputs) {
    const auto text = output.text.substr(std::min(output.text.find_first_not_of("\r\n"), output.text.size()));
    const auto kind = ipmitool_kind(text);
    if (kind.empty()) continue;
    const auto [at, is_new] = kept.try_emplace(std::string(kind), Kept{std::string(text), output.in_part});
    if (is_new) continue;
    // A whole table counts more than parts of it, and parts count together: `sdr type Fan`, `sdr type Temperature`.
    if (!at->second.in_part) continue;
    if (output.in_part)
      at->second.text.append("\n").append(text);
    else
      at->second = {std::string(text), false};
  }
  for (auto& [kind, output] : kept)
    report.command("ipmitool " + kind + (output.in_part ? std::string(kIpmitoolPart) : ""),
                   std::move(output.text));
}

}  // namespace railbed
