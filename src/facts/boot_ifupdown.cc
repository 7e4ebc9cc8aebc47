// ifupdown: interfaces(5) of Debian.
#include <algorithm>

#include "base/text.h"
#include "facts/boot_section.h"

namespace railbed {
namespace {

constexpr std::size_t kMostStanzas = 256;

struct Ifupdown {
  std::vector<std::string> starts;  // "auto" and "allow-hotplug"
  std::vector<BootSection> stanzas;
};

// "up ip link set dev $IFACE mtu 9000", "post-up ip address add 10.0.0.1/24 dev ens6"
void take_command(const std::vector<std::string_view>& words, BootProfile& says) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i - 1] == "mtu") says.mtu = mtu_of(words[i]);
    if (words[i - 1] == "add") add_address(words[i], says);
  }
}

void take_option(const std::vector<std::string_view>& words, BootProfile& says, std::string& bare) {
  if (words.size() < 2) return;
  if (words[0] == "mtu") says.mtu = mtu_of(words[1]);
  if (words[0] == "address" && words[1].find('/') != std::string_view::npos) add_address(words[1], says);
  if (words[0] == "address" && words[1].find('/') == std::string_view::npos) bare = words[1];
  if (words[0] == "netmask" && !bare.empty())
    add_address(bare + "/" + std::to_string(prefix_of_netmask(words[1])), says);
  if (words[0] == "up" || words[0] == "pre-up" || words[0] == "post-up") take_command(words, says);
}

// Returns the section of an interface. An interface has one stanza for each family of addresses; they share a
// section. Null if there are too many interfaces.
BootProfile* stanza_of(std::string_view name, Ifupdown& found) {
  const auto same = [&](const BootSection& section) { return section.names.front() == name; };
  const auto earlier = std::ranges::find_if(found.stanzas, same);
  if (earlier != found.stanzas.end()) return &earlier->says;
  if (found.stanzas.size() >= kMostStanzas) return nullptr;
  BootSection& added = found.stanzas.emplace_back();
  added.names = {std::string(name)};
  added.says.manager = "ifupdown";
  return &added.says;
}

}  // namespace

std::vector<BootSection> parse_ifupdown(std::string_view text) {
  Ifupdown found;
  BootProfile* current = nullptr;
  std::string bare;
  for (const auto line : lines(text)) {
    const auto columns = words(line);
    if (columns.empty() || columns[0].starts_with('#')) continue;
    const bool starts = columns[0] == "auto" || columns[0].starts_with("allow-");
    if (starts || columns[0] == "iface" || columns[0].starts_with("source") || columns[0] == "mapping")
      current = nullptr;
    if (starts && found.starts.size() < kMostStanzas)
      found.starts.insert(found.starts.end(), columns.begin() + 1, columns.end());
    if (columns[0] == "iface" && columns.size() >= 4) {
      bare.clear();
      current = stanza_of(columns[1], found);
      if (current != nullptr && columns[2] == "inet" && columns[3] == "dhcp") current->dhcp = true;
    } else if (current != nullptr) {
      take_option(columns, *current, bare);
    }
  }
  std::erase_if(found.stanzas, [&](const BootSection& section) {
    return std::ranges::find(found.starts, section.names.front()) == found.starts.end();
  });
  return std::move(found.stanzas);
}

}  // namespace railbed
