#include "report/text/hostlist.h"

#include <fmt/format.h>

#include "inventory/hostlist.h"

namespace railbed {

std::string listed_hosts(const std::vector<std::string>& hosts, bool whole) {
  constexpr std::size_t kLongest = 48;
  std::string folded = fold_hosts(hosts);
  if (whole || hosts.size() == 1 || folded.size() <= kLongest) return folded;
  return fmt::format("{} nodes ({} first)", hosts.size(), hosts.front());
}

}  // namespace railbed
