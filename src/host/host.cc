#include "host/host.h"

#include "base/text.h"

namespace railbed {

Reading<std::string> Host::read_line(std::string_view path) {
  // One page: sysfs never returns more for one attribute (Documentation/filesystems/sysfs.rst).
  const auto whole = read(path, 4096);
  if (!whole) return whole;
  return {std::string(trim(whole->substr(0, whole->find('\n')))), whole.from()};
}

}  // namespace railbed
