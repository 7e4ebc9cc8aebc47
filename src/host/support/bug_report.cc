#include "host/support/bug_report.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "host/support/date_text.h"

namespace railbed {
namespace {

constexpr std::string_view kRule = "____________________________________________";

bool is_rule(std::string_view line) { return line.starts_with(kRule); }

std::string joined_lines(const std::vector<std::string_view>& text, std::size_t from) {
  std::string all;
  while (from < text.size() && trim(text[from]).empty()) ++from;
  std::size_t to = text.size();
  while (to > from && trim(text[to - 1]).empty()) --to;
  for (; from < to; ++from) all.append(text[from]).append("\n");
  return all;
}

// Returns a path without "/./".
std::string plain_path(std::string_view path) {
  std::string plain;
  for (const auto part : split(path, '/'))
    if (!part.empty() && part != ".") plain.append("/").append(part);
  return plain;
}

// Reads the machine's offset from UTC from "*** ls: -r--r--r-- 1 root root 0 2025-09-13 09:47:51.519401349 +0200
// /proc/version". The time itself is the file's, not the report's.
void add_zone(std::string_view line, Outputs& outputs) {
  const auto parts = words(line);
  for (std::size_t i = 2; i < parts.size(); ++i)
    if (parts[i].size() == 5 && zone_offset(parts[i]) && parts[i - 1].find(':') != line.npos)
      return outputs.add({{"date", "+%z"}, std::string(parts[i]), 0});
}

// Adds the file of a section: "*** /proc/cmdline", "*** ls: -r--r--r-- …", then the content; or "*** /proc/cmdline
// does not exist".
void add_file(const std::vector<std::string_view>& section, std::size_t at, ReportTree& report,
              Outputs& outputs) {
  auto name = trim(section[at].substr(3));
  constexpr std::string_view kNone = " does not exist";
  const bool exists = !name.ends_with(kNone);
  if (!exists) name.remove_suffix(kNone.size());
  const std::string path = plain_path(name);
  std::size_t from = at + 1;
  for (; from < section.size() && section[from].starts_with("*** "); ++from) add_zone(section[from], outputs);
  if (!is_copied_file(path)) return;
  exists ? report.copy(path, joined_lines(section, from)) : report.nothing(path);
}

// Reads the script's own first lines: "Date: …", "uname: Linux gpu01 6.8.0 …".
void add_head(const std::vector<std::string_view>& section, Outputs& outputs) {
  const std::pair<std::string_view, std::vector<std::string>> kLines[] = {{"uname: ", {"uname", "-a"}},
                                                                          {"Date: ", {"date"}}};
  for (const auto line : section)
    for (const auto& [start, command] : kLines)
      if (line.starts_with(start)) outputs.add({command, std::string(line.substr(start.size())), 0});
}

// Splits a section with several commands, each with a line of its own: "/usr/bin/nvidia-smi --query".
void add_commands(const std::vector<std::string_view>& section, Outputs& outputs) {
  std::vector<std::string> words;
  std::vector<std::string_view> text;
  const auto end = [&] {
    if (!words.empty()) outputs.add({words, joined_lines(text, 0), 0});
    text.clear();
  };
  for (const auto line : section) {
    const bool may_begin =
        line.starts_with('/') || (words.empty() && line.ends_with(':') && !line.starts_with(' '));
    auto found = may_begin ? words_of_command(line) : std::vector<std::string>();
    if (found.empty()) {
      text.push_back(line);
      continue;
    }
    end();
    words = std::move(found);
  }
  end();
}

// Adds the kernel's lines of this boot that the script found in the journal, below "  journalctl -b -0:". Those
// of /var/log/kern.log may be of earlier boots.
void add_found_lines(const std::vector<std::string_view>& section, Outputs& outputs) {
  std::vector<std::string_view> text;
  bool ours = false;
  for (const auto line : section) {
    if (line.starts_with("  ") && line.ends_with(':'))
      ours = trim(line) == "journalctl -b -0:";
    else if (ours)
      text.push_back(line);
  }
  if (!text.empty()) outputs.add({{"journalctl", "-b", "-0"}, joined_lines(text, 0), 0});
}

void add_section(const std::vector<std::string_view>& section, ReportTree& report, Outputs& outputs) {
  const auto first = std::ranges::find_if(section, [](std::string_view line) { return !trim(line).empty(); });
  if (first == section.end()) return;
  if (first->starts_with("*** "))
    add_file(section, static_cast<std::size_t>(first - section.begin()), report, outputs);
  else if (first->starts_with("Start of NVIDIA bug report log file"))
    add_head(section, outputs);
  else if (first->starts_with("Scanning kernel log files"))
    add_found_lines(section, outputs);
  else
    add_commands(section, outputs);
}

// The messages of NVIDIA's driver in a list of the section "Scanning kernel log files".
struct Messages {
  std::string text;  // the other lines are empty, so that each has its number; empty without any message
  std::vector<std::size_t>
      boots;  // the numbers of the lines with which the boots in it begin, by the kernel's stamps
};

Messages messages_below(std::string_view text, std::string_view source) {
  constexpr std::string_view kKernel = " kernel: ";
  Messages found;
  bool any = false, scanned = false, wanted = false;
  double last = 0;
  std::size_t number = 0;
  for (const auto line : lines(text)) {
    if (is_rule(line)) scanned = wanted = false;
    if (line.starts_with("Scanning kernel log files")) scanned = true;
    if (scanned && line.starts_with("  ") && line.ends_with(':')) wanted = trim(line) == source;
    const auto kernel = wanted ? line.find(kKernel) : line.npos;
    const bool is_message = kernel != line.npos && line.find("NVRM: ") != line.npos;
    if (kernel != line.npos) {
      // "[   20.817762] " counts from the boot.
      const auto rest = line.substr(kernel + kKernel.size());
      const auto stamp =
          rest.starts_with('[') ? parse_real(trim(rest.substr(1, rest.find(']') - 1))) : std::nullopt;
      if (stamp && (found.boots.empty() || *stamp < last)) found.boots.push_back(number);
      if (stamp) last = *stamp;
    }
    if (is_message) found.text.append(line);
    found.text.append("\n");
    any = any || is_message;
    ++number;
  }
  if (!any) found.text.clear();
  return found;
}

}  // namespace

bool is_copied_file(std::string_view path) {
  const bool is_read = path.starts_with("/proc/") || path.starts_with("/sys/") ||
                       path.starts_with("/etc/modprobe.d/") || path == "/etc/os-release";
  return is_read && path.find(' ') == path.npos && path.find("..") == path.npos;
}

bool is_bug_report(std::string_view text) {
  constexpr std::size_t kHead = 4096;
  return text.substr(0, kHead).find("Start of NVIDIA bug report log file") != std::string_view::npos;
}

std::string messages_of_boot(std::string_view text, int boots_before) {
  return messages_below(text, "journalctl -b -" + std::to_string(boots_before) + ":").text;
}

std::string messages_of_log_file(std::string_view text) {
  Messages found = messages_below(text, "/var/log/kern.log:");
  // The last boot of the file may be this one.
  const std::size_t last = found.text.empty() || found.boots.empty() ? 0 : found.boots.back();
  std::size_t end = 0;
  for (std::size_t line = 0; line < last; ++line) end = found.text.find('\n', end) + 1;
  found.text.resize(end);
  return found.text.find("NVRM: ") == std::string::npos ? std::string() : found.text;
}

void read_bug_report(std::string_view text, ReportTree& report, Outputs& outputs) {
  std::vector<std::string_view> section;
  for (const auto line : lines(text)) {
    if (!is_rule(line)) {
      section.push_back(line);
      continue;
    }
    add_section(section, report, outputs);
    section.clear();
  }
  add_section(section, report, outputs);
}

}  // namespace railbed
