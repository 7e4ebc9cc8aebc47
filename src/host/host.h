// The only door to a machine. Everything that railbed learns of a node goes through a Host, so the same
// collectors serve the live machine, a captured tree and a test. Looking changes nothing.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/reading.h"
#include "base/result.h"

namespace railbed {

struct CommandOutput {
  int exit_code = 0;  // 128 + signal when the command was killed
  std::string output;
  std::string error_output;
  bool operator==(const CommandOutput&) const = default;
};

class Host {
 public:
  virtual ~Host() = default;

  // The file's bytes, at most `limit` of them. The reading's source is the path itself.
  virtual Reading<std::string> read(std::string_view path, std::size_t limit = 1 << 20) = 0;
  // Names in a folder, sorted, without . and ..
  virtual Reading<std::vector<std::string>> list(std::string_view path) = 0;
  // Where the path ends when every symbolic link on it is followed: an absolute path inside this root.
  virtual Reading<std::string> resolve(std::string_view path) = 0;

  // Runs a read-only program (found by PATH, no shell) within the deadline. A program that is not installed
  // is absent; one that exits non-zero is still a value. Source: the words, joined by spaces.
  virtual Reading<CommandOutput> run(const std::vector<std::string>& words,
                                     std::chrono::milliseconds deadline = std::chrono::seconds(5)) = 0;
  // Asks a system or device library in process; the answer is JSON text. Known names: "uname", "clock",
  // "statvfs <path>", "environment <prefix>", "verbs", "load <seconds>", "ethernet <if>", "statistics <if>",
  // "nvme", "addresses", "default-routes", "queues", "nf-tables", "kernel-options <names>", "modes <folder>",
  // "changeable <path>", "stuck" (calls.h), "nvml", "nvml p2p", "nvml <address>", "cuda <address>", "gpu-load
  // <seconds>" (gpu_answers.h), "kernel-log [since]". A captured tree answers what was recorded.
  virtual Reading<std::string> call(std::string_view name) = 0;

  // First line, trimmed: what nearly every file under /sys holds.
  Reading<std::string> read_line(std::string_view path);
};

}  // namespace railbed
