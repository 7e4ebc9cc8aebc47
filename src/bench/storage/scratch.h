// A temporary folder on the file system to be measured, with a recognizable name.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace railbed {

inline constexpr std::string_view kScratchPrefix = "railbed-storage-";

// A temporary folder in `parent`. The destructor removes it with the files in it. A process that is killed
// leaves its folder behind, and a later one removes it with sweep_scratch(). Each folder has a file that its
// process keeps locked. The kernel releases the lock when the process ends, on this host and, over NFS, on
// others; so a folder whose lock is free belongs to no running process.
class Scratch {
 public:
  static Result<Scratch> make(const std::string& parent);
  Scratch(Scratch&&) noexcept = default;
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch();

  // Returns a path by the number of this process's file descriptor, for this process and its children. It
  // leads to this folder even if `parent` is moved or replaced.
  std::string path() const;
  const std::string& name() const { return name_; }  // in `parent`
  // Removes the files in it, except the lock, so that the next job can use their space.
  void empty() const;

 private:
  Scratch(Fd parent, std::string name, Fd folder, Fd lock)
      : parent_(std::move(parent)),
        name_(std::move(name)),
        folder_(std::move(folder)),
        lock_(std::move(lock)) {}
  Fd parent_;
  std::string name_;
  Fd folder_;
  Fd lock_;
};

// Removes the folders in `parent` that ended processes of this user left, and returns their names. Only plain
// files directly in such folders are removed, never through a link. A folder whose owner may still run is not
// touched.
std::vector<std::string> sweep_scratch(const std::string& parent);

// The size of a file system in bytes.
struct Room {
  std::uint64_t size = 0;
  std::uint64_t free = 0;  // for this user
  bool memory = false;     // tmpfs or ramfs: in memory, not on storage
};
Result<Room> room_at(const std::string& folder);

// Makes a file without a name in `folder` and opens it for reading and writing past the page cache (O_DIRECT). The kernel
// gives its space back when the last process that has it open ends, however that ends; after a crash of the machine the
// file system does when it is mounted. Fails with the kernel's text.
Result<Fd> make_nameless_file(const std::string& folder);

// Succeeds if files in `folder` can be written past the page cache; else fails with the kernel's text. Leaves
// no file.
Result<void> try_direct(const std::string& folder);

}  // namespace railbed
