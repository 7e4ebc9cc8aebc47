// What files say of interfaces for the next boot, before it is known which interface each means. Private to
// this room; the parsers take anybody's bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml.h"
#include "facts/net.h"

namespace railbed {

inline constexpr std::size_t kLargestBootFile = 1 << 16;

struct BootSection {
  std::vector<std::string> names = {};  // globs; with `macs` and `drivers`: each that is not empty has to fit
  std::vector<std::string> macs = {};   // any case
  std::vector<std::string> drivers = {};  // globs
  bool undecided = false;                 // it also matches by what is not looked at
  BootProfile says = {};                  // without the interface
};

enum class Fits { kNo, kYes, kPerhaps };
Fits fits(const BootSection& section, const NetInterface& interface);

// "192.168.100.1/24" as an address of `says`; other text is left out.
void add_address(std::string_view text, BootProfile& says);
int prefix_of_netmask(std::string_view text);  // "24", "255.255.255.0"; -1: neither
int mtu_of(std::string_view text);             // 0: none

// "[section]" and "key=value" lines, as glib's key files and systemd have them.
struct IniPair {
  std::string_view section;
  std::string_view key;
  std::string_view value;
};
std::vector<IniPair> ini_pairs(std::string_view text);

// NetworkManager's nm-settings-keyfile(5). Nothing of connections that are not wired, or do not start by
// themselves.
std::optional<BootSection> parse_keyfile(std::string_view text);
// ifcfg-NAME of RHEL 9 and earlier, likewise: nm-settings-ifcfg-rh(5).
std::optional<BootSection> parse_ifcfg(std::string_view text);
// systemd.network(5) and systemd.link(5); a drop-in has no [Match].
BootSection parse_networkd(std::string_view text);
// ifupdown's interfaces(5): of interfaces that come up at boot.
std::vector<BootSection> parse_ifupdown(std::string_view text);

bool is_empty_yaml(std::string_view text);   // comments at most
bool is_netplan_kind(std::string_view key);  // "ethernets" and its like
// netplan's files in the order in which they are merged.
class Netplan {
 public:
  // False: it is no YAML that railbed reads.
  bool add(std::string_view text, const std::string& file);
  std::vector<BootSection> sections() const;

 private:
  struct Device {
    BootSection section;
    std::string renderer;
    std::optional<std::string> set_name;
    bool has_match = false;
    bool starts = true;
  };
  void add_device(const std::string& id, const YamlValue& value, const std::string& renderer_of_kind,
                  const std::string& file);
  std::string renderer_;
  std::vector<std::pair<std::string, Device>> devices_;
};

// Of such a file what the parsers look at: others hold pass phrases. Empty: nothing.
std::string used_boot_file(std::string_view path, std::string_view text);
bool is_boot_file(std::string_view path);

}  // namespace railbed
