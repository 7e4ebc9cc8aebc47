// Reduces files that configure interfaces to what a captured tree keeps. They also hold pass phrases and the
// names of wireless networks. The parsers get the same sections from the reduced text.
#include <algorithm>

#include "base/text.h"
#include "facts/boot/boot_section.h"

namespace railbed {
namespace {

// Keys of any section; of NetworkManager's, of ifcfg files and of systemd-networkd's.
constexpr std::string_view kUsedKeys[] = {"type",
                                          "interface-name",
                                          "uuid",
                                          "autoconnect",
                                          "mac-address",
                                          "mtu",
                                          "method",  //
                                          "ONBOOT",
                                          "DEVICE",
                                          "HWADDR",
                                          "MTU",
                                          "BOOTPROTO",
                                          "Name",
                                          "MACAddress",
                                          "Driver",  //
                                          "PermanentMACAddress",
                                          "OriginalName",
                                          "MTUBytes",
                                          "DHCP",
                                          "Address"};
constexpr std::string_view kUsedStarts[] = {"address", "IPADDR", "PREFIX", "NETMASK"};
constexpr std::string_view kUsedOfDevice[] = {"match",    "set-name",        "mtu",       "dhcp4",
                                              "renderer", "activation-mode", "addresses", "networkmanager"};

bool is_used(const IniPair& pair) {
  const auto starts = [&](std::string_view one) { return pair.key.starts_with(one); };
  return std::ranges::find(kUsedKeys, pair.key) != std::end(kUsedKeys) ||
         std::ranges::any_of(kUsedStarts, starts);
}

// The presence of such a key in [Match] makes it undecided which interface the file applies to. Its value is
// masked, because an SSID reveals where the machine was.
bool only_restricts(const IniPair& pair) { return pair.section == "Match" || pair.section == "match"; }

// Returns the pairs that a parser uses, under their sections. Criteria of [Match] that are not used stay as
// "masked".
std::string used_pairs(std::string_view text) {
  std::string used;
  std::string_view section;
  for (const IniPair& pair : ini_pairs(text)) {
    const bool used_pair = is_used(pair);
    if (!used_pair && !only_restricts(pair)) continue;
    if (pair.section != section) used += "[" + std::string(pair.section) + "]\n";
    section = pair.section;
    used += std::string(pair.key) + "=" + (used_pair ? std::string(pair.value) : "masked") + "\n";
  }
  return used;
}

template <class Keep>
std::string flow(const YamlValue& value, const Keep& keep) {
  if (value.kind == YamlValue::Kind::kText) return yaml_quoted(value.text);
  const bool mapping = value.kind == YamlValue::Kind::kMapping;
  std::string text;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    if (mapping && !keep(value.keys[i].text)) continue;
    text += text.empty() ? "" : ", ";
    if (mapping) text += yaml_quoted(value.keys[i].text) + ": ";
    text += flow(value.items[i], keep);
  }
  if (value.kind == YamlValue::Kind::kNothing) return "~";
  return mapping ? "{" + text + "}" : "[" + text + "]";
}

bool is_used_below_device(std::string_view key) {
  static constexpr std::string_view kKeys[] = {
      "name", "macaddress", "driver", "passthrough", "connection.autoconnect", "ethernet.mtu"};
  return std::ranges::find(kUsedOfDevice, key) != std::end(kUsedOfDevice) ||
         std::ranges::find(kKeys, key) != std::end(kKeys) || key.starts_with("ipv4.address") ||
         key.starts_with("ipv6.address") || key.find('/') != std::string_view::npos;
}

// Returns "ethernets: {…}" as one line. The names of devices are not secret.
std::string used_kind(const YamlValue& kind) {
  std::string text;
  for (std::size_t i = 0; i < kind.keys.size(); ++i)
    text += (i > 0 ? ", " : "") + yaml_quoted(kind.keys[i].text) + ": " +
            flow(kind.items[i], is_used_below_device);
  return "{" + text + "}";
}

// Writes netplan's file again with the keys that Netplan reads, one line per kind of device.
std::string used_netplan(std::string_view text) {
  Complaints complaints(text, "");
  const auto root = parse_yaml(text, complaints);
  if (!root) return is_empty_yaml(text) ? "" : "[\n";  // still not valid YAML
  std::string used = "network:\n  version: 2\n";
  for (std::size_t i = 0; i < root->keys.size(); ++i) {
    if (root->keys[i].text != "network") continue;
    const YamlValue& network = root->items[i];
    for (std::size_t j = 0; j < network.keys.size(); ++j) {
      const std::string& key = network.keys[j].text;
      if (key == "renderer") used += "  renderer: " + yaml_quoted(network.items[j].text) + "\n";
      if (is_netplan_kind(key)) used += "  " + key + ": " + used_kind(network.items[j]) + "\n";
    }
    break;
  }
  return used;
}

// Returns how many words of a line with this first word are used; no parser reads the rest.
std::size_t words_used(std::string_view first) {
  constexpr std::size_t kMany = 64;  // names of interfaces, files
  if (first == "iface") return 4;
  return first == "auto" || first.starts_with("allow-") || first.starts_with("source") ? kMany : 2;
}

std::string first_words(const std::vector<std::string_view>& columns, std::size_t count) {
  std::string kept;
  for (std::size_t i = 0; i < std::min(count, columns.size()) && !columns[i].starts_with('#'); ++i)
    kept += (i == 0 ? "" : " ") + std::string(columns[i]);
  return kept;
}

// Writes interfaces(5) again with the lines and words that parse_ifupdown() reads. Of commands only "mtu
// VALUE" and "add VALUE" stay.
std::string used_ifupdown(std::string_view text) {
  std::string used;
  for (const auto line : lines(text)) {
    const auto columns = words(line);
    if (columns.empty() || columns[0].starts_with('#')) continue;
    const bool command = columns[0] == "up" || columns[0] == "pre-up" || columns[0] == "post-up";
    for (std::size_t i = 1; command && i + 1 < columns.size(); ++i)
      if (columns[i] == "mtu" || columns[i] == "add")
        used += "up " + std::string(columns[i]) + " " + std::string(columns[i + 1]) + "\n";
    static constexpr std::string_view kWords[] = {"auto",    "iface",   "source",  "source-directory",
                                                  "mapping", "address", "netmask", "mtu"};
    if (std::ranges::find(kWords, columns[0]) != std::end(kWords) || columns[0].starts_with("allow-") ||
        columns[0].starts_with("source"))
      used += first_words(columns, words_used(columns[0])) + "\n";
  }
  return used;
}

bool is_in(std::string_view path, std::string_view folder) {
  return path.find(folder) != std::string_view::npos;
}

}  // namespace

bool is_boot_file(std::string_view path) {
  return is_in(path, "/netplan/") || is_in(path, "/system-connections/") ||
         is_in(path, "/network-scripts/") || is_in(path, "/systemd/network/") ||
         path.starts_with("/etc/network/");
}

std::string used_boot_file(std::string_view path, std::string_view text) {
  if (is_in(path, "/netplan/")) return used_netplan(text);
  if (path.starts_with("/etc/network/")) return used_ifupdown(text);
  if (is_in(path, "/system-connections/") && !parse_keyfile(text)) return "";
  return used_pairs(text);
}

}  // namespace railbed
