// The only access to a machine. All data that railbed reads of a node comes through a Host, so the same
// collectors serve the live machine, a captured tree and a test. Reading changes nothing on the machine.
// The one call that runs a program of the site's own, "site-check", promises that only as far as the program does.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/reading.h"
#include "base/result.h"
#include "os/process.h"

namespace railbed {

class Host {
 public:
  virtual ~Host() = default;

  // Returns the file's bytes, at most `limit` of them. The reading's source is the path itself.
  virtual Reading<std::string> read(std::string_view path, std::size_t limit = 1 << 20) = 0;
  // Returns the names in a folder, sorted, without . and ..
  virtual Reading<std::vector<std::string>> list(std::string_view path) = 0;
  // Returns the path with all its symbolic links followed: an absolute path inside this root.
  virtual Reading<std::string> resolve(std::string_view path) = 0;

  // Runs a read-only program (found by PATH, no shell) within the deadline. A program that is not installed
  // is absent; one that exits non-zero is still a value. The reading's source is the words, joined by spaces.
  virtual Reading<CommandOutput> run(const std::vector<std::string>& words,
                                     std::chrono::milliseconds deadline = std::chrono::seconds(5)) = 0;
  // Calls a system or device library in process and returns JSON text. Known names: "uname", "clock",
  // "statvfs <path>", "environment <prefix>", "verbs", "load <seconds>", "ethernet <if>", "fec <if>", "statistics <if>",
  // "nvme", "nvme <controller>", "addresses", "default-routes", "queues", "nf-tables", "kernel-options <names>", "modes <folder>",
  // "changeable <path>", "stuck" (calls.h, device_calls.h), "processes <which>", "process <pid>"
  // (process_answer.h), "nvml", "nvml list", "nvml p2p", "nvml <address>", "cuda <address>", "gpu-load
  // <seconds>" (gpu_answers.h), "kernel-log [since]" (kernel_log.h), "site-check <job>" (os/confined.h). A captured tree returns what was
  // recorded.
  virtual Reading<std::string> call(std::string_view name) = 0;

  // Returns the first line, trimmed: the whole content of nearly every file under /sys.
  Reading<std::string> read_line(std::string_view path);
};

}  // namespace railbed
