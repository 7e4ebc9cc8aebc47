// A folder of ours on somebody's file system: known by its name, gone when we are.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace railbed {

inline constexpr std::string_view kScratchPrefix = "railbed-storage-";

// Made in `parent`, removed with the files that lie in it by the destructor. A process that is killed leaves
// its folder behind; the next one to come here removes it: a lock that the kernel lets go of tells the dead
// from the living, on this host and, over NFS, on others.
class Scratch {
 public:
  static Result<Scratch> make(const std::string& parent);
  Scratch(Scratch&&) noexcept = default;
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch();

  // By the number of our descriptor of it, for us and our children: whatever is done to `parent` meanwhile,
  // it leads to this folder.
  std::string path() const;
  const std::string& name() const { return name_; }  // in `parent`
  // The files in it, but for the lock, so that the next job has the room.
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

// Removes what dead processes of this user left in `parent`; answers the folders' names. Only plain files
// directly in folders of that name are removed, never through a link. What cannot be told dead is left alone.
std::vector<std::string> sweep_scratch(const std::string& parent);

// What may be used of a file system.
struct Room {
  std::uint64_t size = 0;
  std::uint64_t free = 0;  // for this user
  bool memory = false;     // tmpfs, ramfs: no storage at all
};
Result<Room> room_at(const std::string& folder);

// Whether files in `folder` can be written past the page cache; else the kernel's words. Leaves no file.
Result<void> try_direct(const std::string& folder);

}  // namespace railbed
