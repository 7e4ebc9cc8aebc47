// One file of a change, swapped in at one moment and swapped back without needing space.
//
// The other version of a file is kept beside it, in side_name(): the new one before the swap, the old one
// itself afterwards, with its inode, its times and its access list. So whether a file was swapped can be seen
// from the two, after a power cut as well, and a full disk keeps nobody from going back.
//
// A person may edit a file at any moment. What was swapped out is looked at after the swap, and whoever wrote
// between our look and the swap keeps the file. Going back drops no edit either: lines outside railbed's
// marks stay where they are, and any other edit is kept beside the file, in a name that ends with
// ".railbed-edited~".
#pragma once

#include <optional>
#include <string>

#include "apply/writable_host.h"
#include "base/result.h"

namespace railbed {

struct KeptEdit {
  std::string path = {};
  std::optional<KeptFile> before = {};
  std::optional<KeptFile> after = {};
  static void fields(auto&& field) {
    field("path", &KeptEdit::path);
    field("before", &KeptEdit::before);
    field("after", &KeptEdit::after);
  }
};

// Where the other version is. Readers of folders leave out what ends with '~'.
std::string side_name(const std::string& path);

// Content, mode and owner are equal, or neither is there. A label may be set anew by the system's policy.
bool is_same_file(const std::optional<KeptFile>& a, const std::optional<KeptFile>& b);

// Writes the new version beside the old one.
Result<void> prepare_swap(WritableHost& host, const KeptEdit& edit);

// Swaps it in. An error where the file is not what `edit.before` says: it stays as it is then.
Result<void> swap_in(WritableHost& host, const KeptEdit& edit);

// Makes the file what it was, wherever the change was cut off; again does no harm. The answer: what became of
// a person's edit, for the log; empty: there was none.
Result<std::string> swap_back(WritableHost& host, const KeptEdit& edit);

// Removes the old version of a change that is kept. The answer is swap_back()'s.
Result<std::string> end_swap(WritableHost& host, const KeptEdit& edit);

// `now`, which a person made of `after`, without the change from `before` to `after`; none: the person's
// lines and the change's cannot be told apart.
std::optional<KeptFile> without_change(const KeptEdit& edit, const KeptFile& now);

// The lines in which a file differs from what a change left, for a person: "+ 10.1.2.3 nas", at most some.
std::string difference(const std::optional<KeptFile>& left, const std::optional<KeptFile>& now);

}  // namespace railbed
