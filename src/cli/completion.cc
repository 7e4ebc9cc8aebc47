// Completion scripts, generated from the commands themselves so that they cannot drift.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <set>

#include "base/result.h"
#include "cli/app.h"
#include "cli/command.h"
#include "fabric/judge.h"
#include "verify/rule.h"

namespace railbed {
namespace {

// Of the command and of its subcommands.
void gather_options(const CLI::App& command, std::set<std::string>& names) {
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.insert("--" + name);
  for (const CLI::App* below : command.get_subcommands({})) gather_options(*below, names);
}

std::string option_words(const CLI::App& command) {
  std::set<std::string> names;
  gather_options(command, names);
  std::string words;
  for (const std::string& name : names) words += (words.empty() ? "" : " ") + name;
  return words;
}

std::string command_words() {
  std::string words;
  for (const Command& command : all_commands())
    words += (words.empty() ? "" : " ") + std::string(command.name);
  return words;
}

std::string rule_words() {
  std::string words;
  for (const auto list : {all_rules(), subnet_rules()})
    for (const Rule& rule : list) words += (words.empty() ? "" : " ") + std::string(rule.id);
  return words;
}

// What a bare word after this command may be; empty: a file.
std::string argument_words(const CLI::App& app) {
  std::string below;
  for (const CLI::App* one : app.get_subcommands({})) below += (below.empty() ? "" : " ") + one->get_name();
  const std::string command = app.get_name();
  if (!below.empty()) return below;
  if (command == "explain") return rule_words();
  if (command == "power") return "status on off soft cycle reset";
  if (command == "boot") return "pxe disk cd bios none";
  if (command == "launch") return "torchrun vllm mpirun srun nccl-tests";
  if (command == "completion") return "bash zsh fish";
  return "";
}

std::string bash_script(const CLI::App& app) {
  std::string cases;
  for (const CLI::App* command : app.get_subcommands({}))
    cases += fmt::format("    {}) options=\"{}\"; arguments=\"{}\" ;;\n", command->get_name(),
                         option_words(*command), argument_words(*command));
  return fmt::format(R"(# railbed completion for bash:  source <(railbed completion bash)
_railbed() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} options="" arguments=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{} --help --version" -- "$word"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  elif [ -n "$arguments" ]; then
    COMPREPLY=($(compgen -W "$arguments" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}}
complete -o filenames -F _railbed railbed
)",
                     command_words(), cases);
}

// zsh reads bash completions through its own bridge.
std::string zsh_script(const CLI::App& app) {
  return "# railbed completion for zsh:  source <(railbed completion zsh)\n"
         "autoload -U +X compinit && compinit -u\nautoload -U +X bashcompinit && bashcompinit\n" +
         bash_script(app);
}

std::string fish_script(const CLI::App& app) {
  std::string script = "# railbed completion for fish:  railbed completion fish | source\n";
  for (const CLI::App* command : app.get_subcommands({})) {
    const std::string name = command->get_name();
    script += fmt::format("complete -c railbed -n __fish_use_subcommand -f -a {} -d '{}'\n", name,
                          command->get_description());
    const std::string when = fmt::format("-n '__fish_seen_subcommand_from {}'", name);
    for (const CLI::Option* option : command->get_options())
      for (const std::string& word : option->get_lnames())
        script += fmt::format("complete -c railbed {} -l {}\n", when, word);
    if (const std::string words = argument_words(*command); !words.empty())
      script += fmt::format("complete -c railbed {} -f -a '{}'\n", when, words);
  }
  return script;
}

}  // namespace

Action declare_completion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  app.footer("\nExample:  source <(railbed completion bash)");
  return [shell] {
    Action unused;
    const auto all = build_app(unused);
    fmt::print("{}", *shell == "bash"  ? bash_script(*all)
                     : *shell == "zsh" ? zsh_script(*all)
                                       : fish_script(*all));
    return kExitClean;
  };
}

}  // namespace railbed
