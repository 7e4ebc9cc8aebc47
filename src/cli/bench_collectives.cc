// railbed bench collectives: NCCL over the GPUs of one node or of several, with what it says of itself.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <future>
#include <iterator>
#include <memory>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "bench/collective/measure_collective.h"
#include "bench/core/local_peer.h"
#include "bench/engines/handlers.h"
#include "campaign/agent_handlers.h"
#include "campaign/gpu_remedy.h"
#include "campaign/survey.h"
#include "cli/bench_commands.h"
#include "cli/fleet_options.h"
#include "cli/kept_run.h"
#include "cli/launched.h"
#include "cli/terminal.h"
#include "facts/facts.h"
#include "hardware/collective_ceiling.h"
#include "host/open.h"
#include "inventory/load.h"
#include "nccl/choice.h"
#include "report/collective_table.h"
#include "report/familiar.h"
#include "store/fingerprint.h"

namespace railbed {
namespace {

struct BenchCollectivesOptions {
  std::vector<std::string> where;
  std::string operation = "all_reduce";
  std::string type = "float32";
  std::string from = "8";
  std::string to = "1G";
  int factor = 4;
  bool no_check = false;
  bool no_graph = false;
  bool json = false;
  std::string format;
  std::string rendezvous;
  CollectivePlan plan;
  KeepOptions keep;
  fleet::FleetOptions fleet;
};

struct BenchCollectivesOutput {
  int version = 1;
  std::map<std::string, std::string> units = {
      {"times", "ns"}, {"algbw, busbw, rate", "bit/s"}, {"bytes", "B"}, {"memory_clock", "kHz"}};
  std::vector<CollectiveReport> runs;
  nccl::Log nccl;
  static void fields(auto&& field) {
    field("version", &BenchCollectivesOutput::version);
    field("units", &BenchCollectivesOutput::units);
    field("runs", &BenchCollectivesOutput::runs);
    field("nccl", &BenchCollectivesOutput::nccl);
  }
};

// Where it runs: a fleet of agents, or this very process for this machine alone, which starts sooner.
struct Place {
  std::string name;
  std::string destination;
  std::vector<int> gpus;
};

template <class Enum>
Result<Enum> parse_enum(const std::string& word, const char* what) {
  const auto names = enum_names(Enum{});
  const auto found = std::ranges::find(names, word);
  if (found == names.end())
    return fail(ErrorKind::kBadInput, fmt::format("no {} \"{}\": {}", what, word, fmt::join(names, ", ")));
  return static_cast<Enum>(found - names.begin());
}

// "gpu01" or "gpu01:0,1".
Result<Place> parse_place(const std::string& word) {
  Place place{word, word, {}};
  const auto colon = word.rfind(':');
  if (colon == std::string::npos) return place;
  place.destination = word.substr(0, colon);
  const auto list = parse_list(word.substr(colon + 1), 64);
  if (!list || place.destination.empty())
    return fail(ErrorKind::kBadInput,
                fmt::format("\"{}\": write NODE, or NODE:0,1 for these GPUs of it", word));
  place.gpus = *list;
  return place;
}

Result<void> fill_plan(BenchCollectivesOptions& options) {
  const auto operation = parse_enum<Collective>(options.operation, "operation");
  if (!operation) return fail(operation.error());
  const auto type = parse_enum<DataType>(options.type, "type");
  if (!type) return fail(type.error());
  const auto from = parse_byte_count(options.from);
  const auto to = parse_byte_count(options.to);
  if (!from || !to || from->bytes == 0 || from->bytes > to->bytes)
    return fail(ErrorKind::kBadInput, "--from and --to: sizes as 8, 64K, 1M or 4G, the smaller first");
  CollectivePlan& plan = options.plan;
  plan.operation = *operation;
  plan.type = *type;
  plan.sizes = size_sweep(from->bytes, to->bytes, options.factor);
  plan.check = !options.no_check;
  plan.graph = !options.no_graph;
  plan.in_place = plan.in_place || options.format == "nccl-tests";
  return check_plan(plan);
}

// Why NCCL fell back to TCP although this node has RDMA, in its facts' own words.
void explain_sockets(const std::map<std::string, Facts>& facts, const nccl::Log& log,
                     CollectiveReport& report) {
  const bool sockets =
      std::ranges::any_of(log.networks, [](const auto& one) { return one.name == "Socket"; });
  if (!sockets || facts.size() < 2) return;
  for (const auto& [node, known] : facts) {
    if (!known.rdma.devices.ok() || known.rdma.devices->empty()) continue;
    const nccl::Choices choices = nccl::predict(known, std::nullopt);
    report.ceiling.note =
        fmt::format("NCCL uses sockets although {} has RDMA: {}", node, choices.network_why);
    return;
  }
}

class Bench {
 public:
  Bench(BenchCollectivesOptions& options, std::chrono::steady_clock::time_point began)
      : options_(options), began_(began) {}

