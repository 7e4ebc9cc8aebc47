#include "campaign/apply_nodes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "bench/path/explain.h"
#include "campaign/neighbours.h"
#include "fleet/fleet.h"

namespace railbed {
namespace {

using ApplyClock = std::chrono::steady_clock;
using NodeNames = std::vector<std::string>;
using Payloads = std::map<std::string, std::string, std::less<>>;
using Statuses = std::map<std::string, Result<ApplyStatus>, std::less<>>;

constexpr std::chrono::seconds kStageDeadline{60};
constexpr std::chrono::seconds kSwitchDeadline{30};
constexpr std::chrono::seconds kLookDeadline{15};
constexpr std::chrono::seconds kEndDeadline{60};  // a node that goes back runs netplan and its like again
constexpr std::chrono::seconds kStepsDeadline{240};
constexpr std::chrono::hours kPackagesDeadline{2};
constexpr std::chrono::seconds kProveDeadline{30};
constexpr std::chrono::milliseconds kAskAgain{1000};

fleet::Fleet fleet_of(const Cluster& cluster, const NodeNames& nodes, ReachOptions reach) {
  auto targets = fleet::targets_of(cluster);
  std::erase_if(targets,
                [&](const fleet::Target& one) { return std::ranges::find(nodes, one.name) == nodes.end(); });
  reach.ssh_config = cluster.ssh_config;
  return fleet::Fleet(std::move(targets), std::move(reach));
}

// Connections that nobody made before: what was there may outlive a network that lets no new one in.
ReachOptions made_anew(ReachOptions reach) {
  reach.share_connections = false;
  reach.ssh_options.insert(reach.ssh_options.end(), {"-o", "ControlPath=none"});
  return reach;
}

bool is_good(const Statuses& statuses) {
  return std::ranges::all_of(statuses, [](const auto& one) { return one.second.has_value(); });
}

// The first node's reason for which all of them stop.
std::string first_problem(const Statuses& statuses) {
  for (const auto& [node, status] : statuses) {
    if (!status) return status.error().node.empty() ? node + ": " + status.error().text : status.error().text;
    if (!status->why.text.empty()) return node + ": " + status->why.text;
  }
  return "";
}

// One batch of nodes that change together.
class Batch {
 public:
  Batch(const Cluster& cluster, NodeNames nodes, std::string id, const ApplyChoice& choice,
        ReachOptions reach, const Caller& caller)
      : cluster_(cluster),
        nodes_(std::move(nodes)),
        id_(std::move(id)),
        choice_(choice),
        reach_(std::move(reach)),
        caller_(caller) {}

  // Nothing is changed yet. False: it is over.
  bool stage(std::string_view method, const Payloads& payloads) {
    auto fleet = fleet_of(cluster_, nodes_, reach_);
    const auto staged = ask_all(fleet, method, "preparing", kStageDeadline,
                                [&](const std::string& node) { return payloads.find(node)->second; });
    if (keep(staged)) return true;
    std::erase_if(nodes_, [&](const std::string& node) { return !staged.at(node); });
    call_off(fleet);
    return false;
  }

  // Every node switches by itself; then each is asked over a connection of its own until it has.
  bool switch_over(std::chrono::seconds steps) {
    {
      auto fleet = fleet_of(cluster_, nodes_, reach_);
      const auto asked = json::dump(json::encode(ApplyAsked{id_}));
      // An answer may be lost with the network that changes: what counts is asked for afterwards.
      (void)ask_all(fleet, kApplySwitch, "switching", kSwitchDeadline, [&](const auto&) { return asked; });
    }
    const auto statuses = wait_for(
        [](ApplyState state) { return state != ApplyState::kStaged && state != ApplyState::kSwitching; },
        steps + std::chrono::seconds(choice_.seconds), "switching");
    return keep(statuses) && std::ranges::all_of(statuses, [](const auto& one) {
             return one.second->state == ApplyState::kSwitched;
           });
  }

