// Determines what the next boot makes of the interfaces, from the files of netplan, NetworkManager,
// systemd-networkd, udev and ifupdown.
//
// Files of one kind form a BootGroup: their sections in the order in which the program reads them. Each
// section that fits an interface gives a BootProfile. systemd-networkd and udev apply only the first section
// that fits (`first_only`), so the search ends at the first certain fit; if an earlier section fits perhaps,
// all later ones are uncertain, too. Elsewhere every section counts.
//
// Files in /run are gone after a reboot, so their profiles are not `kept`. The files that netplan writes
// there from its own files at every boot are skipped. If a file cannot be read, or netplan's YAML cannot be
// parsed, the whole reading is missing, because that file might have decided.
#include <algorithm>
#include <map>

#include "facts/boot/boot_section.h"
#include "facts/readings.h"

namespace railbed {
namespace {

constexpr std::size_t kMostBootFiles = 64;  // files of one kind
constexpr std::size_t kMostSections = 512;
constexpr std::size_t kMostBootInterfaces = 256;
constexpr std::size_t kMostProfiles = 1024;
constexpr std::size_t kLongestFileName = 255;  // NAME_MAX

using Folders = std::vector<std::string>;
struct BootText {
  std::string path;
  std::string text;
};

// The sections of one kind of files.
struct BootGroup {
  bool first_only = false;  // only the first section that fits applies
  std::vector<BootSection> sections = {};
};

// Reads files and remembers the first failure.
class BootReader {
 public:
  explicit BootReader(Host& host) : host_(host) {}

  // Returns the files in order of their names, as all of these programs read them. A file hides files of the
  // same name in later folders. Names that start with `but` are skipped.
  std::vector<BootText> read(const Folders& folders, std::string_view begin, std::string_view end,
                             std::string_view but = "") {
    std::map<std::string, std::string> paths;
    for (const std::string& folder : folders)
      for (const std::string& name : names_in(folder))
        if (name.starts_with(begin) && name.ends_with(end) && (but.empty() || !name.starts_with(but)) &&
            paths.size() < kMostBootFiles)
          paths.emplace(name, folder + "/" + name);
    std::vector<BootText> texts;
    for (const auto& [name, path] : paths) add(path, texts);
    return texts;
  }
  void add(const std::string& path, std::vector<BootText>& texts) {
    auto text = host_.read(path, kLargestBootFile);
    if (text && !trim(*text).empty()) texts.push_back({path, *text});
    found_ = found_ || text.ok();
    if (!text && !text.absent()) fail(text.miss(), path);
  }
  std::vector<std::string> names_in(const std::string& folder) {
    auto names = host_.list(folder);
    found_ = found_ || names.ok();
    if (!names && !names.absent()) fail(names.miss(), folder);
    if (!names) return {};
    std::vector<std::string> kept = *names;
    std::erase_if(kept, [](const std::string& name) {
      return name.size() > kLongestFileName || printable(name) != name;
    });
    return kept;
  }
  void fail(const Miss& miss, const std::string& from) {
    if (!trouble_) trouble_ = {miss, from};
  }
  bool found() const { return found_; }
  const std::optional<std::pair<Miss, std::string>>& trouble() const { return trouble_; }

