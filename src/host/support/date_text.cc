// Reads a date from its words in any order. A word with colons is the time of day, a number of four digits the
// year, the name of a month the month; what is left is the day. Where the month has no name, the numbers stand
// in the order year, month, day, as in ISO 8601, Chinese, Japanese and Korean.
#include "host/support/date_text.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/text.h"

namespace railbed {
namespace {

// Beginnings of the months' names in the locales of glibc (localedata/locales, abmon and mon), in lower case.
constexpr std::pair<std::string_view, int> kMonths[] = {
    {"jan", 1},
    {"feb", 2},
    {"mar", 3},
    {"apr", 4},
    {"may", 5},
    {"jun", 6},
    {"jul", 7},
    {"aug", 8},
    {"sep", 9},
    {"oct", 10},
    {"nov", 11},
    {"dec", 12},
    // German, French, Spanish, Italian, Portuguese
    {"jän", 1},
    {"mär", 3},
    {"mai", 5},
    {"okt", 10},
    {"dez", 12},
    {"janv", 1},
    {"fév", 2},
    {"févr", 2},
    {"avr", 4},
    {"juin", 6},
    {"juil", 7},
    {"aoû", 8},
    {"déc", 12},
    {"ene", 1},
    {"abr", 4},
    {"ago", 8},
    {"dic", 12},
    {"gen", 1},
    {"mag", 5},
    {"giu", 6},
    {"lug", 7},
    {"set", 9},
    {"ott", 10},
    {"fev", 2},
    {"out", 10},
    // Dutch, Danish, Swedish, Norwegian, Polish, Turkish, Russian
    {"mrt", 3},
    {"mei", 5},
    {"maj", 5},
    {"des", 12},
    {"sty", 1},
    {"lut", 2},
    {"kwi", 4},
    {"cze", 6},
    {"lip", 7},
    {"sie", 8},
    {"wrz", 9},
    {"paź", 10},
    {"lis", 11},
    {"gru", 12},
    {"oca", 1},
    {"şub", 2},
    {"nis", 4},
    {"haz", 6},
    {"tem", 7},
    {"ağu", 8},
    {"eyl", 9},
    {"eki", 10},
    {"kas", 11},
    {"ara", 12},
    {"янв", 1},
    {"фев", 2},
    {"мар", 3},
    {"апр", 4},
    {"май", 5},
    {"мая", 5},
    {"июн", 6},
    {"июл", 7},
    {"авг", 8},
    {"сен", 9},
    {"окт", 10},
    {"ноя", 11},
    {"дек", 12}};
// Weekdays whose names begin like a month.
constexpr std::string_view kWeekdays[] = {"mardi", "martes", "martedì"};

// Zones of the tz database whose abbreviation means one offset. CST, IST, BST and PST mean several.
constexpr std::pair<std::string_view, int> kZones[] = {
    {"UTC", 0},    {"GMT", 0},    {"UCT", 0},    {"Z", 0},      {"WET", 0},    {"WEST", 60},  {"CET", 60},
    {"CEST", 120}, {"EET", 120},  {"EEST", 180}, {"MSK", 180},  {"SAST", 120}, {"JST", 540},  {"KST", 540},
    {"HKT", 480},  {"AWST", 480}, {"AEST", 600}, {"AEDT", 660}, {"NZST", 720}, {"NZDT", 780}, {"EST", -300},
    {"EDT", -240}, {"MST", -420}, {"MDT", -360}, {"PDT", -420}, {"HST", -600}};

constexpr std::string_view kMorning[] = {"AM", "am", "a.m", "上午", "午前", "오전", "πμ"};
constexpr std::string_view kFillers[] = {"de", "del", "of", "m"};
constexpr std::string_view kEvening[] = {"PM", "pm", "p.m", "下午", "午後", "오후", "μμ"};

template <class Table>
bool is_in(const Table& table, std::string_view word) {
  return std::ranges::find(table, word) != std::end(table);
}

template <class Table>
const int* value_of(const Table& table, std::string_view word) {
  for (const auto& [name, value] : table)
    if (name == word) return &value;
  return nullptr;
}

std::optional<int> month_of(std::string_view word) {
  const std::string name = lower(word);
  if (is_in(kWeekdays, name)) return std::nullopt;
  std::optional<int> found;
  std::size_t longest = 0;  // "juin" and "juil" are longer than "jui"
  for (const auto& [begins, month] : kMonths)
    if (name.starts_with(begins) && begins.size() > longest) {
      found = month;
      longest = begins.size();
    }
  return found;
}

// Parses "09:50:48", "9:50", "09:50:48.123", "09:50:48,123".
std::optional<double> clock_of(std::string_view word) {
  const auto parts = split(word, ':');
  if (parts.size() < 2 || parts.size() > 3 || parts[0].size() > 2) return std::nullopt;
  if (!is_digits(parts[0]) || !is_digits(parts[1]) || parts[1].size() != 2) return std::nullopt;
  std::string last(parts.size() == 3 ? parts[2] : "0");
  std::ranges::replace(last, ',', '.');
  if (last.empty() || !is_digit(last[0])) return std::nullopt;
  const double seconds = parse_real(last).value_or(-1);
  const int hours = *parse_number<int>(parts[0]), minutes = *parse_number<int>(parts[1]);
  if (seconds < 0 || seconds >= 61 || hours > 23 || minutes > 59) return std::nullopt;
  return hours * 3600 + minutes * 60 + seconds;
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

// Returns the text in the form of a line of English words: without the signs behind Chinese, Japanese and
// Korean numbers, and with spaces in "2025-09-13T09:50:48".
std::string plain_form(std::string_view text) {
  std::string plain(text);
  for (const std::string_view sign : {"年", "月", "日", "년", "월", "일", "秒", "초", "西元", "(", ")"})
    replace_all(plain, sign, " ");
  for (const std::string_view sign : {"時", "时", "点", "分", "시", "분"}) replace_all(plain, sign, ":");
  replace_all(plain, ": ", " ");
  for (std::size_t i = 10; i + 2 < plain.size() && i < 14; ++i)  // ISO 8601, perhaps behind a weekday
    if (plain[i] == 'T' && is_digit(plain[i - 1]) && is_digit(plain[i + 1])) plain[i] = ' ';
  return plain;
}

struct Parts {
  std::optional<int> month;
  std::optional<double> clock;
  std::optional<int> zone;
  std::vector<int> numbers;
  bool morning = false;
  bool evening = false;
  bool unnamed = false;  // a word that may be a zone
  bool strange = false;  // a word that is no part of a date
};

bool may_be_zone(std::string_view word) {
  return word.size() >= 2 && word.size() <= 5 &&
         std::ranges::all_of(word, [](char c) { return c >= 'A' && c <= 'Z'; });
}

void read_numbers(std::string_view word, Parts& parts) {
  for (const auto number : split(word, word.find('-') != word.npos ? '-' : '.')) {
    if (number.empty()) continue;
    const auto value = parse_number<int>(number);
    if (!value || !is_digits(number) || *value > 9999)
      parts.strange = true;
    else
      parts.numbers.push_back(*value);
  }
}

// Reads a word that begins with a digit: a time, "13", "13.", "2025-09-13", "09:50:48+02:00".
void read_number(std::string_view word, Parts& parts) {
  if (word.find(':') == word.npos) return read_numbers(word, parts);
  const auto offset = word.find_first_of("+-Z");
  if (offset != word.npos) parts.zone = zone_offset(word.substr(offset));
  if (word.ends_with("AM") || word.ends_with("PM")) {
    (word.ends_with("AM") ? parts.morning : parts.evening) = true;
    word.remove_suffix(2);
  }
  const auto clock = clock_of(word.substr(0, offset));
  if (!clock || parts.clock) parts.strange = true;
  parts.clock = clock;
}

void read_word(std::string_view word, bool first, Parts& parts) {
  while (word.size() > 1 && (word.ends_with('.') || word.ends_with(','))) word.remove_suffix(1);
  const bool is_offset = word.size() > 2 && (word[0] == '+' || word[0] == '-') && is_digit(word[1]);
  if (is_digit(word[0])) return read_number(word, parts);
  if (is_offset) {
    parts.zone = zone_offset(word);
    return;
  }
  if (is_in(kMorning, word))
    parts.morning = true;
  else if (is_in(kEvening, word))
    parts.evening = true;
  else if (const int* minutes = value_of(kZones, word))
    parts.zone = *minutes * 60;
  else if (parts.clock && may_be_zone(word))
    parts.unnamed = true;
  else if (const auto month = month_of(word))
    parts.month = month;  // a weekday like "mar." precedes it
  else if (!first && !parts.numbers.empty() && !is_in(kFillers, word) &&
           static_cast<unsigned char>(word[0]) < 0x80)
    parts.strange = true;
  else if (word.find_first_of("0123456789[]:/=") != word.npos)
    parts.strange = true;
}

std::optional<DateText> date_of(const Parts& parts) {
  if (parts.strange || !parts.clock) return std::nullopt;
  DateText date;
  date.zone = parts.zone;
  std::vector<int> rest;
  bool year_first = false;
  for (const int number : parts.numbers) {
    if (number >= 1000 && date.year) return std::nullopt;
    if (number >= 1000) {
      date.year = number;
      year_first = rest.empty();
    } else {
      rest.push_back(number);
    }
  }
  if (parts.unnamed && !date.year) return std::nullopt;
  if (!parts.month && (!year_first || rest.size() != 2)) return std::nullopt;
  if (parts.month && rest.size() != 1) return std::nullopt;
  date.month = parts.month.value_or(rest.front());
  date.day = rest.back();
  date.seconds = *parts.clock;
  constexpr double kNoon = 12 * 3600.0;
  if (parts.morning && date.seconds >= kNoon) date.seconds -= kNoon;
  if (parts.evening && date.seconds < kNoon) date.seconds += kNoon;
  const bool in_range = date.month >= 1 && date.month <= 12 && date.day >= 1 && date.day <= 31;
  return in_range ? std::optional(date) : std::nullopt;
}

}  // namespace

std::optional<int> zone_offset(std::string_view text) {
  text = trim(text);
  if (text == "Z") return 0;
  if (text.size() < 3 || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  std::string digits;
  for (const char c : text.substr(1))
    if (c != ':') digits += c;
  if (digits.size() == 2) digits += "00";
  if (digits.size() != 4 || !is_digits(digits)) return std::nullopt;
  const int hours = *parse_number<int>(digits.substr(0, 2)), minutes = *parse_number<int>(digits.substr(2));
  if (hours > 14 || minutes > 59) return std::nullopt;
  return (hours * 3600 + minutes * 60) * (text[0] == '-' ? -1 : 1);
}

std::optional<DateText> parse_date(std::string_view text) {
  constexpr std::size_t kLongest = 100;
  if (text.size() > kLongest) return std::nullopt;
  const std::string plain = plain_form(text);
  Parts parts;
  bool first = true;
  for (const auto word : words(plain)) {
    read_word(word, first, parts);
    first = false;
  }
  return date_of(parts);
}

double unix_seconds(const DateText& date, int year, int zone) {
  namespace chrono = std::chrono;
  const chrono::year_month_day day{chrono::year(date.year.value_or(year)),
                                   chrono::month(static_cast<unsigned>(date.month)),
                                   chrono::day(static_cast<unsigned>(date.day))};
  const auto days = chrono::sys_days(day).time_since_epoch().count();
  return static_cast<double>(days) * 86400 + date.seconds - date.zone.value_or(zone);
}

}  // namespace railbed
