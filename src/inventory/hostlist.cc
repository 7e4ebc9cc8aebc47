// Expansion is a product: each bracket is a list of numbers, and every name so far is continued by each of
// them, so the last bracket counts fastest. The limit is checked before each multiplication.
//
// Folding processes the names in order. The first two decide which of their numbers varies: their common
// beginning is the prefix and their common end the suffix, and neither ends within a number (of gpu08 and
// gpu09 the number is 08, not 8). A further name continues the pattern if it has the same prefix, suffix and
// width and a larger number: it extends the last run of neighbours or begins a new one. Otherwise a new
// pattern begins, so the order of the names stays.
#include "inventory/hostlist.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/text.h"

namespace railbed {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::size_t kLongestName = 255;  // RFC 1035, 2.3.4

using Names = std::vector<std::string>;
using Problem = tl::unexpected<HostlistError>;

// Expands "01-64" to 01, 02, … 64. `offset` is the place of the piece in the pattern.
tl::expected<Names, HostlistError> expand_piece(std::string_view piece, std::size_t offset,
                                                std::size_t limit) {
  const auto problem = [&](std::string text) {
    return Problem({std::move(text), offset, std::max<std::size_t>(piece.size(), 1)});
  };
  const auto dash = piece.find('-');
  const std::string_view from = piece.substr(0, dash);
  const std::string_view to = dash == std::string_view::npos ? from : piece.substr(dash + 1);
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of(kDigits) == std::string_view::npos;
  };
  if (!is_number(from) || !is_number(to))
    return problem(fmt::format("\"{}\" is neither a number nor a range like 01-64", piece));
  const auto first = parse_number<std::uint64_t>(from);
  const auto last = parse_number<std::uint64_t>(to);
  if (!first || !last || from.size() > 18 || to.size() > 18) return problem("the number is too long");
  if (*last < *first) return problem(fmt::format("the range {} runs backwards", piece));
  if (*last - *first >= limit) return problem(fmt::format("more than {} names", limit));
  Names numbers;
  for (std::uint64_t n = *first; n <= *last; ++n) numbers.push_back(fmt::format("{:0{}}", n, from.size()));
  return numbers;
}

// Expands the text between the brackets: "1-4,7".
tl::expected<Names, HostlistError> expand_bracket(std::string_view inside, std::size_t offset,
                                                  std::size_t limit) {
  Names numbers;
  for (const std::string_view piece : split(inside, ',')) {
    auto some = expand_piece(piece, offset, limit);
    if (!some) return some;
    numbers.insert(numbers.end(), some->begin(), some->end());
    if (numbers.size() > limit)
      return Problem({fmt::format("more than {} names", limit), offset, piece.size()});
    offset += piece.size() + 1;
  }
  return numbers;
}

// Returns the length of the first pattern of a list: up to a comma that is in no bracket.
std::size_t pattern_length(std::string_view list) {
  std::size_t end = 0;
  for (bool bracket = false; end < list.size() && (bracket || list[end] != ','); ++end)
    bracket = list[end] == '[' || (bracket && list[end] != ']');
  return end;
}

}  // namespace

tl::expected<Names, HostlistError> expand_hostlist(std::string_view pattern, std::size_t limit) {
  Names names{""};
  std::size_t at = 0;
  while (at < pattern.size()) {
    const auto special = std::min(pattern.find_first_of("[]", at), pattern.size());
    for (std::string& name : names) {
      if (name.size() + special - at > kLongestName)
        return Problem({fmt::format("a name of more than {} characters", kLongestName), at,
                        std::max<std::size_t>(special - at, 1)});
      name += pattern.substr(at, special - at);
    }
    if (special == pattern.size()) break;
    if (pattern[special] == ']') return Problem({"\"]\" without a \"[\" before it", special, 1});
    const auto close = pattern.find_first_of("[]", special + 1);
    if (close == std::string_view::npos || pattern[close] == '[')
      return Problem({"\"[\" without its \"]\"", special, 1});
    auto numbers = expand_bracket(pattern.substr(special + 1, close - special - 1), special + 1, limit);
    if (!numbers) return Problem(numbers.error());
    if (names.size() > limit / numbers->size())
      return Problem({fmt::format("more than {} names", limit), special, close - special + 1});
    Names product;
    product.reserve(names.size() * numbers->size());
    for (const std::string& name : names)
      for (const std::string& number : *numbers) product.push_back(name + number);
    names = std::move(product);
    at = close + 1;
  }
  return names;
}

tl::expected<Names, HostlistError> expand_hostlists(std::string_view list, std::size_t limit) {
  Names names;
  for (std::size_t at = 0; at <= list.size();) {
    const auto whole = list.substr(at, pattern_length(list.substr(at)));
    const auto pattern = trim(whole);
    const std::size_t begin = at + (pattern.empty() ? 0 : whole.find(pattern));
    if (pattern.empty()) return Problem({"a name is missing", begin, std::max<std::size_t>(whole.size(), 1)});
    auto some = expand_hostlist(pattern, limit);
    if (!some) return Problem({some.error().text, begin + some.error().offset, some.error().length});
    if (names.size() + some->size() > limit)
      return Problem({fmt::format("more than {} names", limit), begin, pattern.size()});
    std::move(some->begin(), some->end(), std::back_inserter(names));
    at += whole.size() + 1;
  }
  return names;
}