  // Of all who switched. `why` of the outcome says what is wrong.
  bool prove(ApplyOutcome& outcome) {
    auto fleet = fleet_of(cluster_, nodes_, made_anew(reach_));
    const auto until = ApplyClock::now() + std::min<ApplyClock::duration>(
                                               kProveDeadline, std::chrono::seconds(choice_.seconds) / 2);
    while (true) {
      outcome.faults.clear();
      const int paths = look_at_rails(fleet, outcome.faults);
      if (outcome.faults.empty()) {
        outcome.paths += paths;
        return true;
      }
      // A link that was set anew needs a moment, and so does an RDMA device behind it.
      if (ApplyClock::now() > until || caller_.stop.stop_requested()) break;
      std::this_thread::sleep_for(2 * kAskAgain);
    }
    const RailFault& first = outcome.faults.front();
    problem_ =
        fmt::format("{} between {} and {} does not carry: {}", first.rail, first.from, first.to, first.cause);
    return false;
  }

  bool commit() {
    auto fleet = fleet_of(cluster_, nodes_, made_anew(reach_));
    const auto asked = json::dump(json::encode(ApplyDecided{id_, true}));
    if (!keep(ask_all(fleet, kApplyDecide, "committing", kLookDeadline, [&](const auto&) { return asked; })))
      return false;
    const auto ended = wait_for_end();
    return keep(ended) && std::ranges::all_of(ended, [](const auto& one) {
             return one.second->state == ApplyState::kCommitted;
           });
  }

  // Each that can be reached is told; the others find out by themselves.
  void take_back() {
    if (nodes_.empty()) return;
    auto fleet = fleet_of(cluster_, nodes_, made_anew(reach_));
    call_off(fleet);
    for (auto& [node, status] : wait_for_end()) statuses_.insert_or_assign(node, std::move(status));
  }

  void say(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }
  const std::string& problem() const { return problem_; }

  void add_to(ApplyOutcome& outcome) const {
    for (const auto& [node, status] : statuses_) {
      NodeOutcome one{.node = node};
      if (status) {
        one.state = status->state;
        one.why = status->why;
        one.log = status->log;
      } else {
        one.why.text = status.error().text;
      }
      outcome.nodes.push_back(std::move(one));
    }
  }

 private:
  template <class Payload>
  Statuses ask_all(fleet::Fleet& fleet, std::string_view method, std::string_view doing,
                   std::chrono::milliseconds deadline, const Payload& payload) {
    Statuses statuses;
    // A stop does not reach this: what was begun is ended, or taken back.
    const auto answers = fleet::gather(
        fleet, method, [&](const std::string& node) -> std::string { return payload(node); }, deadline, {},
        [&](const fleet::Step& step) { caller_.progress(fmt::format("{}: {}", doing, step.to_text())); });
    for (const fleet::Answer& answer : answers) {
      if (!answer.result)
        statuses.emplace(answer.node, fail(answer.result.error()));
      else
        statuses.emplace(answer.node, json::read<ApplyStatus>(*answer.result));
    }
    caller_.progress("");
    return statuses;
  }

  // Remembers what nodes said; false where one failed.
  bool keep(const Statuses& statuses) {
    for (const auto& [node, status] : statuses) statuses_.insert_or_assign(node, status);
    say(first_problem(statuses));
    return is_good(statuses);
  }

  template <class Reached>
  Statuses wait_for(const Reached& reached, std::chrono::seconds patience, std::string_view doing) {
    const auto until = ApplyClock::now() + patience;
    const auto asked = json::dump(json::encode(ApplyAsked{id_}));
    Statuses all;
    NodeNames pending = nodes_;
    while (true) {
      auto fleet = fleet_of(cluster_, pending, made_anew(reach_));
      for (auto& [node, status] :
           ask_all(fleet, kApplyLook, doing, kLookDeadline, [&](const auto&) { return asked; }))
        all.insert_or_assign(node, std::move(status));
      std::erase_if(pending, [&](const std::string& node) {
        const auto& status = all.at(node);
        return status && reached(status->state);
      });
      if (pending.empty() || ApplyClock::now() > until) return all;
      std::this_thread::sleep_for(kAskAgain);
    }
  }
  Statuses wait_for_end() {
    return wait_for([](ApplyState state) { return !is_open(state); }, kEndDeadline, "ending");
  }

  void call_off(fleet::Fleet& fleet) {
    const auto asked = json::dump(json::encode(ApplyDecided{id_, false}));
    for (auto& [node, status] :
         ask_all(fleet, kApplyDecide, "going back", kLookDeadline, [&](const auto&) { return asked; }))
      if (status) statuses_.insert_or_assign(node, std::move(status));
  }

