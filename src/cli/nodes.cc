#include "cli/nodes.h"

#include <chrono>

#include "base/json.h"
#include "cli/terminal.h"

namespace railbed {
namespace {

constexpr std::chrono::seconds kFactsDeadline{15};

}  // namespace

fleet::Fleet open_fleet(const Cluster& cluster, fleet::FleetOptions options) {
  options.ssh_config = cluster.ssh_config;
  return fleet::Fleet(fleet::targets_of(cluster), std::move(options));
}

Surveyed survey_nodes(fleet::Fleet& fleet, std::stop_token stop, const CollectOptions& options) {
  Surveyed surveyed;
  const auto deadline = kFactsDeadline + std::chrono::seconds(options.load_seconds.value_or(0));
  auto answers = fleet::gather(
      fleet, "facts", json::dump(json::encode(options)), deadline, stop, [&](const fleet::Step& step) {
        progress((options.load_seconds ? "looking, under load: " : "looking: ") + step.to_text());
      });
  for (fleet::Answer& answer : answers) {
    if (!answer.result) {
      surveyed.unreachable.push_back({answer.node, answer.result.error()});
      continue;
    }
    auto facts = facts_from_json(*answer.result);
    if (facts)
      surveyed.facts.emplace(answer.node, std::move(*facts));
    else
      surveyed.unreachable.push_back(
          {answer.node, {facts.error().kind, "its facts make no sense: " + facts.error().text}});
  }
  clear_progress();
  return surveyed;
}

PairEnd end_on(const Rail& rail, fleet::Fleet& fleet, const Surveyed& surveyed, const std::string& node) {
  const RailPort* port = find_port(rail, node);
  return {fleet.find(node), port->interface, port->address, &surveyed.facts.at(node)};
}

}  // namespace railbed
