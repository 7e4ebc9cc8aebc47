// Completion scripts, generated from the commands themselves so that they cannot drift.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "cli/app.h"
#include "cli/option_checks.h"
#include "cli/output.h"
#include "fabric/judge.h"
#include "verify/rule.h"

namespace railbed {
namespace {

using WordList = std::vector<std::string>;

// A command by its path, "bench tcp"; the path of the program itself is empty.
struct Place {
  std::string path;
  const CLI::App* command = nullptr;
};

void gather_places(const CLI::App& command, const std::string& path, std::vector<Place>& places) {
  places.push_back({path, &command});
  for (const CLI::App* below : command.get_subcommands({}))
    gather_places(*below, path.empty() ? below->get_name() : path + " " + below->get_name(), places);
}

std::vector<Place> places_of(const CLI::App& app) {
  std::vector<Place> places;
  gather_places(app, "", places);
  return places;
}

WordList names_of(const CLI::Option& option) {
  WordList names;
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  return names;
}

WordList options_of(const CLI::App& command) {
  WordList words;
  for (const CLI::Option* option : command.get_options())
    for (std::string& name : names_of(*option)) words.push_back(std::move(name));
  return words;
}

WordList rule_words() {
  WordList words;
  for (const auto list : {all_rules(), subnet_rules()})
    for (const Rule& rule : list) words.emplace_back(rule.id);
  return words;
}

// Returns the words that may follow this command; empty if a file or a host follows.
WordList arguments_of(const Place& place) {
  WordList words;
  for (const CLI::App* command : place.command->get_subcommands({})) words.push_back(command->get_name());
  if (!words.empty()) return words;
  if (place.path == "explain") return rule_words();
  for (const CLI::Option* option : place.command->get_options())
    if (option->get_positional())
      for (std::string& word : allowed_words(*option)) words.push_back(std::move(word));
  return words;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

// ---- bash

// Returns the pattern by which the words so far lead to a subcommand: `" bench"|"bench tcp") path=…`.
std::string path_pattern(const std::vector<Place>& places) {
  WordList patterns;
  for (const Place& place : places) {
    if (place.path.empty()) continue;
    const auto space = place.path.rfind(' ');
    patterns.push_back(fmt::format("\"{}\"", space == std::string::npos ? " " + place.path : place.path));
  }
  return fmt::format("{}", fmt::join(patterns, "|"));
}

std::string bash_values(const Place& place) {
  std::string cases;
  for (const CLI::Option* option : place.command->get_options()) {
    if (option->get_positional() || !takes_value(*option)) continue;
    WordList patterns;
    for (const std::string& name : names_of(*option))
      patterns.push_back(fmt::format("\"{} {}\"", place.path, name));
    cases += fmt::format("    {}) takes=1; values=\"{}\" ;;\n", fmt::join(patterns, "|"),
                         fmt::join(allowed_words(*option), " "));
  }
  return cases;
}

// The script follows the words before the cursor: a word that extends the path to a known command becomes
// part of the path. One case statement gives the options and arguments of that command, another the values of
// the option before the cursor. If none of them applies, the script completes files.
std::string bash_script(const CLI::App& app) {
  const auto places = places_of(app);
  std::string cases;
  std::string values;
  for (const Place& place : places) {
    cases += fmt::format("    \"{}\") options=\"{}\"; arguments=\"{}\" ;;\n", place.path,
                         fmt::join(options_of(*place.command), " "), fmt::join(arguments_of(place), " "));
    values += bash_values(place);
  }
  return fmt::format(R"(# railbed completion for bash:  source <(railbed completion bash)
_railbed() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} path="" options="" arguments="" takes="" values="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path ${{COMP_WORDS[i]}}" in
      {}) path="${{path:+$path }}${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$path" in
{}  esac
  case "$path ${{COMP_WORDS[COMP_CWORD-1]}}" in
{}  esac
  COMPREPLY=()
  if [ -n "$takes" ]; then
    [ -n "$values" ] && COMPREPLY=($(compgen -W "$values" -- "$word"))
  elif [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
    return
  elif [ -n "$arguments" ]; then
    COMPREPLY=($(compgen -W "$arguments" -- "$word"))
  fi
  if [ -z "$values" ] && [ ${{#COMPREPLY[@]}} -eq 0 ]; then
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}}
complete -o filenames -F _railbed railbed
)",
                     path_pattern(places), cases, values);
}

// zsh reads bash completions through its own bridge.
std::string zsh_script(const CLI::App& app) {
  return "# railbed completion for zsh:  source <(railbed completion zsh)\n"
         // compinit takes time, and prompts about folders that others may write: it runs only if the shell has not done it, and
         // then leaves such folders out (-i) instead of trusting them (-u).
         "(( $+functions[compdef] )) || { autoload -U +X compinit && compinit -i }\n"
         "autoload -U +X bashcompinit && bashcompinit\n" +
         bash_script(app);
}

// ---- fish

std::string fish_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return quoted + "'";
}

// Returns the condition that "bench tcp" was typed, and no subcommand of it.
std::string fish_condition(const Place& place) {
  if (place.path.empty()) return "__fish_use_subcommand";
  std::string condition;
  for (const std::string_view word : split(place.path, ' '))
    condition += fmt::format("{}__fish_seen_subcommand_from {}", condition.empty() ? "" : "; and ", word);
  WordList below;
  for (const CLI::App* command : place.command->get_subcommands({})) below.push_back(command->get_name());
  if (!below.empty())
    condition += fmt::format("; and not __fish_seen_subcommand_from {}", fmt::join(below, " "));
  return condition;
}

std::string fish_option(const CLI::Option& option, const std::string& begin) {
  std::string line = begin;
  for (const std::string& name : option.get_lnames()) line += " -l " + name;
  for (const std::string& name : option.get_snames()) line += " -s " + name;
  const WordList words = allowed_words(option);
  if (!words.empty())
    line += fmt::format(" -x -a {}", fish_quoted(fmt::format("{}", fmt::join(words, " "))));
  else if (takes_value(option))
    line += " -r";
  return line + fmt::format(" -d {}\n", fish_quoted(option.get_description()));
}

std::string fish_script(const CLI::App& app) {
  std::string script = "# railbed completion for fish:  railbed completion fish | source\n";
  for (const Place& place : places_of(app)) {
    const std::string begin = fmt::format("complete -c railbed -n {}", fish_quoted(fish_condition(place)));
    const auto below = place.command->get_subcommands({});
    for (const CLI::App* command : below)
      script += fmt::format("{} -f -a {} -d {}\n", begin, command->get_name(),
                            fish_quoted(command->get_description()));
    for (const CLI::Option* option : place.command->get_options())
      if (!option->get_positional()) script += fish_option(*option, begin);
    const WordList words = arguments_of(place);
    if (below.empty() && !words.empty())
      script += fmt::format("{} -a {}\n", begin, fish_quoted(fmt::format("{}", fmt::join(words, " "))));
  }
  return script;
}

}  // namespace

Action declare_completion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(one_of({"bash", "zsh", "fish"}));
  app.footer("\nExample:  source <(railbed completion bash)");
  return [shell] {
    keep_lines_whole();
    Action unused;
    const auto all = build_app(unused);
    fmt::print("{}", *shell == "bash"  ? bash_script(*all)
                     : *shell == "zsh" ? zsh_script(*all)
                                       : fish_script(*all));
    return kExitClean;
  };
}

}  // namespace railbed
