#include "cli/watch/monitor_probe.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "base/wipe.h"
#include "cli/bmc/bmc_options.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "inventory/load.h"

namespace railbed {
namespace {

constexpr int kHighestProbePort = 65535;

Result<std::string> read_secret(const std::string& path) {
  if (path.empty())
    return fail(
        ErrorKind::kBadInput,
        "--probe lets in who knows a secret: --probe-secret-file FILE names it, the same on all nodes");
  ASSIGN_OR_RETURN(auto text, read_secret_file(path));
  std::string secret(trim(text));
  wipe(text);
  if (secret.size() < kLeastProbeSecret)
    return fail(ErrorKind::kBadInput,
                fmt::format("{}: at least {} characters that nobody can guess: openssl rand -hex 32", path,
                            kLeastProbeSecret));
  return secret;
}

Result<ProbeOptions> probe_options(const ProbeCommand& command, const WatchOptions& watch) {
  if (!watch.root.empty())
    return fail(ErrorKind::kBadInput,
                "--probe is about this machine: a captured one (--root) has no network");
  ASSIGN_OR_RETURN(auto secret, read_secret(command.secret_file));
  return ProbeOptions{.cluster = watch.cluster,
                      .node = watch.node,
                      .secret = std::move(secret),
                      .port = command.port,
                      .every = std::chrono::seconds(command.every),
                      .beside_jobs = command.beside_jobs};
}

// Returns a function that reads the node's BMC, with the address and the login from cluster.yaml.
Result<std::function<BmcFacts(std::stop_token)>> ask_named_bmc(const WatchOptions& watch) {
  ASSIGN_OR_RETURN(auto opened, open_places({.cluster = watch.cluster, .nodes = {watch.node}}));
  const auto places = std::make_shared<BmcPlaces>(std::move(opened));
  return [places, node = watch.node](std::stop_token stop) {
    auto looks = look_at_bmcs(places->cluster, places->names, kWatchedBmcQuestions, places->reach,
                              {.stop = std::move(stop)});
    return looks.empty() ? BmcFacts{.node = node, .error = "it was not asked"} : std::move(looks.front());
  };
}

}  // namespace

void add_probe_options(CLI::App& app, ProbeCommand& command) {
  auto* probe = app.add_flag("--probe", command.probe,
                             "ping other nodes' monitors over each rail, and answer theirs there")
                    ->group("Probes");
  app.add_option("--probe-secret-file", command.secret_file,
                 "holds what all monitors of the cluster know; its mode must be 0600")
      ->type_name("FILE")
      ->needs(probe)
      ->group("Probes");
  app.add_option("--probe-port", command.port, "TCP port on each rail's address, the same on all nodes")
      ->check(between(1, kHighestProbePort))
      ->capture_default_str()
      ->needs(probe)
      ->group("Probes");
  app.add_option("--probe-every", command.every, "seconds between rounds of probes, the same on all nodes")
      ->check(between(1, 86400))
      ->capture_default_str()
      ->needs(probe)
      ->group("Probes");
  app.add_flag("--probe-beside-jobs", command.beside_jobs, "also while a Slurm job has the node")
      ->needs(probe)
      ->group("Probes");
  app.add_flag("--bmc", command.bmc,
               "ask this node's BMC each minute: the one in cluster.yaml, else /dev/ipmi0");
}

Result<void> add_bmc(const ProbeCommand& command, WatchOptions& watch) {
  if (!command.bmc) return {};
  if (!watch.root.empty())
    return fail(ErrorKind::kBadInput, "--bmc is about this machine: a captured one (--root) has no BMC");
  if (!watch.cluster.empty()) {
    ASSIGN_OR_RETURN(const auto cluster, load_cluster(watch.cluster));
    if (const Node* node = find_node(cluster, watch.node); node != nullptr && node->bmc) {
      ASSIGN_OR_RETURN(auto ask, ask_named_bmc(watch));
      watch.ask_bmc = std::move(ask);
      return {};
    }
  }
  watch.ask_bmc = [node = watch.node](std::stop_token stop) {
    BmcOptions options;
    options.stop = std::move(stop);
    return look_at_own_bmc(node, kWatchedBmcQuestions, options);
  };
  return {};
}

Result<std::unique_ptr<ProbeWatch>> open_probes(const ProbeCommand& command, const WatchOptions& watch,
                                                NodeWatch& node, const Hear& note) {
  if (!command.probe) return std::unique_ptr<ProbeWatch>();
  ASSIGN_OR_RETURN(const auto options, probe_options(command, watch));
  return ProbeWatch::open(
      options, [&node] { return node.latest_look(); }, note);
}

int print_probes(const ProbeCommand& command, const WatchOptions& watch) {
  const auto options = probe_options(command, watch);
  if (!options) return report(options.error());
  const auto plan = plan_probes(*options);
  if (!plan) return report(plan.error());
  const ProbeRound round = probe_once(*plan, *options, interrupted());
  fmt::print("{}", probe_text(round));
  return probe_exit_code(round);
}

}  // namespace railbed
