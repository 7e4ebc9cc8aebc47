// railbed bench tcp, rdma and ping: two nodes, each number beside the limit of the path.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>

#include "base/fields.h"
#include "base/units.h"
#include "bench/pairs/measure.h"
#include "bench/verbs/gpu_choice.h"
#include "campaign/measure/measure_ways.h"
#include "campaign/measure/open_pair.h"
#include "campaign/measure/pair_ways.h"
#include "cli/document.h"
#include "cli/fleet_options.h"
#include "cli/measure/bench_commands.h"
#include "cli/measure/kept_run.h"
#include "cli/measure/pair_options.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "report/documents.h"
#include "report/text/bench_table.h"
#include "report/text/familiar.h"

namespace railbed {
namespace {

constexpr std::uint64_t kLargestWorkingSet = 1 << 30;

struct BenchPairOptions {
  std::string engine;
  PairChoice pair;
  std::string sizes;
  std::string latency_sizes;
  std::string working_set;
  bool bandwidth_only = false;
  bool latency_only = false;
  bool with_tcp = false;
  bool json = false;
  std::string format;  // another tool's format; empty for ours
  KeepOptions keep;
  BenchPlan plan;
  ReachOptions reach;
};

// Reports failures on stderr, because another tool's table has no place for them.
void say_failures(const std::vector<Measurement>& measurements) {
  for (const Measurement& measurement : measurements)
    if (measurement.failure)
      say_to_person(fmt::format("{} {} {} → {}: {}", engine_name(measurement.engine),
                                measurement.metric == Metric::kLatency ? "latency" : "bandwidth",
                                measurement.from.node, measurement.to.node, words_of(*measurement.failure)));
}

void print(const std::vector<Measurement>& measurements, const BenchPairOptions& options) {
  clear_progress();
  if (!options.format.empty()) say_failures(measurements);
  if (options.json) {
    print_document(kMeasurementsDocument, measurements);
    return;
  }
  if (options.format == "perftest") return fmt::print("{}", perftest_text(measurements));
  if (options.format == "iperf3") return fmt::print("{}", iperf3_text(measurements));
  if (options.format == "iperf3-json") return fmt::print("{}", iperf3_json(measurements));
  if (options.keep.repeat > 1)
    fmt::print("Each number is the median of {} runs; its spread is from run to run.\n\n",
               options.keep.repeat);
  fmt::print("{}", bench_table(merge_repeats(measurements)));
}

int measure(const BenchPairOptions& options, const CLI::App& app) {
  if (auto ready = check_keeping(options.keep); !ready) return report(ready.error());
  auto run = measure_ways(options.pair, options.plan, request_of(app, options.keep), options.reach,
                          terminal_caller());
  if (!run) return clear_progress(), report(run.error());
  print(run->measurements, options);
  if (interrupted().stop_requested()) return kExitCouldNotLook;
  for (const Measurement& one : run->measurements)
    if (one.failure && could_not_look(one.failure->kind)) return kExitCouldNotLook;
  return end_run(options.keep, *run, options.json);
}

int run_bench_pair(BenchPairOptions& options, const CLI::App& app) {
  const Engine engine(options.engine);
  options.plan.engines = {engine};
  if (options.with_tcp) options.plan.engines = {Engine::kTcp, engine};
  options.plan.bandwidth = !options.latency_only;
  options.plan.latency = !options.bandwidth_only;
  for (const auto& [text, sizes] : {std::pair{&options.sizes, &options.plan.sizes},
                                    std::pair{&options.latency_sizes, &options.plan.latency_sizes}}) {
    if (text->empty()) continue;
    Result<std::vector<std::uint64_t>> read = all_sizes(engine);
    if (*text != "all") read = parse_sizes(*text);
    if (!read) return report(read.error());
    *sizes = std::move(*read);
  }
  const int streams = options.plan.streams > 0 ? options.plan.streams : default_streams(engine);
  if (options.plan.threads > streams)
    return report(
        {ErrorKind::kBadInput,
         fmt::format("--threads {}: there are {} queue pairs to share out; give --streams {} or more",
                     options.plan.threads, streams, options.plan.threads)});
  if (options.plan.memory != "host") {
    const auto& operations = options.plan.operations;
    if (std::ranges::find(operations, RdmaOperation::kDatagram) != operations.end())
      return report({ErrorKind::kBadInput, "--memory: datagrams are sent from host memory only"});
    if (options.latency_only)
      return report({ErrorKind::kBadInput, "--memory: of GPU memory only the bandwidth is measured"});
  }
  if (!options.working_set.empty()) {
    const auto bytes = parse_byte_count(options.working_set);
    if (!bytes || bytes->bytes > kLargestWorkingSet)
      return report({ErrorKind::kBadInput, "--working-set: a size such as 256M, at most 1G"});
    options.plan.working_set = bytes->bytes;
  }
  return measure(options, app);
}

void declare_rdma_options(CLI::App& app, BenchPairOptions& options, CLI::Option* both_ways) {
  static const std::map<std::string, RdmaOperation> kOperations{{"write", RdmaOperation::kWrite},
                                                                {"read", RdmaOperation::kRead},
                                                                {"send", RdmaOperation::kSend},
                                                                {"datagram", RdmaOperation::kDatagram}};
  app.add_option_function<std::vector<std::string>>(
         "--operations",
         [&options](const std::vector<std::string>& names) {
           options.plan.operations.clear();
           for (const std::string& name : names) options.plan.operations.push_back(kOperations.at(name));
         },
         "one or more of write, read, send, datagram (a send over UD) (default write)")
      ->delimiter(',')
      ->check(one_of({"write", "read", "send", "datagram"}))
      ->option_text("NAME[,NAME]");
  auto* duplex =
      app.add_flag("--duplex", options.plan.duplex, "bandwidth in both directions at once; the sum of both")
          ->excludes(both_ways);
  app.add_flag("--tcp", options.with_tcp, "TCP over the same path first, in the same run")->excludes(duplex);
  app.add_option("--traffic-class", options.plan.traffic_classes,
                 "RoCE ToS byte, e.g. 104 for DSCP 26; queue pairs take turns with several")
      ->delimiter(',')
      ->check(between(0, 255))
      ->option_text("BYTE[,BYTE]");
  app.add_option("--flow-label", options.plan.flow_labels,
                 "20 bits that switches spread traffic by; queue pairs take turns with several (default: "
                 "each has its own)")
      ->delimiter(',')
      ->check(between(0, 0xfffff))
      ->option_text("LABEL[,LABEL]");
  app.add_option(
         "--threads", options.plan.threads,
         "threads that move data at each end and share out the queue pairs (default 1); small messages need several")
      ->check(between(1, 64));
  app.add_option(
         "--memory", options.plan.memory,
         "where messages lie: host (default), gpu (the closest to the adapter), gpu:1 (by PCI order), "
         "gpu:0000:1b:00.0; of GPUs bandwidth only")
      ->check([](const std::string& text) {
        return is_memory(text) ? "" : "host, gpu, gpu:NUMBER or gpu:PCI-ADDRESS";
      })
      ->option_text("WHERE");
  app.add_option("--working-set", options.working_set,
                 "memory that messages come from, e.g. 256M: more than a cache holds");
}

// Engines without usual sizes of bandwidth runs have none.
bool has_latency_alone(std::string_view engine) { return default_sizes(Engine(engine)).empty(); }

void declare_way(CLI::App& app, BenchPairOptions& options) {
  add_pair_options(app, options.pair);
  if (!has_latency_alone(options.engine))
    app.add_option("--sizes", options.sizes,
                   options.engine == "rdma"
                       ? "message sizes, e.g. 4K,64K,1M, or all (default 4K,64K,1M; of datagrams 1K)"
                       : "message sizes, e.g. 4K,64K,1M, or all (default 256K)");
  app.add_option("--latency-size", options.latency_sizes,
                 "message sizes of the latency, e.g. 8,1K, or all (default 8)");
  app.add_option("--seconds", options.plan.seconds, "measured time of each number (default 3)")
      ->check(between(0.1, 3000.0));
  app.add_option("--warm-up", options.plan.warmup, "seconds before each that are not counted (default 0.5)")
      ->check(between(0.0, 600.0));
}

void declare_bandwidth_options(CLI::App& app, BenchPairOptions& options) {
  const bool rdma = options.engine == "rdma";
  app.add_option("--streams", options.plan.streams,
                 rdma ? "queue pairs (default 2)" : "connections (default 4)")
      ->check(between(1, 64));
  auto* both_ways = app.add_flag("--both-ways", options.plan.both_ways,
                                 "bandwidth from B to A as well, one after the other");
  if (rdma) {
    declare_rdma_options(app, options, both_ways);
  } else {
    app.add_flag("--busy-poll", options.plan.busy_poll,
                 "for the latency: ask for data without ever sleeping");
    app.add_flag("--zero-copy", options.plan.zero_copy,
                 "for the bandwidth: send without a copy (MSG_ZEROCOPY)");
  }
  auto* bandwidth = app.add_flag("--bandwidth-only", options.bandwidth_only, "leave out the latency");
  app.add_flag("--latency-only", options.latency_only, "leave out the bandwidth")->excludes(bandwidth);
}

void declare_outputs(CLI::App& app, BenchPairOptions& options, bool as_other_tools) {
  add_keep_options(app, options.keep);
  auto* json =
      add_json_flag(app, options.json, "machine-readable (docs/reference/bench.md)", kMeasurementsDocument);
  if (!as_other_tools) return;
  app.add_option("--format", options.format, "print as another tool does: perftest, iperf3, iperf3-json")
      ->check(one_of({"perftest", "iperf3", "iperf3-json"}))
      ->excludes(json);
}

constexpr std::string_view kAboutBandwidth =
    "Nothing has to run on the nodes and no port has to be opened by hand. Data is checked while it is timed;\n"
    "every bandwidth stands beside the ceiling computed for its path. ";
constexpr std::string_view kAboutPing =
    "One request at a time, half of the round trip counts. Nothing has to run on B: its kernel answers. ";
constexpr std::string_view kAboutCm =
    "As rping: the address is resolved to an RDMA device and a route, B accepts A's connection, messages come\n"
    "back and are compared, both disconnect. What NVMe-oF, NFS over RDMA and UCX need. The step that fails is\n"
    "named with its cause. Without librdmacm the exit code is 3. ";

}  // namespace

Action declare_bench_pair(CLI::App& app, std::string_view engine) {
  auto options = std::make_shared<BenchPairOptions>();
  options->engine = engine;
  const bool latency_alone = has_latency_alone(engine);
  declare_way(app, *options);
  if (!latency_alone) declare_bandwidth_options(app, *options);
  declare_outputs(app, *options, !latency_alone);
  add_fleet_options(app, options->reach);
  add_launcher_options(app, options->reach);
  app.footer(fmt::format(
      "\nrailbed bench {0} localhost localhost           this machine with itself\n"
      "railbed bench {0} gpu01 gpu02                   over the fastest subnet they share\n"
      "railbed bench {0} gpu01 gpu02 --cluster cluster.yaml --rail rail0 --json\n\n"
      "{1}Exit code 2:\n"
      "a measurement failed, or is worse than the baseline. Runs are kept: `railbed runs`, `railbed "
      "compare`.\n"
      "How it is measured: docs/reference/bench.md.",
      engine,
      engine == Engine::kPing.id()     ? kAboutPing
      : engine == Engine::kRdmaCm.id() ? kAboutCm
                                       : kAboutBandwidth));
  return [options, &app] { return run_bench_pair(*options, app); };
}

}  // namespace railbed
