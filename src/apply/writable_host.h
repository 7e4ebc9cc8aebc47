// The only door through which railbed changes a machine: whole files, folders, and programs. Each operation
// is there as a whole after a power cut, or not at all.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/reading.h"
#include "base/result.h"
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
  static void fields(auto&& field) {
    field("content", &KeptFile::content);
    field("mode", &KeptFile::mode);
    field("owner", &KeptFile::owner);
    field("group", &KeptFile::group);
    field("label", &KeptFile::label);
  }
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
  Result<void> write(const std::string& path, const KeptFile& file);
  // Nothing happens where it is not there.
  Result<void> remove(const std::string& path);
  // Every folder on the way, 0755 unless it is there. `mode`: of the last.
  Result<void> make_folder(const std::string& path, int mode = 0755);
  // Where it is empty.
  void remove_folder(const std::string& path);
  bool is_folder(const std::string& path) const;
  // A new file with this text, unless somebody was first: false then.
  Result<bool> publish(const std::string& path, std::string_view text);
  Result<void> link_to(const std::string& target, const std::string& path);  // a symbolic link
  std::vector<std::string> list(const std::string& path) const;              // sorted
  std::uint64_t bytes_free(const std::string& path) const;

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
  Result<void> sync_folder_of(const std::string& path);

  std::string root_;
  RunWords run_;
};

}  // namespace railbed
