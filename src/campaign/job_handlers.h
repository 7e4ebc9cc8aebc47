// The methods "launch.…": one program of the user's, started on this node, for as long as somebody wants it.
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

inline constexpr std::string_view kLaunchFind = "launch.find";    // JobRequest → JobNote; starts nothing
inline constexpr std::string_view kLaunchStart = "launch.start";  // JobRequest → JobNote; once an agent
inline constexpr std::string_view kLaunchRead = "launch.read";    // JobNote → JobNews
inline constexpr std::string_view kLaunchAlive = "launch.alive";  // JobNote → JobNote: still wanted
inline constexpr std::string_view kLaunchStop = "launch.stop";  // JobNote → JobNote; it has ended soon after

struct JobRequest {
  std::vector<FileContent> words = {};        // exactly as they are: nobody cleans a command
  std::vector<FileContent> environment = {};  // "NAME=VALUE"
  FileContent folder = {};                    // empty: where the agent is
  int grace_seconds = 10;                     // from SIGTERM to SIGKILL
  int patience_seconds = 60;                  // without "launch.alive"
  FIELDS(JobRequest, words, environment, folder, grace_seconds, patience_seconds);
};

struct JobNote {
  static void fields(auto&&) {}
};

// Lines that one stream had without the other's between them.
struct JobOutput {
  bool error = false;  // of standard error
  json::Lines lines;   // each with a newline
  FIELDS(JobOutput, error, lines);
};

struct JobNews {
  std::vector<JobOutput> output;
  std::optional<int> status;  // the exit code, or 128 + signal: it has ended, and there is no more to read
  FIELDS(JobNews, output, status);
};

Handlers job_handlers();

}  // namespace railbed
