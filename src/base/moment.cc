#include "base/moment.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/text.h"

namespace railbed {
namespace {

namespace chrono = std::chrono;

constexpr double kFarthest = 253402300800.0;  // the year 10000

// The three numbers of "2026-01-19" or "10:00:00".
struct Three {
  int a, b, c;
};
std::optional<Three> three(std::string_view text, std::size_t first_width, char separator) {
  if (text.size() != first_width + 6 || text[first_width] != separator || text[first_width + 3] != separator)
    return std::nullopt;
  const auto a = parse_number<unsigned>(text.substr(0, first_width));
  const auto b = parse_number<unsigned>(text.substr(first_width + 1, 2));
  const auto c = parse_number<unsigned>(text.substr(first_width + 4, 2));
  if (!a || !b || !c) return std::nullopt;
  return Three{static_cast<int>(*a), static_cast<int>(*b), static_cast<int>(*c)};
}

// Returns the offset from UTC in seconds: 0 for "Z", 3600 for "+01:00".
std::optional<int> offset_seconds(std::string_view text) {
  if (text == "Z" || text == "z") return 0;
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  const auto hours = parse_number<unsigned>(text.substr(1, 2));
  const auto minutes = parse_number<unsigned>(text.substr(4, 2));
  if (!hours || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  const int seconds = static_cast<int>(*hours * 3600 + *minutes * 60);
  return text[0] == '-' ? -seconds : seconds;
}

std::optional<double> parse_rfc3339(std::string_view text) {
  if (text.size() < 20 || (text[10] != 'T' && text[10] != ' ')) return std::nullopt;
  const auto date = three(text.substr(0, 10), 4, '-');
  const auto time = three(text.substr(11, 8), 2, ':');
  auto rest = text.substr(19);
  if (rest.starts_with('.'))
    rest.remove_prefix(std::min(rest.find_first_not_of("0123456789", 1), rest.size()));
  const auto offset = offset_seconds(rest);
  if (!date || !time || !offset) return std::nullopt;
  const chrono::year_month_day day{chrono::year(date->a), chrono::month(static_cast<unsigned>(date->b)),
                                   chrono::day(static_cast<unsigned>(date->c))};
  if (!day.ok() || time->a > 23 || time->b > 59 || time->c > 60) return std::nullopt;
  const auto days = chrono::sys_days(day).time_since_epoch().count();
  return static_cast<double>(days) * 86400 + time->a * 3600 + time->b * 60 + time->c - *offset;
}

}  // namespace

double now_unix() { return chrono::duration<double>(chrono::system_clock::now().time_since_epoch()).count(); }

std::string utc_text(double unix_seconds) {
  if (!(unix_seconds >= 0 && unix_seconds < kFarthest)) return "an unknown time";
  const chrono::sys_seconds moment{chrono::seconds(static_cast<std::int64_t>(std::floor(unix_seconds)))};
  const auto day = chrono::floor<chrono::days>(moment);
  const chrono::year_month_day date{day};
  const chrono::hh_mm_ss time{moment - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count());
}

std::optional<double> parse_since(std::string_view text, double now) {
  text = trim(text);
  if (text.size() < 2) return std::nullopt;
  constexpr std::pair<char, int> kUnits[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
  for (const auto& [unit, seconds] : kUnits)
    if (text.back() == unit)
      if (const auto count = parse_number<std::uint32_t>(text.substr(0, text.size() - 1)))
        return now - static_cast<double>(*count) * seconds;
  return parse_rfc3339(text);
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace railbed
