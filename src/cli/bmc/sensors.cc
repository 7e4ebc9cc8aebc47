// railbed sensors, sel: the sensors and event logs of BMCs.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/bmc/bmc_options.h"
#include "cli/command.h"
#include "cli/document.h"
#include "cli/terminal.h"
#include "report/text/bmc_text.h"

namespace railbed {
namespace {

// Returns the exit code for the worst value among all BMCs.
template <class Part>
int exit_code_of(const std::vector<BmcFacts>& looks, Part part) {
  bool lost = false;
  bool warned = false;
  for (const BmcFacts& facts : looks) {
    lost = lost || !(facts.*part).ok();
    if (!(facts.*part).ok()) continue;
    for (const auto& item : *(facts.*part)) {
      if (item.severity == BmcSeverity::kCritical) return kExitFailures;
      warned = warned || item.severity == BmcSeverity::kWarning;
    }
  }
  return lost ? kExitCouldNotLook : warned ? kExitWarnings : kExitClean;
}

struct SensorsCommand : BmcCommand {
  bool all = false;
};

int run_sensors(const SensorsCommand& command) {
  auto places = open_places(command);
  if (!places) return report(places.error());
  auto& [cluster, names, reach] = *places;
  const auto looks =
      look_at_bmcs(cluster, names, {.power = false, .sensors = true}, reach, terminal_caller());
  const BmcTextOptions options{.colour = use_colour(STDOUT_FILENO), .all = command.all};
  print_result(command.json ? document_text(kBmcDocument, looks) : sensors_text(looks, options));
  return exit_code_of(looks, &BmcFacts::sensors);
}

struct SelCommand : BmcCommand {
  bool all = false;
  bool clear = false;
  bool yes = false;
  std::size_t most = 20;
};

int run_clear(const SelCommand& command, BmcPlaces& places) {
  auto& [cluster, names, reach] = places;
  const auto changes = change_bmcs(
      cluster, names, "clearing event logs", [](Bmc& bmc) { return bmc.clear_events(); }, reach,
      terminal_caller());
  return print_changes(changes, "its event log is empty now", command.json);
}

int run_sel(const SelCommand& command) {
  auto places = open_places(command);
  if (!places) return report(places.error());
  auto& [cluster, names, reach] = *places;
  if (command.clear && !may_touch(names, "clear the event logs of", command.yes)) return kExitUsage;
  if (command.clear) return run_clear(command, *places);
  const auto looks = look_at_bmcs(cluster, names, {.power = false, .events = true}, reach, terminal_caller());
  const BmcTextOptions options{.colour = use_colour(STDOUT_FILENO), .all = command.all, .most = command.most};
  print_result(command.json ? document_text(kBmcDocument, looks) : events_text(looks, options));
  return exit_code_of(looks, &BmcFacts::events);
}

}  // namespace

Action declare_sensors(CLI::App& app) {
  auto command = std::make_shared<SensorsCommand>();
  add_bmc_options(app, *command);
  app.add_flag("--all", command->all, "list what is in order, too, of more than one node");
  app.footer(
      "\nTemperatures, fans, voltages and power supplies, beside the thresholds that the board's maker set. Examples:\n"
      "  railbed sensors cluster.yaml\n"
      "  railbed sensors cluster.yaml gpu17\n\n"
      "Exit codes: 0 all in order, 1 warnings, 2 something is critical, 3 a BMC could not be asked.");
  return [command] { return run_sensors(*command); };
}

Action declare_sel(CLI::App& app) {
  auto command = std::make_shared<SelCommand>();
  add_bmc_options(app, *command);
  app.add_flag("--all", command->all, "events that are in order, too");
  app.add_option("--last", command->most, "so many events of a node, the latest; 0: all")
      ->capture_default_str();
  auto* clear = app.add_flag("--clear", command->clear, "empty the logs; what they held is gone");
  app.add_flag("--yes", command->yes, "with --clear: do not ask, where more than one node is touched")
      ->needs(clear);
  app.footer(
      "\nThe System Event Log: what a BMC remembers of memory errors, power supplies, fans and PCI errors, while the node\n"
      "itself was down as well. Its times are those of the BMC's own clock. Examples:\n"
      "  railbed sel cluster.yaml\n"
      "  railbed sel cluster.yaml gpu17 --all --last 0\n\n"
      "Exit codes: 0 nothing to see, 1 warnings, 2 critical events, 3 a BMC could not be asked.");
  return [command] { return run_sel(*command); };
}

}  // namespace railbed
