// The door to paths that other users may have prepared.
//
// A path is only as safe as each folder on it and each link that is followed: whoever can change one of them
// decides what lies at the end. So a path is walked component by component. Each component is opened relative
// to its parent and never through a link; owner and mode are read from that descriptor; and the caller goes
// on with the descriptor of the last folder and a name in it. What was checked is what is used, whatever
// others do to the path meanwhile.
//
// A link is followed only where root or the caller made it and nobody else can put another one in its place:
// then it is as safe as the folder that holds it.
//
// "Ours" is what belongs to root or to the caller and what nobody else may write. In a folder with the sticky
// bit (/tmp) others make files of their own and change none of ours.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace railbed {

// What users other than root and the caller may be able to do to a path.
enum class Strangers {
  kNothing,   // every folder on the way is ours: what lies there is believed, carried out or run
  kMayWrite,  // a folder may be another user's, but none of its links is followed
};

struct PathProblem {
  int code = 0;            // errno's; EPERM: a folder that others can change; ELOOP: a link of another user's
  std::string where = {};  // the component
  std::string why = {};    // "user 117 can change it"
};

// "cannot write /var/lib/x/y: user 117 can change /var/lib/x"
tl::unexpected<Error> cannot(std::string_view doing, const std::string& path, const PathProblem& problem);

// A name in an open folder. Nothing need be there.
struct FolderEntry {
  Fd folder = {};              // opened with O_PATH
  std::string name = {};       // "." where the path is a folder's that has no name, such as "/"
  std::string directory = {};  // the folder's path, of which no component is a link

  // openat(2), never through a link; errno where it fails.
  Fd open(int flags, mode_t mode = 0) const;
  // Owner, mode and kind, of a link itself where there is one; none: errno is set.
  bool look(struct stat& status) const;
  // By the descriptor's number, for libraries that take paths: whatever is done to the folder's own path, it
  // leads there while the folder is open.
  std::string path_by_descriptor() const;
  // Writes the folder's entries to the disk.
  bool sync() const;
};
using FoundEntry = tl::expected<FolderEntry, PathProblem>;

enum class LastLink { kStay, kFollow };
// Walks to the folder of `path`. With kFollow a link at the end of the path is followed like the others.
FoundEntry find_entry(const std::string& path, Strangers strangers, LastLink last = LastLink::kStay);

// A name in a folder that is open already, whose path is `directory`.
FolderEntry entry_in(const Fd& folder, std::string name, std::string directory);

// Opens the folder `path` itself, with O_PATH; `missing_mode`: what is not there is made, 0755 and the last
// folder with this mode; negative: nothing is made.
tl::expected<Fd, PathProblem> open_folder_at(const std::string& path, Strangers strangers,
                                             int missing_mode = -1);

// Whether nobody but root and the caller can change what this is of.
bool is_ours(const struct stat& status);

// Calls `report` with each component on the way to `path`, and with its end, that is not ours; follows every
// link. Returns the end of the path without links; empty: there is none.
std::string walk_to_end(const std::string& path,
                        const std::function<void(const std::string& component)>& report);

}  // namespace railbed
