#include "campaign/measure/run_burn.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/wording.h"
#include "bench/burn/burn_verdict.h"
#include "fleet/fleet.h"
#include "os/wait.h"

namespace railbed {
namespace {

using Moment = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::chrono::seconds kBurnFinds{60};
constexpr std::chrono::seconds kBurnStarts{30};
constexpr std::chrono::seconds kBurnLooks{20};
constexpr std::chrono::seconds kLookPeriod{3};
constexpr int kMostMissedLooks = 3;            // then a silent node counts as lost
constexpr std::chrono::seconds kLateEnd{120};  // added to the plan's time and the patience of one step
constexpr int kMostWithCourse = 256;           // GPUs of a report that keeps their courses

// Limits what a node may say: it could be one that was broken into.
constexpr std::size_t kMostWord = 400;
constexpr std::size_t kMostListed = 32;

void shorten(std::string& text) {
  if (text.size() > kMostWord) text.resize(kMostWord);
}
template <class T>
void shorten(std::vector<T>& list, std::size_t most) {
  if (list.size() > most) list.resize(most);
}

// Limits the faults of a GPU or of a host.
template <class Fault>
void limit_faults(std::vector<Fault>& faults) {
  shorten(faults, kMostListed);
  for (Fault& fault : faults) {
    shorten(fault.bits);
    shorten(fault.of);
  }
}

void limit(BurnHost& host) {
  shorten(host.trouble);
  shorten(host.processor);
  shorten(host.units);
  limit_faults(host.faults);
}

void limit(BurnDrive& drive) {
  for (std::string* text :
       {&drive.folder, &drive.system, &drive.family, &drive.skipped, &drive.trouble, &drive.failed_read})
    shorten(*text);
  shorten(drive.faults, kMostListed);
  for (BurnDriveFault& fault : drive.faults)
    for (std::string* text : {&fault.bits, &fault.of, &fault.again}) shorten(*text);
  shorten(drive.devices, kMostDevices);
  for (BurnDevice& device : drive.devices)
    for (std::string* text : {&device.name, &device.model, &device.address, &device.no_health,
                              &device.link_before, &device.link, &device.no_log, &device.log_error})
      shorten(*text);
}

void limit(BurnState& state) {
  if (state.host) limit(*state.host);
  shorten(state.peers_trouble);
  shorten(state.drives, kMostBurnDrives);
  for (BurnDrive& drive : state.drives) limit(drive);
  shorten(state.gpus, kMostBurnGpus);
  for (BurnGpu& gpu : state.gpus) {
    for (std::string* text :
         {&gpu.address, &gpu.name, &gpu.trouble, &gpu.phase, &gpu.library, &gpu.no_samples})
      shorten(*text);
    shorten(gpu.tallies, kBurnPhases);
    for (BurnTally& tally : gpu.tallies) {
      shorten(tally.skipped);
      shorten(tally.digest);
    }
    limit_faults(gpu.faults);
    shorten(gpu.xids, kMostListed);
    shorten(gpu.slowdowns, kMostListed);
    for (BurnSlowdown& one : gpu.slowdowns) shorten(one.reason);
    while (gpu.nvlink_errors.size() > kMostListed)
      gpu.nvlink_errors.erase(std::prev(gpu.nvlink_errors.end()));
    for (std::vector<int>* values : {&gpu.course.watts, &gpu.course.clock, &gpu.course.temperature})
      shorten(*values, kMostBurnPoints);
  }
}

class BurnCampaign {
 public:
  BurnCampaign(const GpuPlaces& places, const BurnPlan& plan, ReachOptions reach, const Caller& caller,
               const BurnListener& listener)
      : places_(places),
        plan_(plan),
        caller_(caller),
        listener_(listener),
        fleet_(open_fleet(places, std::move(reach))) {
    report_.planned = plan.seconds;
    report_.watts_cap = plan.watts;
    report_.phases = plan.phases;
    report_.injected = plan.drills;
    report_.drives = plan.drives.has_value();
    for (const GpuPlace& place : places.nodes) {
      index_[place.name] = nodes_.size();
      nodes_.emplace_back();
      report_.nodes.push_back({.node = place.name});
    }
  }

  Result<BurnReport> run() {
    RETURN_IF_ERROR(find());
    RETURN_IF_ERROR(begin());
    const auto started = Moment::now();
    const auto since = [&] { return std::chrono::duration<double>(Moment::now() - started).count(); };
    const double latest = plan_.seconds + plan_.patience + static_cast<double>(kLateEnd.count());
    while (any_running() && since() < latest && wait()) {
      look();
      report_.seconds = since();
      listener_.meanwhile(report_, std::max(plan_.seconds - since(), 0.0));
    }
    report_.stopped = caller_.stop.stop_requested() && since() < plan_.seconds;
    end();
    report_.seconds = std::min(since(), report_.stopped ? since() : std::max(plan_.seconds, 0.0));
    caller_.progress("");
    keep_within_reason();
    judge_burn(report_);
    return std::move(report_);
  }

