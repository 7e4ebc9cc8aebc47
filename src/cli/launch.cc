// railbed launch: the exact commands that start a job on the nodes of a cluster.
#include "configure/launch.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/json.h"
#include "base/text.h"
#include "campaign/gather.h"
#include "cli/command.h"
#include "cli/enum_words.h"
#include "cli/fleet_options.h"
#include "cli/terminal.h"
#include "inventory/load.h"

namespace railbed {
namespace {

struct LaunchOptions {
  Sources sources;
  LaunchRequest request;
  std::string launcher;
  std::string container;
  bool no_look = false;
  bool json = false;
  ReachOptions reach;
};

Result<Evidence> look_at_nodes(const LaunchOptions& options) {
  Evidence evidence;
  if (options.no_look) {
    auto cluster = load_cluster(options.sources.cluster);
    if (!cluster) return fail(cluster.error());
    evidence.cluster = *std::move(cluster);
  } else {
    Sources sources = options.sources;
    sources.containers = false;
    auto gathered = gather_evidence(sources, options.reach, terminal_caller());
    if (!gathered) return gathered;
    evidence = *std::move(gathered);
  }
  for (const Unreachable& one : evidence.unreachable)
    fmt::print(stderr, "railbed: {} did not answer, so cluster.yaml alone speaks for it: {}\n", one.node,
               printable(one.error.text));
  for (const Node& node : evidence.cluster.nodes) evidence.nodes.try_emplace(node.name);
  return evidence;
}

int run_launch(const LaunchOptions& options) {
  LaunchRequest request = options.request;
  request.launcher = enum_of<Launcher>(options.launcher);
  if (!options.container.empty()) request.container = enum_of<ContainerForm>(options.container);
  const auto evidence = look_at_nodes(options);
  if (!evidence) return report(evidence.error());
  const auto launch = plan_launch(Survey(*evidence), request);
  if (!launch) return report(launch.error());
  fmt::print("{}", options.json ? json::dump_pretty(json::encode(*launch)) : to_text(*launch));
  return evidence->unreachable.empty() ? kExitClean : kExitCouldNotLook;
}

}  // namespace

Action declare_launch(CLI::App& app) {
  auto options = std::make_shared<LaunchOptions>();
  LaunchRequest& request = options->request;
  app.add_option("PROGRAM", options->launcher, "torchrun, vllm, mpirun, srun or nccl-tests")
      ->required()
      ->check(CLI::IsMember(words_of<Launcher>()));
  app.add_option("cluster.yaml", options->sources.cluster, "the nodes and their rails")->required();
  app.add_option("ARGUMENTS", request.arguments, "behind --: what PROGRAM starts, with its own arguments");
  app.add_option("--nodes", request.nodes, "these nodes alone, in the order of ranks: gpu1,gpu2")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--port", request.port, "of the rendezvous, on the first node")
      ->check(CLI::Range(1, 65535))
      ->capture_default_str();
  app.add_option("--container", options->container,
                 "in containers that see the fabric: docker, podman, compose or kubernetes")
      ->check(CLI::IsMember(words_of<ContainerForm>()));
  app.add_option("--image", request.image, "of the containers; else expect.container");
  app.add_option("--rdma-resource", request.rdma_resource,
                 "what the RDMA device plugin of the Kubernetes cluster calls its devices")
      ->capture_default_str();
  auto* root = app.add_option("--root", options->sources.root,
                              "look at captured machines instead: a .tree file, or a folder of them");
  auto* facts =
      app.add_option("--facts", options->sources.facts, "take facts that `railbed facts --json` printed")
          ->allow_extra_args(false);
  app.add_flag("--no-look", options->no_look, "take cluster.yaml alone; RDMA devices are then left to NCCL")
      ->excludes(root)
      ->excludes(facts);
  app.add_flag("--json", options->json, "print JSON: the words of each command, without a shell's quotes");
  add_fleet_options(app, options->reach);
  app.footer(R"(
Nothing is started: the commands are printed, one a node, quoted for a POSIX shell. Examples:
  railbed launch torchrun cluster.yaml -- train.py --epochs 3
  railbed launch vllm cluster.yaml --container docker --image vllm/vllm-openai -- /models/llama
  railbed launch nccl-tests cluster.yaml -- all_reduce_perf -b 8 -e 4G -f 2)");
  return [options] { return run_launch(*options); };
}

}  // namespace railbed
