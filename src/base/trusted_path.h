// Opens paths that other users may have prepared as a trap.
//
// A path is only as safe as each folder on it and each link that is followed: a user who can change one of
// them decides where the path ends. So a path is walked component by component. Each component is opened
// relative to its parent and never through a link; owner and mode are read from that descriptor; and the
// caller continues with the descriptor of the last folder and a name in it. The checked object is the used
// object, whatever others do to the path in the meantime.
//
// A link is followed only if root or the caller made it and no other user can replace it: then it is as safe
// as the folder that holds it.
//
// "Ours" means: owned by root or by the caller, and not writable by other users; is_ours() has the exact
// rule. In a folder with the sticky bit (/tmp) others can make files of their own but cannot change ours.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace railbed {

// The rights that users other than root and the caller may have on a path.
enum class Strangers {
  kNothing,   // every folder on the way is ours: the content may be trusted, obeyed or run
  kMayWrite,  // a folder may belong to another user, but none of its links is followed
};

struct PathProblem {
  // An errno value. EPERM: others can change a folder. ELOOP: another user's link, or too many links.
  int code = 0;
  std::string where = {};  // the component
  std::string why = {};    // "user 117 can change it"
};

// Returns the Error for a user: "cannot write /var/lib/x/y: /var/lib/x: user 117 can change it".
tl::unexpected<Error> cannot(std::string_view doing, const std::string& path, const PathProblem& problem,
                             ErrorKind kind = ErrorKind::kUnavailable);

// A name in an open folder. An object of that name need not exist.
struct FolderEntry {
  Fd folder = {};              // opened with O_PATH
  std::string name = {};       // "." if the path is a folder without a name, such as "/"
  std::string directory = {};  // the folder's path, without links

  // Opens the entry with openat(2), never through a link. Returns an empty Fd on failure, with errno set.
  Fd open(int flags, mode_t mode = 0) const;
  // Reads owner, mode and type; of a link itself if the entry is one. On failure returns false and sets
  // errno.
  bool look(struct stat& status) const;
  // Returns a path through the descriptor's number, for libraries that need a path. It leads to this folder
  // as long as the folder is open, whatever happens to the folder's own path.
  std::string path_by_descriptor() const;
  // Flushes the folder's entries to the disk (fsync(2)). Returns false with errno set on failure.
  bool sync() const;
};
using FoundEntry = tl::expected<FolderEntry, PathProblem>;

enum class LastLink { kStay, kFollow };
// Walks to the folder that holds `path`. With kFollow a link at the end of the path is followed, too.
FoundEntry find_entry(const std::string& path, Strangers strangers, LastLink last = LastLink::kStay);

// Returns a name in a folder that is already open. `directory` is its path. Duplicates the descriptor.
FolderEntry entry_in(const Fd& folder, std::string name, std::string directory);

// Opens the folder `path` itself, with O_PATH. If `missing_mode` is not negative, makes missing folders: the
// last with this mode, the others with 0755.
tl::expected<Fd, PathProblem> open_folder_at(const std::string& path, Strangers strangers,
                                             int missing_mode = -1);

// Opens the folder in which this process keeps its state, and makes it with mode 0700 if it is missing. For root,
// every folder of the path must belong to root. For another user, others may write to a parent (such as a volume
// of a container), but no link of theirs may lead to the folder. Fails if others may write to the folder itself:
// they could place a link there and so redirect writes.
Result<Fd> open_state_folder(const std::string& path);
// Checks, without making the folder, whether open_state_folder() could succeed. A folder that does not exist yet needs a
// parent that does, or can be made, and in which the caller may write.
Result<void> check_state_folder(const std::string& path);

// Returns whether root or the caller owns the object and no other user can write it. Members of root's group
// and, unless the caller is root, of the caller's group may write. In a folder with the sticky bit, and for a
// link, only the owner counts.
bool is_ours(const struct stat& status);

// Resolves every link of `path` and calls `report` with each component, the end included, that is not ours.
// Returns the path of the end without links; empty if it does not exist or cannot be reached.
std::string walk_to_end(const std::string& path,
                        const std::function<void(const std::string& component)>& report);

}  // namespace railbed