 private:
  struct Node {
    bool ready = false;
    bool running = false;
    std::string session;
    int missed = 0;  // looks in a row
  };

  // Asks all nodes at once. `take` gets the answers in the order of the places.
  template <class Answer>
  void ask_nodes(std::string_view method, const fleet::ParamsOf& params, milliseconds deadline,
                 const std::stop_token& stop, const std::string& activity,
                 const std::function<void(std::size_t, Result<Answer>)>& take) {
    const auto answers = fleet::gather(fleet_, method, params, deadline, stop, [&](const fleet::Step& step) {
      if (!activity.empty()) caller_.progress(fmt::format("{}: {}", activity, step.to_text()));
    });
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (!answers[i].result)
        take(i, tl::unexpected<Error>(answers[i].result.error()));
      else
        take(i, json::read<Answer>(*answers[i].result));
    }
  }

  std::string plan_for(const std::string& name) const {
    const std::size_t i = index_.at(name);
    BurnPlan mine = plan_;
    mine.gpus = places_.nodes[i].gpus;
    if (i != 0) mine.drills.clear();
    return json::dump(json::encode(mine));
  }
  std::string session_of(const std::string& name) const {
    return json::dump(json::encode(BurnName{nodes_[index_.at(name)].session}));
  }

  Result<void> find() {
    BurnOutlook outlook;
    ask_nodes<BurnFound>(
        kBurnFind, [&](const std::string& name) { return plan_for(name); }, kBurnFinds, caller_.stop,
        plan_.has_gpus() ? "looking for GPUs" : "asking the nodes",
        [&](std::size_t i, Result<BurnFound> found) {
          if (!found) {
            report_.nodes[i].trouble = without_node(found.error());
            shorten(report_.nodes[i].trouble);
            return;
          }
          nodes_[i].ready = true;
          ++outlook.nodes;
          outlook.hosts += plan_.has_host() ? 1 : 0;
          shorten(found->drives, kMostBurnDrives);
          for (BurnDrive& drive : found->drives) {
            limit(drive);
            if (!drive.skipped.empty()) continue;
            ++outlook.drives;
            outlook.most_written = std::max(outlook.most_written, drive.most_written);
          }
          report_.nodes[i].drives = std::move(found->drives);
          for (std::size_t gpu = 0; gpu < std::min<std::size_t>(found->names.size(), kMostBurnGpus); ++gpu) {
            const double limit = gpu < found->watts.size() ? found->watts[gpu] : 0;
            ++outlook.gpus;
            outlook.unknown += limit > 0 ? 0 : 1;
            outlook.watts += plan_.watts > 0 ? std::min(limit, plan_.watts) : limit;
          }
        });
    caller_.progress("");
    if (caller_.stop.stop_requested())
      return fail(ErrorKind::kCancelled, "stopped before anything was loaded");
    if (plan_.has_gpus() && outlook.gpus == 0)
      return fail(ErrorKind::kUnavailable, "no GPU to burn in\n" + reasons());
    if (outlook.nodes == 0) return fail(ErrorKind::kUnavailable, "no node to burn in\n" + reasons());
    if (plan_.load == BurnLoad::kDrives && outlook.drives == 0)
      return fail(ErrorKind::kUnavailable, "no drive to burn in\n" + reasons());
    listener_.before(outlook);
    return {};
  }

  std::string reasons() const {
    constexpr std::size_t kMostReasons = 8;
    std::string text;
    std::size_t count = 0;
    const auto add = [&](const std::string& what, const std::string& why) {
      if (!why.empty() && ++count <= kMostReasons)
        text += fmt::format("{}  {}: {}", text.empty() ? "" : "\n", what, why);
    };
    for (const BurnNode& node : report_.nodes) {
      add(node.node, node.trouble);
      for (const BurnDrive& drive : node.drives) add(drive_text(node, drive), drive.skipped);
    }
    if (count > kMostReasons) text += fmt::format("\n  and {} more", count - kMostReasons);
    return text;
  }

  Result<void> begin() {
    ask_nodes<BurnName>(
        kBurnBegin, [&](const std::string& name) { return plan_for(name); }, kBurnStarts, caller_.stop,
        "starting",
        [&](std::size_t i, Result<BurnName> name) {
          if (!nodes_[i].ready) return;
          nodes_[i].running = name.has_value();
          if (name)
            nodes_[i].session = name->session;
          else
            report_.nodes[i].trouble = without_node(name.error());
          shorten(report_.nodes[i].trouble);
        });
    caller_.progress("");
    if (any_running()) return {};
    return fail(ErrorKind::kUnavailable, "no node began\n" + reasons());
  }

