#include "campaign/measure/burn_rails.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "bench/burn/burn.h"
#include "bench/pairs/measure.h"
#include "bench/pairs/pair_rounds.h"
#include "campaign/look/survey.h"
#include "fleet/fleet.h"
#include "os/wait.h"

namespace railbed {
namespace {

using Moment = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr double kTurn = 15;              // seconds of load
constexpr double kShortestTurn = 1;       // likewise; a burn-in that has less left is over
constexpr double kTurnOverhead = 2;       // seconds: connecting, and the counters of both ends
constexpr std::size_t kMostAtOnce = 256;  // pairs, each with two threads here
constexpr std::uint64_t kMessage = 1 << 20;
constexpr std::chrono::seconds kAnswers{5};
constexpr std::size_t kMostCounters = 64;   // of one port: names that a node sent
constexpr std::size_t kLongestText = 1000;  // likewise
constexpr std::chrono::seconds kIdle{2};    // between turns in which nobody could be measured

// One end of a rail under load.
struct Port {
  BurnPort state;
  BurnRates sent;
  BurnRates received;
};

// A pair of nodes on a rail, in one turn.
struct RailMeeting {
  const Rail* rail;
  std::string a;
  std::string b;
};

class RailsLoad final : public BurnRailsLoad {
 public:
  RailsLoad(const Cluster& cluster, const BurnPlan& plan, BurnFleet fleet, Surveyed surveyed)
      : cluster_(cluster),
        plan_(plan),
        own_(std::move(fleet)),
        fleet_(own_.get()),
        surveyed_(std::move(surveyed)) {
    for (const Rail& rail : cluster_.rails)
      for (const RailPort& port : rail.ports)
        if (fleet_.find(port.node) != nullptr) add_port(rail, port);
  }
  ~RailsLoad() override { stop(); }

  bool has_pairs() const {
    return std::ranges::any_of(cluster_.rails, [&](const Rail& rail) { return nodes_of(rail).size() > 1; });
  }

  void start(Moment::time_point started, BurnRails before) override {
    started_ = started;
    take_over(before);
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  void stop() override {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
  }
  BurnRails state() const override {
    const std::lock_guard lock(mutex_);
    BurnRails now = totals_;
    for (const auto& [key, port] : ports_) now.ports.push_back(port.state);
    return now;
  }

 private:
  using PortKey = std::pair<std::string, std::string>;  // rail, node

  void add_port(const Rail& rail, const RailPort& port) {
    Port& mine = ports_[{rail.name, port.node}];
    mine.state.rail = rail.name;
    mine.state.node = port.node;
    mine.state.interface = port.interface;
    if (surveyed_.facts.contains(port.node)) return;
    const auto lost = std::ranges::find(surveyed_.unreachable, port.node, &Unreachable::node);
    mine.state.skipped =
        lost != surveyed_.unreachable.end() ? lost->error.text : "its facts could not be read";
  }

  std::vector<std::string> nodes_of(const Rail& rail) const {
    std::vector<std::string> nodes;
    for (const RailPort& port : rail.ports)
      if (const auto found = ports_.find({rail.name, port.node}); found != ports_.end())
        if (found->second.state.skipped.empty()) nodes.push_back(port.node);
    return nodes;
  }

  void take_over(BurnRails& before) {
    for (BurnPort& old : before.ports)
      if (const auto found = ports_.find({old.rail, old.node}); found != ports_.end()) {
        old.skipped = found->second.state.skipped;
        found->second.state = std::move(old);
      }
    before.ports.clear();
    totals_ = std::move(before);
  }

  double at() const { return Seconds(Moment::now() - started_).count(); }

  void run(const std::stop_token& stop) {
    for (int turn = 0; !stop.stop_requested(); ++turn) {
      const auto collectives = burn_span(plan_, BurnPhase::kCollectives, at());
      const double until = collectives ? collectives->begin : plan_.seconds;
      const double seconds = std::min(kTurn, until - at() - kTurnOverhead);
      if (seconds < kShortestTurn) {
        if (!collectives || !wait_unless_stopped(Seconds(collectives->end - at()), stop)) return;
        continue;
      }
      const auto meetings = meetings_of(turn);
      for (std::size_t first = 0; first < meetings.size() && !stop.stop_requested(); first += kMostAtOnce)
        meet({meetings.begin() + static_cast<std::ptrdiff_t>(first),
              meetings.begin() + static_cast<std::ptrdiff_t>(std::min(first + kMostAtOnce, meetings.size()))},
             seconds, stop);
      if (meetings.empty() && !wait_unless_stopped(kIdle, stop)) return;
      look_at_nodes(stop);
    }
  }

  // Every rail is at its own place in the schedule: with more turns than rounds it begins again.
  std::vector<RailMeeting> meetings_of(int turn) const {
    std::vector<RailMeeting> all;
    for (const Rail& rail : cluster_.rails) {
      auto nodes = nodes_of(rail);
      std::erase_if(nodes, [&](const std::string& node) { return away_.contains(node); });
      const auto rounds = tournament_rounds(static_cast<int>(nodes.size()));
      if (rounds.empty()) continue;
      for (const NodePair& pair : rounds[static_cast<std::size_t>(turn) % rounds.size()])
        all.push_back(
            {&rail, nodes[static_cast<std::size_t>(pair.a)], nodes[static_cast<std::size_t>(pair.b)]});
    }
    return all;
  }

  void meet(const std::vector<RailMeeting>& meetings, double seconds, const std::stop_token& stop) {
    std::vector<std::vector<Measurement>> measured(2 * meetings.size());
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < measured.size(); ++i)
      threads.emplace_back([&, i] { measured[i] = measure(meetings[i / 2], i % 2 == 0, seconds, stop); });
    threads.clear();
    if (stop.stop_requested()) return;
    const std::set<std::string> away = nodes_away(measured, stop);
    const std::lock_guard lock(mutex_);
    ++totals_.turns;
    for (const auto& way : measured)
      for (const Measurement& one : way)
        if (!away.contains(one.from.node) && !away.contains(one.to.node)) keep(one);
  }