 private:
  Host& host_;
  bool found_ = false;
  std::optional<std::pair<Miss, std::string>> trouble_;
};

BootGroup netplan_group(BootReader& reader, const Folders& folders) {
  Netplan netplan;
  for (const auto& [path, text] : reader.read(folders, "", ".yaml"))
    if (!netplan.add(text, path)) reader.fail({Missing::kGarbled, "not the YAML that railbed reads"}, path);
  return {false, netplan.sections()};
}

// Adds a section that `file` defines.
void place(BootSection section, const std::string& file, BootGroup& group) {
  section.says.file = file;
  if (group.sections.size() < kMostSections) group.sections.push_back(std::move(section));
}

BootGroup connection_group(BootReader& reader, const Folders& folders, std::string_view but = "") {
  BootGroup group;
  for (const auto& [path, text] : reader.read(folders, "", "", but))
    if (auto section = parse_keyfile(text)) {
      section->undecided = !path.ends_with(".nmconnection");  // an old format, or a copy
      place(std::move(*section), path, group);
    }
  return group;
}

BootGroup ifcfg_group(BootReader& reader) {
  BootGroup group;
  for (const auto& [path, text] : reader.read({"/etc/sysconfig/network-scripts"}, "ifcfg-", "", "ifcfg-lo"))
    if (auto section = parse_ifcfg(text)) place(std::move(*section), path, group);
  return group;
}

BootGroup networkd_group(BootReader& reader, const Folders& folders) {
  BootGroup group{true};
  for (const auto& [path, text] : reader.read(folders, "", ".network", "10-netplan-"))
    place(parse_networkd(text), path, group);
  return group;
}

// The MTU that udev sets when an interface appears.
BootGroup link_group(BootReader& reader, const Folders& folders) {
  BootGroup group{true};
  for (const auto& [path, text] : reader.read(folders, "", ".link", "10-netplan-")) {
    BootSection section = parse_networkd(text);
    section.says.manager = "udev";
    if (section.says.mtu > 0) place(std::move(section), path, group);
  }
  return group;
}

// Drop-ins that extend another file, which may be one that netplan writes.
BootGroup drop_in_group(BootReader& reader) {
  BootGroup group;
  const std::string folder = "/etc/systemd/network";
  for (const std::string& name : reader.names_in(folder)) {
    if (!name.ends_with(".network.d")) continue;
    for (const auto& [path, text] : reader.read({folder + "/" + name}, "", ".conf")) {
      BootSection section = parse_networkd(text);
      section.undecided = true;
      place(std::move(section), path, group);
    }
  }
  return group;
}

// ifupdown's files apply if its service starts at boot: Debian's networking.service.
BootGroup ifupdown_group(BootReader& reader, Host& host) {
  BootGroup group;
  if (!host.resolve("/etc/systemd/system/multi-user.target.wants/networking.service") &&
      !host.resolve("/etc/systemd/system/network-online.target.wants/networking.service"))
    return group;
  const std::string main = "/etc/network/interfaces";
  std::vector<BootText> texts;
  reader.add(main, texts);
  const bool sources = std::ranges::any_of(texts, [](const BootText& text) {
    return std::ranges::any_of(lines(text.text), [](std::string_view line) {
      return trim(line).starts_with("source") && line.find("interfaces.d") != std::string_view::npos;
    });
  });
  if (sources)
    for (BootText& text : reader.read({main + ".d"}, "", "")) texts.push_back(std::move(text));
  for (const auto& [path, text] : texts)
    for (BootSection& section : parse_ifupdown(text)) place(std::move(section), path, group);
  return group;
}

// Marks the profiles of files that a reboot deletes.
BootGroup gone(BootGroup group) {
  for (BootSection& section : group.sections) section.says.kept = false;
  return group;
}

// Returns true for interfaces on PCI, bonds, IPoIB and VLANs, and for others with an address of a network, such as those
// that a hypervisor gives a guest. Ends of containers' interfaces, of which a node may have thousands, have none.
bool is_looked_at(const NetInterface& interface, const Net& net) {
  constexpr int kInfiniBand = 32;  // ARPHRD_INFINIBAND, linux/if_arp.h
  constexpr int kLoopback = 772;   // ARPHRD_LOOPBACK
  const int type = interface.link_type.value_or(0);
  return interface.pci_address.ok() || interface.bond_mode.ok() || type == kInfiniBand ||
         find_vlan(net, interface.name) != nullptr ||
         (type != kLoopback && interface.name != "lo" &&
          std::ranges::any_of(items(interface.addresses),
                              [](const InterfaceAddress& one) { return !one.address.is_link_local(); }));
}

// Adds the profiles of one group for an interface, as the head of this file explains. An uncertain profile
// without settings is left out.
void add_profiles(const NetInterface& interface, const BootGroup& group, std::vector<BootProfile>& all) {
  bool sure = true;
  for (const BootSection& section : group.sections) {
    const Fits fit = fits(section, interface);
    if (fit == Fits::kNo) continue;
    BootProfile profile = section.says;
    profile.interface = interface.name;
    profile.certain = sure && fit == Fits::kYes;
    const bool says_something = profile.mtu > 0 || !profile.addresses.empty() || profile.dhcp;
    if ((profile.certain || says_something) && all.size() < kMostProfiles) all.push_back(std::move(profile));
    if (group.first_only && fit == Fits::kYes) return;
    sure = sure && !group.first_only;
  }
}

std::vector<BootGroup> all_groups(BootReader& reader, Host& host) {
  const std::string connections = "NetworkManager/system-connections", networkd = "systemd/network";
  const Folders units = {"/etc/" + networkd, "/usr/local/lib/" + networkd, "/usr/lib/" + networkd,
                         "/lib/" + networkd};
  std::vector<BootGroup> groups;
  groups.push_back(netplan_group(reader, {"/etc/netplan", "/usr/lib/netplan", "/lib/netplan"}));
  groups.push_back(gone(netplan_group(reader, {"/run/netplan"})));
  groups.push_back(connection_group(reader, {"/etc/" + connections, "/usr/lib/" + connections}));
  groups.push_back(gone(connection_group(reader, {"/run/" + connections}, "netplan-")));
  groups.push_back(ifcfg_group(reader));
  groups.push_back(networkd_group(reader, units));
  groups.push_back(gone(networkd_group(reader, {"/run/" + networkd})));
  groups.push_back(link_group(reader, units));
  groups.push_back(drop_in_group(reader));
  groups.push_back(ifupdown_group(reader, host));
  return groups;
}

}  // namespace

Reading<std::vector<BootProfile>> collect_net_at_boot(Host& host, const Net& net) {
  const std::string from = "/etc/netplan";
  BootReader reader(host);
  const std::vector<BootGroup> groups = all_groups(reader, host);
  if (const auto& trouble = reader.trouble()) return {trouble->first, trouble->second};
  if (!reader.found()) return {Miss{Missing::kAbsent, "no file of a known network configuration"}, from};
  std::vector<BootProfile> all;
  std::size_t looked_at = 0;
  for (const NetInterface& interface : items(net.interfaces)) {
    if (!is_looked_at(interface, net) || ++looked_at > kMostBootInterfaces) continue;
    for (const BootGroup& group : groups) add_profiles(interface, group, all);
  }
  return {std::move(all), from};
}

}  // namespace railbed
