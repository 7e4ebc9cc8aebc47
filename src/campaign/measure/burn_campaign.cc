#include "campaign/measure/burn_campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "base/json.h"
#include "base/wording.h"
#include "bench/burn/burn_verdict.h"
#include "campaign/measure/burn_collectives.h"
#include "campaign/measure/burn_rails.h"
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
constexpr int kMostMissedLooks = 3;  // then a silent node counts as lost
constexpr std::chrono::seconds kSavePeriod{60};
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
    shorten(gpu.tallies, kGpuPhases);
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

class RunningBurn final : public BurnCampaign {
 public:
  RunningBurn(const GpuPlaces& places, const BurnPlan& plan, ReachOptions reach, const Caller& caller,
              const BurnListener& listener)
      : places_(places),
        plan_(plan),
        caller_(caller),
        listener_(listener),
        // A connection that others opened could end in the middle of it.
        reach_(plan.keep ? made_anew(std::move(reach)) : std::move(reach)),
        fleet_(open_fleet(places, reach_)) {
    report_.planned = plan.seconds;
    report_.watts_cap = plan.watts;
    report_.phases = plan.phases;
    report_.injected = plan.drills;
    report_.drives = plan.drives.has_value();
    for (const GpuPlace& place : places.nodes) {
      const std::size_t i = nodes_.size();
      index_[place.name] = i;
      nodes_.push_back({.session = plan.keep ? held_name(plan.keep->name, i) : ""});
      report_.nodes.push_back({.node = place.name});
    }
  }

