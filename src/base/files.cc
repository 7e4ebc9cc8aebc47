#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/fd.h"

namespace railbed {
namespace {

tl::unexpected<Error> refused(std::string_view doing, const std::string& path, std::string_view why) {
  return fail(ErrorKind::kUnavailable, fmt::format("cannot {} {}: {}", doing, path, why));
}
tl::unexpected<Error> failed(std::string_view doing, const std::string& path) {
  return refused(doing, path, std::strerror(errno));
}

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return S_ISREG(mode) ? "a file" : "a device";
}

// Into what is there already and takes text as it comes.
Result<void> write_through(const std::string& path, std::string_view text) {
  // O_NONBLOCK: a pipe that nobody reads from is an error, not a wait.
  const Fd fd(open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) return failed("write", path);
  set_blocking(fd.get(), true);
  if (!write_all(fd.get(), text)) return failed("write", path);
  return {};
}

Result<void> replace_file(const std::string& path, std::string_view text, unsigned mode) {
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

}  // namespace

Result<void> write_file(const std::string& path, std::string_view text, unsigned mode) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) {
    // A link that leads nowhere: what its target would be is not ours to guess.
    if (lstat(path.c_str(), &status) == 0) return refused("write", path, "it is a link to nothing");
    return replace_file(path, text, mode);
  }
  if (S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode)) return write_through(path, text);
  if (!S_ISREG(status.st_mode))
    return refused("write", path, fmt::format("it is {}", kind_of(status.st_mode)));
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? refused("write", path, error.message()) : replace_file(real, text, mode);
}

Result<void> check_writable(const std::string& path) {
  struct stat status = {};
  const bool exists = stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) return refused("write", path, "it is a folder");
  if (exists && !S_ISREG(status.st_mode))
    return access(path.c_str(), W_OK) == 0 ? Result<void>() : failed("write", path);
  std::error_code error;
  const std::filesystem::path real =
      exists ? std::filesystem::canonical(path, error) : std::filesystem::path(path);
  const std::filesystem::path folder = real.has_parent_path() ? real.parent_path() : ".";
  if (access(folder.c_str(), W_OK | X_OK) == 0) return {};
  if (errno == ENOENT) return refused("write", path, fmt::format("there is no folder {}", folder.string()));
  return failed("write", path);
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status = {};
  // Whoever named a file that is not there has mistyped it: bad input, as what is wrong within a file.
  if (!fd && (errno == ENOENT || errno == ENOTDIR))
    return fail(ErrorKind::kBadInput, fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  if (!fd || fstat(fd.get(), &status) != 0) return failed("read", path);
  if (!S_ISREG(status.st_mode))
    return refused("read", path, fmt::format("it is {}, not a file", kind_of(status.st_mode)));
  std::string text;
  char piece[kChunkBytes];
  while (text.size() <= limit) {
    const ssize_t got = read(fd.get(), piece, std::min(sizeof piece, limit + 1 - text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("read", path);
    if (got == 0) return text;
    text.append(piece, static_cast<std::size_t>(got));
  }
  return refused("read", path, fmt::format("it is larger than {} MiB", limit >> 20));
}

}  // namespace railbed
