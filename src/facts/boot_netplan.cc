// netplan: netplan.io/reference, "YAML configuration". Files are merged as netplan-generate(8) describes:
// lists grow, other values are replaced.
#include <algorithm>

#include "base/text.h"
#include "facts/boot_section.h"

namespace railbed {
namespace {

constexpr std::size_t kMostDevices = 512;
constexpr std::size_t kMostNames = 16;
constexpr std::size_t kLongestId = 63;
constexpr std::string_view kKinds[] = {"ethernets", "bonds", "vlans", "bridges"};

const YamlValue* value_of(const YamlValue* mapping, std::string_view key) {
  if (mapping == nullptr || mapping->kind != YamlValue::Kind::kMapping) return nullptr;
  for (std::size_t i = 0; i < mapping->keys.size(); ++i)
    if (mapping->keys[i].text == key) return &mapping->items[i];
  return nullptr;
}

std::string text_of(const YamlValue* mapping, std::string_view key) {
  const YamlValue* value = value_of(mapping, key);
  return value == nullptr ? "" : value->text;
}

// Returns true for a true boolean of YAML 1.1, which netplan's parser follows.
bool is_true(std::string_view text) {
  const std::string word = lower(text);
  return word == "true" || word == "yes" || word == "on" || word == "y";
}

std::vector<std::string> names_of(const YamlValue* value) {
  if (value == nullptr || value->kind == YamlValue::Kind::kMapping) return {};
  if (value->kind == YamlValue::Kind::kText) return {value->text};
  std::vector<std::string> names;
  for (const YamlValue& yaml_value : value->items)
    if (names.size() < kMostNames) names.push_back(yaml_value.text);
  return names;
}

// Adds a list of "10.0.0.1/24". Each entry is a text, or the key of the address's options.
void add_netplan_addresses(const YamlValue* list, BootProfile& says) {
  if (list == nullptr || list->kind != YamlValue::Kind::kList) return;
  for (const YamlValue& value : list->items) {
    add_address(value.text, says);
    for (const YamlKey& key : value.keys) add_address(key.text, says);
  }
}

// Reads the settings that NetworkManager stored there because netplan has no key for them.
void take_passthrough(const YamlValue* networkmanager, BootProfile& says, bool& starts) {
  const YamlValue* all = value_of(networkmanager, "passthrough");
  if (all == nullptr) return;
  for (std::size_t i = 0; i < all->keys.size(); ++i) {
    const std::string_view key = all->keys[i].text, value = all->items[i].text;
    if (key == "ethernet.mtu") says.mtu = mtu_of(value);
    if (key.starts_with("ipv4.address") || key.starts_with("ipv6.address"))
      add_address(value.substr(0, value.find(',')), says);
    if (key == "connection.autoconnect" && value == "false") starts = false;
  }
}

}  // namespace

bool is_netplan_kind(std::string_view key) { return std::ranges::find(kKinds, key) != std::end(kKinds); }

bool is_empty_yaml(std::string_view text) {
  return std::ranges::all_of(lines(text), [](std::string_view line) {
    line = trim(line);
    return line.empty() || line.starts_with('#') || line == "---";
  });
}

bool Netplan::add(std::string_view text, const std::string& file) {
  if (is_empty_yaml(text)) return true;
  Complaints complaints(text, file);
  const auto root = parse_yaml(text, complaints);
  if (!root) return false;
  const YamlValue* network = value_of(&*root, "network");
  if (const std::string renderer = text_of(network, "renderer"); !renderer.empty()) renderer_ = renderer;
  for (const auto kind : kKinds) {
    const YamlValue* all = value_of(network, kind);
    if (all == nullptr) continue;
    const std::string own = text_of(all, "renderer");
    for (std::size_t i = 0; i < all->keys.size(); ++i) {
      const std::string& id = all->keys[i].text;
      if (id == "renderer" || !is_plain_word(id, kLongestId)) continue;
      add_device(id, all->items[i], own, file);
    }
  }
  return true;
}

// Merges one definition into the device `id`: addresses are added, all other values replace earlier ones.
void Netplan::add_device(const std::string& id, const YamlValue& value, const std::string& renderer_of_kind,
                         const std::string& file) {
  auto found = std::ranges::find(devices_, id, &std::pair<std::string, Device>::first);
  if (found == devices_.end()) {
    if (devices_.size() >= kMostDevices) return;
    found = devices_.insert(found, {id, {}});
    found->second.section.says.id = id;
  }
  Device& device = found->second;
  BootProfile& says = device.section.says;
  says.file = file;
  if (const YamlValue* match = value_of(&value, "match")) {
    device.has_match = true;
    device.section.names = names_of(value_of(match, "name"));
    device.section.macs = names_of(value_of(match, "macaddress"));
    device.section.drivers = names_of(value_of(match, "driver"));
  }
  if (const YamlValue* name = value_of(&value, "set-name")) device.set_name = name->text;
  if (const YamlValue* mtu = value_of(&value, "mtu")) says.mtu = mtu_of(mtu->text);
  if (const YamlValue* dhcp = value_of(&value, "dhcp4")) says.dhcp = is_true(dhcp->text);
  for (const std::string& renderer : {renderer_of_kind, text_of(&value, "renderer")})
    if (!renderer.empty()) device.renderer = renderer;
  if (value_of(&value, "activation-mode") != nullptr) device.starts = false;
  add_netplan_addresses(value_of(&value, "addresses"), says);
  take_passthrough(value_of(&value, "networkmanager"), says, device.starts);
}

std::vector<BootSection> Netplan::sections() const {
  std::vector<BootSection> all;
  for (const auto& [id, device] : devices_) {
    if (!device.starts) continue;
    BootSection section = device.section;
    if (!device.has_match) section.names = {id};
    // If netplan renames the interface, it has the new name now.
    if (device.set_name && !section.names.empty()) section.names.push_back(*device.set_name);
    const std::string& renderer = device.renderer.empty() ? renderer_ : device.renderer;
    section.says.manager = renderer == "NetworkManager" ? "NetworkManager" : "systemd-networkd";
    all.push_back(std::move(section));
  }
  return all;
}

}  // namespace railbed
