// The only interface through which railbed changes a machine: whole files, folders, and programs. After a
// power cut, an operation has taken effect completely or not at all, except overwrite(), and exchange() on
// file systems that cannot exchange files. Every path is resolved by base/trusted_path.h: if another user
// could change a folder or a link on the path, the operation fails and names it. Only is_folder() and
// bytes_free(), which just look, do not check the path.
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

// A regular file with everything that is restored with it.
struct KeptFile {
  FileContent content = {};
  int mode = 0644;
  unsigned owner = 0;
  unsigned group = 0;
  std::string label = {};  // SELinux label, from the attribute security.selinux; empty if none
  FIELDS(KeptFile, content, mode, owner, group, label);
  bool operator==(const KeptFile&) const = default;
};

using RunWords = std::function<Reading<CommandOutput>(const std::vector<std::string>& words,
                                                      std::chrono::milliseconds deadline)>;

// A machine that railbed may change. Paths are absolute; errors name the path.
class WritableHost {
 public:
  // All paths are below `root`; empty: this machine. `run` starts programs; empty: on this machine.
  explicit WritableHost(std::string root = "", RunWords run = {});

  // Called with the name of each operation before it changes something. If it returns an errno, the operation
  // fails with it. Tests also end the process here.
  std::function<int(std::string_view operation)> before_each = [](std::string_view) { return 0; };

  // Returns nullopt if nothing exists at the path. Fails if it is not a regular file; a symbolic link is not
  // one.
  Result<std::optional<KeptFile>> read(const std::string& path) const;
  // Like read(), for a file of railbed's own that is trusted: fails if another user could have written it.
  Result<std::optional<KeptFile>> read_own(const std::string& path) const;
  Result<void> write(const std::string& path, const KeptFile& file);
  // Overwrites an existing file that is at least as long as `text`, and truncates it to this length. Needs no
  // disk space. Not atomic.
  Result<void> overwrite(const std::string& path, std::string_view text);
  // Does nothing if the file does not exist.
  Result<void> remove(const std::string& path);
  // Creates the folder and all missing parents, which get mode 0755. `mode` is the mode of the last one.
  Result<void> make_folder(const std::string& path, int mode = 0755);
  // Removes the folder if it is empty.
  void remove_folder(const std::string& path);
  bool is_folder(const std::string& path) const;
  // Creates a file with this text; returns false if it already exists.
  Result<bool> publish(const std::string& path, std::string_view text);
  // Both paths must be in one folder. Neither call needs disk space. rename_new() returns false if `to`
  // exists.
  Result<bool> rename_new(const std::string& from, const std::string& to);
  Result<void> rename_over(const std::string& from, const std::string& to);
  Result<void> exchange(const std::string& one, const std::string& other);  // see the head of the file
  // Creates a symbolic link; does nothing if `path` exists.
  Result<void> link_to(const std::string& target, const std::string& path);
  // Returns sorted names; empty if the folder does not exist. Fails if another user could have put entries
  // there.
  Result<std::vector<std::string>> list(const std::string& path) const;
  // Returns true if something exists at the path, or this cannot be determined.
  bool is_there(const std::string& path) const;
  std::uint64_t bytes_free(const std::string& path) const;
  // Opens a file of railbed's own in order to lock it; creates it if it does not exist.
  Fd open_lock(const std::string& path) const;
  // Opens a folder of railbed's own in order to lock it.
  Fd open_own_folder(const std::string& path) const;

  Reading<CommandOutput> run(const std::vector<std::string>& words,
                             std::chrono::milliseconds deadline = std::chrono::seconds(20));
  // Runs a program that changes nothing; before_each() is not called.
  Reading<CommandOutput> ask(const std::vector<std::string>& words,
                             std::chrono::milliseconds deadline = std::chrono::seconds(10)) const;

  // Returns the path as the kernel knows it.
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
