// Reads the kernel's log from the live machine: from /dev/kmsg, or from the journal if /dev/kmsg cannot be
// read or no longer reaches back to the boot.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>

#include "base/fd.h"
#include "base/files.h"
#include "base/json.h"
#include "base/moment.h"
#include "base/text.h"
#include "host/kernel_log.h"
#include "os/errno_name.h"
#include "os/process.h"

namespace railbed {
namespace {

constexpr const char* kKmsg = "/dev/kmsg";
constexpr std::string_view kJournal = "journalctl -k -b";
constexpr std::chrono::seconds kDeadline{5};
constexpr std::size_t kMaxJournalLines = 20000;

// The origin of the kernel's timestamps: /proc/stat's btime with a finer resolution.
double boot_time() {
  timespec since_boot = {};
  clock_gettime(CLOCK_BOOTTIME, &since_boot);
  return now_unix() - static_cast<double>(since_boot.tv_sec) - static_cast<double>(since_boot.tv_nsec) / 1e9;
}

struct Asked {
  double since = 0;
  double boot = 0;
};

KernelLogAnswer answer_for(std::string_view source, const Asked& asked) {
  KernelLogAnswer answer;
  answer.source = source;
  answer.begins = std::max(asked.since, asked.boot);
  answer.ends = now_unix();
  return answer;
}

Reading<KernelLogAnswer> read_kmsg(const Asked& asked) {
  const Fd fd(open(kKmsg, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return {miss_of(errno), kKmsg};
  KernelLogAnswer answer = answer_for(kKmsg, asked);
  KernelLogFold fold(asked.since);
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  std::array<char, 16384> record;  // one read gives one record; the kernel's are shorter than 8 KiB
  bool first = true;
  while (std::chrono::steady_clock::now() < deadline) {
    const ssize_t got = read(fd.get(), record.data(), record.size());
    if (got < 0 && errno == EPIPE) {  // the oldest records were overwritten during the read
      answer.beginning_lost = true;
      continue;
    }
    if (got < 0 && (errno == EINTR || errno == EINVAL)) continue;
    if (got < 0 && errno != EAGAIN) return {miss_of(errno), kKmsg};
    if (got <= 0) {
      fold.finish(answer);
      return {std::move(answer), kKmsg};
    }
    const auto line = parse_kmsg({record.data(), static_cast<std::size_t>(got)});
    if (!line) continue;
    const double when = asked.boot + line->uptime;
    if (first && line->sequence > 0 && when > asked.since) answer.beginning_lost = true;
    first = false;
    if (line->by_kernel) fold.add(when, line->text);
  }
  return {Miss{Missing::kTimeout, "the log grew faster than it was read"}, kKmsg};
}

bool is_first_line(std::string_view text) {
  return text.find("Linux version") != text.npos || text.find("Booting Linux") != text.npos;
}

// Returns whether this machine has a journal. journald(8): a machine's files are in folders named by its id.
bool has_journal() {
  const auto id = read_file("/etc/machine-id");
  if (!id) return true;  // journalctl finds another way, or reports what is missing
  const std::string name(trim(*id));
  return std::ranges::any_of(std::array{"/run/log/journal/", "/var/log/journal/"},
                             [&](const char* folder) { return access((folder + name).c_str(), F_OK) == 0; });
}

Reading<KernelLogAnswer> read_journal(const Asked& asked) {
  if (!has_journal()) return {Miss{Missing::kAbsent, "this machine keeps no journal"}, std::string(kJournal)};
  const auto output = run_program({"journalctl", "--dmesg", "--boot", "--output=short-unix", "--no-pager",
                                   "--quiet", "--lines=" + std::to_string(kMaxJournalLines),
                                   "SYSLOG_FACILITY=0"},  // the kernel, not processes that write to /dev/kmsg
                                  kDeadline);
  if (!output) return {output.miss(), std::string(kJournal)};
  KernelLogAnswer answer = answer_for(kJournal, asked);
  KernelLogFold fold(asked.since);
  answer.beginning_lost = true;
  bool any = false;
  for (const JournalMessage& message : parse_journal_messages(output->output)) {
    if (!any && message.when <= asked.since) answer.beginning_lost = false;
    any = true;
    if (is_first_line(message.text)) answer.beginning_lost = false;
    fold.add(message.when, message.text);
  }
  // journalctl(1) prints nothing and succeeds if the journal may not be read.
  if (!any)
    return {Miss{Missing::kDenied, "the journal shows this user no kernel messages"}, std::string(kJournal)};
  fold.finish(answer);
  return {std::move(answer), std::string(kJournal)};
}

// Returns the log of /dev/kmsg if it is complete; else the journal's, if that is complete or the only one;
// else the log of /dev/kmsg.
Reading<KernelLogAnswer> read_best(const Asked& asked) {
  auto kmsg = read_kmsg(asked);
  if (kmsg && !kmsg->beginning_lost) return kmsg;
  auto journal = read_journal(asked);
  if (journal && (!kmsg || !journal->beginning_lost)) return journal;
  return kmsg;
}

}  // namespace

Reading<std::string> call_kernel_log(std::string_view name) {
  Asked asked{.boot = boot_time()};
  if (const auto space = name.find(' '); space != name.npos) {
    const auto since = parse_since(name.substr(space + 1), now_unix());
    if (!since) return {Miss{Missing::kUnsupported, "not a time"}, std::string(name)};
    asked.since = *since;
  }
  return read_best(asked).parsed(
      [](const KernelLogAnswer& answer) { return std::optional(json::dump(json::encode(answer))); });
}

}  // namespace railbed
