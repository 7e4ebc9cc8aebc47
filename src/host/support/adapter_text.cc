// Parses mlxconfig (mstconfig) and mlxfwmanager (mlxup) into the call "adapters". The forms are those of mstflint,
// mlxconfig/mlxcfg_ui.cpp and mlxfwupdate/mlxfwmanager.cpp:
//
//   Device #1:
//   ----------
//   Device type:        ConnectX7
//   Name:               MCX715105AS-WEAT_Ax
//   Device:             0000:17:00.0
//
//   Configurations:                              Default         Current         Next Boot
//   *        ADVANCED_PCI_SETTINGS               False(0)        True(1)         True(1)
//    RO      NUM_OF_PF                           2               2               2
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "host/sent_answers.h"
#include "host/support/texts.h"

namespace railbed {
namespace {

using Column = std::string AdapterSetting::*;

// A value of mlxconfig has no blanks; a description has.
std::string stated(std::string_view text) {
  text = trim(text).substr(0, kMostSentText);
  return text == "N/A" ? "" : printable(text);
}

// Returns the columns of the line that begins with "Configurations:"; none if they are not a query's, as those of a
// change ("Next Boot  New").
std::vector<Column> columns_of(std::string_view header) {
  std::vector<Column> columns;
  for (const auto word : words(header)) {
    if (word == "Default")
      columns.push_back(&AdapterSetting::standard);
    else if (word == "Current")
      columns.push_back(&AdapterSetting::current);
    else if (word == "Next")
      columns.push_back(&AdapterSetting::next);
    else if (word != "Boot")
      return {};
  }
  return columns;
}

bool is_setting_name(std::string_view name) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_[].";
  return name.size() > 1 && name.size() < 128 && !is_digit(name[0]) &&
         name.find_first_not_of(kLetters) == name.npos;
}

// Reads a row: a mark for a value that differs from another column, one for a setting that is read only, name, values.
std::optional<AdapterSetting> setting_in(std::string_view line, const std::vector<Column>& columns) {
  auto parts = words(line);
  while (!parts.empty() && (parts[0] == "*" || parts[0] == "RO" || parts[0] == "*RO"))
    parts.erase(parts.begin());
  if (parts.size() != columns.size() + 1 || columns.empty() || !is_setting_name(parts[0]))
    return std::nullopt;
  AdapterSetting setting;
  setting.name = parts[0];
  for (std::size_t i = 0; i < columns.size(); ++i) setting.*columns[i] = stated(parts[i + 1]);
  return setting;
}

void set_device(AdapterAnswer& adapter, std::string_view device) {
  adapter.device = stated(device);
  adapter.pci_address = full_pci_address(adapter.device);
}

void set_if_empty(std::string& value, std::string_view text) {
  if (value.empty()) value = stated(text);
}

void add_adapter_line(AdapterAnswer& adapter, std::string_view key, std::string_view value) {
  if (key == "Device" || key == "PCI Device Name") set_device(adapter, value);
  if (key == "Device type" || key == "Device Type") set_if_empty(adapter.type, value);
  if (key == "Name" || key == "Part Number") set_if_empty(adapter.part_number, value);
  if (key == "Description") set_if_empty(adapter.description, value);
  if (key == "PSID") set_if_empty(adapter.psid, value);
  if (key == "Status") set_if_empty(adapter.status, value);
}

// Reads "   FW             28.42.1000     28.43.1014", the row of the firmware itself.
void add_versions(AdapterAnswer& adapter, std::string_view line) {
  const auto parts = words(line);
  if (parts.size() < 2 || parts.size() > 3 || parts[0] != "FW") return;
  set_if_empty(adapter.firmware, parts[1]);
  if (parts.size() == 3) set_if_empty(adapter.available, parts[2]);
}

// Returns the adapters of one output.
std::vector<AdapterAnswer> adapters_in(std::string_view text) {
  std::vector<AdapterAnswer> found;
  std::vector<Column> columns;
  const auto current = [&]() -> AdapterAnswer& {
    return found.empty() ? found.emplace_back() : found.back();
  };
  constexpr std::size_t kLongestLine = 4096;
  for (const auto whole : lines(text)) {
    const auto line = whole.substr(0, kLongestLine);
    if (line.starts_with("Device #")) {
      if (found.size() >= kMostSentAdapters) break;
      found.emplace_back();
      columns.clear();
    } else if (const auto pair = key_value(line, ':'); pair && pair->first == "Configurations") {
      columns = columns_of(pair->second);
      current().configured = current().configured || !columns.empty();
    } else if (auto setting = setting_in(line, columns); setting) {
      if (current().settings.size() < kMostSentSettings) current().settings.push_back(std::move(*setting));
    } else if (pair && !pair->second.empty()) {
      add_adapter_line(current(), pair->first, pair->second);
    } else {
      add_versions(current(), line);
    }
  }
  return found;
}

// Adds what `other` states of the same adapter and `adapter` does not.
void merge(AdapterAnswer& adapter, AdapterAnswer other) {
  for (const auto member :
       {&AdapterAnswer::type, &AdapterAnswer::part_number, &AdapterAnswer::description, &AdapterAnswer::psid,
        &AdapterAnswer::firmware, &AdapterAnswer::available, &AdapterAnswer::status})
    if ((adapter.*member).empty()) adapter.*member = std::move(other.*member);
  if (adapter.settings.empty()) adapter.settings = std::move(other.settings);
  adapter.configured = adapter.configured || other.configured;
}

bool is_same(const AdapterAnswer& one, const AdapterAnswer& other) {
  return one.device == other.device || (!one.pci_address.empty() && one.pci_address == other.pci_address);
}

// Firmware and PSID are the card's, so they hold for each of its functions.
void add_to_devices(const AdapterAnswer& adapter, ReportTree& report) {
  constexpr std::string_view kClass = "/sys/class/infiniband";
  if (adapter.pci_address.empty()) return;
  const std::string card = "/" + adapter.pci_address.substr(0, adapter.pci_address.rfind('.') + 1);
  for (const std::string& name : report.names(kClass)) {
    const std::string folder = std::string(kClass) + "/" + name;
    const std::string function = report.resolved(folder + "/device");
    if (function.find(card, function.rfind('/')) == function.npos) continue;
    if (!adapter.firmware.empty()) report.line(folder + "/fw_ver", adapter.firmware);
    if (!adapter.psid.empty()) report.line(folder + "/board_id", adapter.psid);
  }
}

}  // namespace

std::string adapter_device_in(std::string_view text) {
  std::string device;
  for (const AdapterAnswer& adapter : adapters_in(text)) {
    if (!device.empty()) return "";
    device = adapter.device;
  }
  return is_plain_word(device, 128) ? device : "";
}

void add_adapters(const std::vector<AdapterText>& texts, ReportTree& report) {
  std::vector<AdapterAnswer> adapters;
  for (const AdapterText& text : texts) {
    auto found = adapters_in(text.text);
    if (found.size() == 1 && found[0].device.empty()) set_device(found[0], text.device);
    for (AdapterAnswer& one : found) {
      if (one.device.empty()) {
        report.leave_out("`mlxconfig` or `mlxfwmanager`: nothing states which adapter it is of");
        continue;
      }
      const auto known =
          std::ranges::find_if(adapters, [&](const AdapterAnswer& other) { return is_same(one, other); });
      if (known != adapters.end())
        merge(*known, std::move(one));
      else if (adapters.size() < kMostSentAdapters)
        adapters.push_back(std::move(one));
    }
  }
  if (adapters.empty()) return;
  for (const AdapterAnswer& adapter : adapters) add_to_devices(adapter, report);
  report.call("adapters", json::dump(json::encode(adapters)));
}

}  // namespace railbed
