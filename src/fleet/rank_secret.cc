// Establishes trust between the ranks of one user if the launcher distributes no secret.
//
// A file that only its user can read, in a home folder that all hosts of a job usually share, is a secret
// that exists already. The first rank of the first start creates it. Many ranks may start at once, and a home
// folder on NFS has no reliable locks. So each writes a complete file under its own name, syncs it, and links
// it to the common name. link() never replaces a file: the first one wins, the others get EEXIST, and all
// read what the winner wrote. The file must be a regular file of this user that nobody else may read. If no
// home folder is shared, RAILBED_SECRET takes the place of the file.
//
// The secret is never transmitted. It is the key of the proofs in rank_door.cc.
#include "fleet/rank_secret.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/fd.h"
#include "base/random.h"
#include "base/text.h"
#include "base/trusted_path.h"
#include "base/user_folders.h"

namespace railbed::fleet {
namespace {

constexpr std::size_t kLeast = 16;
constexpr std::size_t kBytes = 32;

tl::unexpected<Error> complain(const std::string& path, std::string_view what) {
  return fail(
      ErrorKind::kUnavailable,
      fmt::format("{}: {}. Give all ranks one RAILBED_SECRET in their environment instead", path, what));
}

std::string secret_path(const Environment& environment) {
  const std::filesystem::path own =
      state_folder([&](std::string_view name) { return text_of(environment, name); });
  return own.empty() ? "" : (own / "rank-secret").string();
}

// Creates the file completely or not at all, and never replaces another rank's, because ranks that start at
// once all try.
Result<void> make_secret(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  const auto opened = open_folder_at(folder, Strangers::kMayWrite, 0755);
  if (!opened) return complain(path, opened.error().why);
  const std::string name = std::filesystem::path(path).filename();
  const FolderEntry own = entry_in(*opened, name + "." + random_hex(8), folder);
  const Fd file = own.open(O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!file) return complain(path, std::strerror(errno));
  const std::string secret = random_hex(kBytes) + "\n";
  const bool written =
      write_all(file.get(), secret) && fsync(file.get()) == 0 &&
      (linkat(opened->get(), own.name.c_str(), opened->get(), name.c_str(), 0) == 0 || errno == EEXIST);
  const int error = errno;
  unlinkat(opened->get(), own.name.c_str(), 0);
  if (!written) return complain(path, std::strerror(error));
  return {};
}

Result<std::string> read_secret(const std::string& path) {
  const FoundEntry place = find_entry(path, Strangers::kMayWrite);
  if (!place) return complain(path, place.error().why);
  const Fd file = place->open(O_RDONLY | O_NONBLOCK);
  if (!file) return complain(path, std::strerror(errno));
  struct stat about = {};
  if (fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return complain(path, "not a file");
  if (about.st_uid != geteuid() || (about.st_mode & 077) != 0)
    return complain(path, "it must be yours, and readable by nobody else (chmod 600)");
  char text[2 * kBytes + 2];
  const ssize_t count = read(file.get(), text, sizeof text);
  const std::string_view secret =
      trim(std::string_view(text, static_cast<std::size_t>(std::max<ssize_t>(count, 0))));
  if (secret.size() != 2 * kBytes) return complain(path, "does not hold what railbed wrote; remove it");
  return std::string(secret);
}

}  // namespace

Result<std::string> find_rank_secret(const Environment& environment) {
  if (const auto given = text_of(environment, "RAILBED_SECRET"); !given.empty()) {
    if (given.size() < kLeast)
      return fail(ErrorKind::kBadInput, "RAILBED_SECRET: at least 16 characters that nobody can guess");
    return given;
  }
  const std::string path = secret_path(environment);
  if (path.empty()) return complain("HOME", "not set");
  if (access(path.c_str(), F_OK) != 0) RETURN_IF_ERROR(make_secret(path));
  return read_secret(path);
}

}  // namespace railbed::fleet
