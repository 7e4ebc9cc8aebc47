// Six collectors share their results. Each runs on its own thread.
//
// * "look" is a whole `railbed verify` of this machine, in a child process that can be abandoned
//   (campaign/look/gather.h). It takes a few dozen milliseconds of a processor, so it runs once a minute.
// * "counts" reads counters and link states in this process, because a scrape should cost next to nothing. If
//   a state differs from the last one, it requests a look.
// * "gpu" reads each GPU through NVML in its own child process. The driver may be unloaded in between, and a
//   faulty GPU hangs alone. It also follows the jobs there over time (model/job_spell.h), so a look asks for it.
// * "optics" reads the modules of the interfaces that carry RDMA, and follows them over time (model/watched_link.h).
// * "history" reads the file of measured runs.
// * "bmc" runs only if the BMC is to be read.
#include "monitor/node_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "base/moment.h"
#include "campaign/look/evidence.h"
#include "campaign/look/gather.h"
#include "campaign/measure/history.h"
#include "facts/network/optics.h"
#include "facts/software/gpu_job.h"
#include "host/host.h"
#include "host/open.h"
#include "host/without_devices.h"
#include "inventory/load.h"
#include "monitor/metrics/collector.h"
#include "monitor/watched_machine.h"

namespace railbed {
namespace {

using Clock = Collector::Clock;

constexpr std::chrono::milliseconds kCountsFresh{500};
// Each reading is a process of its own, 0.2 s of a processor.
constexpr std::chrono::seconds kGpusFresh{15};
constexpr std::chrono::seconds kPastFresh{60};
constexpr std::chrono::seconds kGpusAtLeastEvery{60};  // asked for by a look, for what is judged over time
constexpr double kBetweenSamples = 50;                 // seconds, at least
constexpr std::chrono::minutes kOpticsFresh{5};
constexpr std::chrono::minutes kOpticsEvery{10};  // likewise
constexpr std::chrono::seconds kBmcEvery{60};
constexpr std::chrono::seconds kBmcHangs{200};    // three requests of at most a minute each
constexpr std::chrono::seconds kBetweenLooks{5};  // at least, even if something flaps

std::set<std::string> names_of(const Rdma& rdma) {
  std::set<std::string> names;
  for (const RdmaDevice& device : items(rdma.devices)) names.insert(device.name);
  return names;
}

// Returns the name of what was measured: "rdma", "storage random read".
std::string operation_of(const Measurement& measurement) {
  return measurement.engine.to_text() + (measurement.operation.empty() ? "" : " " + measurement.operation);
}

// Returns the newest bandwidth of each peer, rail and operation that was measured from this node. Reads the
// last 50 runs.
std::vector<PastMeasurement> past_of(Store& store, const std::string& node) {
  constexpr std::size_t kRuns = 50;
  std::map<std::tuple<std::string, std::string, std::string>, PastMeasurement> newest;
  auto runs = store.list();
  if (!runs) return {};
  for (std::size_t i = 0; i < std::min(kRuns, runs->size()); ++i) {
    const auto run = store.get((*runs)[i].id);
    if (!run) continue;
    const double when = parse_since(run->started_at, now_unix()).value_or(0);
    for (const Measurement& measurement : run->measurements) {
      if (measurement.metric != Metric::kBandwidth || measurement.from.node != node || measurement.failure)
        continue;
      constexpr double kBits = 8;
      PastMeasurement past{.peer = measurement.to.node,
                           .rail = measurement.rail,
                           .operation = operation_of(measurement),
                           .rate = measurement.summary.median / kBits,
                           .when = when};
      if (!measurement.ceiling.limits.empty() && !measurement.ceiling.nominal)
        past.ceiling = measurement.ceiling.limits.front().rate.bits_per_second / kBits;
      newest.emplace(std::tuple(past.peer, past.rail, past.operation), std::move(past));
    }
  }
  std::vector<PastMeasurement> all;
  for (auto& [key, past] : newest) all.push_back(std::move(past));
  return all;
}

}  // namespace

std::string signature_of(const Counts& counts) {
  std::string text;
  for (const PortCounts& port_counts : counts.ports)
    text += port_counts.device + port_counts.port.state.value_or("?") +
            port_counts.port.rate_text.value_or("?") + ";";
  for (const InterfaceCounts& interface_counts : counts.interfaces)
    text += interface_counts.link.name + (interface_counts.link.carrier.value_or(false) ? "+" : "-") +
            std::to_string(interface_counts.link.mtu.value_or(0)) + ";";
  return text;
}

// State that the collectors share. It lives as long as any of them works.
struct WatchedNode {
  WatchOptions options;
  NodeWatch::Listener listener;
  Hear note;
  std::unique_ptr<WatchedMachine> machine;
  // Used only by the collector of counts: its files stay open until the next look.
  std::unique_ptr<Host> counting = {};
  std::shared_ptr<const NodeLook> counting_since = {};
  std::mutex mutex;
  std::shared_ptr<const NodeLook> look = {};
  bool look_failed = false;
  std::shared_ptr<const Counts> counts = {};
  std::shared_ptr<const GpuReadings> gpus = {};
  std::shared_ptr<const GpuActivities> activity = {};
  std::shared_ptr<const GpuJobs> jobs = {};
  Watched watched = {};
  std::set<std::string> noted = {};  // used only by the look
  KnownUsers users = {};             // used only by the collector of GPUs
  std::shared_ptr<const std::map<std::string, Optics>> optics = {};
  std::shared_ptr<const BmcFacts> bmc = {};
  std::shared_ptr<const std::vector<PastMeasurement>> past = {};
  std::filesystem::file_time_type past_written = {};  // used only by the collector of the history
  std::string signature = {};
  Clock::time_point asked_for_look = {};
  std::function<void()> want_look = [] {};
  std::function<void()> want_gpus = [] {};
  std::function<void()> want_optics = [] {};
  Clock::time_point asked_for_gpus = {};  // used only by the look, as is the next
  Clock::time_point asked_for_optics = {};

