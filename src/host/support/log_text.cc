// The kernel's log in the forms that dmesg, journalctl and syslog print. A line has a stamp, which is the time
// since the boot or a date, and then the kernel's text.
//
//   [   22.636732] text                        dmesg, /var/log/dmesg; with -x "kern  :info  : " before it
//   <6>[   22.636732] text                     dmesg -r
//   6,339,5140900,-;text                       /dev/kmsg
//   [Sun Feb 23 16:24:10 2025] text            dmesg -T
//   2025-02-23T16:24:10,123456+01:00 text      dmesg --time-format=iso
//   [Feb23 16:24] text, then [  +0.000004]     dmesg -H
//   Sep 08 07:55:37 gpu01 kernel: text         journalctl -k; -o short-precise; syslog, which may repeat the
//                                              time since the boot
//   2025-09-08T07:55:37+0000 gpu01 kernel: text                    -o short-iso, -o short-iso-precise
//   Mon 2025-09-08 07:55:37 UTC gpu01 kernel: text                 -o short-full
//   1795252201.123456 gpu01 kernel: text                           -o short-unix
//   [   22.636732] gpu01 kernel: text                              -o short-monotonic
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/moment.h"
#include "base/text.h"
#include "host/kernel_log.h"
#include "host/support/date_text.h"
#include "host/support/texts.h"

