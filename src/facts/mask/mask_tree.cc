#include <algorithm>
#include <map>
#include <set>

#include "base/ip.h"
#include "base/json.h"
#include "base/text.h"
#include "facts/boot/boot_section.h"
#include "facts/collectors.h"
#include "facts/mask/mask.h"
#include "facts/nfs.h"
#include "facts/pci_config.h"
#include "facts/software/engine_files.h"
#include "facts/software/gds.h"
#include "facts/software/nccl.h"

namespace railbed {
namespace {

constexpr std::string_view kHostname = "/proc/sys/kernel/hostname";
constexpr std::string_view kAskFileSystem = "statvfs ";

// Blanks the Device Serial Number capability, which is the adapter's GUID.
std::string without_serial_number(std::string config) {
  constexpr std::uint16_t kSerialNumber = 0x0003;
  const auto at = find_extended_capability(config, kSerialNumber);
  if (at && *at + 12 <= config.size()) config.replace(*at + 4, 8, 8, '\0');
  return config;
}

// Returns the one mark in VPD that is a fact (rdma.h, management). The rest holds serial and part numbers.
std::string only_mark(std::string_view vpd) {
  constexpr std::string_view kMark = "SW_MNG";
  return vpd.find(kMark) == std::string_view::npos ? "\n" : std::string(kMark) + "\n";
}

bool is_host_name(std::string_view name) {
  return !name.empty() &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") ==
             std::string_view::npos;
}

// Returns /etc/hosts with masked addresses and names, line by line. Names that Mask does not hide in texts
// get a placeholder here.
std::string known_hosts_file(std::string_view text, Mask& mask) {
  constexpr std::string_view kVariables[] = {"{{hostname}}", "{{fqdn}}", "${hostname}", "${fqdn}"};
  std::string kept;
  if (const std::string from = template_of_hosts(text); !from.empty()) kept = "# " + from + "\n";
  for (const auto line : lines(text)) {
    const auto columns = words(line.substr(0, line.find('#')));
    if (columns.size() > 1 && IpAddress::parse(columns.front())) {
      kept += mask(columns.front());
      for (std::size_t i = 1; i < columns.size(); ++i) {
        if (std::ranges::find(kVariables, columns[i]) != std::end(kVariables)) {
          kept += " " + std::string(columns[i]);
          continue;
        }
        const bool hidden = columns[i].size() >= kShortestHidden && is_host_name(columns[i]);
        kept += " " + (hidden || columns[i] == "localhost" ? mask(columns[i])
                                                           : mask.placeholder("name", columns[i]));
      }
    }
    kept += "\n";
  }
  return kept;
}

// Returns the lines of os-release(5) that identify the release, with the pretty name cut before its
// parentheses.
std::string known_release(std::string_view text) {
  constexpr std::string_view kWords[] = {
      "AlmaLinux", "Amazon", "CentOS", "DGX",    "Debian", "Enterprise", "Fedora", "GNU/Linux",
      "Hat",       "LTS",    "Leap",   "Linux",  "NVIDIA", "OS",         "Oracle", "Red",
      "Rocky",     "SUSE",   "Server", "Stream", "Ubuntu", "openSUSE"};
  constexpr std::string_view kLow = "abcdefghijklmnopqrstuvwxyz0123456789._-\"'";
  std::string kept;
  for (const auto line : lines(text)) {
    const auto pair = key_value(line, '=');
    if (!pair) continue;
    const auto& [key, value] = *pair;
    if ((key == "ID" || key == "VERSION_ID") && value.find_first_not_of(kLow) == std::string_view::npos)
      kept += std::string(line) + "\n";
    if (key != "PRETTY_NAME") continue;
    std::string name;
    for (const auto word : words(value.substr(0, value.find('(')))) {
      const auto bare =
          word.substr(word.starts_with('"') ? 1 : 0, word.find('"', 1) - (word.starts_with('"') ? 1 : 0));
      const bool known = bare.find_first_not_of("0123456789.") == std::string_view::npos ||
                         std::ranges::find(kWords, bare) != std::end(kWords);
      if (known) name += (name.empty() ? "" : " ") + std::string(bare);
    }
    kept += "PRETTY_NAME=\"" + name + "\"\n";
  }
  return kept;
}

// Returns GRUB's terminal settings with unknown words masked (GRUB's manual, "terminal_input" and "serial").
std::string known_boot_menu(std::string_view text, Mask& mask) {
  static const KnownNames kWords = {
      "console",   "serial",      "gfxterm", "vga_text", "ofconsole", "at_keyboard", "usb_keyboard",
      "keystatus", "serial_efi0", "--unit",  "--speed",  "--port",    "--word",      "--parity",
      "--stop",    "--rtscts",    "no",      "odd",      "even",      "com0",        "com1"};
  std::string kept;
  const std::string used = used_boot_menu(text);
  for (const auto line : lines(used)) {
    const std::size_t equals = line.find('=');
    const std::string_view value = line.substr(equals + 1);
    const bool quoted = value.starts_with('"') || value.starts_with('\'');
    const std::size_t end = quoted ? std::min(value.find(value.front(), 1), value.size() - 1) + 1
                                   : std::min(value.find_first_of(" \t#;"), value.size());
    kept += std::string(line.substr(0, equals + 1)) + masked_nccl_value(value.substr(0, end), kWords, mask) +
            "\n";
  }
  return kept;
}

// Returns the settings with their numbers. Every other value is free text and is masked.
std::string known_sysctl(std::string_view text, Mask& mask) {
  std::string kept;
  const std::string used = used_sysctl(text);
  for (const auto line : lines(used)) {
    const std::size_t equals = line.find('=');
    const std::string_view value = equals == std::string_view::npos ? "" : trim(line.substr(equals + 1));
    const bool number = value.find_first_not_of("0123456789 \t-") == std::string_view::npos;
    kept += number ? std::string(line)
                   : std::string(line.substr(0, equals + 1)) + mask.placeholder("masked", value);
    kept += "\n";
  }
  return kept;
}

// Returns the lines of the mounts that were queried, and of the folders above them. A source that is not a
// device may be a server's name, so it is masked.
std::string known_mounts(std::string_view text, const Tree& tree, Mask& mask) {
  std::vector<std::string> asked = {"/"};
  for (const auto& [call, answer] : tree.calls)
    if (call.starts_with(kAskFileSystem)) asked.push_back(call.substr(kAskFileSystem.size()));
  const auto is_asked = [&](std::string_view point) {
    return std::ranges::any_of(asked, [&](const std::string& path) { return path.starts_with(point); });
  };
  std::string kept;
  for (const auto line : lines(text)) {
    const auto columns = words(line);
    const auto dash = std::ranges::find(columns, "-");
    if (dash - columns.begin() < 6 || columns.end() - dash < 4 || !is_asked(columns[4])) continue;
    const auto only_ro = [](std::string_view options) {
      const auto all = split(options, ',');
      return std::ranges::find(all, "ro") != all.end() ? "ro" : "rw";
    };
    const std::string_view source = dash[2];
    const bool device = source.starts_with("/dev/") || source == dash[1] || source == "overlay";
    const std::string from = device ? mask(source) : mask.placeholder("server", source) + ":/masked";
    kept += std::string(columns[0]) + " " + std::string(columns[1]) + " " + std::string(columns[2]) + " / " +
            mask(columns[4]) + " " + only_ro(columns[5]) + " - " + std::string(dash[1]) + " " + from + " " +
            only_ro(columns.back()) + "\n";
  }
  return kept;
}

// Returns the lines of /var/lib/nfs/etab with masked paths and clients, and the options that rules know.
std::string known_exports(std::string_view text, Mask& mask) {
  static const KnownNames kWords = {"rw",           "ro",
                                    "sync",         "async",
                                    "root_squash",  "no_root_squash",
                                    "all_squash",   "no_all_squash",
                                    "secure",       "insecure",
                                    "sec=sys",      "no_subtree_check",
                                    "subtree_check"};
  std::string kept;
  for (const NfsExport& line : parse_export_table(text)) {
    std::string options;
    for (const std::string& option : line.options)
      if (kWords.contains(option)) options += (options.empty() ? "" : ",") + option;
    const bool open = line.client == "*";
    kept += "/" + mask.placeholder("folder", line.path) + "\t" +
            (open                            ? line.client
             : IpAddress::parse(line.client) ? mask(line.client)
                                             : mask.placeholder("client", line.client)) +
            "(" + options + ")\n";
  }
  return kept;
}

// Returns the names that the tree contains in any case.
KnownNames known_names(const Tree& tree) {
  KnownNames names;
  tree.each([&](const std::string& path, const TreeEntry&) {
    names.insert(path);
    for (const std::string_view folder : {"/sys/class/net/", "/sys/class/infiniband/"})
      if (path.starts_with(folder))
        names.emplace(path.substr(folder.size(), path.find('/', folder.size()) - folder.size()));
  });
  return names;
}

std::string_view short_name(std::string_view hostname) { return hostname.substr(0, hostname.find('.')); }

// Hides the names in /etc/hosts, in alphabetical order: nodes whose files have the same names then get the
// same placeholders, whatever the order in each file.
void hide_hosts(std::string_view text, Mask& mask) {
  std::set<std::string_view> names;
  for (const auto line : lines(text)) {
    const auto columns = words(line.substr(0, line.find('#')));
    for (std::size_t i = 1; i < columns.size(); ++i) names.insert(columns[i]);
  }
  for (const auto name : names) mask.hide(name);
}

// Masks the host's name, including one that is too short to be hidden in other texts.
std::string masked_hostname(std::string_view name, Mask& mask) {
  return (name.size() < kShortestHidden ? "host" : mask(name)) + "\n";
}

std::string masked_name(const std::string& name, Mask& mask) {
  return name.find("/home/") == std::string::npos ? name : mask(name);
}

// Returns the home folder if it is neither root's nor below /home, else an empty text. The names of its
// folders may identify a person.
std::string odd_home(const Tree& tree) {
  const auto answer = tree.calls.find("environment HOME");
  if (answer == tree.calls.end()) return "";
  const auto variables = json::read<std::map<std::string, std::string>>(answer->second.value_or("{}"));
  const auto home = variables ? variables->find("HOME") : decltype(variables->end()){};
  if (!variables || home == variables->end()) return "";
  const std::string& path = home->second;
  const bool usual = path == "/root" || path.starts_with("/home/") || path.size() < 2 || path.front() != '/';
  return usual ? "" : path;
}

constexpr std::string_view kNvmeTarget = "/sys/kernel/config/nvmet/";

// Returns a path with every NVMe qualified name in it masked: it may name an owner or hold a serial number.
std::string without_nqns(std::string_view path, Mask& mask) {
  std::string kept;
  for (const auto step : split(path, '/'))
    kept += (kept.empty() && !path.starts_with('/') ? "" : "/") +
            (step.starts_with("nqn.") ? mask.placeholder("nqn", step) : std::string(step));
  return kept.starts_with("//") ? kept.substr(1) : kept;
}

bool is_users_file(std::string_view path) {
  if (path == "/etc/os-release") return false;
  return !path.starts_with("/sys/") && !path.starts_with("/proc/") && !path.starts_with("/usr/lib/") &&
         !path.starts_with("/boot/");
}

// Returns the content of a file reduced by the rule for its path.
std::string masked_file(const Tree& tree, const std::string& path, const std::string& content,
                        const KnownNames& known, Mask& mask) {
  if (path.ends_with("/subsysnqn")) return without_nqns(content, mask);
  // Links of /dev/disk/by-id and serial numbers of subsystems.
  if (path.starts_with(kNvmeTarget) && (path.ends_with("/device_path") || path.ends_with("/attr_serial")))
    return mask.placeholder("device", trim(content)) + "\n";
  if (path.ends_with("/vpd")) return only_mark(content);
  if (path.ends_with("/config")) return without_serial_number(content);
  if (path == "/etc/hosts" || path.starts_with("/etc/cloud/templates/hosts."))
    return known_hosts_file(content, mask);
  if (path.ends_with("/os-release")) return known_release(content);
  if (path.starts_with("/boot/") || path.starts_with("/lib/modules/")) return used_config(content);
  if (path == "/proc/self/mountinfo") return known_mounts(content, tree, mask);
  if (path == "/proc/self/mountstats") return "";  // the names of servers and folders
  if (path == "/etc/cufile.json") return used_cufile(content);
  if (path == "/var/lib/nfs/etab") return known_exports(content, mask);
  if (path.find("/modprobe.d/") != std::string::npos) return used_modprobe(content);
  if (path.find("/sysctl.d/") != std::string::npos || path == "/etc/sysctl.conf")
    return known_sysctl(content, mask);
  if (path.find("/cdi/") != std::string::npos) return mask(used_cdi_spec(content));
  if (path == "/etc/docker/daemon.json") return used_docker_runtimes(content);
  if (is_engine_file(path)) return mask(used_engine_file(content));
  if (is_package_source_file(path))
    return used_package_sources(path, content, "https://developer.download.nvidia.com/");
  if (is_boot_menu_file(path)) return known_boot_menu(content, mask);
  if (is_boot_file(path)) return mask(used_boot_file(path, content));
  if (path == kHostname) return masked_hostname(short_name(trim(content)), mask);
  if (path == "/proc/cmdline") return masked_command_line(content);
  return is_users_file(path) ? mask(masked_nccl_lines(content, known, mask)) : mask.addresses(content);
}

// Masks the serial number of an ARM board at the end of /proc/cpuinfo.
std::string without_serial_line(const std::string& cpuinfo) {
  std::string kept;
  for (const auto line : lines(cpuinfo))
    kept += std::string(line.starts_with("Serial") ? "Serial\t\t: masked" : line) + "\n";
  return kept;
}

}  // namespace

// First collects the names to hide: those of /etc/hosts, the host's own, and the folders of an unusual home.
// Then reduces each file by the rule for its path, see masked_file(). In files that users write, only lines
// with variables of NCCL, UCX and CUDA stay; in files of the kernel and of packages all lines stay, with
// addresses masked. Files of ssh are dropped. The outputs of programs and the replies to host calls go
// through known_output() and known_answer(), which let only known parts pass.
Tree masked(const Tree& tree, Mask& mask) {
  if (const TreeEntry* hosts = tree.find("/etc/hosts")) hide_hosts(hosts->content, mask);
  if (const TreeEntry* hostname = tree.find(kHostname)) {
    const auto name = trim(hostname->content);
    mask.hide(short_name(name));
    mask.hide(name);
  }
  const KnownNames known = known_names(tree);
  const std::string home_folder = odd_home(tree);
  for (const auto step : split(home_folder, '/')) mask.hide(step);
  Tree hidden;
  tree.each([&](const std::string& path, const TreeEntry& entry) {
    // A host key identifies a machine, and every host on its network can request it; so do the keys in its
    // known_hosts.
    if (entry.kind == TreeEntry::Kind::kFile && (path.starts_with("/etc/ssh/") || path.ends_with(".pub")))
      return;
    TreeEntry kept = entry;
    if (entry.kind == TreeEntry::Kind::kFile)
      kept.content = masked_file(tree, path, entry.content, known, mask);
    if (path == "/proc/cpuinfo") kept.content = without_serial_line(entry.content);
    if (entry.kind == TreeEntry::Kind::kLink) kept.content = masked_name(entry.content, mask);
    const bool target = path.starts_with(kNvmeTarget);
    if (target && entry.kind == TreeEntry::Kind::kLink) kept.content = without_nqns(kept.content, mask);
    const bool home =
        path.starts_with("/home/") || (!home_folder.empty() && path.starts_with(home_folder + "/"));
    if (auto set = hidden.set(home     ? mask(path)
                              : target ? without_nqns(path, mask)
                                       : path,
                              std::move(kept));
        !set)
      return;
  });
  for (const auto& [words, output] : tree.commands) {
    if (!known_output(words, "", mask, known)) continue;
    hidden.commands.emplace(masked_name(words, mask),
                            output.parsed([&, command = std::string_view(words)](CommandOutput seen) {
                              seen.output = *known_output(command, seen.output, mask, known);
                              seen.error_output.clear();
                              return std::optional(std::move(seen));
                            }));
  }
  for (const auto& [name, answer] : tree.calls) {
    auto kept = answer.parsed([&, call = std::string_view(name)](const std::string& text) {
      return known_answer(call, text, mask, known);
    });
    hidden.calls.emplace(masked_name(name, mask), std::move(kept));
  }
  return hidden;
}

}  // namespace railbed
