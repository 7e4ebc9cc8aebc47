// What makes an installer's medium install a node of cluster.yaml: which system a maker's ISO installs, and the entries of
// its boot menus that pass the node's answers to the installer. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "inventory/cluster.h"

namespace railbed {

// Files of an ISO by which its system is recognised; nullopt if the ISO does not hold them.
struct MediumTexts {
  std::optional<std::string> disk_info = {};  // /.disk/info
  std::optional<std::string> treeinfo = {};   // /.treeinfo
  std::optional<std::string> discinfo = {};   // /.discinfo
  std::optional<std::string> efi_menu = {};   // /EFI/BOOT/grub.cfg
};

enum class MediumKind { kUbuntuServer, kRhel };

struct Medium {
  MediumKind kind = MediumKind::kUbuntuServer;
  std::string os = {};    // as `expect.os` names it: "ubuntu 24.04", "rocky 9.4"
  std::string name = {};  // the maker's: "Ubuntu-Server 24.04.1 LTS"
};

// Recognises the system that a maker's ISO installs. kBadInput if it is another one, such as Debian or Ubuntu's desktop.
Result<Medium> medium_of(const MediumTexts& texts);

// Checks that the ISO installs what `expect.os` of the node names, so far as it names it. RHEL's kin count as "rhel".
Result<void> check_medium(const Medium& medium, const Node& node);

// Paths within an ISO: its kernel and initial file system, and its possible menus. An ISO holds some of the latter.
struct MediumPaths {
  std::string kernel;
  std::string initrd;
  std::vector<std::string> grub_menus;
  std::vector<std::string> isolinux_menus;
};
MediumPaths medium_paths(MediumKind kind);

// Returns the folder of a node's answers in the ISO: "railbed/gpu1".
std::string answers_folder(std::string_view node);

// Arguments of the kernel with which the installer reads the node's answers from the medium with this label and shows
// itself on the node's serial console.
std::vector<std::string> arguments_from_medium(const Medium& medium, std::string_view label,
                                               const Node& node);

// One entry of a menu: a node, and its arguments.
struct MenuEntry {
  std::string node;
  std::vector<std::string> arguments;
};

struct MenuWish {
  std::vector<MenuEntry> entries;
  std::optional<std::string> console;  // the serial port that the menu itself is shown on: "ttyS1"
  int console_rate = 0;
};

// Returns a GRUB or an isolinux menu of the ISO with these entries at its end. Each repeats the first of the maker's entries
// that loads the installer's kernel, with its arguments in front. One entry alone becomes the one that starts by itself;
// with several the menu waits, because only a person knows which machine it is. The maker's entries stay. kBadInput if
// no entry loads the kernel, or if entries of railbed's are there already.
Result<std::string> grub_with_entries(std::string_view menu, const MediumPaths& paths, const MenuWish& wish);
Result<std::string> isolinux_with_entries(std::string_view menu, const MenuWish& wish);

// Returns a GRUB menu that goes on with that of the ISO with this label, for a boot partition that has a copy of the menu.
std::string menu_of_boot_partition(std::string_view label);

// Returns an ISO's list of MD5 sums (Ubuntu's /md5sum.txt) without these files, such as "/boot/grub/grub.cfg".
std::string sums_without(std::string_view sums, const std::vector<std::string>& paths);

}  // namespace railbed
