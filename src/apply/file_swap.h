// One file of a change, swapped in at one moment and swapped back without needing space.
//
// The other version of a file is kept beside it, in side_name(): the new one before the swap, the old one
// itself afterwards, with its inode, its times and its access list. So whether a file was swapped can be seen
// from the two, after a power cut as well, and a full disk keeps nobody from going back.
//
// A person may edit a file at any moment. So the file that was swapped out is compared with the one that the
// plan saw, and is swapped in again if somebody wrote it in between. Going back drops no edit either: lines
// outside railbed's marks stay where they are, and any other edit is kept beside the file, under a name that
// ends with
// ".railbed-edited~".
#pragma once

#include <optional>
#include <string>

#include "apply/writable_host.h"
#include "base/fields.h"
#include "base/result.h"

namespace railbed {

struct KeptEdit {
  std::string path = {};
  std::optional<KeptFile> before = {};
  std::optional<KeptFile> after = {};
  FIELDS(KeptEdit, path, before, after);
};

// Returns the path of the other version. Readers of folders leave out what ends with '~'.
std::string side_name(const std::string& path);

// Returns whether content, mode and owner are equal, or neither file is there. Labels are not compared: the
// system's policy may set one again.
bool is_same_file(const std::optional<KeptFile>& a, const std::optional<KeptFile>& b);

// Writes the new version beside the old one.
Result<void> prepare_swap(WritableHost& host, const KeptEdit& edit);

// Swaps the new version in. Fails, and leaves the file as it is, where it is not what `edit.before` says.
Result<void> swap_in(WritableHost& host, const KeptEdit& edit);

// Makes the file what it was, wherever the change was cut off; a second call does no harm. Returns what
// became of a person's edit, for the log; empty if there was none.
Result<std::string> swap_back(WritableHost& host, const KeptEdit& edit);

// Removes the old version of a change that is kept. Returns the same as swap_back().
Result<std::string> end_swap(WritableHost& host, const KeptEdit& edit);

// Returns `now`, which a person made of `edit.after`, without the change; nothing if the person's lines and
// the change's cannot be told apart.
std::optional<KeptFile> without_change(const KeptEdit& edit, const KeptFile& now);

// Returns the lines in which a file differs from what a change left, for a person: "+ 10.1.2.3 nas"; at most
// twelve of each side.
std::string difference(const std::optional<KeptFile>& left, const std::optional<KeptFile>& now);

}  // namespace railbed
