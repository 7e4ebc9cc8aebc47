// railbed bench storage: the rates of drives and file servers, on one node or on many at once.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/fields.h"
#include "base/units.h"
#include "bench/storage/storage.h"
#include "campaign/look/survey.h"
#include "campaign/measure/measure_storage_places.h"
#include "cli/document.h"
#include "cli/fleet_options.h"
#include "cli/measure/bench_commands.h"
#include "cli/measure/kept_run.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "report/text/storage_table.h"

namespace railbed {
namespace {

struct BenchStorageOptions {
  std::vector<std::string> where;
  std::string folder;
  std::string size;
  StoragePlan plan;
  bool json = false;
  KeepOptions keep;
  ReachOptions reach;
};

struct PlaceOutput {
  std::string node;
  StorageAnswer answer;
  FIELDS(PlaceOutput, node, answer);
};
struct BenchStorageOutput {
  std::map<std::string, std::string> units = {{"bandwidth", "bit/s"},
                                              {"latency", "ns"},
                                              {"bytes_per_second", "B/s"},
                                              {"bytes", "B"},
                                              {"seconds", "s"}};
  std::vector<PlaceOutput> places;
  std::vector<Measurement> measurements;
  FIELDS(BenchStorageOutput, units, places, measurements);
};
constexpr Document<BenchStorageOutput> kBenchStorageDocument{"railbed-bench-storage"};

void print(const std::vector<StoragePlace>& places, const std::vector<Measurement>& measurements, bool json) {
  clear_progress();
  if (json) {
    BenchStorageOutput output;
    for (const StoragePlace& place : places) output.places.push_back({place.node, place.answer});
    output.measurements = measurements;
    print_document(kBenchStorageDocument, output);
    return;
  }
  for (const StoragePlace& place : places)
    fmt::print("{}{}", &place == &places.front() ? "" : "\n", storage_table(place));
}

int measure(const BenchStorageOptions& options, const StorageVisits& visits, const CLI::App& app) {
  auto [run, unreachable] = measure_storage_places(visits, options.plan, request_of(app, options.keep),
                                                   options.reach, terminal_caller());
  print(run.storage, run.measurements, options.json);
  for (const Unreachable& lost : unreachable) print_to_stderr("left out: {}\n", lost.error.text);
  if (interrupted().stop_requested()) return kExitCouldNotLook;
  const bool refused = std::ranges::any_of(
      run.storage, [](const StoragePlace& place) { return place.answer.failure.has_value(); });
  if (run.measurements.empty()) return refused ? kExitFailures : kExitCouldNotLook;
  const int code = end_run(options.keep, run, options.json);
  if (refused) return kExitFailures;
  return code == kExitClean && !unreachable.empty() ? kExitCouldNotLook : code;
}

int run_bench_storage(BenchStorageOptions& options, const CLI::App& app) {
  if (!options.size.empty()) {
    const auto size = parse_byte_count(options.size);
    if (!size || size->bytes < kFewestBytes)
      return report({ErrorKind::kBadInput, fmt::format("--size {}: write 1G, 4GiB or 512M; at least {}",
                                                       options.size, to_text(ByteCount{kFewestBytes}))});
    options.plan.bytes = size->bytes;
  }
  const auto visits = find_storage_visits(options.where, options.folder);
  if (!visits) return report(visits.error());
  if (auto ready = check_keeping(options.keep); !ready) return report(ready.error());
  return measure(options, *visits, app);
}

}  // namespace

Action declare_bench_storage(CLI::App& app) {
  auto options = std::make_shared<BenchStorageOptions>();
  app.add_option(
      "WHERE", options->where,
      "folders: DIR of this machine (default: here), NODE:DIR, gpu[01-04]:DIR; or one cluster.yaml");
  app.add_option("--dir", options->folder, "with cluster.yaml: this folder (default: its checkpoint_path)");
  app.add_option("--size", options->size,
                 "size of all files together (default 1G, or a tenth of the free room if that is less)");
  app.add_option("--seconds", options->plan.seconds, "seconds of each run but the checkpoint (default 3)")
      ->check(between(0.1, 600.0));
  add_keep_options(app, options->keep);
  add_json_flag(app, options->json, "machine-readable (docs/reference/bench.md)", kBenchStorageDocument);
  add_fleet_options(app, options->reach);
  add_launcher_options(app, options->reach);
  app.footer(
      "\nrailbed bench storage /scratch\n"
      "railbed bench storage gpu01:/scratch gpu02:/scratch     both at once\n"
      "railbed bench storage cluster.yaml --dir /mnt/nfs       every node at once: "
      "how much a file server delivers\n\n"
      "Needs fio on the nodes. Sequential and random, one request at a time and many, "
      "and a checkpoint: four files\nwritten at once and flushed. "
      "Never more than a tenth of what is free; the files are removed, "
      "however it ends.\nExit code 2: a run failed, or is worse than the baseline; 3: "
      "a node could not be asked.");
  return [options, &app] { return run_bench_storage(*options, app); };
}

}  // namespace railbed
