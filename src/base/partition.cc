#include "base/partition.h"

#include <algorithm>

#include "base/text.h"

namespace railbed {

bool is_partition_of(std::string_view part, std::string_view whole) {
  if (whole.empty() || !part.starts_with(whole)) return false;
  std::string_view rest = part.substr(whole.size());
  if (rest.starts_with("-part"))
    rest.remove_prefix(5);
  else if (is_digit(whole.back()) && rest.starts_with('p'))
    rest.remove_prefix(1);
  else if (is_digit(whole.back()))
    return false;
  return !rest.empty() && std::ranges::all_of(rest, is_digit);
}

}  // namespace railbed