  std::vector<Measurement> measure(const RailMeeting& meeting, bool from_a, double seconds,
                                   const std::stop_token& stop) {
    const PairEnd a = end_on(*meeting.rail, fleet_, surveyed_, meeting.a);
    const PairEnd b = end_on(*meeting.rail, fleet_, surveyed_, meeting.b);
    const auto has_rdma = [](const PairEnd& end) {
      return bool(rdma_port_of(end.facts->rdma, end.facts->net, end.interface));
    };
    BenchPlan plan;
    plan.engines = {has_rdma(a) && has_rdma(b) ? Engine::kRdma : Engine::kTcp};
    plan.latency = false;
    plan.sizes = {kMessage};
    plan.seconds = seconds;
    const OnMeasuring quiet = [](std::string_view) {};
    return from_a ? measure_pair(a, b, meeting.rail->name, plan, quiet, stop)
                  : measure_pair(b, a, meeting.rail->name, plan, quiet, stop);
  }

  // Returns the nodes of failed measurements whose agents do not answer. Their failures are no evidence about a rail.
  std::set<std::string> nodes_away(const std::vector<std::vector<Measurement>>& measured,
                                   const std::stop_token& stop) {
    std::set<std::string> asked, away;
    for (const auto& way : measured)
      for (const Measurement& one : way)
        if (one.failure) asked.insert({one.from.node, one.to.node});
    for (const std::string& node : asked)
      if (!fleet_.find(node)->call("clock", "{}", kAnswers, stop)) away.insert(node);
    away_.insert(away.begin(), away.end());
    return away;
  }

  // Gives the nodes that are away another connection, all at once. Between two turns no call is in progress.
  void look_at_nodes(const std::stop_token& stop) {
    if (away_.empty() || Moment::now() - asked_again_ < kBurnConnectPeriod) return;
    asked_again_ = Moment::now();
    std::vector<std::jthread> threads;
    std::mutex mutex;
    std::set<std::string> still_away;
    for (std::size_t i = 0; i < fleet_.size(); ++i)
      if (away_.contains(fleet_.peer(i).node()))
        threads.emplace_back([&, i] {
          if (own_.may_reconnect()) fleet_.connect_again(i);
          if (fleet_.peer(i).call("clock", "{}", kAnswers, stop)) return;
          const std::lock_guard lock(mutex);
          still_away.insert(fleet_.peer(i).node());
        });
    threads.clear();
    away_ = std::move(still_away);
  }

