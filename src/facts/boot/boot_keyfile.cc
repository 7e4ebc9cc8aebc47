// Parsers of files of "[section]" and "key=value": NetworkManager's connections, and files of
// systemd-networkd and udev.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "facts/boot/boot_section.h"

namespace railbed {
namespace {

constexpr std::size_t kMostGlobs = 16;
constexpr std::size_t kLongestUuid = 36;

bool is_wired_section(std::string_view section) {
  return section == "ethernet" || section == "802-3-ethernet" || section == "infiniband";
}

bool is_wired_type(std::string_view type) {
  return is_wired_section(type) || type == "bond" || type == "vlan" || type == "bridge";
}

bool is_no(std::string_view value) { return value == "false" || value == "no" || value == "0"; }

void add_words(std::string_view text, std::vector<std::string>& all) {
  for (const auto word : words(text))
    if (all.size() < kMostGlobs) all.emplace_back(word.substr(0, 64));
}

// Parses "address1=192.168.100.1/24,192.168.100.254", where the second is the gateway, and
// "addresses=A/24;B/24;".
void add_keyfile_addresses(std::string_view value, BootProfile& says) {
  for (const auto part : split(value, ','))
    for (const auto one : split(part, ';')) add_address(one, says);
}

// Adds a line of [Match] to the section. Criteria other than name, MAC address and driver, and inverted ones,
// make the section undecided.
void take_match(const IniPair& pair, BootSection& section) {
  const bool inverted = pair.value.find('!') != std::string_view::npos;
  if (pair.key == "Name" && !inverted)
    add_words(pair.value, section.names);
  else if ((pair.key == "MACAddress" || pair.key == "PermanentMACAddress") && section.macs.empty())
    add_words(pair.value, section.macs);
  else if (pair.key == "Driver" && !inverted)
    add_words(pair.value, section.drivers);
  else if (pair.key == "OriginalName" && pair.value == "*")
    section.names = {"*"};
  else
    section.undecided = true;  // OriginalName is the kernel's first name, not the current one
}

}  // namespace

std::optional<BootSection> parse_keyfile(std::string_view text) {
  BootSection section;
  section.says.manager = "NetworkManager";
  std::string_view type;
  for (const IniPair& pair : ini_pairs(text)) {
    if (pair.section == "connection") {
      if (pair.key == "type") type = pair.value;
      if (pair.key == "interface-name") add_words(pair.value, section.names);
      if (pair.key == "uuid" && is_plain_word(pair.value, kLongestUuid)) section.says.id = pair.value;
      if (pair.key == "autoconnect" && is_no(pair.value)) return std::nullopt;
    } else if (is_wired_section(pair.section)) {
      if (pair.key == "mac-address") add_words(pair.value, section.macs);
      if (pair.key == "mtu") section.says.mtu = mtu_of(pair.value);
    } else if (pair.section == "match") {
      section.undecided = true;
    } else if (pair.section == "ipv4" || pair.section == "ipv6") {
      if (pair.key == "method" && pair.value == "auto" && pair.section == "ipv4") section.says.dhcp = true;
      if (pair.key.starts_with("address")) add_keyfile_addresses(pair.value, section.says);
    }
  }
  if (!is_wired_type(type)) return std::nullopt;
  return section;
}

std::optional<BootSection> parse_ifcfg(std::string_view text) {
  BootSection section;
  section.says.manager = "NetworkManager";
  std::map<std::string, std::string, std::less<>> values;
  for (const IniPair& pair : ini_pairs(text)) {
    std::string value(pair.value);
    std::erase_if(value, [](char c) { return c == '"' || c == '\''; });
    values.emplace(pair.key, std::move(value));
  }
  if (is_no(lower(values["ONBOOT"]))) return std::nullopt;
  if (!values["DEVICE"].empty()) section.names = {values["DEVICE"]};
  if (!values["HWADDR"].empty()) section.macs = {values["HWADDR"]};
  section.says.mtu = mtu_of(values["MTU"]);
  section.says.dhcp = lower(values["BOOTPROTO"]) == "dhcp";
  for (const std::string_view number : {"", "0", "1", "2", "3"}) {
    const auto numbered = [&](std::string_view key) {
      return values[std::string(key) + std::string(number)];
    };
    const std::string mask = numbered("PREFIX").empty() ? numbered("NETMASK") : numbered("PREFIX");
    add_address(numbered("IPADDR") + "/" + std::to_string(prefix_of_netmask(mask)), section.says);
  }
  return section;
}

BootSection parse_networkd(std::string_view text) {
  BootSection section;
  section.says.manager = "systemd-networkd";
  for (const IniPair& pair : ini_pairs(text)) {
    if (pair.section == "Match") take_match(pair, section);
    if (pair.section == "Link" && pair.key == "MTUBytes") section.says.mtu = mtu_of(pair.value);
    if (pair.section == "Network" && pair.key == "DHCP")
      section.says.dhcp = pair.value == "yes" || pair.value == "true" || pair.value == "ipv4";
    if ((pair.section == "Network" || pair.section == "Address") && pair.key == "Address")
      add_address(pair.value, section.says);
  }
  return section;
}

}  // namespace railbed
