#include "cli/typed_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/shell.h"
#include "cli/fleet_options.h"

namespace railbed {
namespace {

// Options for printing and keeping a run; its destination is no part of it.
constexpr std::array kNotOfTheRun = {"all",          "baseline", "help",   "json",  "label",
                                     "measurements", "no-store", "output", "store", "svg"};
// Options for how long and how often to measure and what to leave out. They do not change the meaning of a
// number. Measurements themselves name their nodes.
constexpr std::array kNoOtherNumber = {"bandwidth-only", "cluster",    "format",  "latency-only", "patience",
                                       "repeat",         "rendezvous", "seconds", "tcp",          "warm-up"};

template <class Names>
bool is_among(const Names& names, const std::string& name) {
  return std::ranges::find(names, std::string_view(name)) != names.end();
}

std::string name_of_option(const CLI::Option& option) {
  return option.get_lnames().empty() ? "" : option.get_lnames().front();
}

bool is_of_the_run(const CLI::Option& option) {
  return option.count() > 0 && !is_among(kNotOfTheRun, name_of_option(option));
}

bool reaches_nodes(const CLI::Option& option) { return option.get_group() == kReachGroup; }

std::vector<std::string> values_of(const CLI::Option& option) { return option.reduced_results(); }

bool is_flag(const CLI::Option& option) { return option.get_items_expected_max() == 0; }

// Returns the command with its subcommands, "bench rdma".
std::string path_of(const CLI::App& app) {
  if (app.get_parent() == nullptr) return "";
  const std::string before = path_of(*app.get_parent());
  return before.empty() ? app.get_name() : before + " " + app.get_name();
}

std::string as_typed(const CLI::Option& option) {
  const std::string name = name_of_option(option);
  if (is_flag(option)) return " --" + name;
  const std::vector<std::string> values = values_of(option);
  if (option.get_positional()) {
    std::string text;
    for (const std::string& value : values) text += " " + shell_word(value);
    return text;
  }
  if (option.get_delimiter() != '\0')
    return fmt::format(" --{} {}", name, shell_word(fmt::format("{}", fmt::join(values, ","))));
  std::string text;
  for (const std::string& value : values) text += fmt::format(" --{} {}", name, shell_word(value));
  return text;
}

}  // namespace

std::string typed_command(const CLI::App& app) {
  std::string line = path_of(app);
  for (const bool positional : {true, false})
    for (const CLI::Option* option : app.get_options())
      if (option->get_positional() == positional && is_of_the_run(*option)) line += as_typed(*option);
  return line;
}

std::map<std::string, std::string> typed_choices(const CLI::App& app) {
  std::map<std::string, std::string> choices;
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = name_of_option(*option);
    if (option->get_positional() || !is_of_the_run(*option) || reaches_nodes(*option) ||
        is_among(kNoOtherNumber, name))
      continue;
    choices[name] = is_flag(*option) ? "true" : fmt::format("{}", fmt::join(values_of(*option), ","));
  }
  return choices;
}

}  // namespace railbed
