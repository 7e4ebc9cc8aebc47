// Shares connections without overriding the user's own configuration.
//
// ssh keeps the first value that it finds for a setting, and the command line comes before files. A
// ControlPath on the command line would therefore override the user's own, and lose a connection that the
// user opened manually because it requires a second factor. So ssh gets a file (-F) that includes the files
// that it would read anyway, in the same order, and then sets the three options, which apply only if they are
// not set yet.
//
// The name of a socket holds a hash of that file and of the options on the command line. A command therefore
// never uses a connection that it would have made differently. The rest of the name is %C, ssh's own hash of
// user, host and port.
//
// The connection belongs to a background process of ssh. It ends kKept seconds after its last use, or within
// 15 s when the node no longer responds (ServerAliveInterval).
#include "fleet/shared_connection.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/files.h"
#include "base/sha256.h"
#include "base/trusted_path.h"
#include "base/user_folders.h"

namespace railbed::fleet {
namespace {

constexpr int kKept = 180;  // seconds
constexpr std::size_t kHash = 8;
// A socket's path may have 107 characters (unix(7)). ssh appends 17 while it creates one (mux.c), %C has 40,
// and there are two separators.
constexpr std::size_t kLongestFolder = 107 - 17 - 40 - kHash - 2;

// Returns whether a path needs no quotes or escapes in ssh_config(5), and holds no pattern of glob(7) and no
// token of ssh.
bool is_plain_path(std::string_view path) {
  return path.starts_with('/') && std::ranges::all_of(path, [](unsigned char c) {
           return std::isalnum(c) != 0 ||
                  std::string_view("/._+-@:,=").find(static_cast<char>(c)) != std::string_view::npos;
         });
}

// Returns a folder in $XDG_RUNTIME_DIR, which every login has and which is removed with it; otherwise one in
// the cache folder; empty without any.
std::string folder_for(const Environment& environment) {
  if (const auto runtime = text_of(environment, "XDG_RUNTIME_DIR"); !runtime.empty())
    return runtime + "/railbed";
  const std::filesystem::path cache =
      cache_folder([&](std::string_view name) { return text_of(environment, name); });
  return cache.empty() ? "" : (cache / "ssh").string();
}

// Creates the folder. ssh opens its files by path, so nobody else may be able to replace one.
bool make_own_folder(const std::string& folder) {
  const auto opened = open_folder_at(folder, Strangers::kNothing, 0700);
  const FoundEntry itself = find_entry(folder, Strangers::kNothing);
  struct stat about = {};
  if (!itself || !itself->look(about) || !S_ISDIR(about.st_mode))
    return false;  // a link would give it two paths
  return opened && fstat(opened->get(), &about) == 0 && about.st_uid == geteuid() &&
         (about.st_mode & 077) == 0;
}

// Returns whether ssh would read the file. ssh refuses a file that others can write, but not if another file
// includes it.
bool would_be_read(const std::string& path) {
  struct stat about = {};
  if (stat(path.c_str(), &about) != 0) return true;
  return (about.st_uid == 0 || about.st_uid == geteuid()) && (about.st_mode & 022) == 0;
}

}  // namespace

std::optional<std::string> sharing_text(const FleetOptions& options, const std::string& folder) {
  std::string text =
      "# Made by railbed, and made again when it is missing: connections of ssh that stay for a few minutes.\n";
  if (options.ssh_config.empty()) {
    text += "Include ~/.ssh/config\nInclude /etc/ssh/ssh_config\n";
  } else {
    const std::string path = std::filesystem::absolute(options.ssh_config).lexically_normal();
    if (!is_plain_path(path)) return std::nullopt;
    text += fmt::format("Include {}\n", path);
  }
  if (!is_plain_path(folder) || folder.size() > kLongestFolder) return std::nullopt;
  std::string way = text;
  for (const std::string& word : options.ssh_options) way += word + "\n";
  return text + fmt::format("Host *\n  ControlMaster auto\n  ControlPersist {}\n  ControlPath {}/{}-%C\n",
                            kKept, folder, sha256_hex(way).substr(0, kHash));
}

std::optional<std::string> sharing_config(const FleetOptions& options, const Environment& environment) {
  const std::string folder = folder_for(environment);
  const auto text = sharing_text(options, folder);
  if (!text || !make_own_folder(folder)) return std::nullopt;
  if (options.ssh_config.empty() && !would_be_read(text_of(environment, "HOME") + "/.ssh/config"))
    return std::nullopt;
  const std::string path = fmt::format("{}/{}.config", folder, sha256_hex(*text).substr(0, kHash));
  if (const auto there = read_file(path); there && *there == *text) return path;
  if (!write_file(path, *text, 0600)) return std::nullopt;
  return path;
}

}  // namespace railbed::fleet
