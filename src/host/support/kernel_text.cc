// Facts of the kernel and the whole system: dmesg, sysctl -a, uname -a, lsmod, lscpu, timedatectl.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "base/json.h"
#include "base/moment.h"
#include "base/text.h"
#include "host/calls.h"
#include "host/kernel_log.h"
#include "host/support/texts.h"

namespace railbed {
namespace {

struct Stamped {
  double seconds;  // since boot
  std::string_view text;
};

// Parses "[ 1234.567890] text", also behind "<6>" (dmesg -r) or "kern  :info  : " (dmesg -x). Returns nullopt
// for lines without such a timestamp: dmesg -T prints a date in a time zone that it does not name.
std::optional<Stamped> stamped(std::string_view line) {
  const auto open = line.find('[');
  constexpr std::size_t kLongestPrefix = 24;
  if (open == std::string_view::npos || open > kLongestPrefix) return std::nullopt;
  const auto close = line.find(']', open);
  if (close == std::string_view::npos) return std::nullopt;
  const auto seconds = parse_real(trim(line.substr(open + 1, close - open - 1)));
  constexpr double kLongestUptime = 1e9;
  if (!seconds || !(*seconds >= 0) || *seconds > kLongestUptime) return std::nullopt;
  return Stamped{*seconds, trim(line.substr(close + 1))};
}

// dmesg -x shows the writer of a line. Lines that a process wrote are not the kernel's.
bool is_of_a_process(std::string_view line) {
  const auto first = line.substr(0, std::min(line.find_first_of(" :["), line.size()));
  constexpr std::string_view kFacilities[] = {"user", "daemon", "auth", "syslog", "authpriv", "local0"};
  return std::ranges::find(kFacilities, first) != std::end(kFacilities);
}

bool begins_the_boot(std::string_view text) {
  return text.find("Linux version") != text.npos || text.find("Booting Linux") != text.npos;
}

// Returns the path of a key as sysctl -a prints it: dots separate folders, and slashes stand for the dots in
// an interface's name.
std::string sysctl_path(std::string_view key) {
  std::string path = "/proc/sys/";
  for (const char c : key) path += c == '.' ? '/' : c == '/' ? '.' : c;
  return path;
}

bool is_key(std::string_view key) { return is_plain_word(key, 200) && key.find("..") == key.npos; }

std::string_view value_of(std::string_view text, std::string_view wanted) {
  for (const auto line : lines(text))
    if (const auto pair = key_value(line, ':'); pair && pair->first == wanted) return pair->second;
  return {};
}

}  // namespace

std::optional<double> date_in(std::string_view text) {
  constexpr std::string_view kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto parts = words(text);
  if (parts.size() != 6 || parts[4] != "UTC") return std::nullopt;
  const auto month = std::ranges::find(kMonths, parts[1]) - std::begin(kMonths) + 1;
  const auto day = parse_number<int>(parts[2]);
  const auto year = parse_number<int>(parts[5]);
  if (!day || !year) return std::nullopt;
  return parse_since(fmt::format("{:04}-{:02}-{:02}T{}Z", *year, month, *day, parts[3]), 0);
}

// Parses "12:00:01 up 10 days,  3:25,  1 user, …", "up 4 min,", "up 3:25,".
std::optional<double> uptime_in(std::string_view text) {
  const auto up = text.find(" up ");
  if (up == text.npos) return std::nullopt;
  double minutes = 0;
  bool any = false;
  const auto parts = words(text.substr(up + 4));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto part = parts[i].substr(0, parts[i].find(','));
    const auto unit = i + 1 < parts.size() ? parts[i + 1] : std::string_view();
    const auto clock = key_value(part, ':');
    const auto hours = parse_number<int>(clock ? clock->first : part);
    const auto rest = clock ? parse_number<int>(clock->second) : std::optional(0);
    if (!hours || !rest || *hours < 0 || *hours > 100'000) break;
    const bool days = unit.starts_with("day"), mins = unit.starts_with("min");
    if (!clock && !days && !mins) break;  // the number of users
    minutes += clock ? *hours * 60 + *rest : days ? *hours * 24 * 60 : *hours;
    any = true;
    if (!clock) ++i;
  }
  return any ? std::optional(minutes * 60) : std::nullopt;
}

double last_stamp(std::string_view dmesg) {
  double last = 0;
  for (const auto line : lines(dmesg))
    if (const auto one = stamped(line)) last = std::max(last, one->seconds);
  return last;
}

void add_dmesg(std::string_view text, double boot, double ends, ReportTree& report) {
  KernelLogAnswer answer;
  answer.source = "dmesg";
  answer.begins = boot;
  answer.ends = ends;
  answer.beginning_lost = true;
  KernelLogFold fold(boot);
  bool any = false;
  for (const auto line : lines(text)) {
    const auto one = stamped(line);
    if (!one || is_of_a_process(line)) continue;
    any = true;
    if (begins_the_boot(one->text)) answer.beginning_lost = false;
    fold.add(boot + one->seconds, one->text);
  }
  if (!any) return;
  fold.finish(answer);
  report.call("kernel-log", json::dump(json::encode(answer)));
}

void add_sysctl(std::string_view text, ReportTree& report) {
  for (const auto line : lines(text))
    if (const auto pair = key_value(line, '='); pair && is_key(pair->first))
      report.line(sysctl_path(pair->first), pair->second);
}

// Reads "Linux gpu01 6.8.0-60-generic #63-Ubuntu SMP … x86_64 GNU/Linux".
void add_uname(std::string_view text, ReportTree& report) {
  const auto parts = words(text);
  if (parts.size() < 4 || parts[0] != "Linux") return;
  report.line("/proc/sys/kernel/hostname", parts[1]);
  report.line("/proc/sys/kernel/osrelease", parts[2]);
  for (const std::string_view machine : {"x86_64", "aarch64"})
    if (std::ranges::find(parts, machine) != parts.end())
      report.call("uname", json::dump(json::encode(UnameAnswer{std::string(machine)})));
}

// Reads "Module                  Size  Used by", then one line per module.
void add_lsmod(std::string_view text, ReportTree& report) {
  std::string modules;
  for (const auto line : lines(text)) {
    const auto parts = words(line);
    if (parts.size() < 3 || !parse_number<std::uint64_t>(parts[1])) continue;
    modules += fmt::format("{} {} {}\n", parts[0], parts[1], parts[2]);
  }
  if (!modules.empty()) report.copy("/proc/modules", modules);
}

void add_lscpu(std::string_view text, ReportTree& report) {
  if (const auto online = value_of(text, "On-line CPU(s) list"); !online.empty())
    report.line("/sys/devices/system/cpu/online", online);
  const std::string nodes = "/sys/devices/system/node";
  constexpr int kMostNodes = 1024;
  for (const auto line : lines(text)) {
    // "NUMA node0 CPU(s):   0-55,112-167"
    constexpr std::string_view kStart = "NUMA node";
    const auto pair = key_value(line, ':');
    if (!pair || !pair->first.starts_with(kStart) || !pair->first.ends_with(" CPU(s)")) continue;
    const auto number = parse_number<int>(
        pair->first.substr(kStart.size(), pair->first.find(' ', kStart.size()) - kStart.size()));
    if (!number || *number < 0 || *number > kMostNodes) continue;
    report.whole(nodes);
    report.line(fmt::format("{}/node{}/cpulist", nodes, *number), pair->second);
  }
}

// Reads "Universal time: Mon 2026-01-19 10:00:00 UTC", "System clock synchronized: yes".
void add_timedatectl(std::string_view text, ReportTree& report) {
  const auto time = words(value_of(text, "Universal time"));
  const auto synchronised = value_of(text, "System clock synchronized");
  if (time.size() < 3 || synchronised.empty()) return;
  const std::string utc = fmt::format("{}T{}Z", time[1], time[2]);
  if (!parse_since(utc, 0)) return;
  report.call("clock", json::dump(json::encode(ClockAnswer{utc, synchronised == "yes"})));
}

}  // namespace railbed
