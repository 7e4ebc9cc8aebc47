// railbed self-check: properties of this program, and the things that it would lack on this machine.
#include "campaign/look/self_check.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/text.h"
#include "cli/command.h"
#include "cli/document.h"
#include "cli/terminal.h"

namespace railbed {
namespace {

constexpr Document<SelfCheck> kSelfCheckDocument{"railbed-self-check"};

void print_binary(std::string_view title, const Binary& binary) {
  fmt::print("{:<14}{}, {} bytes{}\n", title, printable(binary.path), binary.bytes,
             binary.problem.empty() ? "" : " : " + printable(binary.problem));
  if (!binary.sha256.empty()) fmt::print("{:<14}sha256 {}\n", "", binary.sha256);
}

void print_parts(std::string_view title, const std::vector<Part>& parts) {
  fmt::print("\n{}\n", title);
  for (const Part& part : parts) {
    if (!part.found.empty()) {
      fmt::print("  {:<14}{}\n", part.name, printable(part.found));
      continue;
    }
    fmt::print("  {:<14}{}: {} ({})\n", part.name,
               part.needed ? "MISSING, and its hardware is here" : "not here", part.without, part.package);
  }
}

void print_text(const SelfCheck& check) {
  fmt::print("railbed {} for {}, on glibc {}\n", check.railbed, check.self.architecture, check.glibc);
  print_binary("program", check.self);
  for (const Binary& agent : check.agents) print_binary("agent " + agent.architecture, agent);
  const bool others = std::ranges::any_of(
      check.agents, [&](const Binary& agent) { return agent.architecture != check.self.architecture; });
  if (!others)
    fmt::print("{:<14}none installed for other architectures: nodes of those need --agent-binary\n",
               "agents");
  print_parts("Libraries that are opened when they are needed", check.libraries);
  print_parts("Programs that are called when they are needed", check.programs);
}

int run_self_check(bool as_json) {
  const auto check = check_self();
  if (!check) {
    report({ErrorKind::kUnavailable, "this program cannot read itself: " + check.error().text});
    return kExitCouldNotLook;
  }
  if (as_json)
    print_document(kSelfCheckDocument, *check);
  else
    print_text(*check);
  return exit_code(*check);
}

}  // namespace

Action declare_self_check(CLI::App& app) {
  auto as_json = std::make_shared<bool>(false);
  add_json_flag(app, *as_json, "the same as one JSON object", kSelfCheckDocument);
  app.footer(
      "\nExits with 1 where a library is missing whose hardware is in this machine, with 2 where an agent is broken,\n"
      "with 3 where it cannot read its own file.");
  return [as_json] { return run_self_check(*as_json); };
}

}  // namespace railbed
