// What the files of sysctl.d set when the machine starts, read as systemd-sysctl reads them: sysctl.d(5), and
// the sources of systemd, src/sysctl/sysctl.c.
#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "facts/collectors.h"
#include "facts/readings.h"
#include "facts/sysctl_keys.h"

namespace railbed {
namespace {

// The strongest first: a file hides those of its name in the folders behind. Debian, Ubuntu and RHEL have
// /etc/sysctl.conf read by a link, /etc/sysctl.d/99-sysctl.conf; without it nobody reads that file at boot.
const std::string kSysctlFolders[] = {"/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d",
                                      "/usr/lib/sysctl.d", "/lib/sysctl.d"};
constexpr std::size_t kMostSysctlFiles = 256;
constexpr std::size_t kLargestSysctlFile = 1 << 16;
constexpr std::size_t kMostAssignments = 1024;
constexpr std::size_t kLongestKey = 128;
constexpr std::size_t kLongestValue = 80;
constexpr std::ptrdiff_t kMostStars = 4;  // what matching a pattern may cost

struct Assignment {
  std::string key;                   // as a path: "net/core/rmem_max", or a pattern of such
  std::optional<std::string> value;  // none: "-key" takes the key out of patterns
  std::string file;
};

// Where the first separator is a dot, dots and slashes change places.
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

// Nothing of comments, and of keys that are not looked at.
std::optional<Assignment> assignment_in(std::string_view line) {
  line = trim(line);
  if (line.empty() || line.front() == '#' || line.front() == ';') return std::nullopt;
  const auto equals = line.find('=');
  const bool takes_out = equals == std::string_view::npos;
  if (takes_out && line.front() != '-') return std::nullopt;
  std::string_view key = line.substr(0, equals);
  if (key.starts_with('-')) key.remove_prefix(1);  // also: an error is none
  key = trim(key);
  if (key.empty() || key.size() > kLongestKey) return std::nullopt;
  Assignment found{as_path(std::string(key)), std::nullopt, {}};
  const auto looked_at = [&](std::string_view one) { return covers(found.key, as_path(std::string(one))); };
  if (std::ranges::none_of(kSysctlKeys, looked_at)) return std::nullopt;
  if (!takes_out) found.value = spaced(printable(line.substr(equals + 1).substr(0, kLongestValue)));
  return found;
}

// A later line for the same key takes the place of the earlier one, at the end of the line.
void add_assignment(Assignment one, std::vector<Assignment>& all) {
  const auto earlier = std::ranges::find(all, one.key, &Assignment::key);
  if (earlier != all.end()) {
    if (earlier->value == one.value) return;
    all.erase(earlier);
  }
  if (all.size() < kMostAssignments) all.push_back(std::move(one));
}

// A line with the key itself decides over all patterns; of these the last decides.
const Assignment* decides(const std::vector<Assignment>& all, const std::string& path) {
  const Assignment* last = nullptr;
  for (const Assignment& one : all) {
    if (one.key == path) return one.value ? &one : nullptr;
    if (one.value && covers(one.key, path)) last = &one;
  }
  return last;
}

// By name over all folders: that is the order in which they are read.
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
    if (host.resolve(path).value_or("") == "/dev/null") continue;  // how an administrator masks a file
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
    if (const Assignment* one = decides(all, as_path(std::string(key))))
      settings.push_back({std::string(key), *one->value, one->file});
  return {std::move(settings), files.from()};
}

}  // namespace railbed