  int run(std::vector<Place> places, const std::string& ssh_config) {
    if (places.empty()) places.push_back({"localhost", "localhost", options_.plan.place.gpus});
    std::vector<GpuNodeEnd> nodes;
    std::optional<fleet::Fleet> fleet;
    if (places.size() == 1 && places.front().destination == "localhost") {
      nodes.push_back(here(places.front().name, places.front().gpus));
    } else {
      fleet.emplace(connect(places, ssh_config));
      for (std::size_t i = 0; i < places.size(); ++i) nodes.push_back({&fleet->peer(i), places[i].gpus});
    }
    return run_on(nodes);
  }

  // As rank 0 of those that a launcher started.
  int run_launched(const LaunchedCommand& command) {
    progress(fmt::format("waiting for {} ranks at {} port {}", command.own.ranks - 1, command.at.host,
                         command.at.port));
    const auto others = fleet::receive_ranks(command.at, command.own.ranks, interrupted());
    clear_progress();
    if (!others) return report(others.error());
    std::vector<GpuNodeEnd> nodes = {here(command.own.host, command.own.gpus)};
    for (const fleet::ArrivedRank& one : *others) nodes.push_back({one.peer.get(), one.introduction.gpus});
    return run_on(nodes);
  }

 private:
  // This very process.
  GpuNodeEnd here(const std::string& name, const std::vector<int>& gpus) {
    local_ = std::make_unique<LocalPeer>(name, gpu_handlers(nvidia_libraries()));
    return {local_.get(), gpus};
  }

  int run_on(const std::vector<GpuNodeEnd>& nodes) {
    for (int i = 0; i < options_.keep.repeat && !interrupted().stop_requested(); ++i) {
      measure(nodes);
      if (output_.runs.back().failure) break;
    }
    return finish(nodes);
  }

  fleet::Fleet connect(const std::vector<Place>& places, const std::string& ssh_config) const {
    std::vector<fleet::Target> targets;
    for (const Place& place : places) {
      const bool local = place.destination == "localhost";
      targets.push_back({place.name, local ? "" : place.destination, local});
    }
    fleet::FleetOptions fleet_options = options_.fleet;
    fleet_options.ssh_config = ssh_config;
    return {std::move(targets), std::move(fleet_options)};
  }

  void measure(const std::vector<GpuNodeEnd>& nodes) {
    nccl::LogReader reader;
    output_.runs.push_back(measure_collective(nodes, options_.plan, began_,
                                              {progress, [&](std::string_view text) { reader.feed(text); }},
                                              interrupted()));
    output_.nccl = reader.finish();
    began_ = std::chrono::steady_clock::now();
    CollectiveReport& report = output_.runs.back();
    if (report.failure && report.failure->remedy.empty() && !interrupted().stop_requested())
      report.failure->remedy = gpu_remedy(*report.failure, output_.nccl, "end --to earlier");
  }

