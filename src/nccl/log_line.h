// One record of a NCCL log: who said it, and what. NCCL 2.18 to 2.30 print
//   HOST:PID:TID [DEVICE] NCCL INFO text
//   [TIME] HOST:PID:TID [DEVICE] file.cc:LINE NCCL WARN text        (the time since 2.26)
// (NCCL src/debug.cc). Launchers put their own words in front ("[1,0]<stdout>:", "node01: "), programs that
// print without a newline leave theirs there, and ranks that share a pipe may end up on one line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace railbed::nccl {

enum class Level { kInfo, kWarn, kVersion };

struct LogLine {
  Level level = Level::kInfo;
  std::string_view host = {};
  int process = -1;
  int thread = -1;
  int device = -1;  // the CUDA device that was current in that thread: a hint, often 0 in helper threads
  std::string_view place = {};  // of a warning: "misc/socket.cc:72"
  std::string_view text = {};
};

// Every record on the line, in order; none when NCCL did not print it. Views into `line`.
std::vector<LogLine> parse_log_line(std::string_view line);

// Whether the line is what a log collector may have wrapped: cheap, unlike the next.
bool may_be_collected(std::string_view line);
// What a log collector wrapped into one JSON object a line (Docker's json-file, fluentd, structured loggers):
// the text of its member log, message, msg or text. Nothing when the line is no such object.
std::optional<std::string> collected_message(std::string_view line);

// The line without terminal colours (ECMA-48 control sequences) and without a carriage return at its end.
// `buffer` holds the result when there was something to remove.
std::string_view plain(std::string_view line, std::string& buffer);

}  // namespace railbed::nccl
