// Network configuration for the next boot as files state it, before each section is assigned to an interface.
// Private to this room. The parsers accept untrusted bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml.h"
#include "facts/network/net.h"

namespace railbed {

inline constexpr std::size_t kLargestBootFile = 1 << 16;

// One section of a configuration file: the criteria that select interfaces, and the settings for them. An
// interface has to match every list that is not empty; a list matches if one of its entries does.
struct BootSection {
  std::vector<std::string> names = {};    // globs
  std::vector<std::string> macs = {};     // any case
  std::vector<std::string> drivers = {};  // globs
  bool undecided = false;                 // it has further criteria that railbed cannot check
  BootProfile says = {};                  // the settings; `interface` is not set
};

enum class Fits { kNo, kYes, kPerhaps };
// Returns whether the section applies to the interface. kPerhaps if it has criteria that railbed cannot
// check, or none at all and the interface is on PCI.
Fits fits(const BootSection& section, const NetInterface& interface);

// Adds an address such as "192.168.100.1/24" to `says`; ignores any other text.
void add_address(std::string_view text, BootProfile& says);
// Returns the prefix length of "24" or "255.255.255.0"; -1 if the text is neither.
int prefix_of_netmask(std::string_view text);
// Returns the MTU in bytes; 0 if the text is not a number from 68 to 65536.
int mtu_of(std::string_view text);

// A "key=value" line and the "[section]" that it is in, as in glib's key files and systemd's files. The views
// point into the parsed text.
struct IniPair {
  std::string_view section;
  std::string_view key;
  std::string_view value;
};
std::vector<IniPair> ini_pairs(std::string_view text);

// Parses a connection of NetworkManager: nm-settings-keyfile(5). Returns nullopt if the connection is not
// wired or does not start by itself.
std::optional<BootSection> parse_keyfile(std::string_view text);
// Parses ifcfg-NAME of RHEL 9 and earlier: nm-settings-ifcfg-rh(5). Returns nullopt if ONBOOT is off.
std::optional<BootSection> parse_ifcfg(std::string_view text);
// Parses systemd.network(5) and systemd.link(5). A drop-in has no [Match], so its section has no criteria.
BootSection parse_networkd(std::string_view text);
// Parses ifupdown's interfaces(5). Returns only interfaces that come up at boot: those of "auto" and
// "allow-*".
std::vector<BootSection> parse_ifupdown(std::string_view text);

// Returns true if the text has only comments, blank lines and "---".
bool is_empty_yaml(std::string_view text);
// Returns true for the device types that railbed reads: "ethernets", "bonds", "vlans", "bridges".
bool is_netplan_kind(std::string_view key);
// Merges the files of netplan. Call add() in the order in which netplan merges them.
class Netplan {
 public:
  // Returns false if the text is not YAML that railbed can read.
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

// Returns the part of a boot file that the parsers use, because the rest may hold pass phrases. Empty if they
// use nothing.
std::string used_boot_file(std::string_view path, std::string_view text);
// Returns true if the path belongs to netplan, NetworkManager, ifcfg files, systemd-networkd or ifupdown.
bool is_boot_file(std::string_view path);

}  // namespace railbed
