#include "cli/terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

#include "base/text.h"
#include "cli/document.h"

namespace railbed {
namespace {

std::mutex progress_mutex;
bool progress_shown = false;

std::string last_activity;  // the last line of progress that went elsewhere than to a terminal

// Returns a message without the count of nodes at its end (fleet::Step::to_text).
std::string_view without_count(std::string_view message) {
  const std::size_t colon = message.rfind(": ");
  if (colon == std::string_view::npos) return message;
  const std::string_view count = message.substr(colon + 2);
  const std::size_t slash = count.find('/');
  const bool counts = slash != std::string_view::npos && parse_number<int>(count.substr(0, slash)) &&
                      count.substr(slash).find(" nodes") != std::string_view::npos;
  return counts ? message.substr(0, colon) : message;
}

int signal_pipe[2] = {-1, -1};
std::atomic<int> first_signal = 0;

// Does only async-signal-safe work: it passes the number to the thread behind the pipe, and restores the
// default action, so that the same signal again ends the process.
void on_signal(int number) {
  const char byte = static_cast<char>(number);
  if (write(signal_pipe[1], &byte, 1) != 1) _exit(128 + number);
  struct sigaction fatal = {};
  fatal.sa_handler = SIG_DFL;
  sigaction(number, &fatal, nullptr);
}

std::stop_source& install_handlers() {
  static std::stop_source* source = [] {
    auto* created = new std::stop_source;  // lives as long as the process: a signal may come at any time
    if (pipe2(signal_pipe, O_CLOEXEC) != 0) return created;
    std::thread([created] {
      char byte = 0;
      while (read(signal_pipe[0], &byte, 1) == 1) {
        int none = 0;
        first_signal.compare_exchange_strong(none, byte);
        created->request_stop();
      }
    }).detach();
    struct sigaction action = {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaction(number, &action, nullptr);
    return created;
  }();
  return *source;
}

}  // namespace

void write_to_stderr(std::string_view text) { (void)!std::fwrite(text.data(), 1, text.size(), stderr); }

int report(const Error& error) {
  clear_progress();
  keep_error(error);
  // "cluster.yaml:4:1: …" gets no prefix, so that editors find every line of a list.
  write_to_stderr(fmt::format("{}{}\n", error.placed ? "" : "railbed: ", printable_lines(error.text)));
  return exit_code(error.kind);
}

void say_to_person(std::string_view line) { write_to_stderr("railbed: " + printable(line) + "\n"); }

bool use_colour(int fd) {
  const char* no_colour = std::getenv("NO_COLOR");
  if (no_colour != nullptr && *no_colour != '\0') return false;
  const char* term = std::getenv("TERM");
  return isatty(fd) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

void progress(std::string_view message) {
  if (message.empty()) return clear_progress();
  const std::lock_guard lock(progress_mutex);
  if (isatty(STDERR_FILENO) == 1) {
    write_to_stderr("\r\x1b[K" + printable(message));
    progress_shown = true;
  } else if (const std::string_view activity = without_count(message); activity != last_activity) {
    last_activity = activity;
    write_to_stderr(printable(activity) + "\n");
  }
}

void clear_progress() {
  const std::lock_guard lock(progress_mutex);
  if (progress_shown) write_to_stderr("\r\x1b[K");
  progress_shown = false;
}

std::stop_token interrupted() { return install_handlers().get_token(); }

bool hung_up() { return first_signal == SIGHUP; }

bool asks_person(std::string_view question) {
  if (isatty(STDIN_FILENO) != 1) return false;
  clear_progress();
  print_to_stderr("{} [y/N] ", question);
  std::fflush(stderr);
  char answer[16] = {};
  return std::fgets(answer, sizeof answer, stdin) != nullptr && (answer[0] == 'y' || answer[0] == 'Y');
}

Caller terminal_caller() {
  return {interrupted(), progress, [](std::string_view line) {
            clear_progress();
            write_to_stderr(printable_lines(line) + "\n");
          }};
}

}  // namespace railbed
