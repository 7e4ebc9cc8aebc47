#include "base/trusted_path.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <deque>
#include <filesystem>
#include <utility>

#include "base/shell.h"
#include "base/text.h"

namespace railbed {
namespace {

constexpr int kMostLinks = 40;  // the kernel's limit: path_resolution(7)

using Pieces = std::deque<std::string>;

void put_in_front(Pieces& pieces, std::string_view path) {
  Pieces added;
  for (const std::string_view piece : split(path, '/'))
    if (!piece.empty() && piece != ".") added.emplace_back(piece);
  pieces.insert(pieces.begin(), added.begin(), added.end());
}

std::string link_target(const Fd& link) {
  std::array<char, PATH_MAX> text;
  const ssize_t size = readlinkat(link.get(), "", text.data(), text.size());
  return size < 0 ? "" : std::string(text.data(), static_cast<std::size_t>(size));
}

PathProblem problem_of(int code, std::string where) { return {code, std::move(where), std::strerror(code)}; }

std::string who_can_change(const struct stat& status, const std::string& where) {
  if (status.st_uid != 0 && status.st_uid != geteuid())
    return fmt::format("user {} can change it", status.st_uid);
  return fmt::format("its mode {:o} lets other users change it: `{}`", status.st_mode & 07777,
                     command("chmod go-w {}", where).text());
}

std::string path_of_descriptor(const Fd& fd, const std::string& otherwise) {
  std::array<char, PATH_MAX> text;
  const std::string link = fmt::format("/proc/self/fd/{}", fd.get());
  const ssize_t size = readlink(link.c_str(), text.data(), text.size());
  return size < 0 ? otherwise : std::string(text.data(), static_cast<std::size_t>(size));
}

bool is_sticky_folder(const struct stat& status) {
  return S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
}

// A link made by root or by us is trusted if other users cannot move another link of ours into its folder. In
// a folder with the sticky bit they could only make a hard link, where fs.protected_hardlinks allows that.
bool may_follow(const struct stat& folder, const struct stat& link) {
  const bool of_ours = link.st_uid == 0 || link.st_uid == geteuid();
  return of_ours && is_ours(folder) && (!is_sticky_folder(folder) || link.st_nlink == 1);
}

// The state of a walk: the folder reached so far and the pieces of the path that remain. Following a link
// puts the pieces of its target in front of the remaining ones; an absolute target starts again at "/".
class Walk {
 public:
  using Report = std::function<void(const std::string&)>;
  // If there is a report, components that are not ours are reported instead of refused.
  Walk(const std::string& path, Strangers strangers, const Report* report = nullptr)
      : strangers_(strangers), report_(report) {
    put_in_front(pieces_, path);
    start_at(path.starts_with('/') ? "/" : ".");
  }

  FoundEntry to_place(LastLink last) {
    while (problem_.code == 0) {
      if (pieces_.empty()) return FolderEntry{std::move(here_), ".", at_};
      const std::string name = pieces_.front();
      const bool is_last = pieces_.size() == 1;
      if (is_last && name != ".." && last == LastLink::kStay) return FolderEntry{std::move(here_), name, at_};
      const Met met = take_piece();
      if (met != Met::kFile && met != Met::kNothing) continue;
      if (is_last) return FolderEntry{std::move(here_), name, at_};
      problem_ = problem_of(met == Met::kFile ? ENOTDIR : ENOENT, path_of(name));
    }
    return tl::unexpected(problem_);
  }

  tl::expected<Fd, PathProblem> to_folder(int missing_mode) {
    while (problem_.code == 0 && !pieces_.empty()) {
      const std::string name = pieces_.front();
      const int mode = pieces_.size() == 1 ? missing_mode : 0755;
      if (missing_mode >= 0 && name != ".." &&
          mkdirat(here_.get(), name.c_str(), static_cast<mode_t>(mode)) != 0 && errno != EEXIST)
        problem_ = problem_of(errno, path_of(name));
      else if (const Met met = take_piece(); met == Met::kFile || met == Met::kNothing)
        problem_ = problem_of(met == Met::kFile ? ENOTDIR : ENOENT, path_of(name));
    }
    if (problem_.code != 0) return tl::unexpected(problem_);
    return std::move(here_);
  }

  std::string to_end() {
    while (problem_.code == 0 && !pieces_.empty()) {
      const std::string end = path_of(pieces_.front());
      const bool is_last = pieces_.size() == 1;
      const Met met = take_piece();
      if (met == Met::kFile && is_last) return end;
      if (met == Met::kFile || met == Met::kNothing) return "";
    }
    return problem_.code == 0 ? at_ : "";
  }

 private:
  enum class Met { kFolder, kLink, kFile, kNothing, kProblem };

  std::string path_of(const std::string& name) const {
    if (at_ == ".") return name;
    return at_.ends_with('/') ? at_ + name : at_ + '/' + name;
  }
  Met stop(int code, std::string where, std::string why) {
    problem_ = {code, std::move(where), std::move(why)};
    return Met::kProblem;
  }
  bool is_refused(const struct stat& folder) const {
    return report_ == nullptr && strangers_ == Strangers::kNothing && !is_ours(folder);
  }

  void start_at(const char* start) {
    here_ = Fd(open(start, O_PATH | O_DIRECTORY | O_CLOEXEC));
    at_ = start;
    if (!here_ || fstat(here_.get(), &folder_) != 0)
      problem_ = problem_of(errno, at_);
    else if (is_refused(folder_))
      stop(EPERM, at_, who_can_change(folder_, at_));
  }

