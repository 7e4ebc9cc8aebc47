// railbed launch: the exact commands that start a job on the nodes of a cluster, printed or run.
#include "configure/launch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/wording.h"
#include "campaign/change/launch_nodes.h"
#include "campaign/look/gather.h"
#include "cli/command.h"
#include "cli/document.h"
#include "cli/fleet_options.h"
#include "cli/measure/enum_words.h"
#include "cli/option_checks.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "inventory/hostlist.h"
#include "inventory/load.h"

namespace railbed {
namespace {

constexpr Document<Launch> kLaunchDocument{"railbed-launch"};

struct LaunchOptions {
  Sources sources;
  LaunchRequest request;
  std::string launcher;
  std::string container;
  bool no_look = false;
  bool json = false;
  bool exec = false;
  int grace_seconds = 10;
  LaunchChoice choice;
  ReachOptions reach;
};

// Fails if a node of the job did not respond, so that no rank starts in vain. Slurm itself knows which nodes
// respond.
Result<void> check_reached(const LaunchRequest& request, const Evidence& evidence) {
  if (request.launcher == Launcher::kSrun) return {};
  for (const Unreachable& unreachable : evidence.unreachable)
    if (request.nodes.empty() || std::ranges::find(request.nodes, unreachable.node) != request.nodes.end())
      return fail(ErrorKind::kUnavailable,
                  "nothing was started on any node:\n" + at_node(unreachable.node, unreachable.error).text);
  return {};
}

// Reads the nodes of --nodes. Reports every error that needs no look at a node before it connects to one.
Result<void> choose_ranks(const LaunchOptions& options, LaunchRequest& request) {
  ASSIGN_OR_RETURN(const auto cluster, load_cluster(options.sources.cluster));
  ASSIGN_OR_RETURN(request.nodes, named_hosts(options.request.nodes));
  for (const std::string& node : request.nodes)
    if (find_node(cluster, node) == nullptr) return fail(no_such_node(cluster, node));
  return check_launch(request, cluster);
}

Result<Evidence> look_at_nodes(const LaunchOptions& options, const LaunchRequest& request) {
  Evidence evidence;
  if (options.no_look) {
    ASSIGN_OR_RETURN(auto cluster, load_cluster(options.sources.cluster));
    evidence.cluster = std::move(cluster);
  } else {
    Sources sources = options.sources;
    sources.containers = false;
    auto gathered = gather_evidence(sources, options.reach, terminal_caller());
    if (!gathered) return gathered;
    evidence = *std::move(gathered);
  }
  if (options.exec) RETURN_IF_ERROR(check_reached(request, evidence));
  for (const Unreachable& unreachable : evidence.unreachable)
    print_to_stderr("railbed: {} did not answer, so only what cluster.yaml says of it is used: {}\n",
                    unreachable.node, printable(without_node(unreachable.error)));
  for (const Node& node : evidence.cluster.nodes) evidence.nodes.try_emplace(node.name);
  return evidence;
}

// ---- --exec

Result<void> check_exec(const LaunchRequest& request) {
  if (request.container == ContainerForm::kCompose)
    return fail(
        ErrorKind::kBadInput,
        "--exec starts docker and podman, not compose: put what is printed without --exec into a file "
        "on each node and run there: docker compose --file FILE up");
  if (request.container == ContainerForm::kKubernetes)
    return fail(ErrorKind::kBadInput,
                "--exec starts docker and podman; pods are Kubernetes' to start: put what is printed without "
                "--exec into a file and run: kubectl apply --filename FILE");
  return {};
}

// Prints lines with "[gpu1]" before each, in a color of its own on a terminal.
class LinePrinter {
 public:
  explicit LinePrinter(const Launch& launch) {
    for (const NodeCommand& command : launch.commands) colours_.emplace(name_of(command), colours_.size());
  }

  void print(const PrintedLine& line) const {
    static constexpr std::array<int, 6> kColours = {36, 33, 32, 35, 34, 31};  // ECMA-48, 8.3.117
    const int colour = kColours[colours_.at(line.node) % kColours.size()];
    if (coloured_[line.error ? 1 : 0])
      fmt::print(line.error ? stderr : stdout, "\x1b[{}m[{}]\x1b[0m {}\n", colour, line.node, line.text);
    else
      fmt::print(line.error ? stderr : stdout, "[{}] {}\n", line.node, line.text);
  }

