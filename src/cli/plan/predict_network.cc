// railbed predict network: the rates of flows on a topology, whole and with broken parts.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/fields.h"
#include "base/text.h"
#include "cli/document.h"
#include "cli/measure/enum_words.h"
#include "cli/option_checks.h"
#include "cli/plan/planning_commands.h"
#include "cli/terminal.h"
#include "predict/contention.h"
#include "report/text/forecast_text.h"

namespace railbed {
namespace {

struct NetworkOptions {
  NetworkPlan plan;
  std::string shape = "rail-optimised";
  std::string pattern = "ring";
  std::string speed = "400G";
  std::string uplink;
  std::string inside;
  int queue_pairs = 1;
  std::vector<std::string> broken;
  bool json = false;
};

struct NetworkOutput {
  int leaves = 0;
  int spines = 0;
  double oversubscription = 1;
  TrafficForecast whole;
  std::optional<TrafficForecast> broken;
  FIELDS(NetworkOutput, leaves, spines, oversubscription, whole, broken);
};
constexpr Document<NetworkOutput> kNetworkDocument{"railbed-predict-network"};

// Parses a broken part: "port:3,0", "uplink:1,2", "leaf:0", "spine:4".
Result<BrokenPart> part_of(const std::string& text) {
  using Kind = BrokenPart::Kind;
  const auto colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const auto numbers = colon == std::string::npos ? std::vector<std::string_view>{}
                                                  : split(std::string_view(text).substr(colon + 1), ',');
  const std::size_t wanted = kind == "port" || kind == "uplink"  ? 2
                             : kind == "leaf" || kind == "spine" ? 1
                                                                 : 0;
  const auto number = [&](std::size_t i) { return parse_number<int>(numbers[i]); };
  if (wanted == 0 || numbers.size() != wanted || !number(0) || !number(wanted - 1))
    return fail(ErrorKind::kBadInput,
                fmt::format("--broken {}: write port:NODE,RAIL uplink:LEAF,SPINE leaf:LEAF or spine:SPINE",
                            printable(text)));
  BrokenPart part;
  part.kind = kind == "port"     ? Kind::kAdapter
              : kind == "uplink" ? Kind::kUplink
              : kind == "leaf"   ? Kind::kLeaf
                                 : Kind::kSpine;
  part.first = *number(0);
  if (wanted == 2) part.second = *number(1);
  return part;
}

Result<NetworkPlan> plan_of(const NetworkOptions& options) {
  NetworkPlan plan = options.plan;
  plan.shape = enum_of<NetworkShape>(options.shape);
  ASSIGN_OR_RETURN(const auto port, rate_option("--speed", options.speed));
  plan.port = port;
  for (const auto& [name, text, to] : {std::tuple{"--uplink", &options.uplink, &plan.uplink},
                                       std::tuple{"--inside", &options.inside, &plan.inside}}) {
    if (text->empty()) continue;
    ASSIGN_OR_RETURN(const auto rate, rate_option(name, *text));
    *to = rate;
  }
  return plan;
}

Result<TrafficForecast> forecast_of(const NetworkOptions& options, const Network& network) {
  return forecast_traffic(network, enum_of<TrafficPattern>(options.pattern), options.queue_pairs);
}

int run_network(const NetworkOptions& options) {
  const auto plan = plan_of(options);
  if (!plan) return report(plan.error());
  const auto network = Network::build(*plan);
  if (!network) return report(network.error());
  const auto whole = forecast_of(options, *network);
  if (!whole) return report(whole.error());
  NetworkOutput output{network->leaves(), network->spines(), network->oversubscription(), *whole, {}};
  if (!options.broken.empty()) {
    std::vector<BrokenPart> parts;
    for (const std::string& text : options.broken) {
      const auto part = part_of(text);
      if (!part) return report(part.error());
      parts.push_back(*part);
    }
    const auto sick = Network::build(*plan, parts);
    if (!sick) return report(sick.error());
    const auto broken = forecast_of(options, *sick);
    if (!broken) return report(broken.error());
    output.broken = *broken;
  }
  if (options.json)
    print_document(kNetworkDocument, output);
  else
    fmt::print("{}", traffic_text(*network, output.whole, output.broken));
  return kExitClean;
}

}  // namespace

Action declare_predict_network(CLI::App& app) {
  auto options = std::make_shared<NetworkOptions>();
  app.add_option("--topology", options->shape,
                 "back-to-back, switch, leaf-spine, rail-optimised (default), rail-only, lag")
      ->check(one_of(words_of<NetworkShape>()));
  app.add_option("--nodes", options->plan.nodes, "how many nodes (default 2)")->check(between(2, 131072));
  app.add_option("--rails", options->plan.rails, "network ports of each (default 1)")->check(between(1, 16));
  app.add_option("--speed", options->speed, "speed of each port (default 400G)");
  app.add_option("--leaf-ports", options->plan.leaf_ports, "ports of nodes below a leaf (default 32)")
      ->check(between(1, 4096));
  app.add_option("--spines", options->plan.spines,
                 "spines that a leaf reaches (default: no oversubscription)")
      ->check(between(1, 4096));
  app.add_option("--cables", options->plan.cables, "cables from a leaf to each spine (default 1)")
      ->check(between(1, 64));
  app.add_option("--uplink", options->uplink, "speed of each of these cables (default: that of the ports)");
  app.add_option("--inside", options->inside,
                 "what a GPU passes on within its node (default: never too little)");
  app.add_option("--pattern", options->pattern, "ring (default), shift, all-to-all, incast")
      ->check(one_of(words_of<TrafficPattern>()));
  app.add_option("--queue-pairs", options->queue_pairs, "queue pairs of each pair of GPUs (default 1)")
      ->check(between(1, 128));
  app.add_option("--seed", options->plan.seed, "seed of the switches' hashes (default 0)");
  app.add_option("--broken", options->broken,
                 "port:NODE,RAIL uplink:LEAF,SPINE leaf:LEAF spine:SPINE; may be repeated");
  add_json_flag(app, options->json, "print one JSON document", kNetworkDocument);
  app.footer(
      "\nExamples:\n"
      "  railbed predict network --nodes 64 --rails 8 --topology leaf-spine        hashing against …\n"
      "  railbed predict network --nodes 64 --rails 8 --topology rail-optimised    … rails\n"
      "  railbed predict network --nodes 2 --rails 2 --topology lag --speed 40G    one flow, one member\n"
      "  railbed predict network --nodes 64 --rails 8 --broken port:3,0            what a dead adapter costs\n\n"
      "All flows at once, max-min fair; switches hash each flow to one way. Things are counted from 0.");
  return [options] { return run_network(*options); };
}

}  // namespace railbed