  Result<Facts> facts_of(const GpuNodeEnd& node) const {
    if (node.peer == local_.get()) return collect_facts(*open_this_machine());
    return railbed::facts_of(*node.peer, terminal_caller());
  }

  // By node, all at once: each may take seconds.
  std::map<std::string, Facts> facts_of(const std::vector<GpuNodeEnd>& nodes) const {
    progress("looking at the nodes");
    std::map<std::string, std::future<Result<Facts>>> asked;
    for (const GpuNodeEnd& node : nodes)
      if (!asked.contains(node.peer->node()))  // ranks share nodes
        asked.emplace(node.peer->node(),
                      std::async(std::launch::async, [this, &node] { return facts_of(node); }));
    std::map<std::string, Facts> facts;
    for (auto& [name, answer] : asked)
      if (auto known = answer.get()) facts.emplace(name, std::move(*known));
    return facts;
  }

  int finish(const std::vector<GpuNodeEnd>& nodes) {
    const bool any = std::ranges::any_of(output_.runs, [](const auto& run) { return !run.rows.empty(); });
    const auto facts = any ? facts_of(nodes) : std::map<std::string, Facts>();
    BenchRun kept =
        begin_run(options_.keep, fmt::format("bench collectives {}", fmt::join(options_.where, " ")));
    for (CollectiveReport& report : output_.runs) {
      report.ceiling = collective_ceiling(report, facts);
      explain_sockets(facts, output_.nccl, report);
      auto measured = collective_measurements(report);
      std::move(measured.begin(), measured.end(), std::back_inserter(kept.measurements));
    }
    for (const auto& [node, known] : facts) add_fingerprint(kept, node, known);
    print();
    if (interrupted().stop_requested() || !any) return kExitCouldNotLook;
    const int code = end_run(options_.keep, kept, options_.json || !options_.format.empty());
    return output_.runs.back().failure ? kExitFailures : code;
  }

  void print() const {
    clear_progress();
    if (options_.json) return fmt::print("{}", json::dump_pretty(json::encode(output_)));
    for (const CollectiveReport& report : output_.runs)
      fmt::print("{}", options_.format == "nccl-tests" ? nccl_tests_text(report)
                                                       : collective_table(report, output_.nccl));
    if (!options_.format.empty() && output_.runs.back().failure)
      fmt::print(stderr, "railbed: {}\n", output_.runs.back().failure->cause);
  }

