// railbed bench pairs: finds the node or link of a cluster that is slower than the others.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/fields.h"
#include "base/files.h"
#include "base/units.h"
#include "bench/pairs/measure.h"
#include "bench/pairs/slow.h"
#include "campaign/look/choose_nodes.h"
#include "campaign/measure/pair_ways.h"
#include "campaign/measure/search_pairs.h"
#include "cli/document.h"
#include "cli/fleet_options.h"
#include "cli/measure/bench_commands.h"
#include "cli/measure/kept_run.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "inventory/load.h"
#include "report/picture/heat_map.h"
#include "report/text/pairs_text.h"

namespace railbed {
namespace {

constexpr std::uint64_t kFewestNcclBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostNcclBytes = std::uint64_t{64} << 30;

struct BenchPairsOptions {
  std::string cluster_file;
  std::string rail;
  std::string engine = "auto";
  std::string memory = "host";
  std::string size;
  std::string svg;
  double seconds = 1;
  double tolerance = 10;  // percent
  int streams = 0;
  bool every_pair = false;
  bool json = false;
  KeepOptions keep;
  ReachOptions reach;
};

struct BenchPairsOutput {
  std::vector<RailReport> rails;
  FIELDS(BenchPairsOutput, rails);
};
constexpr Document<BenchPairsOutput> kBenchPairsDocument{"railbed-bench-pairs"};

// NCCL's message is that of a collective, up to what a GPU holds.
Result<std::uint64_t> message_of(const BenchPairsOptions& options) {
  if (options.size.empty()) return 0;
  if (options.engine != "nccl") {
    ASSIGN_OR_RETURN(const auto sizes, parse_sizes(options.size));
    return sizes.front();
  }
  const auto size = parse_byte_count(options.size);
  if (!size || size->bytes < kFewestNcclBytes || size->bytes > kMostNcclBytes)
    return fail(ErrorKind::kBadInput,
                fmt::format("--size {}: write 256M, from 1M to 64G, with --engine nccl", options.size));
  return size->bytes;
}

Result<PairSearch> search_of(const BenchPairsOptions& options, const CLI::App& app) {
  PairSearch search;
  search.rail = options.rail;
  if (options.engine == "tcp") search.engine = Engine::kTcp;
  if (options.engine == "rdma") search.engine = Engine::kRdma;
  if (options.engine == "nccl") search.engine = Engine::kCollective;
  search.gpu_memory = options.memory == "gpu";
  if (search.gpu_memory && options.engine != "rdma" && options.engine != "auto")
    return fail(
        ErrorKind::kBadInput,
        fmt::format("--memory gpu measures RDMA; --engine {} {}", options.engine,
                    options.engine == "nccl" ? "uses GPUs' memory anyway" : "uses the host's memory"));
  for (const char* option : {"--seconds", "--streams"})
    if (options.engine == "nccl" && app.get_option(option)->count() > 0)
      return fail(ErrorKind::kBadInput,
                  fmt::format("{}: NCCL chooses this itself, and the time follows from --size", option));
  search.seconds = options.seconds;
  search.tolerance = options.tolerance / 100;
  search.streams = options.streams;
  search.every_pair = options.every_pair;
  ASSIGN_OR_RETURN(search.bytes, message_of(options));
  return search;
}

int exit_code_of(const std::vector<RailReport>& rails, bool nodes_lost) {
  int code = nodes_lost ? kExitCouldNotLook : kExitClean;
  for (const RailReport& rail : rails)
    for (const Slow& slow : rail.report.slow) {
      if (slow.confirmed) return kExitFailures;
      if (code == kExitClean) code = kExitWarnings;
    }
  return code;
}

// Returns the file of a rail's picture: as named for a single rail, else "pairs-rail1.svg" beside it.
std::string picture_file(const std::string& file, const std::string& rail, std::size_t rails) {
  if (rails == 1) return file;
  const auto dot = file.rfind('.');
  return file.substr(0, dot) + "-" + rail + (dot == std::string::npos ? "" : file.substr(dot));
}

// Checks that all output files can be written, before anything is measured.
Result<void> check_outputs(const BenchPairsOptions& options, const Cluster& cluster) {
  if (auto ready = check_keeping(options.keep); !ready || options.svg.empty()) return ready;
  const std::size_t rails = options.rail.empty() ? cluster.rails.size() : 1;
  return check_writable(picture_file(options.svg, options.rail, rails));
}

std::optional<Error> write_pictures(const std::vector<RailReport>& rails, const std::string& file) {
  for (const RailReport& rail : rails) {
    const std::string path = picture_file(file, rail.rail, rails.size());
    if (const auto written = write_file(path, heat_map_svg(heat_map_of(rail))); !written)
      return written.error();
  }
  return std::nullopt;
}

int run_bench_pairs(const BenchPairsOptions& options, const CLI::App& app) {
  auto cluster = load_cluster(options.cluster_file);
  if (!cluster) return report(cluster.error());
  cluster = choose_nodes(std::move(*cluster), options.reach, terminal_caller());
  if (!cluster) return report(cluster.error());
  const auto search = search_of(options, app);
  if (!search) return report(search.error());
  if (auto ready = check_outputs(options, *cluster); !ready) return report(ready.error());
  auto found =
      search_pairs(*cluster, *search, request_of(app, options.keep), options.reach, terminal_caller());
  if (!found) return report(found.error());
  const std::vector<RailReport>& rails = found->run.pairs;
  for (const Unreachable& lost : found->unreachable) print_to_stderr("left out: {}\n", lost.error.text);
  if (!options.svg.empty())
    if (const auto error = write_pictures(rails, options.svg)) return report(*error);
  if (options.json)
    print_document(kBenchPairsDocument, BenchPairsOutput{rails});
  else
    for (const RailReport& rail : rails) fmt::print("{}", pairs_text(rail));
  keep(options.keep, found->run);
  return exit_code_of(rails, !found->unreachable.empty());
}

}  // namespace

Action declare_bench_pairs(CLI::App& app) {
  auto options = std::make_shared<BenchPairsOptions>();
  app.add_option("CLUSTER", options->cluster_file, "the description: cluster.yaml")->required();
  app.add_option("--rail", options->rail, "this rail only");
  app.add_option("--engine", options->engine,
                 "tcp, rdma, nccl (one GPU of each node), or auto: as the rail's fabric has it (default)")
      ->check(one_of({"tcp", "rdma", "nccl", "auto"}));
  app.add_option("--memory", options->memory,
                 "host (default), or gpu: RDMA between the memories of the GPUs nearest to the rail")
      ->check(one_of({"host", "gpu"}));
  app.add_flag("--every-pair", options->every_pair,
               "measure every pair, in n-1 rounds: this also finds a slow link between any two nodes");
  app.add_option("--seconds", options->seconds, "measured time of each direction of a pair (default 1)")
      ->check(between(0.1, 600.0));
  app.add_option("--size", options->size, "message size (default 1M; nccl 256M)");
  app.add_option("--streams", options->streams, "connections or queue pairs (default: tcp 4, rdma 2)")
      ->check(between(1, 64));
  app.add_option("--tolerance", options->tolerance,
                 "how many percent below the others counts as slow (default 10)")
      ->check(between(1.0, 90.0));
  app.add_option("--svg", options->svg, "write the matrix as a picture");
  add_history_options(app, options->keep);
  add_json_flag(app, options->json, "machine-readable (docs/reference/bench.md)", kBenchPairsDocument);
  add_fleet_options(app, options->reach);
  add_launcher_options(app, options->reach);
  add_nodelist_option(app, options->reach);
  app.footer(
      "\nMeasures pairs of nodes, all pairs of a round at once: log2 n rounds, "
      "in which each node meets as many partners.\n"
      "Suspects are measured again alone, with sound partners. "
      "Use the rails for nothing else meanwhile.\n\n"
      "railbed bench pairs cluster.yaml\n"
      "railbed bench pairs cluster.yaml --rail rail0 --every-pair --svg rail0.svg\n"
      "railbed bench pairs cluster.yaml --memory gpu      also the ways between GPUs and adapters\n"
      "railbed bench pairs cluster.yaml --engine nccl     as jobs see them: NCCL's broadcast, GPU to GPU\n\n"
      "Exit codes: 0 no node is slow, 1 slow only while others run, 2 a slow node or link, "
      "3 a node could not be asked.");
  return [options, &app] { return run_bench_pairs(*options, app); };
}

}  // namespace railbed
