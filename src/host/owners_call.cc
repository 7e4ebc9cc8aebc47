// Finds what other users could change before a program is run: each folder on the way to it, each link that
// is followed, and the entries of the folder at the end (base/trusted_path.h).
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "base/json.h"
#include "base/trusted_path.h"
#include "host/device_calls.h"
#include "os/errno_name.h"

namespace railbed {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxTold = 8;  // one is enough to refuse

}  // namespace

Reading<std::string> call_changeable(const std::string& path) {
  const std::string name = "changeable " + path;
  if (!path.starts_with('/')) return {Miss{Missing::kUnsupported, "not an absolute path"}, name};
  std::vector<std::string> changeable;
  const fs::path end = walk_to_end(path, [&](const std::string& component) {
    if (changeable.size() < kMaxTold) changeable.push_back(component);
  });
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