  BenchCollectivesOptions& options_;
  std::chrono::steady_clock::time_point began_;
  std::unique_ptr<LocalPeer> local_;
  BenchCollectivesOutput output_;
};

// Every rank finds the same mistakes; rank 0 says them.
int run_launched(BenchCollectivesOptions& options, const LaunchedCommand& command,
                 std::chrono::steady_clock::time_point began) {
  const bool leads = command.own.rank == 0;
  const auto complain = [&](const Error& error) { return leads ? report(error) : exit_code(error.kind); };
  if (auto filled = fill_plan(options); !filled) return complain(filled.error());
  if (!options.where.empty())
    return complain({ErrorKind::kBadInput,
                     fmt::format("{} started {} ranks of this: they are all there is, WHERE must be left out",
                                 command.launched.launcher, command.own.ranks)});
  if (leads) return Bench(options, began).run_launched(command);
  Handlers handlers = gpu_handlers(nvidia_libraries());
  handlers["facts"] = agent_handlers().at("facts");
  serve_rank_zero(command, handlers);
}

int run_bench_collectives(BenchCollectivesOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  const auto patience = std::chrono::duration<double>(options.plan.patience);
  const auto launched = find_launched(options.rendezvous, options.plan.place.gpus,
                                      std::chrono::ceil<std::chrono::milliseconds>(patience));
  if (!launched) return report(launched.error());
  if (*launched) return run_launched(options, **launched, began);
  if (auto filled = fill_plan(options); !filled) return report(filled.error());
  std::vector<Place> places;
  if (options.where.size() == 1 && options.where.front().ends_with(".yaml")) {
    const auto cluster = load_cluster(options.where.front());
    if (!cluster) return report(cluster.error());
    for (const Node& node : cluster->nodes)
      places.push_back({node.name, fleet::target_of(node).destination, {}});
    return Bench(options, began).run(std::move(places), cluster->ssh_config);
  }
  for (const std::string& word : options.where) {
    auto place = parse_place(word);
    if (!place) return report(place.error());
    places.push_back(std::move(*place));
  }
  return Bench(options, began).run(std::move(places), "");
}

}  // namespace

Action declare_bench_collectives(CLI::App& app) {
  auto options = std::make_shared<BenchCollectivesOptions>();
  app.add_option("WHERE", options->where,
                 "one cluster.yaml, or nodes: NODE, NODE:0,1 for some of its GPUs (default: this machine)");
  app.add_option("--op", options->operation,
                 "all_reduce (default), all_gather, reduce_scatter, broadcast, reduce, alltoall, sendrecv, "
                 "gather, scatter");
  app.add_option("--type", options->type,
                 "int8, float16, bfloat16, int32, float32 (default), int64, float64");
  app.add_option("--from", options->from, "the smallest size, of all ranks together (default 8)");
  app.add_option("--to", options->to, "the largest size (default 1G)");
  app.add_option("--factor", options->factor, "from each size to the next (default 4)")
      ->check(CLI::Range(2, 1024));
  app.add_option("--iterations", options->plan.iterations, "operations of one series (default 20)")
      ->check(CLI::Range(2, 10000));
  app.add_option("--root", options->plan.root,
                 "rank that broadcast, reduce, gather and scatter turn on (default 0)");
  app.add_option("--gpus", options->plan.place.gpus, "of this machine only these, in PCI order from 0: 0,1")
      ->delimiter(',');
  app.add_flag("--no-check", options->no_check, "do not compare the data");
  app.add_flag("--no-graph", options->no_graph, "leave out the CUDA graph");
  app.add_flag("--in-place", options->plan.in_place, "measure with one buffer for both as well");
  app.add_flag("--choices", options->plan.choices,
               "show the algorithm and protocol of each size; small ones get slower by the writing");
  app.add_option("--library", options->plan.place.library,
                 "NCCL's file (default: libnccl.so.2, then Python's)");
  app.add_option("--patience", options->plan.patience, "seconds that one step may take (default 60)")
      ->check(CLI::Range(1.0, 3600.0));
  auto* json = app.add_flag("--json", options->json, "machine-readable (docs/reference/bench.md)");
  app.add_option("--format", options->format, "print as another tool does: nccl-tests")
      ->check(CLI::IsMember({"nccl-tests"}))
      ->excludes(json);
  app.add_option("--rendezvous", options->rendezvous,
                 "under srun or mpirun: HOST[:PORT] where rank 0 is, when the launcher does not say");
  add_keep_options(app, options->keep);
  add_fleet_options(app, options->fleet);
  app.footer(
      "\nrailbed bench collectives                              all_reduce over this machine's GPUs\n"
      "railbed bench collectives cluster.yaml --op alltoall --from 1M --to 1G\n"
      "railbed bench collectives gpu01 gpu02 --format nccl-tests\n"
      "srun --nodes 2 --ntasks-per-node 8 railbed bench collectives\n\n"
      "A thread for each GPU; nodes meet over railbed's own channel, without MPI. "
      "Every size is checked on every\n"
      "GPU. NCCL's log is read meanwhile. Exit code 2: wrong data, a step that hung, "
      "or worse than the\n"
      "baseline; 3: nothing could be measured.");
  return [options] { return run_bench_collectives(*options); };
}

}  // namespace railbed
