// Opens the machine that is watched. A captured machine may be captured again meanwhile: its file is read
// again if it has changed.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/host.h"

namespace railbed {

// See the head of this file. Thread-safe.
class WatchedMachine {
 public:
  // `root` is that of open_root(); empty for this machine. `left_alone` lists devices that are not opened.
  static Result<std::unique_ptr<WatchedMachine>> open(std::string root, std::vector<std::string> left_alone);

  // Returns the current machine. The result does not change and may be kept.
  Result<std::shared_ptr<Host>> now();
  // Returns the machine, opened again even if it has not changed, unless nobody has had it yet. A tree limits the
  // number of links that one reader may follow (host/tree_host.cc), so a long-lived reader needs a new one.
  Result<std::shared_ptr<Host>> made_anew();

 private:
  WatchedMachine(std::string root, std::vector<std::string> left_alone);
  std::filesystem::file_time_type written() const;
  bool is_current() const { return host_ && written() == written_; }
  Result<std::shared_ptr<Host>> hand_out(bool used_will_do);
  Result<void> make();

  const std::string root_;
  const std::vector<std::string> left_alone_;
  std::mutex mutex_;
  std::shared_ptr<Host> host_;
  bool is_used_ = false;                          // somebody has host_
  std::filesystem::file_time_type written_ = {};  // zero if the machine is not a file
};

}  // namespace railbed
