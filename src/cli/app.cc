#include "cli/app.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>

#include "base/result.h"
#include "base/text.h"

namespace railbed {
namespace {

constexpr std::string_view kFooter = R"(
A first look:     railbed verify                   this machine
Two machines:     railbed init HOST1 HOST2 -o cluster.yaml
                  railbed prove cluster.yaml       report.html

Exit codes: 0 clean, 1 warnings, 2 failures found, 3 could not look,
            64 bad usage or bad input, 70 internal error.)";

// The first word that is no option, when it is no command either.
std::string unknown_command(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with('-')) continue;
    for (const Command& command : all_commands())
      if (command.name == word) return "";
    return std::string(word);
  }
  return "";
}

int report_usage_error(const CLI::App& app, const CLI::ParseError& error, int argc, const char* const* argv) {
  const std::string wrong = unknown_command(argc, argv);
  if (wrong.empty()) {
    const auto chosen = app.get_subcommands();
    fmt::print(stderr, "railbed: {}\nSee: railbed {}--help\n", error.what(),
               chosen.empty() ? "" : chosen.front()->get_name() + " ");
    return kExitUsage;
  }
  std::vector<std::string_view> names;
  for (const Command& command : all_commands()) names.push_back(command.name);
  const auto meant = closest(wrong, names);
  fmt::print(stderr, "railbed: no command \"{}\"{}\nSee: railbed --help\n", wrong,
             meant ? fmt::format("; did you mean \"{}\"?", *meant) : "");
  return kExitUsage;
}

}  // namespace

std::unique_ptr<CLI::App> build_app(Action& action) {
  auto app = std::make_unique<CLI::App>(
      "railbed takes GPU nodes with an RDMA fabric from racked to proven, and watched.", "railbed");
  app->set_version_flag("--version", std::string("railbed ") + RAILBED_VERSION);
  app->require_subcommand(1);
  app->footer(std::string(kFooter));
  app->get_formatter()->column_width(30);
  for (const Command& command : all_commands()) {
    CLI::App* sub = app->add_subcommand(std::string(command.name), std::string(command.summary));
    sub->final_callback([run = command.declare(*sub), &action] { action = run; });
  }
  return app;
}

int run_railbed(int argc, const char* const* argv) {
  // In a log that takes both outputs, a line of stderr must not stand inside one of stdout.
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);
  Action action;
  const auto app = build_app(action);
  if (argc < 2) {
    fmt::print("{}", app->help());
    return kExitUsage;
  }
  // The library reports by throwing; this is the one place that hears it.
  try {
    app->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app->exit(error);
    return report_usage_error(*app, error, argc, argv);
  }
  return action ? action() : kExitUsage;
}

}  // namespace railbed
