#include "base/readable.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace railbed {

Result<void> check_reachable(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      return fail(ErrorKind::kBadInput, path + ": no such file or folder");
    return fail(ErrorKind::kUnavailable, fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  }
  if (!S_ISDIR(status.st_mode)) return {};
  const std::string why = why_not_listed(path);
  return why.empty() ? Result<void>()
                     : fail(ErrorKind::kUnavailable, fmt::format("cannot read {}: {}", path, why));
}

std::string why_not_listed(const std::string& folder) {
  return faccessat(AT_FDCWD, folder.c_str(), R_OK | X_OK, AT_EACCESS) == 0 ? "" : std::strerror(errno);
}

}  // namespace railbed