namespace railbed {
namespace {

// A moment before 1970, which utc_text() calls an unknown time: the boot where nothing states a date.
constexpr double kUnknownBoot = -1e9;
constexpr int kUnknownYear = 1904;
constexpr double kDay = 86400;
constexpr double kLongestUptime = 1e9;

struct Stamp {
  std::optional<double> uptime;  // seconds since the boot
  std::optional<double> unix_time;
  std::optional<DateText> date;
  bool is_step = false;  // uptime is the time since the line before
};
struct Stamped {
  Stamp stamp;
  std::string_view text;
};

bool is_uptime(double seconds) { return seconds >= 0 && seconds <= kLongestUptime; }

// dmesg -x shows the writer of a line. Lines that a process wrote are not the kernel's.
bool is_of_a_process(std::string_view line) {
  const auto first = line.substr(0, std::min(line.find_first_of(" :["), line.size()));
  constexpr std::string_view kFacilities[] = {"user", "daemon", "auth", "syslog", "authpriv", "local0"};
  return std::ranges::find(kFacilities, first) != std::end(kFacilities);
}

// Removes "<6>" or "kern  :info  : " before a stamp.
std::string_view without_level(std::string_view line) {
  if (line.starts_with('<'))
    if (const auto end = line.find('>'); end <= 4) return line.substr(end + 1);
  if (!line.starts_with("kern ") && !line.starts_with("kern:")) return line;
  const auto first = line.find(':');
  const auto second = line.find(':', first + 1);
  constexpr std::size_t kLongest = 24;
  return second > kLongest ? line : trim(line.substr(second + 1));
}

// Parses the inside of the brackets of dmesg.
std::optional<Stamp> bracket_stamp(std::string_view inside) {
  inside = trim(inside);
  Stamp stamp;
  stamp.is_step = inside.starts_with('+');
  if (stamp.is_step) inside.remove_prefix(1);
  // The kernel writes a fraction: "[12]" is another program's, such as a port's number of ibnetdiscover.
  if (const auto seconds = parse_real(inside);
      seconds && is_uptime(*seconds) && inside.find('.') != inside.npos) {
    stamp.uptime = *seconds;
    return stamp;
  }
  // dmesg begins a date with a weekday or a month; daemons' logs have "[2026-03-05T10:11:02.114]".
  if (inside.empty() || is_digit(inside.front())) return std::nullopt;
  std::string date(inside);  // dmesg -H: "Feb23 16:24"
  if (const auto digit = date.find_first_of("0123456789"); digit == 3) date.insert(digit, " ");
  stamp.date = parse_date(date);
  // dmesg prints no year behind a day: "[Feb 27 2025 15:10:02]" is of NVIDIA's fabric manager.
  constexpr std::size_t kWordsOfOthers = 4;
  const bool is_other = words(inside).size() == kWordsOfOthers && stamp.date && stamp.date->year;
  return stamp.date && !is_other ? std::optional(stamp) : std::nullopt;
}

// Removes "gpu01 kernel: " or "kernel: " before the text of a line whose stamp is in brackets.
std::string_view without_host(std::string_view text) {
  constexpr std::string_view kKernel = "kernel: ";
  text = trim(text);
  const auto at = text.find(kKernel);
  if (at == 0 || (at != text.npos && text[at - 1] == ' ' && is_plain_word(text.substr(0, at - 1), 253)))
    return trim(text.substr(at + kKernel.size()));
  return text;
}

std::optional<Stamped> bracketed(std::string_view line) {
  constexpr std::size_t kLongest = 64;
  const auto close = line.find(']');
  if (!line.starts_with('[') || close > kLongest) return std::nullopt;
  const auto stamp = bracket_stamp(line.substr(1, close - 1));
  if (!stamp) return std::nullopt;
  return Stamped{*stamp, without_host(line.substr(close + 1))};
}

// Parses "STAMP HOST kernel: text". The stamp is parsed strictly, since another program's text may hold
// "kernel:", too.
std::optional<Stamped> of_syslog(std::string_view line) {
  constexpr std::string_view kKernel = " kernel: ";
  constexpr std::size_t kFarthest = 320;
  const auto at = line.find(kKernel);
  if (at == line.npos || at > kFarthest) return std::nullopt;
  const auto head = trim(line.substr(0, at));
  const auto space = head.rfind(' ');
  if (space == head.npos) return std::nullopt;
  const auto when = trim(head.substr(0, space));
  auto text = trim(line.substr(at + kKernel.size()));
  if (const auto repeated = bracketed(text); repeated && repeated->stamp.uptime) text = repeated->text;
  Stamp stamp;
  constexpr double kYear2000 = 946684800;
  if (const auto seconds = parse_real(when); seconds && *seconds > kYear2000 && *seconds < 1e10)
    stamp.unix_time = *seconds;
  else
    stamp.date = parse_date(when);
  if (!stamp.date && !stamp.unix_time) return std::nullopt;
  return Stamped{stamp, text};
}

// Parses a line of dmesg --time-format=iso, whose fraction follows a comma.
std::optional<Stamped> of_iso(std::string_view line) {
  const auto space = line.find(' ');
  const auto when = line.substr(0, space);
  if (space == line.npos || when.size() < 20 || when[10] != 'T' || when[19] != ',') return std::nullopt;
  Stamp stamp;
  stamp.date = parse_date(when);
  if (!stamp.date) return std::nullopt;
  return Stamped{stamp, trim(line.substr(space + 1))};
}

std::optional<Stamped> stamped(std::string_view line) {
  if (is_of_a_process(line)) return std::nullopt;
  if (!line.empty() && is_digit(line[0]))
    if (const auto record = parse_kmsg(line)) {
      if (!record->by_kernel) return std::nullopt;
      return Stamped{{record->uptime, std::nullopt, std::nullopt, false}, record->text};
    }
  line = without_level(line);
  if (auto found = bracketed(line)) return found;
  if (auto found = of_iso(line)) return found;
  return of_syslog(line);
}

bool begins_the_boot(std::string_view text) {
  return text.starts_with("Linux version") || text.starts_with("Booting Linux");
}

struct Log {
  const LogText* source = nullptr;
  std::vector<Stamped> lines;  // from the last boot on
  bool whole = false;
  bool without_zone = false;
};

Log read_log(const LogText& source) {
  constexpr std::size_t kMostLines = 500'000;
  // dmesg and journalctl indent the further lines of a message as far as its text.
  constexpr std::string_view kIndent = "          ";
  Log log{&source, {}, false, false};
  double before = 0;
  bool goes_on = false;  // the line before is the kernel's
  for (const auto line : lines(source.text)) {
    auto found = stamped(line);
    if (!found && goes_on && line.starts_with(kIndent)) {
      found = Stamped{log.lines.back().stamp, trim(line)};
      found->stamp.is_step = false;
    }
    goes_on = found.has_value();
    if (!found || log.lines.size() >= kMostLines) continue;
    if (begins_the_boot(found->text)) {
      log.lines.clear();
      log.whole = true;
      before = 0;
    }
    if (found->stamp.is_step && found->stamp.uptime) found->stamp.uptime = before + *found->stamp.uptime;
    if (found->stamp.uptime) before = *found->stamp.uptime;
    log.without_zone = log.without_zone || (found->stamp.date && !found->stamp.date->zone);
    log.lines.push_back(*found);
  }
  return log;
}

// Returns the year of a moment.
int year_of(double moment) { return parse_number<int>(utc_text(moment).substr(0, 4)).value_or(kUnknownYear); }

// Returns the time of a line's date. Where it has no year, the latest that is not in the future is taken.
double time_of(const DateText& date, const LogClock& clock) {
  const int zone = clock.zone.value_or(0);
  if (date.year) return unix_seconds(date, *date.year, zone);
  if (!clock.read_at) return unix_seconds(date, kUnknownYear, zone);
  const int year = year_of(*clock.read_at);
  const double moment = unix_seconds(date, year, zone);
  return moment > *clock.read_at + kDay ? unix_seconds(date, year - 1, zone) : moment;
}

double last_uptime(const Log& log) {
  double last = 0;
  for (const Stamped& line : log.lines) last = std::max(last, line.stamp.uptime.value_or(0));
  return last;
}

// Returns the boot by a line that two logs hold, one with a date and one with the time since the boot.
std::optional<double> boot_by(const Log& dated, const Log& counted, const LogClock& clock) {
  if (!clock.zone || !clock.read_at) return std::nullopt;
  for (auto line = dated.lines.rbegin(); line != dated.lines.rend(); ++line) {
    if (!line->stamp.date) continue;
    const auto same = std::find_if(counted.lines.rbegin(), counted.lines.rend(),
                                   [&](const Stamped& other) { return other.text == line->text; });
    if (same != counted.lines.rend() && same->stamp.uptime)
      return time_of(*line->stamp.date, clock) - *same->stamp.uptime;
  }
  return std::nullopt;
}

class Timeline {
 public:
  Timeline(const Log& log, const Log* extract, const LogClock& clock) : clock_(clock) {
    const double last = last_uptime(log);
    const auto common = extract == nullptr || clock.boot ? std::nullopt : boot_by(*extract, log, clock);
    boot_ = clock.boot      ? *clock.boot
            : common        ? *common
            : clock.read_at ? *clock.read_at - last
                            : kUnknownBoot;
  }
  double boot() const { return boot_; }
  double when(const Stamp& stamp) const {
    if (stamp.unix_time) return *stamp.unix_time;
    return stamp.uptime ? boot_ + *stamp.uptime : time_of(*stamp.date, clock_);
  }