  bool any_running() const { return std::ranges::any_of(nodes_, &Node::running); }

  // Returns false after a request to stop.
  bool wait() {
    const milliseconds period = std::min<milliseconds>(
        kLookPeriod, milliseconds(static_cast<std::int64_t>(std::max(plan_.seconds * 100, 200.0))));
    return wait_unless_stopped(period, caller_.stop);
  }

  void look() {
    ask_nodes<BurnState>(
        kBurnLook, [&](const std::string& name) { return session_of(name); }, kBurnLooks, caller_.stop, "",
        [&](std::size_t i, Result<BurnState> state) { take(i, std::move(state)); });
  }

  void take(std::size_t i, Result<BurnState> state) {
    Node& node = nodes_[i];
    if (!node.running || (!state && caller_.stop.stop_requested())) return;
    BurnNode& into = report_.nodes[i];
    if (state) {
      node.missed = 0;
      node.running = !state->ended;
      keep(std::move(*state), into);
      for (const BurnDrive& drive : into.drives) into.lost_after = std::max(into.lost_after, drive.seconds);
      for (const BurnGpu& gpu : into.gpus) into.lost_after = std::max(into.lost_after, gpu.seconds);
      if (into.host) into.lost_after = std::max(into.lost_after, into.host->seconds);
      return;
    }
    if (state.error().kind == ErrorKind::kTimeout && ++node.missed < kMostMissedLooks) return;
    node.running = false;
    into.lost = true;
    into.trouble = without_node(state.error());
    shorten(into.trouble);
  }

  static void keep(BurnState&& state, BurnNode& into) {
    limit(state);
    into.gpus = std::move(state.gpus);
    into.peers_trouble = std::move(state.peers_trouble);
    into.host = std::move(state.host);
    into.drives = std::move(state.drives);
  }

  template <class Load>
  static void blame_if_late(Load& load) {
    if (!load.ended && load.trouble.empty()) load.trouble = "it did not end in time";
  }

  // Stops the nodes that still run and gets their last states, also after a request to stop.
  void end() {
    caller_.progress("ending");
    ask_nodes<BurnState>(
        kBurnEnd, [&](const std::string& name) { return session_of(name); }, kBurnLooks, {}, "",
        [&](std::size_t i, Result<BurnState> state) {
          if (!nodes_[i].running || !state) return;
          BurnNode& into = report_.nodes[i];
          keep(std::move(*state), into);
          if (report_.stopped) return;
          for (BurnDrive& drive : into.drives)
            if (drive.skipped.empty()) blame_if_late(drive);
          if (into.host) blame_if_late(*into.host);
          for (BurnGpu& gpu : into.gpus) blame_if_late(gpu);
        });
  }

  void keep_within_reason() {
    std::size_t gpus = 0;
    for (BurnNode& node : report_.nodes) {
      gpus += node.gpus.size();
      if (!node.lost) node.lost_after = 0;
    }
    if (gpus <= kMostWithCourse) return;
    for (BurnNode& node : report_.nodes)
      for (BurnGpu& gpu : node.gpus) gpu.course = {};
  }

  const GpuPlaces& places_;
  const BurnPlan& plan_;
  const Caller& caller_;
  const BurnListener& listener_;
  fleet::Fleet fleet_;
  BurnReport report_;
  std::vector<Node> nodes_;
  std::map<std::string, std::size_t> index_;
};

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

// For the history and its comparison: the time of one product, or the bandwidth.
std::vector<Measurement> burn_measurements(const BurnReport& report) {
  std::vector<Measurement> all;
  for (const BurnNode& node : report.nodes) {
    if (node.host) add_bandwidth(node, "host memory", node.host->seconds, node.host->memory_rate, all);
    add_drive_measurements(node, all);
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

Result<BenchRun> run_burn(const GpuPlaces& places, const BurnPlan& plan, const RunRequest& request,
                          ReachOptions reach, const Caller& caller, const BurnListener& listener) {
  RETURN_IF_ERROR(check_burn(plan));
  BenchRun run = begin_run(request);
  BurnCampaign campaign(places, plan, std::move(reach), caller, listener);
  auto report = campaign.run();
  if (!report) return tl::unexpected<Error>(report.error());
  add_measurements(run, burn_measurements(*report));
  run.burns.push_back(std::move(*report));
  return run;
}

}  // namespace railbed
