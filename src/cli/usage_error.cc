#include "cli/usage_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace railbed {
namespace {

constexpr OtherWord kOtherWords[] = {
    {"railbed", "doctor", "verify"},
    {"railbed", "health", "verify"},
    {"railbed", "test", "verify"},
    {"railbed", "status", "top"},
    {"railbed", "validate", "check"},
    {"railbed", "lint", "check"},
    {"railbed", "config", "check"},
    {"railbed", "setup", "init"},
    {"railbed", "discover", "init"},
    {"railbed", "scan", "init"},
    {"railbed", "install", "apply"},
    {"railbed", "configure", "apply"},
    {"railbed", "repair", "fix"},
    {"railbed", "undo", "rollback"},
    {"railbed", "revert", "rollback"},
    {"railbed", "diff", "compare"},
    {"railbed", "benchmark", "bench"},
    {"railbed", "measure", "bench"},
    {"railbed", "stress", "burn"},
    {"railbed", "diagnose", "explain"},
    {"railbed", "logs", "explain"},
    {"railbed", "info", "facts"},
    {"railbed", "show", "facts"},
    {"railbed", "collect", "capture"},
    {"railbed", "metrics", "monitor"},
    {"railbed", "exporter", "monitor"},
    {"railbed", "dashboard", "watch"},
    {"railbed", "demo", "tour"},
    {"railbed", "ipmi", "bmc"},
    {"railbed", "redfish", "bmc"},
    {"bench", "nccl", "collectives"},
    {"bench", "nccl-tests", "collectives"},
    {"bench", "allreduce", "collectives"},
    {"bench", "all_reduce", "collectives"},
    {"bench", "all-reduce", "collectives"},
    {"bench", "disk", "storage"},
    {"bench", "fio", "storage"},
    {"bench", "iperf", "tcp"},
    {"bench", "iperf3", "tcp"},
    {"bench", "ib", "rdma"},
    {"bench", "roce", "rdma"},
    {"bench", "perftest", "rdma"},
    {"bench", "nvlink", "gpu"},
    {"bench", "cuda", "gpu"},
    {"bench", "training", "train"},
    {"runs", "list", ""},
};

// Options that people expect of a command, and the command that does the same.
struct OtherOption {
  std::string_view command;
  std::string_view option;
  std::string_view instead;
};
constexpr OtherOption kOtherOptions[] = {
    {"apply", "--dry-run", "`railbed plan` shows what apply would change"},
    {"fix", "--dry-run", "`railbed plan --fix` shows what fix would change"},
    {"prove", "--root", "`railbed report --root` writes the page of captured machines"},
    {"prove", "--facts", "`railbed report --facts` writes the page of captured machines"},
    {"verify", "--rule", "verify applies every rule; `railbed explain RULE` describes one"},
};

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

// Returns the first option that the command does not have; empty if there is none.
std::string unknown_option(const CLI::App& command, int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--") break;
    if (!word.starts_with("--")) continue;
    const std::string name = word.substr(0, word.find('='));
    if (command.get_option_no_throw(name) == nullptr) return name;
  }
  for (const std::string& word : command.remaining()) {
    if (word == "--") break;
    if (word.size() > 1 && word[0] == '-') return word;
  }
  return "";
}

std::vector<std::string> names_below(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* below : command.get_subcommands({})) names.push_back(below->get_name());
  return names;
}

std::string unknown_command_text(const CLI::App& above, const std::string& word) {
  const std::string named = fmt::format("no command \"{}\"", printable(word));
  const auto* const other = std::ranges::find_if(kOtherWords, [&](const OtherWord& one) {
    return one.above == above.get_name() && one.word == lower(word);
  });
  if (other != std::end(kOtherWords))
    return other->command.empty() ? fmt::format("{}; `railbed {}` alone does that", named, above.get_name())
                                  : fmt::format("{}, did you mean \"{}\"?", named, other->command);
  const std::vector<std::string> names = names_below(above);
  const std::string meant = did_you_mean(word, {names.begin(), names.end()});
  if (!meant.empty() || above.get_parent() == nullptr) return named + meant;
  return fmt::format("{}; {} has {}", named, above.get_name(), fmt::join(names, ", "));
}

