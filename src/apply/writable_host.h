// The only door through which railbed changes a machine: whole files, folders, and programs. Each operation
// is there as a whole after a power cut, or not at all. Every path is walked by base/trusted_path.h: where
// another user could change a folder or a link on the way, the operation fails and names it.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/fields.h"
#include "base/reading.h"
#include "base/result.h"
#include "base/trusted_path.h"
#include "facts/file_content.h"
#include "host/host.h"

namespace railbed {

// A regular file with all that is to come back with it.
struct KeptFile {
  FileContent content = {};
  int mode = 0644;
  unsigned owner = 0;
  unsigned group = 0;
  std::string label = {};  // SELinux's, of the attribute security.selinux; empty: there is none
  FIELDS(KeptFile, content, mode, owner, group, label);
  bool operator==(const KeptFile&) const = default;
};

using RunWords = std::function<Reading<CommandOutput>(const std::vector<std::string>& words,
                                                      std::chrono::milliseconds deadline)>;

class WritableHost {
 public:
  // All paths are below `root`; empty: this machine. `run`: programs; empty: this machine's.
  explicit WritableHost(std::string root = "", RunWords run = {});

  // Asked before each operation that changes something, with its name. An errno makes it fail; tests end the
  // process here, too.
  std::function<int(std::string_view operation)> before_each = [](std::string_view) { return 0; };

  // None: nothing is there. What is no regular file, a symbolic link as well, is an error.
  Result<std::optional<KeptFile>> read(const std::string& path) const;
  // The same of a file of railbed's own, which is believed: one that another user could have written is an
  // error.
  Result<std::optional<KeptFile>> read_own(const std::string& path) const;
  Result<void> write(const std::string& path, const KeptFile& file);
  // Writes `text` over the beginning of a file that is there and at least as long, and cuts it to this
  // length: needs no space.
  Result<void> overwrite(const std::string& path, std::string_view text);
  // Nothing happens where it is not there.
  Result<void> remove(const std::string& path);
  // Every folder on the way, 0755 unless it is there. `mode`: of the last.
  Result<void> make_folder(const std::string& path, int mode = 0755);
  // Where it is empty.
  void remove_folder(const std::string& path);
  bool is_folder(const std::string& path) const;
  // A new file with this text, unless somebody was first: false then.
  Result<bool> publish(const std::string& path, std::string_view text);
  // Both in one folder. Neither needs space.
  Result<bool> rename_new(const std::string& from, const std::string& to);  // false: `to` is there already
  Result<void> rename_over(const std::string& from, const std::string& to);
  Result<void> exchange(const std::string& one, const std::string& other);   // at one moment
  Result<void> link_to(const std::string& target, const std::string& path);  // a symbolic link
  // Sorted; empty where there is no such folder. An error where others could have put things there.
  Result<std::vector<std::string>> list(const std::string& path) const;
  // Something is at this path, or nobody can know.
  bool is_there(const std::string& path) const;
  std::uint64_t bytes_free(const std::string& path) const;
  // Opens a file of railbed's own to lock it, and makes it where it is not there.
  Fd open_lock(const std::string& path) const;
  // Opens a folder of railbed's own to lock it.
  Fd open_own_folder(const std::string& path) const;

  Reading<CommandOutput> run(const std::vector<std::string>& words,
                             std::chrono::milliseconds deadline = std::chrono::seconds(20));
  // What only looks: no operation that tests count.
  Reading<CommandOutput> ask(const std::vector<std::string>& words,
                             std::chrono::milliseconds deadline = std::chrono::seconds(10)) const;

  // The path as the kernel knows it.
  std::string below_root(const std::string& path) const { return root_ + path; }
  bool is_this_machine() const { return root_.empty(); }

 private:
  bool is_stopped(std::string_view operation) const;  // sets errno
  FoundEntry place_of(const std::string& path) const;
  Result<std::optional<KeptFile>> read_at(const std::string& path, bool own) const;
  Result<void> sync_folder(const FolderEntry& place, const std::string& path);

  std::string root_;
  RunWords run_;
};

}  // namespace railbed
