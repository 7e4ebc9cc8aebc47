// The machine that is watched. One that was captured into a file may be captured anew while it is watched:
// the file is read again once it is another.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/host.h"

namespace railbed {

class WatchedMachine {
 public:
  // `root`: as open_root() takes it; empty: this machine. `left_alone`: devices that are not opened.
  static Result<std::unique_ptr<WatchedMachine>> open(std::string root, std::vector<std::string> left_alone);

  // Callable from several threads; what it gives stays as it is, and may be kept.
  Result<std::shared_ptr<Host>> now();
  // Likewise, and made anew: a tree allows each reader so many links and no more (host/tree_host.cc).
  Result<std::shared_ptr<Host>> made_anew();

 private:
  WatchedMachine(std::string root, std::vector<std::string> left_alone);
  std::filesystem::file_time_type written() const;
  Result<std::shared_ptr<Host>> make();

  const std::string root_;
  const std::vector<std::string> left_alone_;
  std::mutex mutex_;
  std::shared_ptr<Host> host_;
  std::filesystem::file_time_type written_ = {};  // none for a machine that is no file
};

}  // namespace railbed
