#include "campaign/measure/run_burn.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/moment.h"
#include "base/random.h"
#include "base/text.h"
#include "base/version.h"
#include "base/wording.h"
#include "bench/burn/burn_verdict.h"

namespace railbed {
namespace {

// Adds the bandwidth of a node's memory or of one of its drives.
void add_bandwidth(const BurnNode& node, std::string operation, double seconds, double bytes_per_second,
                   std::vector<Measurement>& all) {
  if (bytes_per_second <= 0) return;
  Measurement& measurement = all.emplace_back();
  measurement.engine = Engine::kBurn;
  measurement.operation = std::move(operation);
  measurement.from.node = measurement.to.node = node.node;
  measurement.seconds = seconds;
  measurement.metric = Metric::kBandwidth;
  measurement.summary = single_number(bytes_per_second * 8);
}

void add_drive_measurements(const BurnNode& node, std::vector<Measurement>& all) {
  for (const BurnDrive& drive : node.drives) {
    if (drive.rate <= 0) continue;
    add_bandwidth(node, "drive read", drive.seconds, drive.rate, all);
    Measurement& measurement = all.back();
    measurement.from.interface = measurement.to.interface = drive.folder;
    measurement.from.device = measurement.to.device = drive.family;
    if (drive.fault_count > 0)
      measurement.failure = Failure{"verify", counted(drive.fault_count, "block") + " held wrong data", ""};
  }
}

void add_rail_measurements(const BurnReport& report, std::vector<Measurement>& all) {
  if (!report.rails) return;
  for (const BurnPort& port : report.rails->ports)
    for (const auto& [operation, rate] :
         {std::pair{"rail, sent", port.sent}, std::pair{"rail, received", port.received}}) {
      if (rate <= 0) continue;
      add_bandwidth({.node = port.node}, operation, port.seconds, rate, all);
      all.back().rail = port.rail;
      all.back().from.interface = all.back().to.interface = port.interface;
    }
}

// For the history and its comparison: the time of one product, or the bandwidth.
std::vector<Measurement> burn_measurements(const BurnReport& report) {
  std::vector<Measurement> all;
  for (const BurnNode& node : report.nodes) {
    if (node.host) add_bandwidth(node, "host memory", node.host->seconds, node.host->memory_rate, all);
    add_drive_measurements(node, all);
  }
  add_rail_measurements(report, all);
  if (report.collectives && report.collectives->rate > 0) {
    add_bandwidth(report.nodes.front(), "all_reduce", report.seconds, report.collectives->rate, all);
    all.back().streams = report.collectives->gpus;
    all.back().message_bytes = report.collectives->bytes;
  }
  for (const BurnNode& node : report.nodes)
    for (const BurnGpu& gpu : node.gpus)
      for (const BurnTally& tally : gpu.tallies) {
        if (tally.rate <= 0) continue;
        Measurement measurement;
        measurement.engine = Engine::kBurn;
        measurement.operation = burn_phase_word(tally.phase);
        // The processors take a part of the memory's bandwidth: such copies are not compared with others.
        if (tally.phase == BurnPhase::kPcie && node.host) measurement.operation += " beside the processors";
        measurement.from.node = measurement.to.node = node.node;
        measurement.from.interface = measurement.to.interface = fmt::format("GPU {}", gpu.ordinal);
        measurement.from.device = measurement.to.device = gpu.address;
        measurement.seconds = tally.seconds;
        const auto n = static_cast<double>(gpu.side);
        measurement.metric = is_product(tally.phase) ? Metric::kLatency : Metric::kBandwidth;
        const double value = is_product(tally.phase) ? 2 * n * n * n / tally.rate * 1e9 : tally.rate * 8;
        measurement.summary = single_number(value);
        if (tally.wrong > 0)
          measurement.failure =
              Failure{"verify", fmt::format("{} of {} results were wrong", tally.wrong, tally.compared), ""};
        all.push_back(std::move(measurement));
      }
  return all;
}

}  // namespace

Result<GpuPlaces> find_load_places(const std::vector<std::string>& where, const std::vector<int>& gpus) {
  ASSIGN_OR_RETURN(GpuPlaces places, find_gpu_places(where, gpus));
  std::set<std::string> names;
  for (GpuPlace& place : places.nodes) {
    if (!names.insert(place.name).second)
      return fail(ErrorKind::kBadInput, fmt::format("{} is named twice", place.name));
    if (place.gpus.empty()) place.gpus = gpus;
  }
  return places;
}

namespace {

// A burn-in that another process may take up, and its file.
class BurnFile {
 public:
  BurnFile(KeptBurns files, KeptBurn burn)
      : files_(std::move(files)), lock_(files_.lock(burn.id)), burn_(std::move(burn)) {}

  bool is_mine() const { return bool(lock_); }
  KeptBurn& burn() { return burn_; }
  Result<void> write() const { return files_.write(burn_); }
  void remove() const { files_.remove(burn_.id); }