  int look_at_rails(fleet::Fleet& fleet, std::vector<RailFault>& faults) {
    int paths = 0;
    for (const Rail& rail : cluster_.rails)
      for (const auto& round : neighbour_rounds(among(rail))) {
        std::vector<std::jthread> looking;
        std::mutex mutex;
        for (const Pair& pair : round) {
          ++paths;
          looking.emplace_back([&, pair] {
            auto fault = find_path_fault(end_of(rail, fleet, pair.from), end_of(rail, fleet, pair.to),
                                         rail.fabric != Fabric::kEthernet, caller_.stop);
            if (!fault) return;
            const std::lock_guard guard(mutex);
            faults.push_back({rail.name, pair.from, pair.to, fault->root.cause, fault->remedy});
          });
        }
      }
    return paths;
  }
  // The rail with the ports of this batch alone.
  Rail among(const Rail& rail) const {
    Rail part = rail;
    std::erase_if(part.ports,
                  [&](const RailPort& port) { return std::ranges::find(nodes_, port.node) == nodes_.end(); });
    return part;
  }
  static PairEnd end_of(const Rail& rail, fleet::Fleet& fleet, const std::string& node) {
    const auto port = std::ranges::find(rail.ports, node, &RailPort::node);
    return {fleet.find(node), port->interface, port->address, nullptr};
  }

