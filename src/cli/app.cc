#include "cli/app.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <system_error>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/document.h"
#include "cli/output.h"
#include "cli/terminal.h"

namespace railbed {
namespace {

constexpr std::string_view kFooter = R"(
A first look:     railbed verify                   this machine
Two machines:     railbed init HOST1 HOST2 -o cluster.yaml
                  railbed prove cluster.yaml       report.html

Exit codes: 0 clean, 1 warnings, 2 failures found, 3 could not look,
            64 bad usage or bad input, 70 internal error.)";

// Returns the words that are not options; the value of an option may be among them.
std::vector<std::string> bare_words(int argc, const char* const* argv) {
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i)
    if (argv[i][0] != '-') words.emplace_back(argv[i]);
  return words;
}

// Returns the typed command down to its last subcommand: "railbed", "bench", "tcp".
std::vector<const CLI::App*> typed_commands(const CLI::App& app) {
  std::vector<const CLI::App*> commands = {&app};
  for (auto below = app.get_subcommands(); !below.empty(); below = below.front()->get_subcommands())
    commands.push_back(below.front());
  return commands;
}

// Returns the first long option that the command does not have; empty if there is none.
std::string unknown_option(const CLI::App& command, int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--") break;
    if (!word.starts_with("--")) continue;
    const std::string name = word.substr(0, word.find('='));
    if (command.get_option_no_throw(name) == nullptr) return name;
  }
  return "";
}

// Returns the error for a command that requires a subcommand: an unknown one, or none. Empty if there is no
// such error.
std::string wrong_command_text(const std::vector<const CLI::App*>& commands,
                               const std::vector<std::string>& words) {
  const CLI::App& last = *commands.back();
  const std::size_t depth = commands.size() - 1;
  if (last.get_require_subcommand_min() == 0) return "";
  std::vector<std::string> names;
  for (const CLI::App* command : last.get_subcommands({})) names.push_back(command->get_name());
  if (words.size() > depth)
    return fmt::format("no command \"{}\"{}", printable(words[depth]),
                       did_you_mean(words[depth], {names.begin(), names.end()}));
  return depth == 0 ? "" : fmt::format("{} needs one of {}", last.get_name(), fmt::join(names, ", "));
}

std::string wrong_option_text(const std::string& wrong, const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return fmt::format("no option {}{}", printable(wrong), did_you_mean(wrong, {names.begin(), names.end()}));
}

int report_usage_error(const CLI::App& app, std::string_view complaint, int argc, const char* const* argv) {
  const auto commands = typed_commands(app);
  const CLI::App& last = *commands.back();
  std::string line = "railbed";
  for (std::size_t i = 1; i < commands.size(); ++i) line += " " + commands[i]->get_name();
  const auto bare = bare_words(argc, argv);
  const std::string option = unknown_option(last, argc, argv);
  std::string why =
      bare.size() >= commands.size() || option.empty() ? wrong_command_text(commands, bare) : "";
  if (why.empty()) why = option.empty() ? std::string(complaint) : wrong_option_text(option, last);
  const std::string text = fmt::format("{}\nSee: {} --help", why, line);
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
    const auto bare = bare_words(argc, argv);
    const auto chosen = typed_commands(*app);
    const bool unknown = bare.size() >= chosen.size() && !wrong_command_text(chosen, bare).empty();
    if (wanted && !unknown) return ends_with_output([&] { return print_help(*app, error); });
    return ends_with_output([&] { return report_usage_error(*app, error.what(), argc, argv); });
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
