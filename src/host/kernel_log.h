// The kernel's log: which of its lines are worth keeping, repeats folded as they are read. What they mean is
// said by facts/kernel_log.h. All of it is untrusted text: users' processes have their names in it.
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

// "kernel-log", or "kernel-log SINCE" with SINCE as base/moment.h reads it.
struct KernelLogLine {
  double first = 0;  // Unix seconds
  double last = 0;
  std::uint64_t count = 1;  // lines that begin alike
  std::string text;         // of the last one: printable, at most 400 bytes
  FIELDS(KernelLogLine, first, last, count, text);
};
struct KernelLogAnswer {
  std::string source;           // /dev/kmsg, or "journalctl -k -b"
  double begins = 0;            // Unix seconds: the boot, or the time asked for
  double ends = 0;              // when it was read
  bool beginning_lost = false;  // the oldest lines are overwritten: what is told begins later
  std::uint64_t dropped = 0;    // lines beyond the bounds below
  std::vector<KernelLogLine> lines;
  FIELDS(KernelLogAnswer, source, begins, ends, beginning_lost, dropped, lines);
};

// Whether a line can be one of the events that railbed knows; all others never leave the machine.
bool worth_keeping(std::string_view text);

// Whether a line begins with a task's name and number, as in "a.out[7]: segfault at …": whoever started the
// task chose how such a line begins, with up to 15 bytes (TASK_COMM_LEN).
bool begins_with_a_task(std::string_view text);

// Folds lines that begin alike into one, with a bound on how many are kept, and on how many of one sort: a
// user who lets the kernel kill his processes by the thousand hides nothing else.
class KernelLogFold {
 public:
  explicit KernelLogFold(double since) : since_(since) {}
  void add(double when, std::string_view text);
  void finish(KernelLogAnswer& answer);

 private:
  double since_;
  std::map<std::string_view, std::size_t> of_mark_;        // what it was kept for → lines
  std::map<std::string, std::size_t, std::less<>> known_;  // how it begins → its place
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

// One line of `journalctl -o short-unix`: "1795252201.123456 HOST kernel: text"; nothing when another
// program wrote it.
struct JournalLine {
  double when = 0;
  std::string_view text;
};
std::optional<JournalLine> parse_journal(std::string_view line);

// What journalctl prints, message by message. One of several lines goes on under its own text, behind spaces;
// it becomes one line as in /dev/kmsg, with "\x0a" for each break.
struct JournalMessage {
  double when = 0;
  std::string text;
};
std::vector<JournalMessage> parse_journal_messages(std::string_view output);

Reading<std::string> call_kernel_log(std::string_view name);

}  // namespace railbed
