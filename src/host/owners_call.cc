// Who else could change what is about to be run.
//
// A path is only as safe as each folder on the way and each link that is followed: whoever may write one of
// them decides what lies at its end. So the walk goes down component by component, follows links itself, and
// looks at the owner and the mode of all that it passes.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <filesystem>

#include "base/json.h"
#include "base/text.h"
#include "host/calls.h"
#include "host/device_calls.h"
#include "host/errno_name.h"

namespace railbed {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;       // as the kernel has it: path_resolution(7)
constexpr std::size_t kMaxTold = 8;  // one is reason enough

// Owned by root or by us, and no other may write there. In a folder with the sticky bit others make files of
// their own and change none of ours.
bool is_ours(const struct stat& status) {
  const bool owner = status.st_uid == 0 || status.st_uid == geteuid();
  if (!owner || S_ISLNK(status.st_mode)) return owner;
  if (S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0) return true;
  const bool group = status.st_gid == 0 || (geteuid() != 0 && status.st_gid == getegid());
  return (status.st_mode & S_IWOTH) == 0 && (group || (status.st_mode & S_IWGRP) == 0);
}

void put_in_front(std::deque<std::string>& pieces, std::string_view path) {
  const auto added = split(path, '/');
  pieces.insert(pieces.begin(), added.begin(), added.end());
}

// Adds what others may change on the way to `path` and at its end. Answers its end; empty where there is
// none.
fs::path walk(const std::string& path, std::vector<std::string>& changeable) {
  std::deque<std::string> pieces;
  put_in_front(pieces, path);
  fs::path here = "/";
  int links = 0;
  while (!pieces.empty()) {
    const std::string piece = pieces.front();
    pieces.pop_front();
    if (piece.empty() || piece == ".") continue;
    if (piece == "..") {
      here = here.parent_path();
      continue;
    }
    const fs::path next = here / piece;
    struct stat status = {};
    if (lstat(next.c_str(), &status) != 0) return {};
    if (!is_ours(status) && changeable.size() < kMaxTold) changeable.push_back(next);
    if (!S_ISLNK(status.st_mode)) {
      here = next;
      continue;
    }
    std::error_code error;
    const fs::path target = fs::read_symlink(next, error);
    if (error || ++links > kMostLinks) return {};
    if (target.is_absolute()) here = "/";
    put_in_front(pieces, target.native());
  }
  return here;
}

}  // namespace

Reading<std::string> call_changeable(const std::string& path) {
  const std::string name = "changeable " + path;
  if (!path.starts_with('/')) return {Miss{Missing::kUnsupported, "not an absolute path"}, name};
  std::vector<std::string> changeable;
  const fs::path end = walk(path, changeable);
  if (end.empty()) return {miss_of(ENOENT), name};
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(end, error)) {
    struct stat status = {};
    if (changeable.size() >= kMaxTold) break;
    if (lstat(entry.path().c_str(), &status) == 0 && !is_ours(status)) changeable.push_back(entry.path());
  }
  return {json::dump(json::encode(changeable)), name};
}

}  // namespace railbed
