#include "cli/nodes.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>

#include "base/text.h"
#include "cli/terminal.h"

namespace railbed {
namespace {

constexpr std::chrono::seconds kFactsDeadline{15};

}  // namespace

void declare_node_flags(CLI::App& app, NodeFlags& flags) {
  app.add_option("--parallel", flags.parallel, "nodes worked on at once (default 32)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--connect-timeout", flags.connect_seconds,
                 "seconds until sshd must have answered (default 10)")
      ->check(CLI::Range(0.1, 600.0));
  app.add_option("--agent-binary", flags.agent_binaries,
                 "ARCH=PATH: a railbed built for nodes of another architecture, e.g. aarch64=./railbed-arm")
      ->expected(1)
      ->take_all();
}

Result<fleet::Fleet> open_fleet(const Cluster& cluster, const NodeFlags& flags) {
  fleet::FleetOptions options;
  options.ssh_config = cluster.ssh_config;
  options.parallelism = flags.parallel;
  options.connect_deadline =
      std::chrono::milliseconds(static_cast<std::int64_t>(flags.connect_seconds * 1000));
  for (const std::string& word : flags.agent_binaries) {
    const auto pair = key_value(word, '=');
    if (!pair || pair->first.empty() || pair->second.empty())
      return fail(ErrorKind::kBadInput, fmt::format("--agent-binary {}: expected ARCH=PATH", word));
    options.agent_binaries[std::string(pair->first)] = std::string(pair->second);
  }
  return fleet::Fleet(fleet::targets_of(cluster), std::move(options));
}

Surveyed survey_nodes(fleet::Fleet& fleet, std::stop_token stop) {
  Surveyed surveyed;
  auto answers = fleet::gather(fleet, "facts", "{}", kFactsDeadline, stop,
                               [](const fleet::Step& step) { progress("looking: " + step.to_text()); });
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

}  // namespace railbed
