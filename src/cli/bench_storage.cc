// railbed bench storage: what drives and file servers do, on one node or on many at once.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <thread>

#include "base/json.h"
#include "base/units.h"
#include "bench/storage/storage.h"
#include "bench/core/typed.h"
#include "campaign/survey.h"
#include "cli/bench_commands.h"
#include "cli/fleet_options.h"
#include "cli/kept_run.h"
#include "cli/terminal.h"
#include "inventory/load.h"
#include "report/storage_table.h"
#include "store/fingerprint.h"

namespace railbed {
namespace {

struct BenchStorageOptions {
  std::vector<std::string> where;
  std::string folder;
  std::string size;
  std::uint64_t bytes = 0;
  double seconds = 3;
  bool json = false;
  KeepOptions keep;
  fleet::FleetOptions fleet;
};

// A node's folders, measured one after the other: they may lie on one drive.
struct Visit {
  fleet::Target target;
  std::vector<std::string> folders;
};

struct PlaceOutput {
  std::string node;
  StorageAnswer answer;
  static void fields(auto&& field) {
    field("node", &PlaceOutput::node);
    field("answer", &PlaceOutput::answer);
  }
};
struct BenchStorageOutput {
  int version = 1;
  std::map<std::string, std::string> units = {{"bandwidth", "bit/s"},
                                              {"latency", "ns"},
                                              {"bytes_per_second", "B/s"},
                                              {"bytes", "B"},
                                              {"seconds", "s"}};
  std::vector<PlaceOutput> places;
  std::vector<Measurement> measurements;
  static void fields(auto&& field) {
    field("version", &BenchStorageOutput::version);
    field("units", &BenchStorageOutput::units);
    field("places", &BenchStorageOutput::places);
    field("measurements", &BenchStorageOutput::measurements);
  }
};

bool is_description(const std::string& word) { return word.ends_with(".yaml") || word.ends_with(".yml"); }

void add_visit(std::vector<Visit>& visits, fleet::Target target, std::string folder) {
  const auto found = std::find_if(visits.begin(), visits.end(),
                                  [&](const Visit& visit) { return visit.target.name == target.name; });
  if (found == visits.end())
    visits.push_back({std::move(target), {std::move(folder)}});
  else
    found->folders.push_back(std::move(folder));
}

// DIR of this machine, or NODE:DIR.
Result<void> add_place(std::vector<Visit>& visits, const std::string& word) {
  const auto colon = word.find(':');
  if (colon == std::string::npos || colon > word.find('/')) {
    std::error_code error;
    const auto folder = std::filesystem::canonical(word, error);
    if (error) return fail(ErrorKind::kBadInput, fmt::format("{}: {}", word, error.message()));
    add_visit(visits, {"localhost", "", true}, folder.string());
    return {};
  }
  const std::string node = word.substr(0, colon);
  if (node.empty() || word.compare(colon + 1, 1, "/") != 0)
    return fail(ErrorKind::kBadInput, fmt::format("\"{}\": write DIR, or NODE:/absolute/DIR", word));
  add_visit(visits, {node, node, false}, word.substr(colon + 1));
  return {};
}

// The cluster's nodes, each at --dir, else where its checkpoints go.
Result<std::vector<Visit>> visits_of(const Cluster& cluster, const std::string& folder) {
  std::vector<Visit> visits;
  for (const Node& node : cluster.nodes) {
    const std::string own = folder.empty() ? node.expect.checkpoint_path.value_or("") : folder;
    if (own.empty())
      return fail(ErrorKind::kBadInput,
                  fmt::format("{} does not say where {} keeps checkpoints (expect: checkpoint_path); "
                              "name the folder with --dir",
                              cluster.file, node.name));
    add_visit(visits, fleet::target_of(node), own);
  }
  return visits;
}

class Measurer {
 public:
  Measurer(const BenchStorageOptions& options, fleet::Fleet& fleet, const Surveyed& surveyed)
      : options_(options), fleet_(fleet), surveyed_(surveyed) {}

  std::vector<StoragePlace> run(const std::vector<Visit>& visits) {
    std::vector<std::vector<StoragePlace>> found(visits.size());
    std::atomic<std::size_t> next = 0;
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < std::min(visits.size(), fleet_.parallelism()); ++i)
        threads.emplace_back([&] {
          for (std::size_t k = next++; k < visits.size(); k = next++)
            if (surveyed_.facts.contains(visits[k].target.name)) found[k] = measure(visits[k]);
        });
    }
    std::vector<StoragePlace> places;
    for (auto& some : found) std::move(some.begin(), some.end(), std::back_inserter(places));
    return places;
  }

 private:
  std::vector<StoragePlace> measure(const Visit& visit) {
    std::vector<StoragePlace> places;
    for (const std::string& folder : visit.folders) {
      StoragePlace place{visit.target.name, {}, {}};
      place.answer.folder = folder;
      const StorageRequest request{folder, options_.bytes, options_.seconds};
      for (int i = 0; i < options_.keep.repeat && !interrupted().stop_requested() && !place.answer.failure;
           ++i)
        measure_once(*fleet_.find(place.node), request, place);
      places.push_back(std::move(place));
    }
    return places;
  }