  Met take_piece() {
    const std::string name = std::move(pieces_.front());
    pieces_.pop_front();
    const std::string where = path_of(name);
    Fd next(openat(here_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status = {};
    if (!next && errno == ENOENT) return Met::kNothing;
    if (!next || fstat(next.get(), &status) != 0) return stop(errno, where, std::strerror(errno));
    if (report_ != nullptr && !is_ours(status)) (*report_)(where);
    if (S_ISLNK(status.st_mode)) return follow(next, status, where);
    if (!S_ISDIR(status.st_mode)) return Met::kFile;
    here_ = std::move(next);
    folder_ = status;
    at_ = name == ".." ? path_of_descriptor(here_, where) : where;
    if (is_refused(folder_)) return stop(EPERM, at_, who_can_change(folder_, at_));
    return Met::kFolder;
  }

  Met follow(const Fd& link, const struct stat& status, const std::string& where) {
    if (report_ == nullptr && !may_follow(folder_, status))
      return stop(ELOOP, where,
                  fmt::format("it is a link that another user may have made (owner {}); if it is meant, name "
                              "what it leads to",
                              status.st_uid));
    const std::string target = link_target(link);
    if (target.empty() || ++links_ > kMostLinks) return stop(ELOOP, where, std::strerror(ELOOP));
    put_in_front(pieces_, target);
    if (target.starts_with('/')) start_at("/");
    return Met::kLink;
  }

  const Strangers strangers_;
  const Report* report_;
  Pieces pieces_;
  Fd here_;
  struct stat folder_ = {};  // of here_
  std::string at_;           // the path of here_
  int links_ = 0;
  PathProblem problem_;
};

}  // namespace

tl::unexpected<Error> cannot(std::string_view doing, const std::string& path, const PathProblem& problem,
                             ErrorKind kind) {
  if (problem.where == path) return fail(kind, fmt::format("cannot {} {}: {}", doing, path, problem.why));
  return fail(kind, fmt::format("cannot {} {}: {}: {}", doing, path, problem.where, problem.why));
}

Result<Fd> open_state_folder(const std::string& path) {
  const Strangers strangers = geteuid() == 0 ? Strangers::kNothing : Strangers::kMayWrite;
  auto opened = open_folder_at(path, strangers, 0700);
  if (!opened) return cannot("write to", path, opened.error());
  struct stat status = {};
  if (fstat(opened->get(), &status) != 0)
    return fail(ErrorKind::kUnavailable,
                fmt::format("cannot look at {}: {}", printable(path), std::strerror(errno)));
  if (!is_ours(status) || (status.st_mode & 022) != 0)
    return fail(ErrorKind::kUnavailable, fmt::format("others may write to {}: `{}`, or name another folder",
                                                     printable(path), command("chmod go-w {}", path).text()));
  return std::move(*opened);
}

Result<void> check_state_folder(const std::string& path) {
  struct stat status = {};
  std::filesystem::path there = std::filesystem::absolute(path).lexically_normal();
  if (stat(there.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    RETURN_IF_ERROR(open_state_folder(path));
  } else {
    while (there.has_relative_path() && stat(there.c_str(), &status) != 0 && errno == ENOENT)
      there = there.parent_path();
  }
  int error = 0;
  if (stat(there.c_str(), &status) != 0)
    error = errno;
  else if (!S_ISDIR(status.st_mode))
    error = ENOTDIR;
  else if (faccessat(AT_FDCWD, there.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    error = errno;
  if (error == 0) return {};
  return fail(ErrorKind::kBadInput, fmt::format("cannot write to {}: {}: {}", printable(path),
                                                printable(there.string()), std::strerror(error)));
}

Fd FolderEntry::open(int flags, mode_t mode) const {
  return Fd(openat(folder.get(), name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, mode));
}

FolderEntry entry_in(const Fd& folder, std::string name, std::string directory) {
  return {Fd(fcntl(folder.get(), F_DUPFD_CLOEXEC, 3)), std::move(name), std::move(directory)};
}

bool FolderEntry::look(struct stat& status) const {
  return fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

std::string FolderEntry::path_by_descriptor() const {
  return fmt::format("/proc/self/fd/{}/{}", folder.get(), name);
}

bool FolderEntry::sync() const {
  const Fd readable(openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return readable && fsync(readable.get()) == 0;
}

bool is_ours(const struct stat& status) {
  const bool owner = status.st_uid == 0 || status.st_uid == geteuid();
  if (!owner || S_ISLNK(status.st_mode) || is_sticky_folder(status)) return owner;
  const bool group = status.st_gid == 0 || (geteuid() != 0 && status.st_gid == getegid());
  return (status.st_mode & S_IWOTH) == 0 && (group || (status.st_mode & S_IWGRP) == 0);
}

FoundEntry find_entry(const std::string& path, Strangers strangers, LastLink last) {
  return Walk(path, strangers).to_place(last);
}

tl::expected<Fd, PathProblem> open_folder_at(const std::string& path, Strangers strangers, int missing_mode) {
  return Walk(path, strangers).to_folder(missing_mode);
}

std::string walk_to_end(const std::string& path, const std::function<void(const std::string&)>& report) {
  return Walk(path, Strangers::kMayWrite, &report).to_end();
}

}  // namespace railbed
