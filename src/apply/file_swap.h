// Swaps one file of a change in with one atomic operation, and back without needing disk space.
//
// The other version of a file is kept next to it, in side_name(): the new version before the swap, and
// afterwards the old file itself, with its inode, times and access list. The two files therefore show whether
// the swap happened, even after a power cut, and a full disk does not prevent a rollback.
//
// A person may edit a file at any moment. The file that was swapped out is therefore compared with the one
// that the plan saw, and is swapped in again if it was written in between. A rollback does not lose an edit
// either: lines outside railbed's marks stay in place, and any other edit is kept next to the file, under a
// name that ends with ".railbed-edited~".
#pragma once

#include <optional>
#include <string>

#include "apply/writable_host.h"
#include "base/fields.h"
#include "base/result.h"

namespace railbed {

// One file of an apply, before and after it; nullopt: the file does not exist then.
struct KeptEdit {
  std::string path = {};
  std::optional<KeptFile> before = {};
  std::optional<KeptFile> after = {};
  FIELDS(KeptEdit, path, before, after);
};

// Returns the path of the other version. Programs that read a folder ignore names that end with '~'.
std::string side_name(const std::string& path);

// Returns true if content, mode and owner are equal, or neither file exists. Labels are not compared: the
// system's policy may set one again.
bool is_same_file(const std::optional<KeptFile>& a, const std::optional<KeptFile>& b);

// Writes the new version next to the old one.
Result<void> prepare_swap(WritableHost& host, const KeptEdit& edit);

// Swaps the new version in. Fails, and leaves the file unchanged, if it differs from `edit.before`.
Result<void> swap_in(WritableHost& host, const KeptEdit& edit);

// Restores the old file, wherever the change was interrupted; a second call has no effect. Returns what
// happened to a person's edit, for the log; empty if there was none.
Result<std::string> swap_back(WritableHost& host, const KeptEdit& edit);

// Removes the old version of a committed change. Returns the same as swap_back().
Result<std::string> end_swap(WritableHost& host, const KeptEdit& edit);

// Returns `now`, a person's edit of `edit.after`, without the change: railbed's block, and the lines outside of
// it that the change corrected. nullopt if the person's lines and the change's cannot be separated.
std::optional<KeptFile> without_change(const KeptEdit& edit, const KeptFile& now);

// Returns the lines in which a file differs from the version that a change left, for a person: "+ 10.1.2.3
// nas"; at most twelve lines of each version.
std::string difference(const std::optional<KeptFile>& left, const std::optional<KeptFile>& now);

}  // namespace railbed
