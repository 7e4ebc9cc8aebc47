// The methods "launch.…": one program of the user, started on this node. It runs as long as its caller keeps
// it alive.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/json.h"
#include "base/peer.h"
#include "facts/file_content.h"

namespace railbed {

// JobRequest → JobNote: checks that the program can be started, and starts nothing
inline constexpr std::string_view kLaunchFind = "launch.find";
// JobRequest → JobNote; at most once per agent
inline constexpr std::string_view kLaunchStart = "launch.start";
// JobNote → JobNews: waits up to a second for output
inline constexpr std::string_view kLaunchRead = "launch.read";
// JobNote → JobNote: keeps the program alive
inline constexpr std::string_view kLaunchAlive = "launch.alive";
// JobNote → JobNote; the program ends soon after the reply
inline constexpr std::string_view kLaunchStop = "launch.stop";

struct JobRequest {
  std::vector<FileContent> words = {};        // passed unchanged, without any cleaning
  std::vector<FileContent> environment = {};  // "NAME=VALUE"
  FileContent folder = {};                    // empty: the agent's own
  int grace_seconds = 10;                     // from SIGTERM to SIGKILL
  int patience_seconds = 60;                  // without "launch.alive", before the program is ended
  FIELDS(JobRequest, words, environment, folder, grace_seconds, patience_seconds);
};

struct JobNote {
  static void fields(auto&&) {}
};

// Consecutive lines of one stream.
struct JobOutput {
  bool error = false;  // from standard error
  json::Lines lines;   // each with its newline
  FIELDS(JobOutput, error, lines);
};

struct JobNews {
  std::vector<JobOutput> output;
  // The exit code, or 128 + signal number. Set when the program has ended and all output was read.
  std::optional<int> status;
  FIELDS(JobNews, output, status);
};

Handlers job_handlers();

}  // namespace railbed
