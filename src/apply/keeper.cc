#include "apply/keeper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include "apply/boot_guard.h"
#include "base/fd.h"
#include "base/text.h"
#include "os/child.h"

namespace railbed {
namespace {

constexpr std::chrono::milliseconds kLookAgain{100};
constexpr std::chrono::seconds kGrace{30};
constexpr std::chrono::seconds kLongestSteps{240};  // without packages
constexpr std::chrono::hours kLongestPackages{2};
constexpr std::chrono::hours kUntilThereIsRoom{24};  // retries a rollback that is not possible yet
constexpr std::chrono::seconds kWhileBooting{120};   // the boot waits for it

using KeeperClock = std::chrono::steady_clock;

bool has_systemd(const WritableHost& host) {
  return host.is_this_machine() && host.is_folder("/run/systemd/system");
}

std::string keeper_unit(const std::string& id) { return "railbed-apply-" + id; }
std::string timer_unit(const std::string& id) { return "railbed-recover-" + id; }

Result<void> started(const Reading<CommandOutput>& ended, std::string_view what) {
  if (!ended) return fail(ErrorKind::kUnavailable, fmt::format("{}: {}", what, ended.miss().why));
  if (ended->exit_code != 0)
    return fail(ErrorKind::kUnavailable, fmt::format("{}: {}", what, printable(trim(ended->error_output))));
  return {};
}

std::chrono::seconds longest_steps(const ApplyRequest& request) {
  return request.stays ? std::chrono::seconds(kLongestPackages) : kLongestSteps;
}

void wait_for_decision(const Transaction& transaction, std::chrono::milliseconds look_every) {
  const ApplyRequest& request = transaction.journal().request;
  const std::chrono::seconds patience(request.seconds);
  const auto last = KeeperClock::now() + std::max(patience, longest_steps(request));
  auto until = KeeperClock::now() + patience;
  std::string heard = transaction.heard();
  while (!transaction.decided() && KeeperClock::now() < until) {
    std::this_thread::sleep_for(look_every);
    if (std::string now = transaction.heard(); now != heard) {
      heard = std::move(now);
      until = std::min(KeeperClock::now() + patience, last);
    }
  }
}

// Kills the process that holds the lock, whose id is in the lock file. Checks that the process was started
// for this apply, so a process that has that id by now is left alone.
void end_keeper(WritableHost& host, const std::string& id) {
  if (has_systemd(host)) (void)host.run({"systemctl", "stop", keeper_unit(id) + ".service"});
  const auto file = host.read_own(fmt::format("{}/{}/lock", kApplyFolder, id));
  if (!file || !*file) return;
  const auto pid = parse_number<int>((*file)->content.bytes);
  if (!pid || *pid <= 1 || *pid == getpid()) return;
  const Fd process(static_cast<int>(syscall(SYS_pidfd_open, *pid, 0)));
  const auto started_as = host.read(fmt::format("/proc/{}/cmdline", *pid));
  if (!process || !started_as || !*started_as) return;
  if ((*started_as)->content.bytes.find(id) != std::string::npos)
    syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
}

Result<bool> recover(WritableHost& host, const std::string& id, const Recovery& how) {
  ASSIGN_OR_RETURN(auto transaction, Transaction::open(host, id));
  if (!is_open(transaction.state())) return false;
  auto lock = ApplyLock::take(host, id, std::chrono::seconds(how.overdue ? 5 : 0));
  if (!lock && how.overdue) {
    end_keeper(host, id);
    lock = ApplyLock::take(host, id, std::chrono::seconds(20));
  }
  if (!lock) return false;
  const auto patience = how.booting   ? kWhileBooting
                        : how.overdue ? std::chrono::seconds(kUntilThereIsRoom)
                                      : std::chrono::seconds(0);
  RETURN_IF_ERROR(transaction.finish_within(patience, how.booting));
  return transaction.state() == ApplyState::kReverted;
}

}  // namespace

std::optional<ApplyLock> ApplyLock::take(const WritableHost& host, const std::string& id,
                                         std::chrono::milliseconds patience) {
  Fd fd = host.open_lock(fmt::format("{}/{}/lock", kApplyFolder, id));
  if (!fd) return std::nullopt;
  const auto until = KeeperClock::now() + patience;
  while (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (KeeperClock::now() >= until) return std::nullopt;
    std::this_thread::sleep_for(kLookAgain);
  }
  if (ftruncate(fd.get(), 0) != 0 || !write_all(fd.get(), std::to_string(getpid()))) return std::nullopt;
  return ApplyLock(std::move(fd));
}

Result<void> keep_apply(WritableHost& host, const std::string& id, std::chrono::milliseconds look_every) {
  ASSIGN_OR_RETURN(auto transaction, Transaction::open(host, id));
  const auto lock = ApplyLock::take(host, id, std::chrono::seconds(5));
  if (!lock) return fail(ErrorKind::kUnavailable, "somebody works on apply " + id + " already");
  if (transaction.state() != ApplyState::kStaged || transaction.decided())
    return transaction.finish_within(kUntilThereIsRoom, false);
  if (transaction.switch_over()) wait_for_decision(transaction, look_every);
  auto finished = transaction.finish_within(kUntilThereIsRoom, false);
  if (has_systemd(host) && finished) (void)host.run({"systemctl", "stop", timer_unit(id) + ".timer"});
  return finished;
}

Result<void> start_keeper(WritableHost& host, const Transaction& transaction) {
  const ApplyRequest& request = transaction.journal().request;
  ASSIGN_OR_RETURN(const auto program, program_for_root(host));
  const std::vector<std::string> keep = {program, "agent", "--keep", request.id};
  if (!has_systemd(host)) return start_detached(keep);
  // The time for its own steps, and the same again for those of other nodes.
  const auto after = std::chrono::seconds(request.seconds) + 2 * longest_steps(request) + kGrace;
  auto timer =
      started(host.run({"systemd-run", "--quiet", "--collect", "--unit=" + timer_unit(request.id),
                        fmt::format("--on-active={}s", after.count()), "--timer-property=AccuracySec=1s",
                        program, "agent", "--recover", request.id}),
              "cannot start the timer that would take the change back");
  if (!timer) return timer;
  std::vector<std::string> words = {"systemd-run", "--quiet", "--collect",
                                    "--unit=" + keeper_unit(request.id), "--property=OOMScoreAdjust=-900"};
  words.insert(words.end(), keep.begin(), keep.end());
  return started(host.run(words), "cannot start the process that makes the change");
}

Result<std::vector<std::string>> recover_applies(WritableHost& host, const std::string& id,
                                                 const Recovery& how) {
  std::vector<std::string> back;
  std::optional<Error> problem;
  ASSIGN_OR_RETURN(const auto ids, apply_ids(host));
  for (const std::string& one : ids) {
    if (id != "all" && one != id) continue;
    // It was interrupted before its journal was written, so nothing was changed.
    if (!host.is_there(fmt::format("{}/{}/journal", kApplyFolder, one))) continue;
    const auto recovered = recover(host, one, how);
    if (!recovered) problem = recovered.error();
    if (recovered && *recovered) back.push_back(one);
  }
  if (problem) return fail(*problem);
  return back;
}

}  // namespace railbed
