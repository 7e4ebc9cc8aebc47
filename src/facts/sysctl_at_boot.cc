// Determines what the files of sysctl.d set at boot, in the way of systemd-sysctl: sysctl.d(5), and the
// sources of systemd, src/sysctl/sysctl.c.
//
// All files are read in the order of their names, whatever their folder; of files with one name only the one
// in the strongest folder counts. A line replaces an earlier line with the same key. A key may be a pattern.
// For a setting, a line with its exact key decides, wherever it is; otherwise the last pattern that covers
// it. "-key" without a value excludes the key from all patterns.
#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "facts/collectors.h"
#include "facts/readings.h"
#include "facts/sysctl_keys.h"

namespace railbed {
namespace {

// In falling precedence: a file hides the files of the same name in later folders. Debian, Ubuntu and RHEL
// read /etc/sysctl.conf through a link, /etc/sysctl.d/99-sysctl.conf; without it that file is not read at
// boot.
const std::string kSysctlFolders[] = {"/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d",
                                      "/usr/lib/sysctl.d", "/lib/sysctl.d"};
constexpr std::size_t kMostSysctlFiles = 256;
constexpr std::size_t kLargestSysctlFile = 1 << 16;
constexpr std::size_t kMostAssignments = 1024;
constexpr std::size_t kLongestKey = 128;
constexpr std::size_t kLongestValue = 80;
constexpr std::ptrdiff_t kMostStars = 4;  // bounds the cost of a match

struct Assignment {
  std::string key;                   // as a path: "net/core/rmem_max", or a pattern of such
  std::optional<std::string> value;  // nullopt: "-key" excludes the key from patterns
  std::string file;
};

// Returns a key as a path. If its first separator is a dot, dots and slashes swap their roles.
std::string as_path(std::string key) {
  const auto first = key.find_first_of("./");
  if (first == std::string::npos || key[first] == '/') return key;
  for (char& one : key)
    if (one == '.' || one == '/') one = one == '.' ? '/' : '.';
  return key;
}

bool is_pattern(std::string_view key) { return key.find_first_of("*?[") != std::string_view::npos; }

bool covers(const std::string& pattern, const std::string& path) {
  if (!is_pattern(pattern)) return pattern == path;
  return std::ranges::count(pattern, '*') <= kMostStars &&
         fnmatch(pattern.c_str(), path.c_str(), FNM_PATHNAME) == 0;
}

// Parses a line; nullopt for comments and for keys that are not collected.
std::optional<Assignment> assignment_in(std::string_view line) {
  line = trim(line);
  if (line.empty() || line.front() == '#' || line.front() == ';') return std::nullopt;
  const auto equals = line.find('=');
  const bool takes_out = equals == std::string_view::npos;
  if (takes_out && line.front() != '-') return std::nullopt;
  std::string_view key = line.substr(0, equals);
  if (key.starts_with('-')) key.remove_prefix(1);  // it also means that an error is ignored
  key = trim(key);
  if (key.empty() || key.size() > kLongestKey) return std::nullopt;
  Assignment found{as_path(std::string(key)), std::nullopt, {}};
  const auto looked_at = [&](std::string_view one) { return covers(found.key, as_path(std::string(one))); };
  if (std::ranges::none_of(kSysctlKeys, looked_at)) return std::nullopt;
  if (!takes_out) found.value = spaced(printable(line.substr(equals + 1).substr(0, kLongestValue)));
  return found;
}

// Adds an assignment at the end and removes an earlier one for the same key. Keeps the earlier place if the
// value is the same.
void add_assignment(Assignment assignment, std::vector<Assignment>& all) {
  const auto earlier = std::ranges::find(all, assignment.key, &Assignment::key);
  if (earlier != all.end()) {
    if (earlier->value == assignment.value) return;
    all.erase(earlier);
  }
  if (all.size() < kMostAssignments) all.push_back(std::move(assignment));
}

// Returns the assignment that decides about `path`; null if there is none. An exact key has precedence over
// all patterns; among patterns the last one decides.
const Assignment* decides(const std::vector<Assignment>& all, const std::string& path) {
  const Assignment* last = nullptr;
  for (const Assignment& assignment : all) {
    if (assignment.key == path) return assignment.value ? &assignment : nullptr;
    if (assignment.value && covers(assignment.key, path)) last = &assignment;
  }
  return last;
}

// Returns the files by name over all folders, which is the order in which they are read.
Reading<std::map<std::string, std::string>> sysctl_files(Host& host) {
  std::map<std::string, std::string> files;
  bool any = false;
  for (const auto& folder : kSysctlFolders) {
    const auto names = host.list(folder);
    if (names.absent()) continue;
    if (!names) return {names.miss(), names.from()};
    any = true;
    const std::string inside = folder + "/";
    for (const auto& name : *names)
      if (is_device_name(name, 255) && name.ends_with(".conf") && files.size() < kMostSysctlFiles)
        files.emplace(name, inside + name);
  }
  if (!any) return {Miss{Missing::kAbsent, "no sysctl.d"}, kSysctlFolders[0]};
  return {std::move(files), kSysctlFolders[0]};
}

}  // namespace

std::string spaced(std::string_view text) {
  std::string joined;
  for (const auto word : words(text)) joined += (joined.empty() ? "" : " ") + std::string(word);
  return joined;
}

std::string used_sysctl(std::string_view text) {
  std::string used;
  for (const auto line : lines(text))
    if (assignment_in(line)) used += std::string(trim(line)) + "\n";
  return used;
}

Reading<std::vector<BootSetting>> collect_sysctl_at_boot(Host& host) {
  const auto files = sysctl_files(host);
  if (!files) return {files.miss(), files.from()};
  std::vector<Assignment> all;
  for (const auto& [name, path] : *files) {
    if (host.resolve(path).value_or("") == "/dev/null") continue;  // a masked file
    const auto text = host.read(path, kLargestSysctlFile);
    if (text.absent()) continue;
    if (!text) return {text.miss(), text.from()};
    for (const auto line : lines(*text))
      if (auto found = assignment_in(line)) {
        found->file = path;
        add_assignment(std::move(*found), all);
      }
  }
  std::vector<BootSetting> settings;
  for (const auto key : kSysctlKeys)
    if (const Assignment* assignment = decides(all, as_path(std::string(key))))
      settings.push_back({std::string(key), *assignment->value, assignment->file});
  return {std::move(settings), files.from()};
}

}  // namespace railbed
