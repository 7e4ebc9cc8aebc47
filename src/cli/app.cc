#include "cli/app.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <vector>

#include "base/result.h"
#include "base/version.h"
#include "cli/document.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/usage_error.h"

namespace railbed {
namespace {

constexpr std::string_view kFooter = R"(
A first look:     railbed verify                   this machine
Two machines:     railbed init HOST1 HOST2 -o cluster.yaml
                  railbed prove cluster.yaml       report.html

Exit codes: 0 clean, 1 warnings, 2 failures found, 3 could not look,
            64 bad usage or bad input, 70 internal error.)";

int report_usage_error(const std::string& text) {
  print_to_stderr("railbed: {}\n", text);
  keep_error({ErrorKind::kBadInput, text});
  return kExitUsage;
}

// Turns "help bench tcp" and "version" into options, since other programs have them as commands.
std::vector<const char*> as_options(int argc, const char* const* argv) {
  std::vector<const char*> words(argv, argv + argc);
  if (argc > 1 && std::string_view(argv[1]) == "help") {
    words.erase(words.begin() + 1);
    words.push_back("--help");
  }
  if (argc == 2 && std::string_view(argv[1]) == "version") words[1] = "--version";
  return words;
}

// Runs a command and checks that its output arrived. On a full disk or a closed output it ends with one line,
// with the exit code for what could not be read. If the reader left, as `head` does, SIGPIPE ends it without
// a word.
int ends_with_output(const Action& action) {
  int status = kExitUsage;
  int why = 0;
  try {
    if (action) status = action();
    print_kept_error(status);
    if (std::fflush(stdout) != 0) why = errno;
  } catch (const std::filesystem::filesystem_error& error) {  // a bug, but none of standard output
    return report({ErrorKind::kUnavailable,
                   fmt::format("cannot look at {}: {}", error.path1().string(), error.code().message())});
  } catch (const std::system_error& error) {  // {fmt} reports by throwing
    why = error.code().value();
  }
  if (why == 0 && std::ferror(stdout) != 0) why = EIO;
  if (why == 0) return status;
  return report(
      {ErrorKind::kUnavailable, fmt::format("standard output cannot be written: {}", std::strerror(why))});
}

int print_help(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream text;
  const int status = app.exit(error, text, text);
  fmt::print("{}", text.str());
  return status;
}

// Returns whether --json is among the words of railbed itself; those behind "--" are another program's.
bool wants_json(const std::vector<const char*>& words) {
  for (const std::string_view word : words) {
    if (word == "--") return false;
    if (word == "--json") return true;
  }
  return false;
}

// Occupies the numbers of closed standard streams, because a file or a socket opened later must not get such
// a number, and the stream's text with it. The replacement fails like the closed stream; without /dev/null it
// is the root folder.
void occupy_closed_streams() {
  for (int fd = 0; fd <= STDERR_FILENO; ++fd)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
      (void)!open("/", O_PATH);
}

}  // namespace

std::unique_ptr<CLI::App> build_app(Action& action, std::string_view only,
                                    std::span<const Command> commands) {
  auto app = std::make_unique<CLI::App>(
      "railbed takes GPU nodes with an RDMA fabric from racked to proven, and watched.", "railbed");
  app->set_version_flag("-v,--version", std::string("railbed ") + railbed_version());
  app->require_subcommand(1);
  app->footer(std::string(kFooter));
  app->get_formatter()->column_width(30);
  for (const Command& command : commands) {
    if (!only.empty() && only != command.name) continue;
    CLI::App* sub = app->add_subcommand(std::string(command.name), std::string(command.summary));
    sub->group(std::string(command.group));
    sub->final_callback([run = command.declare(*sub), &action] { action = run; });
    // A record of a job never fails the job, so `job` reads an empty ID as none.
    if (command.name != "job" && command.name != "agent") refuse_empty_values(*sub);
  }
  return app;
}

namespace {

// Returns the command that the first word names; empty if it names none. An agent starts on every node:
// declaring the options of all other commands would take three times as long as everything else that it does
// before it responds.
std::string_view named_command(const std::vector<const char*>& words, std::span<const Command> commands) {
  for (const Command& command : commands)
    if (words.size() > 1 && words[1] == command.name) return command.name;
  return "";
}

// Parses the words and runs the command that they name. Usage errors get a text of our own, which names the
// unknown command or option; help and version are output like that of a command.
int run_typed(const std::vector<const char*>& words, std::span<const Command> commands) {
  const int argc = static_cast<int>(words.size());
  const char* const* const argv = words.data();
  Action action;
  const auto app = build_app(action, named_command(words, commands), commands);
  if (argc < 2)
    return ends_with_output([&] {
      fmt::print("{}", app->help());
      return kExitUsage;
    });
  // The library reports errors by throwing; this is the only place that catches them.
  try {
    app->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool wanted = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
    if (wanted && !lacks_command(*app, argc, argv))
      return ends_with_output([&] { return print_help(*app, error); });
    return ends_with_output([&] { return report_usage_error(usage_error_text(*app, error, argc, argv)); });
  }
  return ends_with_output(action);
}

}  // namespace

int run_words(const std::vector<std::string>& words) {
  std::vector<const char*> typed = {"railbed"};
  for (const std::string& word : words) typed.push_back(word.c_str());
  return run_typed(typed, all_commands());
}

int run_railbed(int argc, const char* const* argv, std::span<const Command> commands) {
  occupy_closed_streams();
  // In a log that takes both outputs, a line of stderr must not appear inside one of stdout.
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);
  adapt_output();
  const auto words = as_options(argc, argv);
  if (wants_json(words)) report_errors_as_json();
  return run_typed(words, commands);
}

}  // namespace railbed