// Returns the error for a command that requires a subcommand: an unknown one, or none. Empty if there is no
// such error.
std::string wrong_command_text(const std::vector<const CLI::App*>& commands,
                               const std::vector<std::string>& words) {
  const CLI::App& last = *commands.back();
  const std::size_t depth = commands.size() - 1;
  if (last.get_require_subcommand_min() == 0) return "";
  if (words.size() > depth) return unknown_command_text(last, words[depth]);
  return depth == 0 ? ""
                    : fmt::format("{} needs one of {}", last.get_name(), fmt::join(names_below(last), ", "));
}

std::string wrong_option_text(const std::string& wrong, const CLI::App& command) {
  const auto* const other = std::ranges::find_if(kOtherOptions, [&](const OtherOption& one) {
    return one.command == command.get_name() && one.option == wrong;
  });
  if (other != std::end(kOtherOptions)) return fmt::format("no option {}: {}", wrong, other->instead);
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return fmt::format("no option {}{}", printable(wrong), did_you_mean(wrong, {names.begin(), names.end()}));
}

// Returns the error for words that no argument of the command takes; empty if there are none.
std::string extra_word_text(const CLI::App& command) {
  const std::vector<std::string> extra = command.remaining();
  const auto word = std::ranges::find_if(extra, [](const std::string& one) { return one != "--"; });
  if (word == extra.end()) return "";
  if (!command.get_subcommands({}).empty()) return unknown_command_text(command, *word);
  return fmt::format("\"{}\" is one word too many", printable(*word));
}

// Returns the error in words of our own, where the library's state no cause.
std::string reworded(std::string_view complaint) {
  const auto colon = complaint.find(": ");
  if (complaint.ends_with(" missing") && complaint.find(" required ") != std::string_view::npos)
    return fmt::format("{} needs a value", complaint.substr(0, colon));
  constexpr std::string_view kConversion = "Could not convert: ";
  const auto equals = complaint.find(" = ");
  if (complaint.starts_with(kConversion) && equals != std::string_view::npos)
    return fmt::format("{}: \"{}\" is no number",
                       complaint.substr(kConversion.size(), equals - kConversion.size()),
                       printable(complaint.substr(equals + 3)));
  return std::string(complaint);
}

// Returns the line "Usage: railbed bench tcp [OPTIONS] A B" of the help of the typed command.
std::string usage_line(const CLI::App& app) {
  const std::string help = app.help();
  for (const std::string_view line : split(help, '\n'))
    if (line.starts_with("Usage: ")) return std::string(line) + "\n";
  return "";
}

}  // namespace

std::span<const OtherWord> other_words() { return kOtherWords; }

bool lacks_command(const CLI::App& app, int argc, const char* const* argv) {
  const auto commands = typed_commands(app);
  const auto bare = bare_words(argc, argv);
  return bare.size() >= commands.size() && !wrong_command_text(commands, bare).empty();
}

std::string usage_error_text(const CLI::App& app, const CLI::ParseError& error, int argc,
                             const char* const* argv) {
  const auto commands = typed_commands(app);
  const CLI::App& last = *commands.back();
  std::string line = "railbed";
  for (std::size_t i = 1; i < commands.size(); ++i) line += " " + commands[i]->get_name();
  const auto bare = bare_words(argc, argv);
  const std::string option = unknown_option(last, argc, argv);
  const std::string command =
      bare.size() >= commands.size() || option.empty() ? wrong_command_text(commands, bare) : "";
  std::string why = command;
  if (why.empty() && !option.empty()) why = wrong_option_text(option, last);
  if (why.empty() && error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError))
    why = extra_word_text(last);
  if (why.empty()) why = reworded(error.what());
  // The usage shows the order of the arguments to a reader who has one too many, too few or two swapped.
  const bool of_arguments = command.empty() && option.empty() && !why.starts_with("-");
  return fmt::format("{}\n{}See: {} --help", why, of_arguments ? usage_line(app) : "", line);
}

void refuse_empty_values(CLI::App& command) {
  const auto not_empty = [](const std::string& text) {
    return text.empty() ? std::string("the value is empty: is a variable of the shell not set?")
                        : std::string();
  };
  for (CLI::Option* option : command.get_options()) {
    const bool flag = option->get_items_expected_max() == 0;
    const bool optional_value = option->get_items_expected_min() == 0;
    if (!flag && !optional_value && option->get_name() != "ARGUMENTS")
      option->check(CLI::Validator(not_empty, ""));
  }
  for (CLI::App* below : command.get_subcommands({})) refuse_empty_values(*below);
}

}  // namespace railbed