  void measure_once(Peer& peer, const StorageRequest& request, StoragePlace& place) {
    progress(fmt::format("measuring {} on {}, about {:.0f} s", request.folder, place.node,
                         request.seconds * static_cast<double>(storage_workloads().size())));
    auto answer = ask<StorageAnswer>(peer, kStorage, request, storage_deadline(request), interrupted());
    if (!answer) {
      place.answer.failure =
          Failure{"run", fmt::format("the agent on {}: {}", place.node, answer.error().text),
                  fmt::format("see whether {} is up and its railbed agent was not killed", place.node)};
      return;
    }
    place.answer = std::move(*answer);
    auto measured = storage_measurements(place.node, place.answer, &surveyed_.facts.at(place.node));
    std::move(measured.begin(), measured.end(), std::back_inserter(place.measurements));
  }

  const BenchStorageOptions& options_;
  fleet::Fleet& fleet_;
  const Surveyed& surveyed_;
};

void print(const std::vector<StoragePlace>& places, const std::vector<Measurement>& measurements, bool json) {
  clear_progress();
  if (json) {
    BenchStorageOutput output;
    for (const StoragePlace& place : places) output.places.push_back({place.node, place.answer});
    output.measurements = measurements;
    fmt::print("{}", json::dump_pretty(json::encode(output)));
    return;
  }
  for (const StoragePlace& place : places)
    fmt::print("{}{}", &place == &places.front() ? "" : "\n", storage_table(place));
}

int measure(const BenchStorageOptions& options, const std::vector<Visit>& visits, std::string command,
            const std::string& ssh_config) {
  std::vector<fleet::Target> targets;
  for (const Visit& visit : visits) targets.push_back(visit.target);
  fleet::FleetOptions fleet_options = options.fleet;
  fleet_options.ssh_config = ssh_config;
  fleet::Fleet fleet(std::move(targets), std::move(fleet_options));
  const Surveyed surveyed = survey_nodes(fleet, terminal_caller());
  BenchRun kept = begin_run(options.keep, std::move(command));
  const auto places = Measurer(options, fleet, surveyed).run(visits);
  for (const StoragePlace& place : places)
    std::copy(place.measurements.begin(), place.measurements.end(), std::back_inserter(kept.measurements));
  print(places, kept.measurements, options.json);
  for (const Unreachable& lost : surveyed.unreachable) fmt::print(stderr, "left out: {}\n", lost.error.text);
  if (interrupted().stop_requested()) return kExitCouldNotLook;
  for (const auto& [node, facts] : surveyed.facts) add_fingerprint(kept, node, facts);
  const bool refused = std::any_of(places.begin(), places.end(), [](const StoragePlace& place) {
    return place.answer.failure.has_value();
  });
  if (kept.measurements.empty()) return refused ? kExitFailures : kExitCouldNotLook;
  const int code = end_run(options.keep, kept, options.json);
  if (refused) return kExitFailures;
  return code == kExitClean && !surveyed.unreachable.empty() ? kExitCouldNotLook : code;
}

int run_bench_storage(BenchStorageOptions& options) {
  std::string command = "bench storage";
  for (const auto& word : options.where) command += " " + word;
  if (!options.folder.empty()) command += " --dir " + options.folder;
  if (!options.size.empty()) {
    const auto size = parse_byte_count(options.size);
    if (!size || size->bytes < kFewestBytes)
      return report({ErrorKind::kBadInput, fmt::format("--size {}: write 1G, 4GiB or 512M; at least {}",
                                                       options.size, to_text(ByteCount{kFewestBytes}))});
    options.bytes = size->bytes;
  }
  if (options.where.size() == 1 && is_description(options.where.front())) {
    const auto cluster = load_cluster(options.where.front());
    if (!cluster) return report(cluster.error());
    const auto visits = visits_of(*cluster, options.folder);
    if (!visits) return report(visits.error());
    return measure(options, *visits, std::move(command), cluster->ssh_config);
  }
  if (!options.folder.empty())
    return report(
        {ErrorKind::kBadInput, "--dir goes with one cluster.yaml; else name the folders themselves"});
  std::vector<Visit> visits;
  if (options.where.empty()) options.where = {"."};
  for (const auto& word : options.where)
    if (auto added = add_place(visits, word); !added) return report(added.error());
  return measure(options, visits, std::move(command), "");
}

}  // namespace

Action declare_bench_storage(CLI::App& app) {
  auto options = std::make_shared<BenchStorageOptions>();
  app.add_option("WHERE", options->where,
                 "folders: DIR of this machine (default: here), NODE:DIR; or one cluster.yaml");
  app.add_option("--dir", options->folder, "with cluster.yaml: this folder (default: its checkpoint_path)");
  app.add_option("--size", options->size,
                 "of the files, all together (default 1G, or a tenth of the free room if that is less)");
  app.add_option("--seconds", options->seconds, "of each run but the checkpoint (default 3)")
      ->check(CLI::Range(0.1, 600.0));
  add_keep_options(app, options->keep);
  app.add_flag("--json", options->json, "machine-readable (docs/reference/bench.md)");
  add_fleet_options(app, options->fleet);
  app.footer(
      "\nrailbed bench storage /scratch\n"
      "railbed bench storage gpu01:/scratch gpu02:/scratch     both at once\n"
      "railbed bench storage cluster.yaml --dir /mnt/nfs       every node at once: "
      "what a file server bears\n\n"
      "Needs fio on the nodes. Sequential and random, one request at a time and many, "
      "and a checkpoint: four files\nwritten at once and flushed. "
      "Never more than a tenth of what is free; the files are removed, "
      "however it ends.\nExit code 2: a run failed, or is worse than the baseline; 3: "
      "a node could not be asked.");
  return [options] { return run_bench_storage(*options); };
}

}  // namespace railbed
