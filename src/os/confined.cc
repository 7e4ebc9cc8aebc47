#include "os/confined.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "base/trusted_path.h"
#include "os/child.h"
#include "os/errno_name.h"
#include "os/orphans.h"
#include "os/process.h"

namespace railbed {
namespace {

constexpr const char* kConfinedPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr std::chrono::seconds kConfinedCleanup{3};  // to end what it left behind

struct Account {
  uid_t uid = 0;
  gid_t gid = 0;
  std::string name;
  std::vector<gid_t> groups;
  bool own = false;    // this process has it already
  bool asked = false;  // the job names it
};

std::optional<Account> account_of(const passwd* entry) {
  if (entry == nullptr) return std::nullopt;
  Account account{entry->pw_uid, entry->pw_gid, entry->pw_name, {}};
  int count = 256;
  account.groups.resize(static_cast<std::size_t>(count));
  if (getgrouplist(entry->pw_name, entry->pw_gid, account.groups.data(), &count) < 0) count = 256;
  account.groups.resize(static_cast<std::size_t>(std::max(count, 0)));
  return account;
}

Account own_account() {
  const passwd* entry = getpwuid(geteuid());
  return {geteuid(), getegid(), entry != nullptr ? entry->pw_name : std::to_string(geteuid()), {}, true};
}

// The account that called sudo; nullopt if no sudo did, or root called it.
std::optional<Account> caller_of_sudo() {
  const char* text = std::getenv("SUDO_UID");
  const auto uid = parse_number<uid_t>(text != nullptr ? text : "");
  if (!uid || *uid == 0) return std::nullopt;
  if (auto known = account_of(getpwuid(*uid))) return known;
  return Account{*uid, 65534, std::to_string(*uid), {}};
}

tl::expected<Account, Miss> choose_account(const std::string& user) {
  const bool root = geteuid() == 0;
  const auto caller = root ? caller_of_sudo() : std::nullopt;
  Account ordinary = own_account();
  if (caller) ordinary = *caller;
  if (root && !caller)
    ordinary = account_of(getpwnam("nobody")).value_or(Account{65534, 65534, "nobody", {}});
  if (user.empty()) return ordinary;
  ordinary.asked = true;
  if (user == ordinary.name) return ordinary;
  if (caller)
    return tl::unexpected(
        Miss{Missing::kDenied,
             fmt::format("railbed became root by sudo, and then runs programs only as {}, not as {}",
                         caller->name, user)});
  if (!root)
    return tl::unexpected(Miss{
        Missing::kDenied, fmt::format("it shall run as {}, and railbed is {} here", user, ordinary.name)});
  auto named = account_of(getpwnam(user.c_str()));
  if (!named) return tl::unexpected(Miss{Missing::kDenied, "there is no user " + user});
  named->asked = true;
  named->own = named->uid == geteuid();
  return *std::move(named);
}

// Returns the path of the program; a name without a slash is looked for in the fixed PATH.
std::string path_of(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  for (const auto folder : split(kConfinedPath, ':')) {
    std::string path = fmt::format("{}/{}", folder, program);
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

void set_limit(int which, rlim_t most) {
  rlimit limit = {};
  if (getrlimit(static_cast<__rlimit_resource_t>(which), &limit) != 0) return;
  limit.rlim_max = std::min(limit.rlim_max, most);
  limit.rlim_cur = std::min(limit.rlim_cur, limit.rlim_max);
  setrlimit(static_cast<__rlimit_resource_t>(which), &limit);
}

// Memory is limited by RLIMIT_DATA, not by RLIMIT_AS: CUDA, Go and Java reserve address space that they never
// use.
void set_limits(const Account& account, int timeout) {
  set_limit(RLIMIT_CORE, 0);
  set_limit(RLIMIT_CPU, static_cast<rlim_t>(timeout) + 1);
  set_limit(RLIMIT_DATA, rlim_t{4} << 30);
  set_limit(RLIMIT_FSIZE, rlim_t{64} << 20);
  set_limit(RLIMIT_NOFILE, 1024);
  set_limit(RLIMIT_MEMLOCK, rlim_t{8} << 20);
  if (!account.own) set_limit(RLIMIT_NPROC, 1024);  // our own account may have more of them already
  const Fd victim(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (victim) (void)!write(victim.get(), "1000", 4);  // memory that runs out ends the check, not a job
}

bool become(const Account& account) {
  if (account.own) return true;
  return setgroups(account.groups.size(), account.groups.data()) == 0 &&
         setresgid(account.gid, account.gid, account.gid) == 0 &&
         setresuid(account.uid, account.uid, account.uid) == 0 && (account.uid == 0 || setuid(0) != 0);
}

// Becomes the program. An errno that prevents it goes into `failure`, which the program does not inherit.
[[noreturn]] void become_confined(const ConfinedJob& job, const std::string& path, const Account& account,
                                  int out, int failure, pid_t parent) {
  const auto give_up = [&] {
    const int error = errno;
    (void)!write(3, &error, sizeof error);
    _exit(126);
  };
  setsid();
  const int null = open("/dev/null", O_RDONLY);
  const int kept_out = fcntl(out, F_DUPFD, 64);
  const int kept_failure = fcntl(failure, F_DUPFD, 64);
  dup2(null, STDIN_FILENO);
  dup2(kept_out, STDOUT_FILENO);
  dup2(kept_out, STDERR_FILENO);
  dup2(kept_failure, 3);
  fcntl(3, F_SETFD, FD_CLOEXEC);
  close_range(4, ~0U, 0);
  set_limits(account, job.timeout);
  if (!become(account)) give_up();
  if (!account.asked && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) give_up();
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // a change of the account clears it
  if (getppid() != parent || chdir("/") != 0) give_up();
  umask(077);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::vector<char*> words;
  for (const std::string& word : job.run) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  std::string search = std::string("PATH=") + kConfinedPath;
  char locale[] = "LC_ALL=C";
  char home[] = "HOME=/";
  char* environment[] = {search.data(), locale, home, nullptr};
  execve(path.c_str(), words.data(), environment);
  give_up();
  _exit(126);
}

// The program's process group, for the handler that ends it when our own parent has gone.
volatile pid_t confined_group = -1;
void end_confined(int) {
  if (confined_group > 0) kill(-confined_group, SIGKILL);
  _exit(1);
}

// Kills what the program left behind, and waits for it.
void end_leftovers() {
  const auto until = Child::Clock::now() + kConfinedCleanup;
  while (Child::Clock::now() < until) {
    signal_children(SIGKILL);
    pid_t ended = 0;
    while ((ended = waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (ended < 0 && errno == ECHILD) return;
    usleep(5'000);
  }
}

// Returns the first lines of what it printed, cleaned, without empty lines at the end. The last one may be cut.
std::vector<std::string> cleaned(std::string_view text, bool& cut) {
  constexpr std::size_t kMostLines = 256;
  cut = text.size() > kConfinedOutput;
  std::vector<std::string> kept;
  for (const std::string_view line : lines(text.substr(0, kConfinedOutput))) {
    cut = cut || kept.size() == kMostLines;
    if (kept.size() < kMostLines) kept.push_back(printable(line));
  }
  while (!kept.empty() && trim(kept.back()).empty()) kept.pop_back();
  return kept;
}

// Runs in a process of its own, which becomes the parent of all that the program starts.
Reading<ConfinedOutput> run_in_this_process(const ConfinedJob& job, const std::string& from) {
  const auto account = choose_account(job.user);
  if (!account) return {account.error(), from};
  const std::string path = path_of(job.run.front());
  if (path.empty()) return {Miss{Missing::kAbsent, "no such program in " + std::string(kConfinedPath)}, from};
  if (account->uid == 0) {
    std::string odd;
    walk_to_end(path, [&](const std::string& component) { odd = component; });
    if (!odd.empty())
      return {Miss{Missing::kDenied, fmt::format("root does not run it: another user can change {}", odd)},
              from};
  }
  auto printed = make_pipe();
  auto failure = make_pipe();
  if (!printed || !failure) return {miss_of(errno), from};
  const pid_t self = getpid();
  const pid_t pid = fork();
  if (pid == 0)
    become_confined(job, path, *account, printed->write_end.get(), failure->write_end.get(), self);
  if (pid < 0) return {miss_of(errno), from};
  confined_group = pid;
  printed->write_end.reset();
  failure->write_end.reset();
  std::string text;
  std::string error;
  End end = End::kExited;
  int code = 0;
  {
    Child child(pid, true);
    Child::Streams streams;
    streams.emplace_back(std::move(printed->read_end), &text);
    streams.emplace_back(std::move(failure->read_end), &error);
    end = child.collect(streams, Child::Clock::now() + std::chrono::seconds(job.timeout));
    if (end == End::kExited) code = child.exit_code();
  }
  end_leftovers();
  if (error.size() == sizeof(int)) {
    int number = 0;
    std::memcpy(&number, error.data(), sizeof number);
    return {miss_of(number), from};
  }
  ConfinedOutput output{code, {}, false, account->name};
  output.output = cleaned(text, output.cut);
  if (end == End::kExited) return {std::move(output), from};
  const std::string last = output.output.empty() ? std::string() : output.output.back().substr(0, 200);
  return {Miss{Missing::kTimeout,
               end == End::kTooMuch ? fmt::format("it printed over {} MiB and was ended", kMaxOutput >> 20)
               : last.empty()       ? fmt::format("it was ended after {} s", job.timeout)
                              : fmt::format("it was ended after {} s; it printed: {}", job.timeout, last)},
          from};
}

}  // namespace

Reading<ConfinedOutput> run_confined(const ConfinedJob& job) {
  if (job.run.empty() || job.run.front().empty() || job.timeout < 1)
    return {Miss{Missing::kUnsupported, "no program"}, ""};
  const std::string from = job.run.front();
  const auto answer = ask_in_child(
      from,
      [&](const Say&) {
        const pid_t parent = getppid();
        ::signal(SIGTERM, end_confined);
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent) _exit(1);
        return json::dump(json::encode(run_in_this_process(job, from)));
      },
      std::chrono::seconds(job.timeout) + 2 * kConfinedCleanup);
  if (!answer.ok()) return {answer.miss(), from};
  auto read = json::read<Reading<ConfinedOutput>>(*answer);
  if (!read) return {Miss{Missing::kGarbled, read.error().text}, from};
  return *std::move(read);
}

}  // namespace railbed
