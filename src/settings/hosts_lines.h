// Lines of hosts(5), also in the templates from which cloud-init writes /etc/hosts.
//
// getaddrinfo(3) returns the addresses of every line with a name, and loopback addresses before others
// (RFC 6724, "prefer smaller scope"), whatever the order of the lines. A name therefore means one address
// only if no line gives it another one.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ip.h"

namespace railbed {

// Returns the node's name for {{hostname}} and ${hostname} of a template, a name below it for {{fqdn}} and
// ${fqdn}, and any other word unchanged.
std::string name_meant(std::string_view word, std::string_view node);

// Returns whether a line has only characters of addresses, names and a template's variables, and spaces.
bool is_line_of_hosts(std::string_view line);

// Names with their right addresses. The case of letters does not count.
class HostsTable {
 public:
  // Adds an address; a name may have several.
  void add(std::string_view name, const IpAddress& address);
  // Returns the addresses of a name; null if it is not in the table.
  const std::vector<IpAddress>* find(std::string_view name) const;
  // Returns true if a line with `address` hides the right address of this name: another address of the same
  // family, or loopback. An address of the other family may stand beside it.
  bool contradicts(std::string_view name, const IpAddress& address) const;

  // Returns lines that contradict no name; all lines that do not now are unchanged. A line whose names are
  // one name of the table, and NAME.DOMAIN, gets its address. From any other line the contradicting names are
  // removed, and a line that has no other name becomes a comment. `node` is what {{hostname}} and ${hostname}
  // of a template stand for. The number of lines stays, and so do comments and white space.
  std::string corrected(std::string_view lines, std::string_view node) const;

 private:
  std::string corrected_line(std::string_view line, std::string_view node) const;
  std::unordered_map<std::string, std::vector<IpAddress>> addresses_;  // by name in lower case
};

}  // namespace railbed
