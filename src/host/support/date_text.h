// Dates as date(1), dmesg and journalctl print them, in several languages.
#pragma once

#include <optional>
#include <string_view>

namespace railbed {

struct DateText {
  std::optional<int> year;  // syslog prints none
  int month = 0;            // 1 to 12
  int day = 0;
  double seconds = 0;       // since midnight
  std::optional<int> zone;  // seconds east of UTC; nullopt if the text names no zone, or one of several
};
// Parses "Sat Sep 13 09:50:48 PM CEST 2025", "sam. 13 sept. 2025 09:50:48 CEST", "2025年 09月 13日 土曜日
// 09:50:48 JST", "2025-09-13T09:50:48,123456+02:00", "Sep 13 09:50:48.123456". Returns nullopt for a text that
// holds something else, as the beginning of another program's line does.
std::optional<DateText> parse_date(std::string_view text);
// Returns Unix seconds. The parameters stand in for what the text does not state.
double unix_seconds(const DateText& date, int year, int zone);
// Parses "+0200", "-03:30", "+02" to seconds.
std::optional<int> zone_offset(std::string_view text);

}  // namespace railbed
