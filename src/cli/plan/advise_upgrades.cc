// railbed advise upgrades: the next bottleneck of nodes, and the effect of each part that could be bought.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/fields.h"
#include "campaign/look/gather.h"
#include "cli/document.h"
#include "cli/fleet_options.h"
#include "cli/plan/planning_commands.h"
#include "cli/terminal.h"
#include "predict/prices.h"
#include "predict/upgrades.h"
#include "report/text/upgrades_text.h"

namespace railbed {
namespace {

struct UpgradesOptions {
  Sources sources;
  ReachOptions reach;
  std::string prices;
  bool json = false;
};

struct UpgradesOutput {
  std::string currency;
  std::vector<NodeUpgrades> upgrades;
  FIELDS(UpgradesOutput, currency, upgrades);
};
constexpr Document<UpgradesOutput> kUpgradesDocument{"railbed-advise-upgrades"};

int run_upgrades(const UpgradesOptions& options) {
  const auto prices = read_prices(options.prices);
  if (!prices) return report(prices.error());
  const auto evidence = gather_evidence(options.sources, options.reach, terminal_caller());
  if (!evidence) return report(evidence.error());
  for (const Unreachable& node : evidence->unreachable)
    print_to_stderr("railbed: {} was not reached\n", node.node);
  const auto upgrades = advise_upgrades(evidence->cluster, evidence->nodes, *prices);
  clear_progress();
  if (options.json)
    print_document(kUpgradesDocument, UpgradesOutput{prices->currency, upgrades});
  else
    fmt::print("{}", upgrades_text(upgrades, prices->currency));
  return evidence->nodes.empty() || !evidence->unreachable.empty() ? kExitCouldNotLook : kExitClean;
}

}  // namespace

Action declare_advise_upgrades(CLI::App& app) {
  auto options = std::make_shared<UpgradesOptions>();
  app.add_option("cluster.yaml", options->sources.cluster,
                 "ask every node it names; without it, look at this machine");
  app.add_option("--root", options->sources.root,
                 "look at a captured machine instead: a folder like /, a .tree file, or a folder of them");
  app.add_option("--facts", options->sources.facts, "go by facts that `railbed facts --json` printed");
  app.add_option("--prices", options->prices,
                 "your own, as YAML: {currency: EUR, MCX416A-CCAT: 75, cable: 20, switch: 900}");
  add_json_flag(app, options->json, "print one JSON document", kUpgradesDocument);
  add_fleet_options(app, options->reach);
  app.footer(
      "\nExamples:\n"
      "  railbed advise upgrades                                     this machine\n"
      "  railbed advise upgrades cluster.yaml --prices prices.yaml   every node, in your prices\n"
      "  railbed advise upgrades --root gpu01.tree                   a captured one\n\n"
      "The least of a node's ports, PCIe slots and staging of GPU data through host memory decides. With a\n"
      "cluster.yaml its rails count, else the ports that NCCL takes near the GPUs; name the switch under parts:.\n"
      "Prices come from your file alone. Nothing is measured: railbed prove does that.");
  return [options] { return run_upgrades(*options); };
}

}  // namespace railbed
