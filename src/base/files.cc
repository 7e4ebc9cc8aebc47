#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "base/fd.h"
#include "base/random.h"
#include "base/text.h"
#include "base/trusted_path.h"

namespace railbed {
namespace {

tl::unexpected<Error> refused(std::string_view doing, const std::string& path, std::string_view why) {
  return fail(ErrorKind::kUnavailable, fmt::format("cannot {} {}: {}", doing, path, why));
}
tl::unexpected<Error> failed(std::string_view doing, const std::string& path) {
  return refused(doing, path, std::strerror(errno));
}

// An output that nobody could write was named wrongly: bad input. A full or broken disk is not the name's fault.
ErrorKind kind_of_unwritable(int code) {
  const bool by_disk = code == ENOSPC || code == EDQUOT || code == EIO || code == EMFILE || code == ENFILE;
  return by_disk ? ErrorKind::kUnavailable : ErrorKind::kBadInput;
}
tl::unexpected<Error> unwritable(const std::string& path, std::string_view why, int code = EINVAL) {
  return fail(kind_of_unwritable(code), fmt::format("cannot write {}: {}", path, why));
}
tl::unexpected<Error> unwritable(const std::string& path) {
  const int code = errno;
  return unwritable(path, std::strerror(code), code);
}
tl::unexpected<Error> unwritable(const std::string& path, const PathProblem& problem) {
  return cannot("write", path, problem, kind_of_unwritable(problem.code));
}

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return S_ISREG(mode) ? "a file" : "a device";
}

// Returns the descriptor's number if `path` names one of our own open descriptors (proc(5), /proc/PID/fd).
std::optional<int> own_descriptor(std::string_view path) {
  if (path == "/dev/stdin") return STDIN_FILENO;
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"})
    if (path.starts_with(folder)) return parse_number<int>(path.substr(folder.size()));
  return std::nullopt;
}

// The same for a path that is read: there "-" names standard input.
std::optional<int> own_input(std::string_view path) {
  return path == "-" ? STDIN_FILENO : own_descriptor(path);
}

bool takes_text(mode_t mode) { return S_ISCHR(mode) || S_ISFIFO(mode); }

// Writes into an existing pipe or character device.
Result<void> write_through(const FolderEntry& place, const std::string& path, std::string_view text) {
  // O_NONBLOCK: opening a pipe without a reader fails instead of blocking.
  const Fd fd = place.open(O_WRONLY | O_NONBLOCK | O_NOCTTY);
  struct stat status = {};
  if (!fd || fstat(fd.get(), &status) != 0) return unwritable(path);
  if (!takes_text(status.st_mode)) return unwritable(path, "it changed meanwhile");
  set_blocking(fd.get(), true);
  if (!write_all(fd.get(), text)) return unwritable(path);
  return {};
}

Result<void> replace_file(const FolderEntry& place, const std::string& path, std::string_view text,
                          unsigned mode) {
  const FolderEntry temporary = entry_in(place.folder, fmt::format("{}.{}", place.name, random_hex(3)), "");
  const Fd fd = temporary.open(O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!fd) return unwritable(path);
  const int folder = place.folder.get();
  if (fchmod(fd.get(), mode) == 0 && write_all(fd.get(), text) && fsync(fd.get()) == 0 &&
      renameat(folder, temporary.name.c_str(), folder, place.name.c_str()) == 0) {
    // If this fails, a power cut may bring the old file back, as a whole.
    (void)place.sync();
    return {};
  }
  const auto error = unwritable(path);
  unlinkat(folder, temporary.name.c_str(), 0);
  return error;
}

constexpr int kToRead = O_RDONLY | O_NONBLOCK | O_NOCTTY;

// Reads a file from `fd` to its end; with `any` also a pipe or a terminal. If `fd` is empty, errno holds the reason.
Result<std::string> read_open(const Fd& fd, const std::string& path, std::size_t limit, bool any = false) {
  struct stat status = {};
  // A missing file is most likely a typing error in its name: bad input, like an error within a file.
  if (!fd && (errno == ENOENT || errno == ENOTDIR))
    return fail(ErrorKind::kBadInput, fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  if (!fd || fstat(fd.get(), &status) != 0) return failed("read", path);
  if (!S_ISREG(status.st_mode) && (!any || S_ISDIR(status.st_mode)))
    return fail(ErrorKind::kBadInput,
                fmt::format("cannot read {}: it is {}, not a file", path, kind_of(status.st_mode)));
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

}  // namespace

Result<void> write_file(const std::string& path, std::string_view text, unsigned mode) {
  if (const auto descriptor = own_descriptor(path)) {
    const Fd fd(fcntl(*descriptor, F_DUPFD_CLOEXEC, 3));
    return fd && write_all(fd.get(), text) ? Result<void>() : unwritable(path);
  }
  const FoundEntry place = find_entry(path, Strangers::kMayWrite, LastLink::kFollow);
  if (!place) return unwritable(path, place.error());
  struct stat status = {};
  if (!place->look(status) && errno == ENOENT)
    // A dangling link. Where it leads is not ours to create.
    if (const FoundEntry itself = find_entry(path, Strangers::kMayWrite); itself && itself->look(status))
      return unwritable(path, "it is a link to nothing");
  return write_file(*place, path, text, mode);
}

Result<void> write_file(const FolderEntry& place, const std::string& path, std::string_view text,
                        unsigned mode) {
  struct stat status = {};
  if (!place.look(status)) {
    if (errno != ENOENT) return unwritable(path);
    return replace_file(place, path, text, mode);
  }
  if (takes_text(status.st_mode)) return write_through(place, path, text);
  if (!S_ISREG(status.st_mode)) return unwritable(path, fmt::format("it is {}", kind_of(status.st_mode)));
  return replace_file(place, path, text, mode);
}

Result<void> make_folder(const std::string& path, unsigned mode) {
  const auto made = open_folder_at(path, Strangers::kMayWrite, static_cast<int>(mode));
  if (made) return {};
  return cannot("make the folder", path, made.error(), kind_of_unwritable(made.error().code));
}

Result<void> check_writable(const std::string& path) {
  if (own_descriptor(path)) return {};
  const FoundEntry place = find_entry(path, Strangers::kMayWrite, LastLink::kFollow);
  if (!place && place.error().code == ENOENT)
    return unwritable(path, fmt::format("there is no folder {}", place.error().where));
  if (!place) return unwritable(path, place.error());
  struct stat status = {};
  const bool exists = place->look(status);
  if (exists && S_ISDIR(status.st_mode)) return unwritable(path, "it is a folder");
  if (exists && !S_ISREG(status.st_mode))
    return faccessat(place->folder.get(), place->name.c_str(), W_OK, 0) == 0 ? Result<void>()
                                                                             : unwritable(path);
  if (faccessat(place->folder.get(), ".", W_OK | X_OK, 0) == 0) return {};
  return unwritable(path);
}

Fd open_named(const std::string& path, int flags) {
  // The kernel resolves the path, except for root, who could read what another user's link leads to.
  if (path == "-") return Fd(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  if (geteuid() != 0 || own_descriptor(path)) return Fd(open(path.c_str(), O_RDONLY | flags | O_CLOEXEC));
  const FoundEntry entry = find_entry(path, Strangers::kMayWrite, LastLink::kFollow);
  if (entry) return entry->open(O_RDONLY | flags);
  errno = entry.error().code;
  return Fd();
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  // The caller chose the descriptors that this process was started with: a pipe among them is read to its end,
  // however long that takes. A file named by /dev/stdin or /dev/fd/N is opened again and read from its beginning;
  // "-" reads on from where the descriptor stands.
  const auto descriptor = own_input(path);
  struct stat status = {};
  if (descriptor && (path == "-" || (fstat(*descriptor, &status) == 0 && !S_ISREG(status.st_mode))))
    return read_open(Fd(fcntl(*descriptor, F_DUPFD_CLOEXEC, 3)), path, limit, true);
  if (descriptor || geteuid() != 0) return read_open(open_named(path, kToRead), path, limit);
  const FoundEntry place = find_entry(path, Strangers::kMayWrite, LastLink::kFollow);
  if (place) return read_file(*place, path, limit);
  if (place.error().code == ENOENT || place.error().code == ENOTDIR)
    return fail(ErrorKind::kBadInput, fmt::format("cannot read {}: {}", path, place.error().why));
  return cannot("read", path, place.error());
}

Result<std::string> read_file(const FolderEntry& place, const std::string& path, std::size_t limit) {
  return read_open(place.open(kToRead), path, limit);
}

}  // namespace railbed
