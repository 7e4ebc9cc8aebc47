// Folding. Each name is split at its last run of digits into prefix, number and suffix. Names with equal
// prefix, suffix and number of digits form a family, whose numbers are written as ranges in one pair of
// brackets. A run of more than 18 digits, which could exceed 64 bits, counts as text. The cost is the number
// of names times that of families.
#include "report/hostlist.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>

#include "base/text.h"

namespace railbed {
namespace {

// A split name: gpu007-ib is "gpu", 7 written with 3 digits, "-ib".
struct Name {
  std::string prefix;
  std::string suffix;
  std::uint64_t number = 0;
  std::size_t digits = 0;  // 0: there is no number
};

Name split_name(const std::string& host) {
  const auto last = std::find_if(host.rbegin(), host.rend(), is_digit);
  const auto first = std::find_if_not(last, host.rend(), is_digit);
  const auto digits = static_cast<std::size_t>(first - last);
  if (digits == 0 || digits > 18) return {host, "", 0, 0};
  Name name{std::string(host.begin(), first.base()), std::string(last.base(), host.end()), 0, digits};
  std::from_chars(host.data() + name.prefix.size(), host.data() + name.prefix.size() + digits, name.number);
  return name;
}

// Names that can share one pair of brackets.
struct Family {
  Name like;
  std::set<std::uint64_t> numbers;

  bool takes(const Name& name) const {
    return name.prefix == like.prefix && name.suffix == like.suffix && name.digits == like.digits;
  }
};

std::string ranges(const Family& family) {
  std::string text;
  for (auto it = family.numbers.begin(); it != family.numbers.end();) {
    const std::uint64_t first = *it;
    std::uint64_t last = first;
    while (++it != family.numbers.end() && *it == last + 1) last = *it;
    if (!text.empty()) text += ',';
    text += fmt::format("{:0{}}", first, family.like.digits);
    if (last != first) text += fmt::format("-{:0{}}", last, family.like.digits);
  }
  return text;
}

std::string write(const Family& family) {
  if (family.like.digits == 0) return family.like.prefix;
  const char* form = family.numbers.size() == 1 ? "{}{}{}" : "{}[{}]{}";
  return fmt::format(fmt::runtime(form), family.like.prefix, ranges(family), family.like.suffix);
}

}  // namespace

std::string fold_hosts(const std::vector<std::string>& hosts) {
  std::vector<Family> families;
  for (const std::string& host : hosts) {
    const Name name = split_name(host);
    auto family =
        std::find_if(families.begin(), families.end(), [&](const Family& f) { return f.takes(name); });
    if (family == families.end()) family = families.insert(families.end(), Family{name, {}});
    family->numbers.insert(name.number);
  }
  std::string text;
  for (const Family& family : families) (text += text.empty() ? "" : ", ") += write(family);
  return text;
}

std::string listed_hosts(const std::vector<std::string>& hosts, bool whole) {
  constexpr std::size_t kLongest = 48;
  std::string folded = fold_hosts(hosts);
  if (whole || hosts.size() == 1 || folded.size() <= kLongest) return folded;
  return fmt::format("{} nodes ({} first)", hosts.size(), hosts.front());
}

}  // namespace railbed
