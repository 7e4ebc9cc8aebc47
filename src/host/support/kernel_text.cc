// Facts of the kernel and the whole system: sysctl -a, date, uptime, uname -a, lsmod, lscpu, timedatectl.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "base/json.h"
#include "base/moment.h"
#include "base/text.h"
#include "host/calls.h"
#include "host/support/date_text.h"
#include "host/support/texts.h"

namespace railbed {
namespace {

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

// Puts together the lines of /proc/cpuinfo that collectors read, unless the report has a copy of it.
void add_cpuinfo(std::string_view lscpu, ReportTree& report) {
  std::string models;  // a big.LITTLE machine has two
  for (const auto line : lines(lscpu))
    if (const auto pair = key_value(line, ':'); pair && pair->first == "Model name" && pair->second != "-" &&
                                                models.find(pair->second) == models.npos)
      models.append(models.empty() ? "" : ", ").append(pair->second);
  if (models.empty() || report.has("/proc/cpuinfo")) return;
  constexpr int kMostSockets = 64;
  const int sockets = parse_number<int>(value_of(lscpu, "Socket(s)")).value_or(0);
  const auto flags = value_of(lscpu, "Flags");
  std::string content = fmt::format("model name\t: {}\n", models);
  if (!flags.empty()) content += fmt::format("flags\t\t: {}\n", flags);
  for (int id = 0; id < std::min(sockets, kMostSockets); ++id)
    content += fmt::format("physical id\t: {}\n", id);
  report.copy("/proc/cpuinfo", std::move(content));
}

constexpr std::string_view kNodes = "/sys/devices/system/node";
constexpr int kMostNodes = 1024;

void add_node(std::optional<int> number, std::string_view cpus, ReportTree& report) {
  if (!number || *number < 0 || *number > kMostNodes) return;
  report.whole(kNodes);
  report.line(fmt::format("{}/node{}/cpulist", kNodes, *number), cpus);
}

}  // namespace

std::optional<double> date_in(std::string_view text, std::optional<int> zone) {
  const auto date = parse_date(text);
  if (!date || !date->year || (!date->zone && !zone)) return std::nullopt;
  return unix_seconds(*date, *date->year, zone.value_or(0));
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

void add_uptime(std::string_view text, ReportTree& report) {
  // The second number is the time of idle processors, which the output does not state and no collector reads.
  if (const auto up = uptime_in(text)) report.line("/proc/uptime", fmt::format("{:.2f} 0.00", *up));
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
  add_cpuinfo(text, report);
  for (const auto line : lines(text)) {
    // "NUMA node0 CPU(s):   0-55,112-167"
    constexpr std::string_view kStart = "NUMA node";
    const auto pair = key_value(line, ':');
    if (!pair || !pair->first.starts_with(kStart) || !pair->first.ends_with(" CPU(s)")) continue;
    const auto number = pair->first.substr(kStart.size());
    add_node(parse_number<int>(number.substr(0, number.find(' '))), pair->second, report);
  }
}

// Reads "node 0 cpus: 0 1 2 3" of numactl --hardware.
void add_numactl(std::string_view text, ReportTree& report) {
  for (const auto line : lines(text)) {
    const auto pair = key_value(line, ':');
    const auto name = pair ? words(pair->first) : std::vector<std::string_view>();
    if (name.size() != 3 || name[0] != "node" || name[2] != "cpus") continue;
    std::string cpus;
    for (const auto cpu : words(pair->second)) cpus.append(cpus.empty() ? "" : ",").append(cpu);
    add_node(parse_number<int>(name[1]), cpus, report);
  }
}

// Derives the processors that are online from /proc/cpuinfo, which lists no others.
void add_online(ReportTree& report) {
  const std::string cpuinfo = report.text("/proc/cpuinfo");
  std::string online;
  for (const auto line : lines(cpuinfo))
    if (const auto pair = key_value(line, ':'); pair && pair->first == "processor" && is_digits(pair->second))
      online.append(online.empty() ? "" : ",").append(pair->second);
  if (!online.empty()) report.line("/sys/devices/system/cpu/online", online);
}

// Reads "Universal time: Mon 2026-01-19 10:00:00 UTC", "System clock synchronized: yes"; systemd before 239 prints "NTP
// synchronized: yes".
void add_timedatectl(std::string_view text, ReportTree& report) {
  const auto time = words(value_of(text, "Universal time"));
  auto synchronised = value_of(text, "System clock synchronized");
  if (synchronised.empty()) synchronised = value_of(text, "NTP synchronized");
  if (time.size() < 3 || synchronised.empty()) return;
  const std::string utc = fmt::format("{}T{}Z", time[1], time[2]);
  if (!parse_since(utc, 0)) return;
  report.call("clock", json::dump(json::encode(ClockAnswer{utc, synchronised == "yes"})));
}

}  // namespace railbed