 private:
  KeptBurns files_;
  Fd lock_;
  KeptBurn burn_;
};

// Follows the load to its end. `file` may be null.
Result<BenchRun> finish_burn(BurnCampaign& campaign, BenchRun run, bool end_at_once, BurnFile* file) {
  auto report = campaign.follow(end_at_once, [&](const BurnReport& now) {
    if (file == nullptr || (!now.rails && !now.collectives)) return;
    file->burn().rails = now.rails;
    file->burn().collectives = now.collectives;
    (void)file->write();
  });
  if (!report)
    return fail(ErrorKind::kCancelled,
                fmt::format("the terminal is gone, and the burn-in goes on: railbed burn --resume{}",
                            file != nullptr ? " " + file->burn().id : ""));
  if (file != nullptr) file->remove();
  add_measurements(run, burn_measurements(*report));
  run.burns.push_back(std::move(*report));
  return run;
}

// Returns the file of a burn-in that begins; nullopt, with a note, if there is no place for it.
std::optional<BurnFile> keep_burn(const GpuPlaces& places, const BurnPlan& plan, const RunRequest& request,
                                  const Caller& caller) {
  auto files = KeptBurns::open();
  if (!files) {
    caller.note(fmt::format("no other command can take this burn-in up (--resume): {}", files.error().text));
    return std::nullopt;
  }
  KeptBurn burn{.railbed = railbed_version(),
                .id = plan.keep->name,
                .plan = plan,
                .ssh_config = places.ssh_config,
                .command = request.command,
                .asked = request.asked,
                .label = request.label};
  if (plan.rails) burn.cluster = places.cluster;
  return BurnFile(std::move(*files), std::move(burn));
}

}  // namespace

Result<BenchRun> run_burn(const GpuPlaces& places, BurnPlan plan, const RunRequest& request,
                          ReachOptions reach, const Caller& caller, const BurnListener& listener) {
  if (plan.keep) plan.keep->name = random_hex(4);
  RETURN_IF_ERROR(check_burn(plan));
  auto file = plan.keep ? keep_burn(places, plan, request, caller) : std::nullopt;
  BenchRun run = begin_run(request);
  const auto campaign = open_burn(places, plan, std::move(reach), caller, listener);
  auto started = campaign->start([&] {
    if (!file) return;
    file->burn().started = now_unix();
    file->burn().nodes = campaign->started_nodes();
    if (auto written = file->write(); !written) caller.note(written.error().text);
  });
  if (!started) {
    if (file) file->remove();
    return tl::unexpected<Error>(started.error());
  }
  if (file)
    caller.note(fmt::format("if this command is lost, {}; take it up: railbed burn --resume {}",
                            plan.load == BurnLoad::kRails ? "the rails rest"
                                                          : fmt::format("the nodes work on, for {} at most",
                                                                        short_time_text(plan.keep->unseen)),
                            file->burn().id));
  return finish_burn(*campaign, std::move(run), false, file ? &*file : nullptr);
}

Result<KeptBurn> find_kept_burn(const std::string& id) {
  ASSIGN_OR_RETURN(const KeptBurns files, KeptBurns::open());
  if (!id.empty()) return files.read(id);
  const auto ids = files.ids();
  if (ids.empty()) return fail(ErrorKind::kBadInput, "there is no burn-in to take up: each had its verdict");
  if (ids.size() == 1) return files.read(ids.front());
  std::string text = "there are several burn-ins to take up; name one: --resume ID";
  for (const std::string& one : ids) {
    const auto burn = files.read(one);
    text += burn ? fmt::format("\n  {}  since {}: railbed {}", one, utc_text(burn->started),
                               printable(burn->command))
                 : fmt::format("\n  {}  {}", one, burn.error().text);
  }
  return fail(ErrorKind::kBadInput, text);
}

Result<BenchRun> resume_burn(const KeptBurn& kept, bool end_at_once, ReachOptions reach, const Caller& caller,
                             const BurnListener& listener) {
  RETURN_IF_ERROR(check_burn(kept.plan));
  ASSIGN_OR_RETURN(KeptBurns files, KeptBurns::open());
  BurnFile file(std::move(files), kept);
  if (!file.is_mine())
    return fail(ErrorKind::kUnavailable,
                fmt::format("another railbed follows burn-in {}: end that one first", kept.id));
  GpuPlaces places{{}, kept.ssh_config, kept.cluster};
  for (const KeptBurnNode& node : kept.nodes)
    places.nodes.push_back({node.name, node.destination, node.gpus});
  BenchRun run = begin_run({kept.command, kept.asked, kept.label});
  run.started_at = utc_text(kept.started);
  const auto campaign = open_burn(places, kept.plan, std::move(reach), caller, listener);
  campaign->take_up(kept, std::max(now_unix() - kept.started, 0.0));
  return finish_burn(*campaign, std::move(run), end_at_once, &file);
}

}  // namespace railbed
