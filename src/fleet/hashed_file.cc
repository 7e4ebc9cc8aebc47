#include "fleet/hashed_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/trusted_path.h"
#include "base/user_folders.h"

namespace railbed::fleet {
namespace {

constexpr std::size_t kMaxHashes = 64 << 10;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kSettled = 2 * kSecond;  // coarser than the time stamps of any file system in use

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * kSecond + time.tv_nsec; }

HashedFile identity_of(const std::string& path) {
  struct stat about = {};
  if (stat(path.c_str(), &about) != 0) return {};
  return {about.st_dev,
          about.st_ino,
          static_cast<std::uint64_t>(about.st_size),
          nanoseconds(about.st_mtim),
          nanoseconds(about.st_ctim),
          {}};
}

bool is_same(const HashedFile& a, const HashedFile& b) {
  return a.device == b.device && a.inode == b.inode && a.size == b.size && a.modified_ns == b.modified_ns &&
         a.changed_ns == b.changed_ns;
}

bool is_hash(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

bool is_settled(const HashedFile& file) {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  return std::max(file.modified_ns, file.changed_ns) + kSettled < nanoseconds(now);
}

}  // namespace

HashedFiles read_hashed_files(const std::string& path) {
  if (path.empty()) return {};
  // Ignores a file that another user could have written, because a hash decides which program nodes run.
  const FoundEntry place = find_entry(path, Strangers::kNothing);
  struct stat status = {};
  if (!place || !place->look(status) || !is_ours(status)) return {};
  const auto text = read_file(*place, path, kMaxHashes);
  if (!text) return {};
  auto files = json::read<HashedFiles>(*text);
  if (!files) return {};
  std::erase_if(*files, [](const auto& each) { return !is_hash(each.second.hash); });
  return std::move(*files);
}

Result<HashedFile> hash_file(const std::string& path, const HashedFiles& known) {
  HashedFile file = identity_of(path);
  if (const auto before = known.find(path); before != known.end() && is_same(before->second, file))
    return before->second;
  const auto bytes = read_file(path, kMaxProgram);
  if (!bytes) return fail(ErrorKind::kBadInput, bytes.error().text);
  if (!is_same(file, identity_of(path)) || file.size != bytes->size())
    return fail(ErrorKind::kBadInput, path + ": it changed while it was read");
  file.hash = sha256_hex(*bytes);
  return file;
}

void keep_hashed_files(const HashedFiles& files, const std::string& path) {
  if (path.empty()) return;
  HashedFiles kept = files;
  std::erase_if(kept, [](const auto& each) { return !is_settled(each.second); });
  const std::filesystem::path file(path);
  const auto folder = open_folder_at(file.parent_path(), Strangers::kNothing, 0700);
  if (!folder) return;
  (void)!write_file(entry_in(*folder, file.filename(), file.parent_path()), path,
                    json::dump(json::encode(kept)) + "\n", 0600);
}

std::string default_hashes_path() {
  const std::filesystem::path folder = cache_folder();
  return folder.empty() ? "" : folder / "agent-hashes.json";
}

}  // namespace railbed::fleet
