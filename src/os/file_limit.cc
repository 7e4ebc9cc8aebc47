#include "os/file_limit.h"

#include <sys/resource.h>

#include <algorithm>

namespace railbed {

void allow_open_files(std::size_t count) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, count);
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace railbed