Result<Names> named_hosts(std::string_view list) {
  auto names = expand_hostlists(list, kMostHosts);
  if (names) return std::move(*names);
  const HostlistError& error = names.error();
  return fail(ErrorKind::kBadInput,
              fmt::format("{}, character {}: {}", list.empty() ? "\"\"" : printable(list), error.offset + 1,
                          printable(error.text)));
}

Result<Names> named_hosts(const std::vector<std::string>& words) {
  Names all;
  for (const std::string& word : words) {
    ASSIGN_OR_RETURN(auto names, named_hosts(word));
    if (all.size() + names.size() > kMostHosts)
      return fail(ErrorKind::kBadInput, fmt::format("more than {} names", kMostHosts));
    std::move(names.begin(), names.end(), std::back_inserter(all));
  }
  return all;
}

namespace {

// Returns the number that a text may represent in a bracket; nullopt if it has other characters than digits,
// or more than 18 of them.
std::optional<std::uint64_t> number_of(std::string_view text) {
  if (text.empty() || text.size() > 18 || text.find_first_not_of(kDigits) != std::string_view::npos)
    return std::nullopt;
  return parse_number<std::uint64_t>(text);
}

// A line with more runs is no easier to read than two lines.
constexpr std::size_t kMaxRuns = 32;

bool padded(std::string_view text) { return text.size() > 1 && text[0] == '0'; }

}  // namespace

// Chooses the number that varies, from the first name and a second one. Returns false if the names differ in
// something other than one number.
bool HostlistFold::choose_number(std::string_view second) {
  // The common beginning and end of both names, without the digits next to the part that differs.
  const std::string_view first = first_;
  const std::size_t shorter = std::min(first.size(), second.size());
  std::size_t head = 0;
  while (head < shorter && first[head] == second[head]) ++head;
  while (head > 0 && kDigits.find(first[head - 1]) != std::string_view::npos) --head;
  std::size_t tail = 0;
  while (tail < shorter - head && first[first.size() - 1 - tail] == second[second.size() - 1 - tail]) ++tail;
  while (tail > 0 && kDigits.find(first[first.size() - tail]) != std::string_view::npos) --tail;
  const std::string_view number = first.substr(head, first.size() - head - tail);
  const auto value = number_of(number);
  if (!value) return false;
  prefix_ = first.substr(0, head);
  suffix_ = first.substr(first.size() - tail);
  const Number start{*value, padded(number) ? number.size() : 0};
  runs_ = {{start, start}};
  return true;
}

bool HostlistFold::add(std::string_view name) {
  if (!chosen_ && first_.empty()) {
    first_ = name;
    return true;
  }
  if (!chosen_ && !choose_number(name)) return false;
  if (name.size() <= prefix_.size() + suffix_.size() || !name.starts_with(prefix_) ||
      !name.ends_with(suffix_))
    return false;
  const auto digits = name.substr(prefix_.size(), name.size() - prefix_.size() - suffix_.size());
  const auto value = number_of(digits);
  Run& run = runs_.back();
  const std::size_t width = run.first.width;
  // 08, 09, 10 is one range of width 2; 8, 9, 10 is one without a width; 9, 010 is none.
  const bool fits = width == 0 ? !padded(digits) : fmt::format("{:0{}}", value.value_or(0), width) == digits;
  if (!value || !fits || *value <= run.last.value) return false;
  if (*value == run.last.value + 1)
    run.last.value = *value;
  else if (runs_.size() < kMaxRuns)
    runs_.push_back({{*value, width}, {*value, width}});
  else
    return false;
  chosen_ = true;
  return true;
}

std::string HostlistFold::pattern() const {
  if (!chosen_) return first_;
  std::string inside;
  for (const Run& run : runs_) {
    if (!inside.empty()) inside += ",";
    inside += fmt::format("{:0{}}", run.first.value, run.first.width);
    if (run.last.value != run.first.value) inside += fmt::format("-{:0{}}", run.last.value, run.first.width);
  }
  return prefix_ + "[" + inside + "]" + suffix_;
}

std::string fold_hostlist(const std::vector<std::string>& names) {
  std::vector<HostlistFold> folds;
  for (const std::string& name : names)
    if (folds.empty() || !folds.back().add(name)) folds.emplace_back().add(name);
  std::string text;
  for (const HostlistFold& fold : folds) text += (text.empty() ? "" : ", ") + fold.pattern();
  return text;
}

std::string fold_hosts(const std::vector<std::string>& names) {
  struct Place {
    std::size_t family;
    std::uint64_t number;
    std::string_view name;
    auto operator<=>(const Place&) const = default;
  };
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> families;  // by text before and after
  std::vector<Place> places;
  for (const std::string_view name : names) {
    const auto end = name.find_last_of(kDigits) + 1;  // 0: there is no number
    const auto begin = end == 0 ? 0 : name.substr(0, end).find_last_not_of(kDigits) + 1;
    const auto number = number_of(name.substr(begin, end - begin));
    const auto family =
        number ? std::pair{name.substr(0, begin), name.substr(end)} : std::pair{name, name.substr(0, 0)};
    places.push_back({families.try_emplace(family, families.size()).first->second, number.value_or(0), name});
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  std::vector<std::string> sorted;
  for (const Place& place : places) sorted.emplace_back(place.name);
  return fold_hostlist(sorted);
}

}  // namespace railbed
