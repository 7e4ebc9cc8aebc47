// The kernel's log: selects the lines worth keeping and folds repeats as it reads. facts/log/kernel_log.h
// interprets them. All of it is untrusted text: it holds names that users chose for their processes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/reading.h"

namespace railbed {

// "kernel-log", or "kernel-log SINCE" with SINCE in the form of parse_since() (base/moment.h).
struct KernelLogLine {
  double first = 0;  // Unix seconds
  double last = 0;
  std::uint64_t count = 1;  // number of lines with the same beginning
  std::string text;         // text of the last one: printable, at most 400 bytes
  FIELDS(KernelLogLine, first, last, count, text);
};
struct KernelLogAnswer {
  std::string source;           // /dev/kmsg, or "journalctl -k -b"
  double begins = 0;            // Unix seconds: the boot, or the requested time
  double ends = 0;              // time of reading
  bool beginning_lost = false;  // the oldest lines are overwritten, so the lines begin later than `begins`
  std::uint64_t dropped = 0;    // number of lines beyond the limits below
  std::vector<KernelLogLine> lines;
  bool part = false;  // somebody cut lines out of the log: it may have held more
  FIELDS(KernelLogAnswer, source, begins, ends, beginning_lost, dropped, lines, part);
};

// Returns whether a line can be one of the events that railbed knows. All others never leave the machine.
bool worth_keeping(std::string_view text);

// Returns whether a line begins with a task's name and number, as in "a.out[7]: segfault at …". The user who
// started the task chose the beginning of such a line, up to 15 bytes (TASK_COMM_LEN).
bool begins_with_a_task(std::string_view text);

// Folds lines with the same beginning into one. Limits the number of lines, in all and for each mark that
// selected them: a user who makes the kernel kill processes by the thousand cannot crowd out other events.
class KernelLogFold {
 public:
  explicit KernelLogFold(double since) : since_(since) {}
  void add(double when, std::string_view text);
  void finish(KernelLogAnswer& answer);

 private:
  double since_;
  std::map<std::string_view, std::size_t> of_mark_;        // mark that selected it → number of lines
  std::map<std::string, std::size_t, std::less<>> known_;  // beginning of a line → index in lines_
  std::vector<KernelLogLine> lines_;
  std::uint64_t dropped_ = 0;
};

// One record of /dev/kmsg: "6,339,5140900,-;text\n SUBSYSTEM=…" (Documentation/ABI/testing/dev-kmsg).
struct KmsgRecord {
  std::uint64_t sequence = 0;
  double uptime = 0;       // seconds
  bool by_kernel = false;  // facility 0: not written by a process
  std::string_view text;
};
std::optional<KmsgRecord> parse_kmsg(std::string_view record);

// One line of `journalctl -o short-unix`: "1795252201.123456 HOST kernel: text"; nullopt if another program
// wrote it.
struct JournalLine {
  double when = 0;
  std::string_view text;
};
std::optional<JournalLine> parse_journal(std::string_view line);

// Parses the kernel's messages from journalctl's output. A message of several lines continues, indented with
// spaces, below its first line; here it becomes one line as in /dev/kmsg, with "\x0a" for each break.
struct JournalMessage {
  double when = 0;
  std::string text;
};
std::vector<JournalMessage> parse_journal_messages(std::string_view output);

Reading<std::string> call_kernel_log(std::string_view name);

}  // namespace railbed