 private:
  const LogClock& clock_;
  double boot_ = 0;
};

// Picks the log that reaches back to the boot, else the first that is not an extract, else the first.
const Log* best_of(const std::vector<Log>& logs) {
  const Log* best = nullptr;
  for (const Log& log : logs) {
    const bool better =
        best == nullptr || (log.whole && !best->whole) || (best->source->extract && !log.source->extract);
    if (!log.lines.empty() && better) best = &log;
  }
  return best;
}

}  // namespace

void add_kernel_log(const std::vector<LogText>& texts, const LogClock& clock, ReportTree& report) {
  std::vector<Log> logs;
  for (const LogText& text : texts) logs.push_back(read_log(text));
  const Log* const best = best_of(logs);
  if (best == nullptr) return;
  const auto extract = std::ranges::find_if(
      logs, [&](const Log& log) { return log.source->extract && &log != best && !log.lines.empty(); });
  const Timeline timeline(*best, extract == logs.end() ? nullptr : &*extract, clock);
  const double first = timeline.when(best->lines.front().stamp);
  KernelLogAnswer answer;
  answer.source = best->source->name;
  if (best->without_zone && !clock.zone) answer.source += ", its times taken for UTC";
  answer.begins = best->lines.front().stamp.uptime ? timeline.boot() : first;
  // A text that is shorter than the kernel's smallest buffer was not overwritten: somebody cut it out.
  constexpr std::size_t kSmallestBuffer = 32 << 10;
  answer.part = !best->whole && (best->source->extract || best->source->text.size() < kSmallestBuffer);
  answer.beginning_lost = !best->whole && !answer.part;
  KernelLogFold fold(std::min(answer.begins, first) - kDay * 366);
  if (!best->whole && extract != logs.end())
    for (const Stamped& line : extract->lines)
      if (timeline.when(line.stamp) < first) fold.add(timeline.when(line.stamp), line.text);
  double last = first;
  for (const Stamped& line : best->lines) {
    const double when = timeline.when(line.stamp);
    last = std::max(last, when);
    fold.add(when, line.text);
  }
  answer.ends = std::max(clock.read_at.value_or(last), last);
  fold.finish(answer);
  report.call("kernel-log", json::dump(json::encode(answer)));
}

bool holds_kernel_log(std::string_view text) {
  constexpr int kLooked = 50;
  int looked = 0;
  for (const auto line : lines(text)) {
    if (stamped(line)) return true;
    if (++looked >= kLooked) break;
  }
  return false;
}

double last_stamp(std::string_view dmesg) { return last_uptime(read_log({"", dmesg, false})); }

}  // namespace railbed