  template <class Slot>
  Slot get(Slot& slot) {
    const std::lock_guard lock(mutex);
    return slot;
  }
  template <class Slot, class Value>
  void put(Slot& slot, Value value) {
    Slot fresh = std::make_shared<const Value>(std::move(value));
    const std::lock_guard lock(mutex);
    slot = std::move(fresh);
  }
};

namespace {

// Collects the evidence of one look. A captured machine is read directly; this machine is read in a child
// process that can be abandoned.
Result<Evidence> gather(WatchedNode& shared, std::stop_token stop) {
  const WatchOptions& options = shared.options;
  Sources sources;
  sources.cluster = options.cluster;
  if (!options.root.empty()) {
    ASSIGN_OR_RETURN(auto machine, shared.machine->made_anew());
    auto evidence = read_sources(sources);
    if (!evidence) return evidence;
    CollectOptions asked;
    asked.paths = asked_paths(evidence->cluster);
    ask_what_is_expected(evidence->cluster, options.node, asked);
    evidence->nodes.emplace(options.node, collect_facts(*machine, asked));
    return evidence;
  }
  sources.only = options.node;
  sources.containers = false;
  sources.collect.left_alone = options.left_alone;
  return gather_evidence(sources, {},
                         {.stop = stop, .progress = [](std::string_view) {}, .note = shared.note});
}

// Returns what was seen over time, as far as it is not too old to be judged.
std::shared_ptr<const Watched> watched_of(WatchedNode& shared) {
  Watched watched;
  {
    const std::lock_guard lock(shared.mutex);
    watched = shared.watched;
  }
  return judged_at(std::move(watched), now_unix());
}

// Asks for what is judged over time, also if nobody scrapes. These readings need the devices that a look has found.
void ask_for_readings(WatchedNode& shared) {
  const auto now = Clock::now();
  if (now - shared.asked_for_gpus >= kGpusAtLeastEvery - kBetweenLooks) {
    shared.asked_for_gpus = now;
    shared.get(shared.want_gpus)();
  }
  if (now - shared.asked_for_optics >= kOpticsEvery - kBetweenLooks) {
    shared.asked_for_optics = now;
    shared.get(shared.want_optics)();
  }
}

// Performs one look: collects, judges, publishes the result, and calls the listener.
Result<void> look(WatchedNode& shared, std::stop_token stop) {
  const auto began = Clock::now();
  auto evidence = gather(shared, stop);
  if (const auto bmc = shared.get(shared.bmc); evidence && bmc)
    evidence->bmcs.emplace(shared.options.node, *bmc);
  if (auto watched = watched_of(shared); evidence && watched)
    evidence->watched.emplace(shared.options.node, std::move(watched));
  if (!evidence) {
    {
      const std::lock_guard lock(shared.mutex);
      shared.look_failed = true;
    }
    shared.listener.missed(evidence.error().text, now_unix());
    return fail(evidence.error());
  }
  NodeLook found = judge_node(std::move(*evidence), shared.options.injections);
  for (const std::string& line : found.not_injected)
    if (shared.noted.insert(line).second) shared.note(line);
  found.when = now_unix();
  found.seconds = std::chrono::duration<double>(Clock::now() - began).count();
  shared.put(shared.look, std::move(found));
  {
    const std::lock_guard lock(shared.mutex);
    shared.look_failed = false;
  }
  shared.listener.seen(*shared.get(shared.look));
  ask_for_readings(shared);
  return {};
}

// Returns whether a state has changed since the last reading, or the devices since the last look. At most one
// change in 5 seconds counts.
bool is_new(WatchedNode& shared, const Counts& counts, const Rdma& known) {
  std::string signature = signature_of(counts);
  const bool differs = std::set(counts.devices.begin(), counts.devices.end()) != names_of(known);
  const std::lock_guard lock(shared.mutex);
  const bool changed = !shared.signature.empty() && shared.signature != signature;
  shared.signature = std::move(signature);
  if ((!changed && !differs) || Clock::now() - shared.asked_for_look < kBetweenLooks) return false;
  shared.asked_for_look = Clock::now();
  return true;
}

// Opens the machine for reading counters, with its files kept open. Null if the captured machine is a file.
std::unique_ptr<Host> open_for_counting(const WatchOptions& options) {
  auto folder = open_folder_kept(options.root.empty() ? "/" : options.root);
  return folder ? without_devices(std::move(*folder), options.left_alone) : nullptr;
}

Result<void> count(WatchedNode& shared) {
  const auto look = shared.get(shared.look);
  if (!look) return fail(ErrorKind::kUnavailable, "the machine has not been looked at yet");
  if (shared.counting_since != look) {
    shared.counting = open_for_counting(shared.options);
    shared.counting_since = look;
  }
  ASSIGN_OR_RETURN(const auto machine, shared.machine->now());
  Counts found = collect_counts(shared.counting ? *shared.counting : *machine, look->facts.rdma);
  const bool changed = is_new(shared, found, look->facts.rdma);
  shared.put(shared.counts, std::move(found));
  if (changed) shared.get(shared.want_look)();
  return {};
}

// Folds the readings into what is seen over time, about once a minute.
void see_work(WatchedNode& shared, Host& machine, const Facts& facts, const GpuReadings& readings,
              const GpuJobs& jobs, const GpuActivities& activity) {
  const double now = now_unix();
  JobSpells before;
  {
    const std::lock_guard lock(shared.mutex);
    before = shared.watched.work;
  }
  const double age = now - before.when;
  if (age >= 0 && age < kBetweenSamples) return;
  const Counts counts = collect_counts(machine, facts.rdma);
  JobSpells after = next_spells(before, work_sample(now, readings, jobs, facts, counts, activity));
  const std::lock_guard lock(shared.mutex);
  shared.watched.work = std::move(after);
}

Result<void> collect_gpus_of(WatchedNode& shared) {
  const auto look = shared.get(shared.look);
  if (!look) return {};
  ASSIGN_OR_RETURN(const auto machine, shared.machine->now());
  GpuReadings readings;
  if (look->facts.gpus.driver_version.ok())
    for (const Gpu& gpu : items(look->facts.gpus.devices))
      readings.emplace(gpu.pci_address, read_nvml(*machine, gpu.pci_address));
  const auto failed = std::ranges::find_if(readings, [](const auto& one) { return !one.second.ok(); });
  const std::string why = failed == readings.end() ? "" : failed->first + ": " + failed->second.miss().why;
  // A driver that cannot measure it, or one GPU that hangs, leaves the other readings as they are.
  GpuActivities activity =
      readings.empty() ? GpuActivities() : read_gpu_activity(*machine).value_or(GpuActivities());
  GpuJobs jobs = collect_gpu_jobs(*machine, readings, shared.users);
  see_work(shared, *machine, look->facts, readings, jobs, activity);
  shared.put(shared.activity, std::move(activity));
  shared.put(shared.jobs, std::move(jobs));
  shared.put(shared.gpus, std::move(readings));
  if (!why.empty()) return fail(ErrorKind::kUnavailable, why);
  return {};
}

// Reads the modules and the error correction of interfaces that carry RDMA, and folds them into what is seen over time. A
// module that cannot be read is not an error.
Result<void> collect_optics_of(WatchedNode& shared) {
  const auto look = shared.get(shared.look);
  if (!look) return {};
  ASSIGN_OR_RETURN(const auto machine, shared.machine->now());
  const LinkReadings readings = read_links(*machine, rdma_interfaces(look->facts.rdma, look->facts.net));
  const Counts counts = collect_counts(*machine, look->facts.rdma);
  std::map<std::string, WatchedLink> before;
  {
    const std::lock_guard lock(shared.mutex);
    before = shared.watched.links;
  }
  auto after = next_links(std::move(before), readings, counts, now_unix());
  {
    const std::lock_guard lock(shared.mutex);
    shared.watched.links = std::move(after);
  }
  std::map<std::string, Optics> found;
  for (const auto& [name, reading] : readings)
    if (reading.optics) found.emplace(name, *reading.optics);
  shared.put(shared.optics, std::move(found));
  return {};
}

Result<void> collect_bmc_of(WatchedNode& shared, std::stop_token stop) {
  BmcFacts facts = shared.options.ask_bmc(std::move(stop));
  const std::string why = !facts.error.empty()  ? facts.error
                          : !facts.sensors.ok() ? facts.sensors.miss().why
                                                : "";
  const bool first = !shared.get(shared.bmc);
  shared.put(shared.bmc, std::move(facts));
  if (first) shared.get(shared.want_look)();
  if (!why.empty()) return fail(ErrorKind::kUnavailable, why);
  return {};
}

Result<void> read_history(WatchedNode& shared) {
  std::error_code ignored;
  const bool is_there =
      !shared.options.history.empty() && std::filesystem::exists(shared.options.history, ignored);
  if (!is_there) return {};  // opening it would create it
  const auto written = std::filesystem::last_write_time(shared.options.history, ignored);
  if (shared.get(shared.past) && written == shared.past_written) return {};
  shared.past_written = written;
  ASSIGN_OR_RETURN(auto store, open_history(shared.options.history));
  shared.put(shared.past, past_of(store, shared.options.node));
  return {};
}

}  // namespace

struct NodeWatch::Parts {
  std::shared_ptr<WatchedNode> shared;
  Collector look;
  Collector counts;
  Collector gpus;
  Collector optics;
  Collector past;
  std::optional<Collector> bmc;

