#include "configure/installer_medium.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "settings/platform.h"
#include "settings/serial_console.h"

namespace railbed {
namespace {

constexpr std::string_view kMark = "railbed's entries";

// Returns the value of a key of one section of an INI file such as .treeinfo; empty if there is none.
std::string ini_value(std::string_view text, std::string_view section, std::string_view key) {
  bool within = false;
  for (const std::string_view raw : lines(text)) {
    const std::string_view line = trim(raw);
    if (line.starts_with('[')) within = line == fmt::format("[{}]", section);
    const auto pair = key_value(line, '=');
    if (within && pair && pair->first == key) return std::string(pair->second);
  }
  return "";
}

// "9.4" of "9.4" or of "Red Hat Enterprise Linux 9.4"
std::string last_word(std::string_view text) {
  const auto all = words(text);
  return all.empty() ? "" : std::string(all.back());
}

bool is_version(std::string_view text) {
  return !text.empty() && is_digit(text.front()) &&
         text.find_first_not_of("0123456789.") == std::string_view::npos;
}

// Returns the ID of os-release(5) of a maker's name: "Rocky Linux 9.4" → rocky.
std::string rhel_id(std::string_view name) {
  struct Maker {
    std::string_view begins;
    std::string_view id;
  };
  static constexpr Maker kMakers[] = {{"Rocky Linux", "rocky"},
                                      {"AlmaLinux", "almalinux"},
                                      {"Red Hat Enterprise Linux", "rhel"},
                                      {"CentOS", "centos"},
                                      {"Oracle Linux", "ol"}};
  for (const Maker& maker : kMakers)
    if (name.starts_with(maker.begins)) return std::string(maker.id);
  return "";
}

// The system's name in the first entry of lorax's menu: menuentry 'Install Rocky Linux 9.4' --class …
std::string name_of_menu(std::string_view menu) {
  constexpr std::string_view kBegin = "menuentry 'Install ";
  const auto at = menu.find(kBegin);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = menu.substr(at + kBegin.size());
  return std::string(rest.substr(0, rest.find_first_of("'\n")));
}

Result<Medium> ubuntu_medium(std::string_view info) {
  const std::string_view line = lines(info).empty() ? std::string_view() : lines(info).front();
  const std::string name(trim(line.substr(0, line.find('"'))));
  if (line.starts_with("Debian "))
    return fail(
        ErrorKind::kBadInput,
        fmt::format(
            "the ISO is {}: Debian's installer reads a preseed, which railbed does not write; railbed "
            "knows Ubuntu server and RHEL 9 and its kin",
            printable(name)));
  const auto all = words(line);
  if (all.size() < 2 || all.front() != "Ubuntu-Server" || !is_version(all[1]))
    return fail(ErrorKind::kBadInput,
                fmt::format("the ISO says that it is \"{}\"; railbed knows Ubuntu's live server (such as "
                            "ubuntu-24.04-live-server-amd64.iso) and RHEL 9 and its kin",
                            printable(name.substr(0, 80))));
  const auto parts = split(all[1], '.');
  const std::string version =
      parts.size() < 2 ? std::string(all[1]) : fmt::format("{}.{}", parts[0], parts[1]);
  constexpr int kFirstAutoinstall = 20;  // Ubuntu 20.04
  const auto year = parse_number<int>(parts[0]);
  if (!year || *year < kFirstAutoinstall || *year > 99)
    return fail(ErrorKind::kBadInput,
                fmt::format("the ISO is {}: its installer reads no autoinstall, which begins with 20.04",
                            printable(name)));
  return Medium{.kind = MediumKind::kUbuntuServer, .os = "ubuntu " + version, .name = printable(name)};
}

Result<Medium> rhel_medium(const MediumTexts& texts) {
  const std::string menu = name_of_menu(texts.efi_menu.value_or(""));
  std::string name = ini_value(texts.treeinfo.value_or(""), "general", "name");
  if (rhel_id(name).empty()) name = menu;
  std::string version = ini_value(texts.treeinfo.value_or(""), "general", "version");
  if (!is_version(version)) {
    const std::string discinfo = texts.discinfo.value_or("");
    const auto disc = lines(discinfo);
    version = disc.size() > 1 ? last_word(disc[1]) : "";
  }
  if (!is_version(version)) version = last_word(menu);
  const std::string id = rhel_id(name);
  if (id.empty() || !is_version(version))
    return fail(
        ErrorKind::kBadInput,
        "the ISO holds neither Ubuntu's .disk/info nor a .treeinfo, .discinfo or menu of RHEL or its kin; "
        "railbed knows Ubuntu's live server and RHEL 9 and its kin");
  if (split(version, '.')[0] != "9")
    return fail(ErrorKind::kBadInput,
                fmt::format("the ISO is {} {}: railbed writes answers for RHEL 9 and its kin alone",
                            printable(name), version));
  return Medium{.kind = MediumKind::kRhel,
                .os = id + " " + version,
                .name = printable(name.ends_with(version) ? name : name + " " + version)};
}

// Whether the version that a person named is that of the ISO or its beginning: "9" for 9.4.
bool is_same_version(std::string_view named, std::string_view has) {
  return has == named || (has.starts_with(named) && has[named.size()] == '.');
}

std::string_view first_word(std::string_view line) {
  const auto all = words(line);
  return all.empty() ? std::string_view() : all.front();
}

// An entry of the maker's, as far as railbed repeats it.
struct MakersEntry {
  std::string kernel;  // "linux", "linuxefi"
  std::string kernel_path;
  std::vector<std::string> arguments;  // "quiet", "---"
  std::string initrd;                  // "initrd", "initrdefi", and the path
};

std::vector<std::string> rest_of(const std::vector<std::string_view>& all, std::size_t from) {
  return {all.begin() + static_cast<std::ptrdiff_t>(std::min(from, all.size())), all.end()};
}

std::optional<MakersEntry> makers_grub_entry(std::string_view menu, const MediumPaths& paths) {
  std::optional<MakersEntry> entry;
  for (const std::string_view line : lines(menu)) {
    const auto all = words(line);
    if (all.size() < 2) continue;
    if (!entry && all[0].starts_with("linux") && all[1] == paths.kernel)
      entry = MakersEntry{std::string(all[0]), std::string(all[1]), rest_of(all, 2), ""};
    else if (entry && all[0].starts_with("initrd"))
      return entry->initrd = fmt::format("{}\t{}", all[0], all[1]), entry;
  }
  return std::nullopt;
}

// Puts the arguments behind those of the maker's, but in front of "---": casper and curtin take what stands behind it
// for the installed system's own.
std::string with_arguments(const std::vector<std::string>& makers, const std::vector<std::string>& ours) {
  std::vector<std::string> all(makers.begin(), std::ranges::find(makers, "---"));
  all.insert(all.end(), ours.begin(), ours.end());
  all.insert(all.end(), std::ranges::find(makers, "---"), makers.end());
  return fmt::format("{}", fmt::join(all, " "));
}

// GRUB ends a command at a semicolon.
std::vector<std::string> for_grub(std::vector<std::string> arguments) {
  for (std::string& argument : arguments)
    for (std::size_t at = 0; (at = argument.find(';', at)) != std::string::npos; at += 2)
      argument.insert(at, 1, '\\');
  return arguments;
}

std::string title_of(const MenuEntry& entry) { return fmt::format("Install {} (railbed)", entry.node); }
std::string id_of(const MenuEntry& entry) { return "railbed-" + entry.node; }

tl::unexpected<Error> no_entry(std::string_view kernel) {
  return fail(
      ErrorKind::kBadInput,
      fmt::format("no entry of the ISO's boot menu loads {}: railbed does not know such an ISO", kernel));
}
tl::unexpected<Error> already_ours() {
  return fail(ErrorKind::kBadInput, "railbed wrote this ISO already; begin with the maker's own ISO");
}

std::vector<std::string> console_arguments(const Node& node) {
  const auto console = serial_console(node.configure);
  return console ? kernel_arguments(*console) : std::vector<std::string>();
}

std::vector<std::string> joined(std::vector<std::string> first, const std::vector<std::string>& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

// Anaconda draws on the screen unless it is told to use text, which a serial console needs.
std::vector<std::string> anaconda_console(const Node& node) {
  const auto console = console_arguments(node);
  return console.empty() ? console : joined({"inst.text"}, console);
}

}  // namespace

Result<Medium> medium_of(const MediumTexts& texts) {
  return texts.disk_info ? ubuntu_medium(*texts.disk_info) : rhel_medium(texts);
}

Result<void> check_medium(const Medium& medium, const Node& node) {
  if (!node.expect.os) return {};
  ASSIGN_OR_RETURN(const Platform wanted, platform_of(node, Facts{}));
  const auto space = medium.os.find(' ');
  const std::string_view id = std::string_view(medium.os).substr(0, space);
  const bool kin =
      wanted.family == OsFamily::kRhel && medium.kind == MediumKind::kRhel && wanted.os == "rhel";
  if ((kin || wanted.os == id) &&
      (wanted.version.empty() || is_same_version(wanted.version, medium.os.substr(space + 1))))
    return {};
  return fail(
      ErrorKind::kBadInput,
      fmt::format("{}: the ISO installs {}, but the node is to have {} (--os, or expect.os in cluster.yaml)",
                  node.name, medium.name, printable(*node.expect.os)));
}

MediumPaths medium_paths(MediumKind kind) {
  if (kind == MediumKind::kUbuntuServer)
    return {"/casper/vmlinuz", "/casper/initrd", {"/boot/grub/grub.cfg", "/boot/grub/loopback.cfg"}, {}};
  return {"/images/pxeboot/vmlinuz",
          "/images/pxeboot/initrd.img",
          {"/EFI/BOOT/grub.cfg", "/boot/grub2/grub.cfg"},
          {"/isolinux/isolinux.cfg"}};
}

std::string answers_folder(std::string_view node) { return fmt::format("railbed/{}", node); }

std::vector<std::string> arguments_from_medium(const Medium& medium, std::string_view label,
                                               const Node& node) {
  if (medium.kind == MediumKind::kUbuntuServer)
    return joined({"autoinstall", fmt::format("ds=nocloud;s=/cdrom/{}/", answers_folder(node.name))},
                  console_arguments(node));
  return joined({fmt::format("inst.ks=hd:LABEL={}:/{}/ks.cfg", label, answers_folder(node.name))},
                anaconda_console(node));
}

Result<std::string> grub_with_entries(std::string_view menu, const MediumPaths& paths, const MenuWish& wish) {
  if (menu.find(kMark) != std::string_view::npos) return already_ours();
  const auto makers = makers_grub_entry(menu, paths);
  if (!makers) return no_entry(paths.kernel);
  std::string text = fmt::format("{}{}\n# {}\n", menu, menu.ends_with('\n') ? "" : "\n", kMark);
  for (const MenuEntry& entry : wish.entries)
    text += fmt::format("menuentry \"{}\" --id {} {{\n\tset gfxpayload=keep\n\t{}\t{} {}\n\t{}\n}}\n",
                        title_of(entry), id_of(entry), makers->kernel, makers->kernel_path,
                        with_arguments(makers->arguments, for_grub(entry.arguments)), makers->initrd);
  text += wish.entries.size() == 1 ? fmt::format("set default={}\n", id_of(wish.entries.front()))
                                   : "set timeout=-1\n";
  const auto unit = wish.console ? grub_unit({*wish.console, wish.console_rate}) : std::nullopt;
  if (unit)
    text += fmt::format(
        "if serial --unit={} --speed={}; then\n\tterminal_input --append serial\n\tterminal_output --append serial\nfi\n",
        *unit, wish.console_rate);
  return text;
}

Result<std::string> isolinux_with_entries(std::string_view menu, const MenuWish& wish) {
  if (menu.find(kMark) != std::string_view::npos) return already_ours();
  std::string kernel;
  std::vector<std::string> arguments;
  std::string text;
  for (const std::string_view line : lines(menu)) {
    const auto all = words(line);
    const bool loads = kernel.empty() && all.size() == 2 && all[0] == "kernel" && all[1].ends_with("vmlinuz");
    if (loads) kernel = all[1];
    if (!kernel.empty() && arguments.empty() && first_word(line) == "append") arguments = rest_of(all, 1);
    // The mark of the maker's default moves to our entry; `timeout` comes again, and the last one counts.
    const bool makers_default = all.size() == 2 && all[0] == "menu" && all[1] == "default";
    if (makers_default && wish.entries.size() == 1) continue;
    text += fmt::format("{}\n", line);
  }
  if (kernel.empty() || arguments.empty()) return no_entry("vmlinuz");
  text += fmt::format("\n# {}\n", kMark);
  for (const MenuEntry& entry : wish.entries)
    text += fmt::format("label {}\n  menu label {}\n{}  kernel {}\n  append {}\n\n", id_of(entry),
                        title_of(entry), wish.entries.size() == 1 ? "  menu default\n" : "", kernel,
                        with_arguments(arguments, entry.arguments));
  if (wish.entries.size() > 1) text += "timeout 0\n";
  // isolinux reads the serial port's line best before any other (syslinux' documentation of `serial`).
  const auto unit = wish.console ? grub_unit({*wish.console, wish.console_rate}) : std::nullopt;
  return unit ? fmt::format("serial {} {}\n{}", *unit, wish.console_rate, text) : text;
}

std::string menu_of_boot_partition(std::string_view label) {
  return fmt::format("search --no-floppy --set=root -l '{}'\nconfigfile ($root)/EFI/BOOT/grub.cfg\n", label);
}

std::string sums_without(std::string_view sums, const std::vector<std::string>& paths) {
  std::string text;
  for (const std::string_view line : lines(sums)) {
    const auto all = words(line);
    const bool changed = all.size() == 2 && all[1].starts_with('.') &&
                         std::ranges::find(paths, all[1].substr(1)) != paths.end();
    if (!changed) text += fmt::format("{}\n", line);
  }
  return text;
}

}  // namespace railbed
