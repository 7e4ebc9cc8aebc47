#include "diagnose/log/line.h"

#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "base/text.h"

namespace railbed::diagnose {
namespace {

constexpr std::string_view kInfoMark = " NCCL INFO ";
constexpr std::string_view kWarnMark = " NCCL WARN ";
constexpr std::string_view kVersionMark = "NCCL version ";

// Longest host name with text that precedes it, and longest place of a warning.
constexpr std::size_t kLongestOrigin = 255;
constexpr std::size_t kLongestPlace = 160;

bool is_host_character(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == '_';
}

// Removes a number from the end of `text` and returns it; nothing if there is none.
std::optional<int> take_number(std::string_view& text) {
  std::size_t begin = text.size();
  while (begin > 0 && is_digit(text[begin - 1])) --begin;
  const auto number = parse_number<int>(text.substr(begin));
  if (number) text = text.substr(0, begin);
  return number;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.back() != c) return false;
  text.remove_suffix(1);
  return true;
}

// Reads "HOST:PID:TID [DEVICE]" from the end of `before`, which is reduced to the text in front of it. Where people
// removed one of the two numbers before they posted the log, it counts for both.
bool take_origin(std::string_view& before, LogLine& record) {
  if (!take(before, ']')) return false;
  const auto device = take_number(before);
  if (!device) return false;
  const bool negative = take(before, '-');
  if (!take(before, '[') || !take(before, ' ')) return false;
  const auto thread = take_number(before);
  if (!thread || !take(before, ':')) return false;
  const auto process = take_number(before);
  if (process ? !take(before, ':') : before.empty() || is_digit(before.back())) return false;
  std::size_t begin = before.size();
  while (begin > 0 && before.size() - begin < kLongestOrigin && is_host_character(before[begin - 1])) --begin;
  record.host = before.substr(begin);
  before = before.substr(0, begin);
  record.process = process.value_or(*thread);
  record.thread = *thread;
  record.device = negative ? -*device : *device;
  return true;
}

// Removes and returns a warning's source, which is between the origin and the mark: "misc/socket.cc:72",
// since 2.30 also "(function)".
std::string_view take_place(std::string_view& before) {
  const std::string_view end = before.substr(before.size() - std::min(before.size(), kLongestPlace));
  const std::size_t bracket = end.rfind("] ");
  if (bracket == std::string_view::npos) return {};
  before.remove_suffix(end.size() - bracket - 1);
  return end.substr(bracket + 2);
}

struct Mark {
  std::size_t at = std::string_view::npos;
  Level level = Level::kInfo;
};

Mark next_mark(std::string_view line, std::size_t from) {
  for (;;) {
    const std::size_t at = line.find(" NCCL ", from);
    if (at == std::string_view::npos) return {};
    const std::string_view rest = line.substr(at);
    if (rest.starts_with(kInfoMark)) return {at, Level::kInfo};
    if (rest.starts_with(kWarnMark)) return {at, Level::kWarn};
    from = at + 1;
  }
}

}  // namespace

// A mark (" NCCL INFO ", " NCCL WARN ") with an origin before it begins a record. The record ends at the next
// one's origin, because ranks that share a pipe may print on one line.
std::vector<LogLine> parse_log_line(std::string_view line) {
  std::vector<LogLine> records;
  std::size_t start = 0;
  for (Mark mark = next_mark(line, 0); mark.at != std::string_view::npos;
       mark = next_mark(line, mark.at + kInfoMark.size())) {
    LogLine record{.level = mark.level};
    std::string_view before = line.substr(start, mark.at - start);
    if (mark.level == Level::kWarn) record.place = take_place(before);
    if (!take_origin(before, record)) continue;
    if (!records.empty()) records.back().text = trim(before);
    start = mark.at + kInfoMark.size();
    record.text = line.substr(start);
    records.push_back(record);
  }
  if (!records.empty()) return records;
  // Level VERSION prints no origin. "run with NCCL version" in an error message is not such a line.
  if (const std::size_t at = line.find(kVersionMark); at != std::string_view::npos) {
    const std::string_view number = line.substr(at + kVersionMark.size());
    if (number.starts_with("2.") && (at == 0 || !line.substr(0, at).ends_with(", ")))
      records.push_back({.level = Level::kVersion, .text = line.substr(at)});
  }
  return records;
}

bool may_be_collected(std::string_view line) {
  line = trim(line);
  return line.starts_with('{') && line.ends_with('}');
}

std::optional<std::string> collected_message(std::string_view line) {
  line = trim(line);
  if (!may_be_collected(line)) return std::nullopt;
  const auto object = json::parse(line);
  if (!object || !object->is_object()) return std::nullopt;
  for (const char* name : {"log", "message", "msg", "text"})
    if (const auto found = object->find(name); found != object->end() && found->is_string())
      return found->get<std::string>();
  return std::nullopt;
}

std::string_view plain(std::string_view line, std::string& buffer) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.find('\033') == std::string_view::npos) return line;
  buffer.clear();
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\033') {
      buffer.push_back(line[i]);
      continue;
    }
    if (i + 1 >= line.size() || line[i + 1] != '[') continue;
    i += 2;  // parameters, then one final byte
    while (i < line.size() && (line[i] < '@' || line[i] > '~')) ++i;
  }
  return buffer;
}

}  // namespace railbed::diagnose
