#include "host/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>

#include "host/fd.h"

namespace railbed {
namespace {

tl::unexpected<Error> failed(std::string_view doing, const std::string& path) {
  return fail(ErrorKind::kUnavailable, fmt::format("cannot {} {}: {}", doing, path, std::strerror(errno)));
}

}  // namespace

Result<void> write_file(const std::string& path, std::string_view text, unsigned mode) {
  std::string temporary = path + ".XXXXXX";
  const int fd = mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return failed("write", path);
  const bool whole = fchmod(fd, mode) == 0 && write_all(fd, text) && fsync(fd) == 0;
  const int problem = errno;
  close(fd);
  if (whole && rename(temporary.c_str(), path.c_str()) == 0) return {};
  if (!whole) errno = problem;
  const auto error = failed("write", path);
  unlink(temporary.c_str());
  return error;
}

Result<std::string> read_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return failed("read", path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return failed("read", path);
  return text;
}

}  // namespace railbed