  explicit Parts(const std::shared_ptr<WatchedNode>& all)
      : shared(all),
        look(
            "look", [all](std::stop_token stop) { return railbed::look(*all, stop); }, all->options.every),
        counts("counts", [all](std::stop_token) { return count(*all); }),
        gpus("gpu", [all](std::stop_token) { return collect_gpus_of(*all); }),
        optics("optics", [all](std::stop_token) { return collect_optics_of(*all); }),
        past("history", [all](std::stop_token) { return read_history(*all); }) {
    {
      const std::lock_guard lock(all->mutex);
      all->want_look = look.bell();
      all->want_gpus = gpus.bell();
      all->want_optics = optics.bell();
    }
    if (all->options.ask_bmc)
      bmc.emplace(
          "bmc", [all](std::stop_token stop) { return collect_bmc_of(*all, stop); }, kBmcEvery, kBmcHangs);
  }
};

NodeWatch::NodeWatch(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
NodeWatch::~NodeWatch() = default;

Result<void> check_watched_node(const WatchOptions& options) {
  if (options.cluster.empty()) return {};
  ASSIGN_OR_RETURN(const auto cluster, load_cluster(options.cluster));
  if (find_node(cluster, options.node) != nullptr) return {};
  const Error error = no_such_node(cluster, options.node);
  return fail(error.kind, error.text + ". Name this machine by --node");
}

Result<std::unique_ptr<NodeWatch>> NodeWatch::open(WatchOptions options, Listener listener, Hear note) {
  if (auto known = check_watched_node(options); !known) return tl::unexpected<Error>(known.error());
  auto shared = std::make_shared<WatchedNode>();
  ASSIGN_OR_RETURN(auto machine, WatchedMachine::open(options.root, options.left_alone));
  shared->machine = std::move(machine);
  shared->watched = std::move(options.watched);
  shared->options = std::move(options);
  shared->listener = std::move(listener);
  shared->note = std::move(note);
  return std::unique_ptr<NodeWatch>(new NodeWatch(std::make_unique<Parts>(shared)));
}

NodeState NodeWatch::state(std::chrono::milliseconds patience) {
  const auto until = Clock::now() + patience;
  WatchedNode& shared = *parts_->shared;
  // Any look is sufficient, however old, because its time is shown.
  parts_->look.wait(Collector::kNever / 2, until);
  parts_->gpus.begin_if_older(kGpusFresh);
  parts_->optics.begin_if_older(kOpticsFresh);  // not awaited: it may take seconds
  parts_->past.begin_if_older(kPastFresh);
  parts_->counts.wait(kCountsFresh, until);
  parts_->gpus.wait(kGpusFresh, until);
  parts_->past.wait(kPastFresh, until);
  NodeState state;
  {
    const std::lock_guard lock(shared.mutex);
    state.look = shared.look;
    state.look_failed = shared.look_failed;
    state.counts = shared.counts;
    state.gpus = shared.gpus;
    state.activity = shared.activity;
    state.jobs = shared.jobs;
    state.optics = shared.optics;
    state.past = shared.past;
    state.bmc = shared.bmc;
  }
  for (const Collector* collector :
       {&parts_->look, &parts_->counts, &parts_->gpus, &parts_->optics, &parts_->past})
    state.collectors.push_back(collector->health());
  if (parts_->bmc) state.collectors.push_back(parts_->bmc->health());
  return state;
}

void NodeWatch::await_bmc(std::chrono::milliseconds patience) {
  const auto until = Clock::now() + patience;
  if (parts_->bmc && parts_->bmc->wait(Collector::kNever / 2, until))
    parts_->look.wait(Clock::duration::zero(), until);
}

std::shared_ptr<const NodeLook> NodeWatch::latest_look() { return parts_->shared->get(parts_->shared->look); }

}  // namespace railbed
