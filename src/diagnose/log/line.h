// Parses the records of a NCCL log. NCCL 2.18 to 2.30 print
//    HOST:PID:TID [DEVICE] NCCL INFO text
//    [TIME] HOST:PID:TID [DEVICE] file.cc:LINE NCCL WARN text        (the time since 2.26)
// (NCCL src/debug.cc). Launchers add prefixes ("[1,0]<stdout>:", "node01: "), programs that print without a
// newline leave their text before a record, and ranks that share a pipe may end up on one line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace railbed::diagnose {

enum class Level { kInfo, kWarn, kVersion };

struct LogLine {
  Level level = Level::kInfo;
  std::string_view host = {};
  int process = -1;
  int thread = -1;
  int device = -1;  // the CUDA device that was current in that thread: a hint, often 0 in helper threads
  std::string_view place = {};  // only for warnings: "misc/socket.cc:72"
  std::string_view text = {};
};

// Returns the records on the line in order; none if NCCL did not print it. They are views into `line`.
std::vector<LogLine> parse_log_line(std::string_view line);

// Returns whether the line may be wrapped by a log collector. Fast, unlike the next function.
bool may_be_collected(std::string_view line);
// Returns the text that a log collector wrapped into one JSON object per line (Docker's json-file, fluentd,
// structured loggers): its member log, message, msg or text. Nothing if the line is no such object.
std::optional<std::string> collected_message(std::string_view line);

// Returns the line without terminal colors (ECMA-48 control sequences) and without a carriage return at its
// end. `buffer` holds the result if something inside the line was removed.
std::string_view plain(std::string_view line, std::string& buffer);

}  // namespace railbed::diagnose