  void keep(const Measurement& one) {
    Port& from = ports_.at({one.rail, one.from.node});
    Port& to = ports_.at({one.rail, one.to.node});
    for (Port* const port : {&from, &to}) {
      port->state.engine = one.engine.id();
      port->state.seconds += one.seconds;
      ++port->state.turns;
    }
    if (one.failure) return keep_failure(one, from.state, to.state);
    const double rate = one.summary.median / 8;
    from.sent.add(rate);
    to.received.add(rate);
    from.state.sent = from.sent.median();
    to.state.received = to.received.median();
    totals_.bytes += static_cast<std::uint64_t>(rate * one.seconds);
    totals_.checked += one.checked_bytes;
    for (Port* const port : {&from, &to}) {
      if (!one.ceiling.limits.empty() && !one.ceiling.nominal) {
        port->state.ceiling = one.ceiling.limits.front().rate.bits_per_second / 8;
        port->state.ceiling_name = one.ceiling.limits.front().name;
      }
      port->state.packets += one.packets;
      port->state.lost += one.lost;
    }
    keep_counters(one);
  }

  // Counters are named by their node: "gpu01 mlx5_0/1 out_of_sequence".
  void keep_counters(const Measurement& one) {
    for (const auto& [name, moved] : one.counter_deltas)
      for (const Endpoint* const end : {&one.from, &one.to})
        if (name.starts_with(end->node + ' '))
          add_counter(ports_.at({one.rail, end->node}).state.counters, name.substr(end->node.size() + 1),
                      moved);
  }

  static void add_counter(std::map<std::string, std::int64_t>& counters, const std::string& name,
                          std::int64_t moved) {
    if (counters.size() < kMostCounters || counters.contains(name)) counters[name] += moved;
  }

  void keep_failure(const Measurement& one, BurnPort& from, BurnPort& to) {
    const bool wrong = one.failure->stage == "verify";
    for (BurnPort* const port : {&from, &to}) ++(wrong ? port->wrong : port->failed);
    ++totals_.fault_count;
    if (totals_.faults.size() >= kMostRailFaults) return;
    totals_.faults.push_back({.at = at(),
                              .rail = one.rail,
                              .from = one.from.node,
                              .to = one.to.node,
                              .wrong = wrong,
                              .cause = one.failure->cause.substr(0, kLongestText),
                              .remedy = one.failure->remedy.substr(0, kLongestText)});
  }

  const Cluster cluster_;
  const BurnPlan& plan_;
  const BurnFleet own_;
  fleet::Fleet& fleet_;
  const Surveyed surveyed_;
  Moment::time_point started_;
  std::set<std::string> away_;  // of the thread alone, like the next
  Moment::time_point asked_again_;
  mutable std::mutex mutex_;  // guards the two below
  std::map<PortKey, Port> ports_;
  BurnRails totals_;     // without ports
  std::jthread thread_;  // last, because it uses all members above
};

}  // namespace

Result<std::unique_ptr<BurnRailsLoad>> BurnRailsLoad::open(const Cluster& cluster, BurnFleet fleet,
                                                           const BurnPlan& plan, const Caller& caller) {
  if (cluster.rails.empty()) return fail(ErrorKind::kBadInput, "--rails: cluster.yaml describes no rails");
  Surveyed surveyed = survey_nodes(fleet.get(), caller);
  if (caller.stop.stop_requested()) return fail(ErrorKind::kCancelled, "stopped before anything was loaded");
  auto load = std::make_unique<RailsLoad>(cluster, plan, std::move(fleet), std::move(surveyed));
  if (!load->has_pairs())
    return fail(ErrorKind::kUnavailable,
                "no rail to load: none has two nodes of this burn-in that can be reached");
  return load;
}

}  // namespace railbed