 private:
  std::map<std::string, std::size_t, std::less<>> colours_;
  const std::array<bool, 2> coloured_ = {use_colour(STDOUT_FILENO), use_colour(STDERR_FILENO)};
};

// The command that failed first is on the first line: the others often failed because of it.
int report_end(const LaunchEnd& end) {
  int code = kExitClean;
  if (end.first) {
    print_to_stderr("railbed: {}{}\n", printable_lines(end.ends[*end.first].to_text()),
                    end.stopped ? "; the others were then stopped" : "");
    code = kExitFailures;
  } else if (end.cancelled) {
    const bool all =
        std::ranges::none_of(end.ends, [](const CommandEnd& end) { return end.lost.has_value(); });
    code =
        report({ErrorKind::kCancelled, all ? "stopped on all nodes" : "stopped, but not all nodes say so:"});
  }
  for (std::size_t i = 0; i < end.ends.size(); ++i)
    if (end.ends[i].lost && end.first != i)
      print_to_stderr("railbed: {}\n", printable_lines(end.ends[i].to_text()));
  return code;
}

int run_on_nodes(const LaunchOptions& options, const Evidence& evidence, const Launch& launch) {
  for (const std::string& note : launch.notes) print_to_stderr("railbed: {}\n", printable(note));
  LaunchChoice choice = options.choice;
  choice.grace = std::chrono::seconds(options.grace_seconds);
  const LinePrinter printer(launch);
  const auto end = launch_nodes(evidence.cluster, launch, choice, options.reach, terminal_caller(),
                                [&](const PrintedLine& line) { printer.print(line); });
  return end ? report_end(*end) : report(end.error());
}

int run_launch(const LaunchOptions& options) {
  LaunchRequest request = options.request;
  request.launcher = enum_of<Launcher>(options.launcher);
  if (!options.container.empty()) request.container = enum_of<ContainerForm>(options.container);
  if (options.exec)
    if (auto good = check_exec(request); !good) return report(good.error());
  if (const auto chosen = choose_ranks(options, request); !chosen) return report(chosen.error());
  const auto evidence = look_at_nodes(options, request);
  if (!evidence) return report(evidence.error());
  const auto launch = plan_launch(Survey(*evidence), request);
  if (!launch) return report(launch.error());
  if (options.exec) return run_on_nodes(options, *evidence, *launch);
  keep_lines_whole();
  print_result(options.json ? document_text(kLaunchDocument, *launch) : to_text(*launch));
  return evidence->unreachable.empty() ? kExitClean : kExitCouldNotLook;
}

}  // namespace

Action declare_launch(CLI::App& app) {
  auto options = std::make_shared<LaunchOptions>();
  LaunchRequest& request = options->request;
  app.add_option("PROGRAM", options->launcher, "what starts the ranks, on each node or on all")
      ->required()
      ->check(one_of(words_of<Launcher>()));
  app.add_option("cluster.yaml", options->sources.cluster, "the nodes and their rails")->required();
  app.add_option("ARGUMENTS", request.arguments, "behind --: what PROGRAM starts, with its own arguments");
  app.add_option("--nodes", request.nodes, "these nodes alone, in the order of ranks: gpu[1-4],gpu7")
      ->allow_extra_args(false);
  app.add_option("--port", request.port, "of the rendezvous, on the first node")
      ->check(between(1, 65535))
      ->capture_default_str();
  app.add_option("--container", options->container,
                 "in containers that see the fabric: docker, podman, compose or kubernetes")
      ->check(one_of(words_of<ContainerForm>()));
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
  auto* json = add_json_flag(
      app, options->json, "print JSON: the words of each command, without a shell's quotes", kLaunchDocument);
  auto* exec = app.add_flag("--exec", options->exec,
                            "run the commands: their output here, each line behind its node's name")
                   ->excludes(json);
  app.add_option("--chdir", options->choice.folder, "with --exec: the folder to start in, on every node")
      ->needs(exec);
  app.add_option("--grace", options->grace_seconds, "with --exec: seconds from SIGTERM to SIGKILL")
      ->needs(exec)
      ->check(between(0, 3600))
      ->capture_default_str();
  add_fleet_options(app, options->reach);
  app.footer(R"(
The commands are printed, one a node, quoted for a POSIX shell; --exec runs them, as the user of ssh. It
ends with 0 when all did, with 2 when one failed (the others are then stopped, and the first is named), and
with 3 when a node did not answer: then nothing was started anywhere. Ctrl-C ends them all. Examples:
  railbed launch torchrun cluster.yaml -- train.py --epochs 3
  railbed launch torchrun cluster.yaml --exec --chdir /shared/run -- train.py --epochs 3
  railbed launch ray cluster.yaml --nodes 'gpu[1-4]' -- python3 train.py
  railbed launch vllm cluster.yaml --container docker --image vllm/vllm-openai -- /models/llama
  railbed launch nccl-tests cluster.yaml -- all_reduce_perf -b 8 -e 4G -f 2)");
  return [options] { return run_launch(*options); };
}

}  // namespace railbed