  Result<void> start(const std::function<void()>& write) override {
    if (plan_.rails) RETURN_IF_ERROR(open_rails());
    open_collectives();
    RETURN_IF_ERROR(find());
    for (Node& node : nodes_) node.running = node.ready;  // until they have answered
    write();
    if (auto begun = begin(); !begun) {
      if (plan_.keep) end();  // a node may have begun without an answer
      return begun;
    }
    started_ = Moment::now();
    if (rails_) rails_->start(started_, {});
    if (collectives_) collectives_->start(started_, {});
    write();
    return {};
  }
  std::vector<KeptBurnNode> started_nodes() const override {
    std::vector<KeptBurnNode> all;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      all.push_back({places_.nodes[i].name, places_.nodes[i].destination, places_.nodes[i].gpus,
                     nodes_[i].running, report_.nodes[i].trouble});
    return all;
  }
  void take_up(const KeptBurn& kept, double seconds) override {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      nodes_[i].running = kept.nodes[i].began;
      report_.nodes[i].trouble = kept.nodes[i].trouble;
    }
    started_ =
        Moment::now() - std::chrono::duration_cast<Moment::duration>(std::chrono::duration<double>(seconds));
    report_.rails = kept.rails;
    report_.collectives = kept.collectives;
    if (seconds >= plan_.seconds) return;
    open_collectives();
    if (collectives_) collectives_->start(started_, kept.collectives.value_or(BurnCollectives{}));
    if (!plan_.rails) return;
    if (auto opened = open_rails(); !opened)
      caller_.note(fmt::format("the rails are not loaded any more: {}", opened.error().text));
    else
      rails_->start(started_, kept.rails.value_or(BurnRails{}));
  }

  std::optional<BurnReport> follow(bool end_at_once,
                                   const std::function<void(const BurnReport&)>& save) override {
    const double latest = plan_.seconds + plan_.patience + static_cast<double>(kLateEnd.count());
    auto saved = Moment::now();
    look();
    while (!end_at_once && goes_on() && since() < latest && wait()) {
      look();
      report_.seconds = since();
      listener_.meanwhile(report_, std::max(plan_.seconds - since(), 0.0));
      if (Moment::now() - saved < kSavePeriod) continue;
      saved = Moment::now();
      save(report_);
    }
    if (plan_.keep && caller_.stop.stop_requested() && listener_.leaves()) {
      save(report_);
      return std::nullopt;
    }
    report_.stopped = (caller_.stop.stop_requested() || end_at_once) && since() < plan_.seconds;
    end();
    report_.seconds = std::min(since(), report_.stopped ? since() : std::max(plan_.seconds, 0.0));
    caller_.progress("");
    keep_within_reason();
    judge_burn(report_);
    return std::move(report_);
  }

 private:
  struct Node {
    bool running = false;
    bool ready = false;
    std::string session;
    int missed = 0;                                     // looks in a row
    std::optional<Moment::time_point> away_since = {};  // not reached since then; its work is held there
    Moment::time_point asked_again = {};
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
    if (mine.keep) mine.keep->name = nodes_[i].session;
    return json::dump(json::encode(mine));
  }
  std::string session_of(const std::string& name) const {
    return json::dump(json::encode(BurnName{nodes_[index_.at(name)].session, plan_.keep.has_value()}));
  }

  double since() const { return std::chrono::duration<double>(Moment::now() - started_).count(); }

  Result<void> open_rails() {
    if (!places_.cluster)
      return fail(ErrorKind::kBadInput, "--rails: name a cluster.yaml, which describes the rails");
    ASSIGN_OR_RETURN(rails_, BurnRailsLoad::open(*places_.cluster, fleet_of_a_load(), plan_, caller_));
    return {};
  }
  BurnFleet fleet_of_a_load() {
    if (reach_.launcher != fleet::Launcher::kSsh) return {.shared = &fleet_};
    return {.own = std::make_unique<fleet::Fleet>(open_fleet(places_, reach_))};
  }
  void open_collectives() {
    if (plan_.has_gpus() && plan_.has(BurnPhase::kCollectives))
      collectives_ = BurnCollectivesLoad::open(fleet_of_a_load(), plan_, caller_);
  }

  Result<void> find() {
    BurnOutlook outlook;
    int first_gpus = 0;  // of the first node
    if (rails_) {
      report_.rails = rails_->state();
      outlook.ports = static_cast<int>(std::ranges::count(report_.rails->ports, "", &BurnPort::skipped));
    }
    if (plan_.load == BurnLoad::kRails) {
      outlook.nodes = static_cast<int>(nodes_.size());
      listener_.before(outlook);
      return {};
    }
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
          if (i == 0) first_gpus = static_cast<int>(found->names.size());
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
    RETURN_IF_ERROR(check_drills(first_gpus));
    outlook.collectives = collectives_ && outlook.gpus > 1;
    listener_.before(outlook);
    return {};
  }

  // Fails if a drill is of a GPU that the first node does not burn in.
  Result<void> check_drills(int first_gpus) const {
    const std::vector<int>& named = places_.nodes.front().gpus;
    for (const BurnDrill& drill : plan_.drills) {
      const bool of_gpu = drill.kind == BurnInjection::kWrongResult || drill.kind == BurnInjection::kSlow ||
                          drill.kind == BurnInjection::kWrongCollective;
      const bool burns =
          named.empty() ? drill.gpu < first_gpus : std::ranges::find(named, drill.gpu) != named.end();
      if (of_gpu && !burns)
        return fail(ErrorKind::kBadInput,
                    fmt::format("--inject: {} burns in no GPU {}", places_.nodes.front().name, drill.gpu));
    }
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
    if (plan_.load == BurnLoad::kRails) return {};
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

  // Nodes have nothing to do in a burn-in of rails alone.
  bool goes_on() const { return plan_.load == BurnLoad::kRails ? since() < plan_.seconds : any_running(); }
  bool any_running() const { return std::ranges::any_of(nodes_, &Node::running); }

  // Returns false after a request to stop.
  bool wait() {
    const milliseconds period = std::min<milliseconds>(
        kLookPeriod, milliseconds(static_cast<std::int64_t>(std::max(plan_.seconds * 100, 200.0))));
    return wait_unless_stopped(period, caller_.stop);
  }

  void look() {
    if (rails_) report_.rails = rails_->state();
    if (plan_.load == BurnLoad::kRails) return;
    for (std::size_t i = 0; i < nodes_.size(); ++i) connect_again(i);
    ask_nodes<BurnState>(
        kBurnLook, [&](const std::string& name) { return session_of(name); }, kBurnLooks, caller_.stop, "",
        [&](std::size_t i, Result<BurnState> state) { take(i, std::move(state)); });
    if (!collectives_) return;
    collectives_->look(report_);
    report_.collectives = collectives_->state();
  }

  // Gives a node that was not reached another connection, unless it got one a moment ago.
  void connect_again(std::size_t i) {
    Node& node = nodes_[i];
    if (!node.running || !node.away_since || Moment::now() - node.asked_again < kBurnConnectPeriod) return;
    node.asked_again = Moment::now();
    fleet_.connect_again(i);
  }

  void take(std::size_t i, Result<BurnState> state) {
    Node& node = nodes_[i];
    if (!node.running || (!state && caller_.stop.stop_requested())) return;
    if (state) {
      node.missed = 0;
      node.running = !state->ended;
      return keep(i, std::move(*state));
    }
    if (state.error().kind == ErrorKind::kTimeout && ++node.missed < kMostMissedLooks) return;
    // A node that answers, but has no such burn-in, is no matter of the connection.
    if (plan_.keep && state.error().kind != ErrorKind::kBadInput) return stay_away(i, state.error());
    lose(i, without_node(state.error()));
  }

  void lose(std::size_t i, std::string why) {
    nodes_[i].running = false;
    report_.nodes[i].lost = true;
    report_.nodes[i].trouble = std::move(why);
    shorten(report_.nodes[i].trouble);
  }

  // Marks a node that is not reached. It is asked again later, because its work goes on.
  void stay_away(std::size_t i, const Error& error) {
    if (!nodes_[i].away_since) nodes_[i].away_since = Moment::now();
    report_.nodes[i].trouble = without_node(error);
    shorten(report_.nodes[i].trouble);
  }
  void come_back(std::size_t i) {
    Node& node = nodes_[i];
    if (!node.away_since) return;
    report_.nodes[i].away += std::chrono::duration<double>(Moment::now() - *node.away_since).count();
    report_.nodes[i].trouble.clear();
    node.away_since.reset();
  }

  // Takes the state that a node sent, which is its last if the process that held its work is gone.
  void keep(std::size_t i, BurnState state) {
    come_back(i);
    BurnNode& into = report_.nodes[i];
    limit(state);
    into.unseen = state.unseen;
    into.gpus = std::move(state.gpus);
    into.peers_trouble = std::move(state.peers_trouble);
    into.host = std::move(state.host);
    into.drives = std::move(state.drives);
    for (const BurnDrive& drive : into.drives) into.lost_after = std::max(into.lost_after, drive.seconds);
    for (const BurnGpu& gpu : into.gpus) into.lost_after = std::max(into.lost_after, gpu.seconds);
    if (into.host) into.lost_after = std::max(into.lost_after, into.host->seconds);
    if (!state.gone.empty()) lose(i, std::move(state.gone));
  }

  template <class Load>
  static void blame_if_late(Load& load) {
    if (!load.ended && load.trouble.empty()) load.trouble = "it did not end in time";
  }

  // Stops the nodes that still run and gets their last states, also after a request to stop.
  void end() {
    caller_.progress("ending");
    if (rails_) {
      rails_->stop();
      report_.rails = rails_->state();
    }
    if (collectives_) {
      collectives_->stop();
      report_.collectives = collectives_->state();
    }
    if (plan_.load == BurnLoad::kRails) return;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (nodes_[i].running && nodes_[i].away_since) fleet_.connect_again(i);
    ask_nodes<BurnState>(
        kBurnEnd, [&](const std::string& name) { return session_of(name); }, kBurnLooks, {}, "",
        [&](std::size_t i, Result<BurnState> state) {
          if (!nodes_[i].running) return;
          if (!state) return end_unreached(i, state.error());
          keep(i, std::move(*state));
          BurnNode& into = report_.nodes[i];
          if (report_.stopped || into.lost || into.unseen) return;
          for (BurnDrive& drive : into.drives)
            if (drive.skipped.empty()) blame_if_late(drive);
          if (into.host) blame_if_late(*into.host);
          for (BurnGpu& gpu : into.gpus) blame_if_late(gpu);
        });
  }

  void end_unreached(std::size_t i, const Error& error) {
    if (!plan_.keep) return;
    lose(i, fmt::format("{}; if it still works there, it ends by itself within {}", without_node(error),
                        short_time_text(plan_.keep->unseen)));
  }

  void keep_within_reason() {
    std::size_t gpus = 0;
    for (BurnNode& node : report_.nodes) {
      gpus += node.gpus.size();
      if (!node.lost && !node.unseen) node.lost_after = 0;
    }
    if (gpus <= kMostWithCourse) return;
    for (BurnNode& node : report_.nodes)
      for (BurnGpu& gpu : node.gpus) gpu.course = {};
  }

  const GpuPlaces& places_;
  const BurnPlan& plan_;
  Moment::time_point started_;
  const Caller& caller_;
  const BurnListener& listener_;
  const ReachOptions reach_;
  fleet::Fleet fleet_;
  BurnReport report_;
  std::vector<Node> nodes_;
  std::map<std::string, std::size_t> index_;
  std::unique_ptr<BurnRailsLoad> rails_;              // null without --rails
  std::unique_ptr<BurnCollectivesLoad> collectives_;  // null without that phase
};

}  // namespace

std::unique_ptr<BurnCampaign> open_burn(const GpuPlaces& places, const BurnPlan& plan, ReachOptions reach,
                                        const Caller& caller, const BurnListener& listener) {
  return std::make_unique<RunningBurn>(places, plan, std::move(reach), caller, listener);
}

}  // namespace railbed
