// Recognises what ipmitool prints and keeps it under one command for each kind; bmc/ipmitool_text.h reads it.
#include <algorithm>
#include <string>
#include <string_view>

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

// Returns true for a row of sel list: "3d | 10/02/2025 | 17:33:30 | Memory DIMM A3 | Uncorrectable ECC | Asserted".
bool is_event_row(const std::vector<std::string_view>& columns) {
  if (columns.size() < 3 || !is_hexadecimal(columns[0])) return false;
  const bool has_date = columns[1] == "Pre-Init" || std::ranges::count(columns[1], '/') == 2;
  return columns[1].starts_with("OEM record ") ||
         (has_date && columns.size() >= 5 &&
          (columns[3].starts_with("OEM record ") ||
           (columns.size() >= 6 && (columns[5] == "Asserted" || columns[5] == "Deasserted"))));
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

}  // namespace

std::string_view ipmitool_kind(std::string_view text) {
  const auto head = text.substr(0, kIpmitoolHead);
  const auto has = [&](std::string_view mark) { return head.find(mark) != head.npos; };
  if (head.starts_with("SEL Information") || (head.starts_with("Version  ") && has("\nPercent Used")))
    return "sel info";
  if (head.starts_with("SEL has no entries")) return "sel list";
  if (head.starts_with("Set in Progress ") || head.starts_with("IP Address Source ")) return "lan print";
  if (head.starts_with("FRU Device Description :")) return "fru print";
  if (head.starts_with("Device ID  ") && has("\nIPMI Version ")) return "mc info";
  const auto all = lines(head);
  const auto first = std::ranges::find_if(all, [](std::string_view line) { return !trim(line).empty(); });
  if (first == all.end()) return "";
  const auto columns = columns_in(*first);
  if (is_event_row(columns)) return "sel list";
  if (is_sensor_row(columns)) return "sensor";
  return is_sdr_row(*first, columns) ? "sdr" : "";
}

void add_ipmitool(std::string_view text, ReportTree& report) {
  const auto from = std::min(text.find_first_not_of("\r\n"), text.size());
  const auto kind = ipmitool_kind(text.substr(from));
  if (!kind.empty()) report.command("ipmitool " + std::string(kind), std::string(text.substr(from)));
}

}  // namespace railbed
