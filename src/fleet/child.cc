#include "fleet/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

namespace railbed::fleet {
namespace {

struct Streams {
  Fd ours, theirs;
};

bool make_socket(Streams& streams) {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) return false;
  streams.ours = Fd(fds[0]);
  streams.theirs = Fd(fds[1]);
  return true;
}

bool make_pipe(Streams& streams) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return false;
  streams.ours = Fd(fds[0]);
  streams.theirs = Fd(fds[1]);
  return true;
}

// Signals as a fresh program expects them, in a group of its own.
void set_attributes(posix_spawnattr_t& attributes) {
  sigset_t none, usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD}) sigaddset(&usual, number);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

}  // namespace

void Fd::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<Child> Child::spawn(const std::vector<std::string>& words) {
  Streams in, out, err;
  if (!make_socket(in) || !make_pipe(out) || !make_pipe(err))
    return fail(ErrorKind::kUnavailable, fmt::format("no pipe for {}: {}", words[0], std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.theirs.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.theirs.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.theirs.get(), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  set_attributes(attributes);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int failure = posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failure != 0)
    return fail(ErrorKind::kUnavailable,
                fmt::format("cannot start {}: {}", words[0], std::strerror(failure)));
  for (const Fd* fd : {&in.ours, &out.ours, &err.ours}) fcntl(fd->get(), F_SETFL, O_NONBLOCK);
  return Child(std::move(in.ours), std::move(out.ours), std::move(err.ours), pid);
}

Child::~Child() {
  if (pid_.value < 0 || exit_code()) return;
  signal(SIGKILL);
  waitpid(pid_.value, nullptr, 0);
}

std::optional<int> Child::exit_code() {
  if (exit_code_ || pid_.value < 0) return exit_code_;
  int status = 0;
  if (waitpid(pid_.value, &status, WNOHANG) == pid_.value)
    exit_code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return exit_code_;
}

void Child::signal(int number) {
  if (pid_.value > 0 && !exit_code_) kill(-pid_.value, number);
}

}  // namespace railbed::fleet
