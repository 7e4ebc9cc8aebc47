// railbed bench train: what a network makes of data-parallel training, rehearsed without a framework. In host
// buffers here; bench_train_gpu.cc has the GPUs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/bench_commands.h"
#include "cli/terminal.h"
#include "cli/train_command.h"
#include "facts/facts.h"
#include "inventory/load.h"
#include "report/train_text.h"
#include "store/fingerprint.h"

namespace railbed {
namespace {

constexpr int kMostLocalRanks = 16;

struct BenchTrainOutput {
  int version = 1;
  std::map<std::string, std::string> units = {{"step", "s"},
                                              {"exchange", "s"},
                                              {"compute", "s"},
                                              {"exposed", "s"},
                                              {"exchange_rate", "bit/s"},
                                              {"hiding_rate", "bit/s"},
                                              {"flops_per_second", "FLOP/s"}};
  std::vector<TrainReport> reports;  // of each repeat and transport
  std::vector<Measurement> measurements;
  static void fields(auto&& field) {
    field("version", &BenchTrainOutput::version);
    field("units", &BenchTrainOutput::units);
    field("reports", &BenchTrainOutput::reports);
    field("measurements", &BenchTrainOutput::measurements);
  }
};

// "100T", "312e12", "989 TFLOP/s".
std::optional<double> parse_flops(std::string text) {
  for (const std::string_view unit : {"FLOP/s", "FLOPS", "flops"})
    if (text.ends_with(unit)) text.resize(text.size() - unit.size());
  while (!text.empty() && text.back() == ' ') text.pop_back();
  double factor = 1;
  for (const auto& [letter, value] : {std::pair{'G', 1e9}, std::pair{'T', 1e12}, std::pair{'P', 1e15}})
    if (!text.empty() && text.back() == letter) factor = value;
  if (factor > 1) text.pop_back();
  const auto number = parse_real(text);
  if (!number || !(*number * factor >= 1e6 && *number * factor <= 1e18)) return std::nullopt;
  return *number * factor;
}

std::vector<PairEnd> several(const PairEnd& end, int ranks) {
  return std::vector<PairEnd>(static_cast<std::size_t>(ranks), end);
}

// The ranks in the order of the ring.
Result<std::vector<PairEnd>> ranks_of(const Rail& rail, fleet::Fleet& fleet, const Surveyed& surveyed,
                                      int ranks) {
  std::vector<PairEnd> ends;
  for (const RailPort& port : rail.ports) {
    const auto facts = surveyed.facts.find(port.node);
    if (facts == surveyed.facts.end()) continue;
    for (PairEnd& end : several({fleet.find(port.node), port.interface, port.address, &facts->second}, ranks))
      ends.push_back(std::move(end));
  }
  if (ends.size() < 2)
    return fail(
        ErrorKind::kUnavailable,
        fmt::format("{}: fewer than two ranks can be reached; give each node more with --ranks", rail.name));
  if (ends.size() > static_cast<std::size_t>(kMostRanks))
    return fail(ErrorKind::kBadInput, fmt::format("{} ranks: at most {}", ends.size(), kMostRanks));
  return ends;
}

// What is in the way of that transport between these ranks; empty: nothing.
std::string obstacle(Engine transport, const std::vector<PairEnd>& ends) {
  for (const PairEnd& end : ends) {
    if (transport == Engine::kTcp && (!end.address || end.address->is_link_local()))
      return fmt::format("{} of {} has no IP address in cluster.yaml: TCP needs one", end.interface,
                         end.peer->node());
    if (transport == Engine::kRdma &&
        (end.facts == nullptr || !rdma_port_of(end.facts->rdma, end.facts->net, end.interface)))
      return fmt::format("{} of {} has no RDMA device: `rdma link` must list it", end.interface,
                         end.peer->node());
  }
  return "";
}

// Those that were asked for, or all that nothing is in the way of.
Result<std::vector<Engine>> transports_of(const TrainOptions& options, const std::vector<PairEnd>& ends) {
  std::vector<Engine> transports;
  std::string why;
  for (const auto& [name, transport] : {std::pair{"tcp", Engine::kTcp}, std::pair{"rdma", Engine::kRdma}}) {
    const bool is_wanted = std::ranges::find(options.transports, name) != options.transports.end();
    if (!options.transports.empty() && !is_wanted) continue;
    const std::string found = obstacle(transport, ends);
    if (found.empty())
      transports.push_back(transport);
    else if (is_wanted)
      return fail(ErrorKind::kUnavailable, found);
    else if (why.empty())
      why = found;
  }
  if (transports.empty()) return fail(ErrorKind::kUnavailable, why);
  return transports;
}

TrainReport rehearse(const TrainOptions& options, const Model& model, const std::vector<PairEnd>& ends,
                     Engine transport) {
  StepPlan plan = options.plan;
  if (options.step_milliseconds > 0)
    plan.flops_per_second = step_flops(model, plan.batch) / (options.step_milliseconds / 1000);
  const Step step = make_step(model, plan);
  const std::string over = transport == Engine::kRdma ? "RDMA" : "TCP";
  progress(
      fmt::format("rehearsing {} on {} ranks over {}, {:.3g} s or {} rounds of a step of {:.3g} s and more",
                  model.name, ends.size(), over, options.seconds, kFewestRounds, step.compute));
  const TrainResult result =
      measure_train(ends, transport, step, static_cast<int>(plan.word_bytes), options.seconds, interrupted());
  TrainReport report = report_of(model, plan, step, static_cast<int>(ends.size()), result);
  for (const PairEnd& end : ends) report.nodes.push_back(end.peer->node());
  report.transport = over;
  report.compute_kind = "simulated on CPUs";
  return report;
}

std::string command_line(const TrainOptions& options) {
  std::string line = "bench train --model " + options.model;
  if (!options.cluster_file.empty()) line += " " + options.cluster_file;
  if (!options.rail.empty()) line += " --rail " + options.rail;
  if (options.ranks > 0) line += fmt::format(" --ranks {}", options.ranks);
  if (!options.gpus.empty()) line += fmt::format(" --gpus {}", fmt::join(options.gpus, ","));
  if (options.host_buffers) line += " --host-buffers";
  if (!options.transports.empty()) line += fmt::format(" --transport {}", fmt::join(options.transports, ","));
  if (options.batch > 0) line += fmt::format(" --batch {}", options.batch);
  return line;
}

// The options that describe ranks in host buffers.
bool asks_for_host_buffers(const TrainOptions& options) {
  return options.host_buffers || options.ranks > 0 || !options.flops.empty() ||
         options.step_milliseconds > 0 || !options.rail.empty() || !options.transports.empty();
}

bool uses_gpus(const TrainOptions& options, const Surveyed& surveyed) {
  if (asks_for_host_buffers(options) || surveyed.facts.empty()) return false;
  const auto without = nodes_without_gpus(surveyed);
  if (!without.empty() && without.size() < surveyed.facts.size())
    fmt::print(stderr, "not on GPUs: {} without any\n", fmt::join(without, ", "));
  return without.empty();
}

int in_host_buffers(TrainOptions options, const Model& model, const std::vector<PairEnd>& ends,
                    const Surveyed& surveyed) {
  constexpr std::uint64_t kBatch = 8;
  if (options.batch == 0) options.plan.batch = kBatch;
  const auto transports = transports_of(options, ends);
  if (!transports) return report(transports.error());
  Rehearsals rehearsals;
  for (const Engine transport : *transports)
    rehearsals.emplace_back([&, transport] { return rehearse(options, model, ends, transport); });
  return keep_rehearsals(options, rehearsals, surveyed);
}

int on_this_machine(const TrainOptions& options, const Model& model) {
  const int ranks = options.ranks > 0 ? options.ranks : 2;
  if (ranks < 2) return report({ErrorKind::kBadInput, "--ranks: at least 2 on one machine"});
  fleet::Fleet fleet({{"localhost", "", true}}, options.fleet);
  const Surveyed surveyed = survey_nodes(fleet, terminal_caller());
  if (!surveyed.unreachable.empty()) return report(surveyed.unreachable.front().error);
  if (uses_gpus(options, surveyed))
    return train_on_gpus(options, model, {{&fleet.peer(0), options.gpus}}, surveyed);
  if (!options.gpus.empty())
    return report({ErrorKind::kUnavailable, "--gpus: no GPU with a loaded driver is found here"});
  return in_host_buffers(
      options, model, several({&fleet.peer(0), "lo", IpAddress::parse("127.0.0.1").value(), nullptr}, ranks),
      surveyed);
}

int on_gpus_of(const Cluster& cluster, fleet::Fleet& fleet, const Surveyed& surveyed,
               const TrainOptions& options, const Model& model) {
  std::vector<GpuNodeEnd> nodes;
  for (const Node& node : cluster.nodes)
    if (surveyed.facts.contains(node.name)) nodes.push_back({fleet.find(node.name), {}});
  return train_on_gpus(options, model, nodes, surveyed);
}

int on_rail(const Rail* rail, fleet::Fleet& fleet, const Surveyed& surveyed, const TrainOptions& options,
            const Model& model) {
  if (rail == nullptr)
    return report({ErrorKind::kBadInput, "the cluster has no rail: host buffers need one"});
  const auto ends = ranks_of(*rail, fleet, surveyed, std::max(1, options.ranks));
  if (!ends) return report(ends.error());
  return in_host_buffers(options, model, *ends, surveyed);
}

int on_cluster(const TrainOptions& options, const Model& model) {
  const auto cluster = load_cluster(options.cluster_file);
  if (!cluster) return report(cluster.error());
  const Rail* rail = options.rail.empty() ? (cluster->rails.empty() ? nullptr : &cluster->rails.front())
                                          : find_rail(*cluster, options.rail);
  if (rail == nullptr && !options.rail.empty())
    return report({ErrorKind::kBadInput, fmt::format("{} has no rail \"{}\"", cluster->file, options.rail)});
  fleet::Fleet fleet = open_fleet(*cluster, options.fleet);
  const Surveyed surveyed = survey_nodes(fleet, terminal_caller());
  for (const Unreachable& lost : surveyed.unreachable) fmt::print(stderr, "left out: {}\n", lost.error.text);
  const int code = uses_gpus(options, surveyed) ? on_gpus_of(*cluster, fleet, surveyed, options, model)
                                                : on_rail(rail, fleet, surveyed, options, model);
  return code == kExitClean && !surveyed.unreachable.empty() ? kExitCouldNotLook : code;
}

int run_bench_train(TrainOptions& options) {
  const auto model = find_model(options.model);
  if (!model) return report({ErrorKind::kBadInput, "no such model: " + options.model});
  const auto bucket = parse_byte_count(options.bucket);
  if (!bucket || bucket->bytes < 4096 || bucket->bytes > (std::uint64_t{256} << 20))
    return report({ErrorKind::kBadInput, fmt::format("--buckets {}: 4K to 256M", options.bucket)});
  options.plan.bucket_bytes = bucket->bytes;
  options.plan.first_bucket_bytes = std::min(options.plan.first_bucket_bytes, bucket->bytes);
  if (!options.gpus.empty() && !options.cluster_file.empty())
    return report({ErrorKind::kBadInput, "--gpus: of this machine only, not of a cluster's nodes"});
  const auto flops = parse_flops(options.flops.empty() ? "100T" : options.flops);
  if (!flops)
    return report(
        {ErrorKind::kBadInput, fmt::format("--compute-flops {}: write 100T or 312e12", options.flops)});
  options.plan.flops_per_second = *flops;
  options.plan.batch = options.batch;
  return options.cluster_file.empty() ? on_this_machine(options, *model) : on_cluster(options, *model);
}

}  // namespace

int keep_rehearsals(const TrainOptions& options, const Rehearsals& rehearsals, const Surveyed& surveyed) {
  BenchTrainOutput output;
  BenchRun kept = begin_run(options.keep, command_line(options));
  for (int i = 0; i < options.keep.repeat; ++i)
    for (const auto& rehearse : rehearsals) {
      if (interrupted().stop_requested()) break;
      output.reports.push_back(rehearse());
      for (Measurement& one : train_measurements(output.reports.back()))
        kept.measurements.push_back(std::move(one));
    }
  clear_progress();
  output.measurements = kept.measurements;
  if (options.json)
    fmt::print("{}", json::dump_pretty(json::encode(output)));
  else
    for (const TrainReport& one : output.reports) fmt::print("{}", train_text(one));
  if (interrupted().stop_requested()) return kExitCouldNotLook;
  for (const auto& [node, facts] : surveyed.facts) add_fingerprint(kept, node, facts);
  return end_run(options.keep, kept, options.json);
}

Action declare_bench_train(CLI::App& app) {
  auto options = std::make_shared<TrainOptions>();
  app.add_option("CLUSTER", options->cluster_file,
                 "cluster.yaml: all GPUs of its nodes, or one rank on each (default: this machine alone)");
  app.add_option("--model", options->model, "resnet50 (default), bert-base, bert-large, gpt2, 7b")
      ->check(CLI::IsMember({"resnet50", "bert-base", "bert-large", "gpt2", "7b"}));
  app.add_option("--batch", options->batch,
                 "samples a rank and step (default on GPUs: a usual one of the model's, else 8)")
      ->check(CLI::Range(1, 65536));
  app.add_option("--dtype-bytes", options->plan.word_bytes, "of one gradient: 4 (default) or 2")
      ->check(CLI::IsMember({2, 4}));
  app.add_option("--buckets", options->bucket,
                 "gradients that are exchanged together (default 25M, as PyTorch)");
  app.add_option("--seconds", options->seconds, "measured time (default 5), at least three rounds")
      ->check(CLI::Range(0.1, 3000.0));
  auto* gpus = app.add_option("--gpus", options->gpus, "of this machine only these, in PCI order from 0: 0,1")
                   ->delimiter(',');
  app.add_option("--library", options->nccl, "NCCL's file (default: libnccl.so.2, then Python's)");
  app.add_option("--cublas", options->cublas, "cuBLAS's file (default: libcublas.so of the driver's CUDA)");
  app.add_flag("--host-buffers", options->host_buffers,
               "simulate the computing and exchange from host memory even where there are GPUs")
      ->excludes(gpus);
  app.add_option("--transport", options->transports,
                 "in host buffers: tcp, rdma (default: each that all nodes have on the rail)")
      ->delimiter(',')
      ->check(CLI::IsMember({"tcp", "rdma"}))
      ->excludes(gpus);
  app.add_option("--ranks", options->ranks,
                 "in host buffers: of each node (default: 1; 2 on this machine alone)")
      ->check(CLI::Range(1, kMostLocalRanks))
      ->excludes(gpus);
  auto* flops = app.add_option(
      "--compute-flops", options->flops,
      "in host buffers: what a rank's GPU does of its own, operations a second (default 100T)");
  app.add_option("--step-time", options->step_milliseconds,
                 "in host buffers: milliseconds that a step takes without any exchange")
      ->check(CLI::Range(0.01, 600000.0))
      ->excludes(flops);
  app.add_option("--rail", options->rail, "in host buffers: of the cluster (default: the first)");
  add_keep_options(app, options->keep);
  app.add_flag("--json", options->json, "machine-readable (docs/reference/bench.md)");
  add_fleet_options(app, options->fleet);
  app.footer(
      "\nrailbed bench train --model bert-large                   this machine's GPUs\n"
      "railbed bench train cluster.yaml --model 7b --batch 4    all GPUs of every node\n"
      "railbed bench train cluster.yaml --model 7b --step-time 900 --dtype-bytes 2\n\n"
      "Where every node has GPUs: the model's matrix products by cuBLAS, its gradients by NCCL in buckets\n"
      "while the backward pass runs. Elsewhere, with --host-buffers or an option of theirs: each rank waits\n"
      "as long as its GPU would compute, and exchanges by a ring over TCP, then by one over RDMA. Sums are\n"
      "checked; no framework.\n"
      "Exit code 2: it failed, or is worse than the baseline; 3: a node could not be asked.");
  return [options] { return run_bench_train(*options); };
}

}  // namespace railbed