  const Cluster& cluster_;
  NodeNames nodes_;
  const std::string id_;
  const ApplyChoice& choice_;
  const ReachOptions reach_;
  const Caller& caller_;
  Statuses statuses_;
  std::string problem_;
};

// Stage, switch, prove, ask, commit; false: it was taken back, and `outcome.why` says why.
bool carry_out(Batch& batch, std::string_view method, const Payloads& payloads, std::chrono::seconds steps,
               const ApplyChoice& choice, const Caller& caller, ApplyOutcome& outcome) {
  const auto stopped = [&] {
    if (caller.stop.stop_requested()) batch.say("it was stopped");
    return caller.stop.stop_requested();
  };
  const auto confirmed = [&] {
    if (!choice.confirm) return true;
    const bool yes = choice.confirm(fmt::format(
        "The nodes have switched. Keep it? Without an answer they go back {} s after their switch.",
        choice.seconds));
    if (!yes) batch.say("it was not confirmed");
    return yes;
  };
  const bool done = !stopped() && batch.stage(method, payloads) && !stopped() && batch.switch_over(steps) &&
                    (!choice.prove || batch.prove(outcome)) && !stopped() && confirmed() && batch.commit();
  if (!done) batch.take_back();
  batch.add_to(outcome);
  if (!done) outcome.why.text = batch.problem();
  return done;
}

std::vector<NodeNames> batches_of(const NodeNames& nodes, std::size_t canary) {
  if (canary == 0 || canary >= nodes.size()) return {nodes};
  const auto middle = nodes.begin() + static_cast<std::ptrdiff_t>(canary);
  return {{nodes.begin(), middle}, {middle, nodes.end()}};
}

bool is_wanted(const NodeChange& change) { return change.held.empty(); }

// Some nodes have kept it already when another one was lost, or when the nodes after a canary failed. They go
// back one by one: none waits for another that is lost as well.
void take_back_committed(const Cluster& cluster, const ApplyChoice& choice, const ReachOptions& reach,
                         const Caller& caller, ApplyOutcome& outcome) {
  ApplyChoice quiet = choice;
  quiet.prove = false;
  quiet.confirm = {};
  Caller steadfast = caller;  // a second thought does not leave nodes in two states
  steadfast.stop = {};
  for (NodeOutcome& one : outcome.nodes) {
    if (one.state != ApplyState::kCommitted) continue;
    const ApplyOutcome back = roll_back(cluster, outcome.id, {one.node}, quiet, reach, steadfast);
    if (back.committed)
      one.state = ApplyState::kReverted;
    else
      one.why.text = fmt::format("it keeps the change, for it could not be taken back: {}", back.why.text);
  }
}

}  // namespace

Result<void> check_apply(const ClusterPlan& plan, const ApplyChoice& choice) {
  for (const NodePlan& node : plan.nodes) {
    if (!node.error.empty())
      return fail(ErrorKind::kUnavailable,
                  fmt::format("nothing was changed, since a node could not be planned: {}: {}\n"
                              "Mend it, or name the nodes that are to change.",
                              node.node, node.error));
    for (const NodeChange& change : node.changes) {
      if (!change.held.empty() && !choice.skip_held)
        return fail(ErrorKind::kUnavailable,
                    fmt::format("nothing was changed, since somebody has to decide first: {}: {}: {}\n"
                                "--skip-held leaves out what is held.",
                                node.node, change.title, change.held));
      if (change.risk == Risk::kAccess && change.held.empty() && !choice.management)
        return fail(
            ErrorKind::kUnavailable,
            fmt::format("nothing was changed, since it would change the network that this session runs "
                        "over: {}: {}\n--management allows it: a node that is lost by it goes back by "
                        "itself after {} s.",
                        node.node, change.title, choice.seconds));
    }
  }
  return {};
}

ClusterPlan part_of(const ClusterPlan& plan, const std::function<bool(const NodeChange&)>& wanted) {
  ClusterPlan part = plan;
  for (NodePlan& node : part.nodes)
    std::erase_if(node.changes, [&](const NodeChange& change) { return !wanted(change); });
  return part;
}

ApplyOutcome apply_plan(const Cluster& cluster, const ClusterPlan& plan, const ApplyChoice& choice,
                        ReachOptions reach, const Caller& caller) {
  ApplyOutcome outcome{.id = make_apply_id()};
  NodeNames nodes;
  Payloads payloads;
  bool packages = false;
  for (const NodePlan& node : plan.nodes) {
    if (std::ranges::none_of(node.changes, is_wanted)) continue;
    ApplyRequest request = request_of(node.changes);
    request.id = outcome.id;
    request.who = choice.who;
    request.cluster = plan.cluster;
    request.seconds = choice.seconds;
    request.family = node.family;
    request.stays = std::ranges::any_of(
        node.changes, [](const NodeChange& one) { return one.section == Section::kPackages; });
    packages = packages || request.stays;
    nodes.push_back(node.node);
    payloads.emplace(node.node, json::dump(json::encode(request)));
  }
  const std::chrono::seconds steps = packages ? std::chrono::seconds(kPackagesDeadline) : kStepsDeadline;
  for (const NodeNames& some : batches_of(nodes, choice.canary)) {
    Batch batch(cluster, some, outcome.id, choice, reach, caller);
    if (carry_out(batch, kApplyStage, payloads, steps, choice, caller, outcome)) continue;
    take_back_committed(cluster, choice, reach, caller, outcome);
    return outcome;
  }
  outcome.committed = true;
  return outcome;
}

ApplyOutcome roll_back(const Cluster& cluster, const std::string& target,
                       const std::vector<std::string>& nodes, const ApplyChoice& choice, ReachOptions reach,
                       const Caller& caller) {
  ApplyOutcome outcome{.id = make_apply_id()};
  const auto asked =
      json::dump(json::encode(RollbackRequest{outcome.id, choice.who, cluster.name, target, choice.seconds}));
  Payloads payloads;
  for (const std::string& node : nodes) payloads.emplace(node, asked);
  Batch batch(cluster, nodes, outcome.id, choice, std::move(reach), caller);
  outcome.committed = carry_out(batch, kApplyRollback, payloads, kStepsDeadline, choice, caller, outcome);
  return outcome;
}

std::vector<NodeHistory> read_histories(const Cluster& cluster, const std::vector<std::string>& nodes,
                                        ReachOptions reach, const Caller& caller) {
  auto fleet = fleet_of(cluster, nodes, std::move(reach));
  std::vector<NodeHistory> all;
  for (const fleet::Answer& answer : fleet::gather(
           fleet, kApplyHistory, std::string("{}"), kStageDeadline, caller.stop,
           [&](const fleet::Step& step) { caller.progress("reading histories: " + step.to_text()); })) {
    NodeHistory one{.node = answer.node};
    auto history = answer.result ? json::read<ApplyHistory>(*answer.result)
                                 : Result<ApplyHistory>(fail(answer.result.error()));
    if (history)
      one.applies = std::move(history->applies);
    else
      one.error = history.error().text;
    all.push_back(std::move(one));
  }
  caller.progress("");
  return all;
}

}  // namespace railbed
