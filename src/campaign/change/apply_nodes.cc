#include "campaign/change/apply_nodes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "base/bounded.h"
#include "base/wording.h"
#include "campaign/change/rail_proof.h"
#include "campaign/look/survey.h"
#include "fleet/fleet.h"

// A distributed transaction over the nodes of a batch, modeled on two-phase commit. The steps, each on all
// nodes before the next one begins:
// 0. look: the rails are tested between neighbors, so that the proof below knows what was broken before.
// 1. stage: every node checks and stores the change. Nothing is switched yet.
// 2. switch: every node makes the change by itself, and its keeper (apply/keeper.h) waits for a decision.
//    The controller polls each node over a new connection, since the old one may not survive the change.
// 3. prove: the rails are tested between neighbors from both ends.
// 4. confirm: the user decides, if wanted.
// 5. commit: every node writes the decision to its disk before it replies.
//
// A failure in any step decides for a rollback on all nodes. A node that gets no decision within
// ApplyChoice::seconds rolls back by itself, so a node that the change cut off recovers alone. While some
// nodes still switch, the others get "wait" messages that give them more time. A canary batch runs through
// all steps before the rest begins.
namespace railbed {
namespace {

using ApplyClock = std::chrono::steady_clock;
using NodeNames = std::vector<std::string>;
using Payloads = std::map<std::string, std::string, std::less<>>;
using Statuses = std::map<std::string, Result<ApplyStatus>, std::less<>>;

constexpr std::chrono::seconds kStageDeadline{60};
constexpr std::chrono::seconds kSwitchDeadline{30};
constexpr std::chrono::seconds kLookDeadline{15};
constexpr std::chrono::seconds kEndDeadline{
    60};  // a node that rolls back runs netplan and similar programs again
constexpr std::chrono::seconds kStepsDeadline{240};
constexpr std::chrono::hours kPackagesDeadline{2};
constexpr int kPackagesWait = 3600;
constexpr std::chrono::seconds kProveDeadline{30};
constexpr std::chrono::milliseconds kAskAgain{1000};
constexpr std::chrono::seconds kTellAgain{5};
constexpr double kMostClockOffset = 300;  // seconds
// Limits on a node's own texts: it may send half a megabyte.
constexpr std::size_t kLongestWhy = 1000;
constexpr std::size_t kLongestLog = 16 << 10;
constexpr std::size_t kMostTitles = 100;

bool is_good(const Statuses& statuses) {
  return std::ranges::all_of(statuses, [](const auto& one) { return one.second.has_value(); });
}

Result<ApplyStatus> status_of(const fleet::Answer& answer) {
  if (!answer.result) return fail(answer.result.error());
  auto status = json::read<ApplyStatus>(*answer.result);
  if (!status) return status;
  status->why.text = cut_to(status->why.text, kLongestWhy);
  status->log.text = cut_to(status->log.text, kLongestLog);
  return status;
}

// Returns the problem of the first node that has one: the reason to stop all of them.
std::string first_problem(const Statuses& statuses) {
  for (const auto& [node, status] : statuses) {
    if (!status) return status.error().node.empty() ? node + ": " + status.error().text : status.error().text;
    if (!status->why.text.empty()) return node + ": " + status->why.text;
  }
  return "";
}

// Connections made after the nodes have switched. One that fails is made again when it is next needed.
class FreshConnections {
 public:
  FreshConnections(const Cluster& cluster, const NodeNames& nodes, ReachOptions reach)
      : cluster_(cluster), reach_(made_anew(std::move(reach))) {
    for (const std::string& node : nodes) lost_.push_back(node);
  }

  // Sends a request to some of the nodes. A connection error is not a result of the node's method, so the
  // node is connected again; an error of kind kBadInput is such a result.
  std::vector<fleet::Answer> ask(const NodeNames& nodes, std::string_view method, const std::string& payload,
                                 std::chrono::milliseconds deadline, const fleet::OnStep& on_step) {
    connect_lost();
    std::vector<fleet::Answer> answers;
    for (auto& [fleet, own] : fleets_) {
      NodeNames wanted;
      std::ranges::copy_if(own, std::back_inserter(wanted), [&](const std::string& node) {
        return std::ranges::find(nodes, node) != nodes.end();
      });
      if (wanted.empty()) continue;
      for (fleet::Answer& answer : fleet::gather(*fleet, method, payload, deadline, {}, on_step)) {
        if (std::ranges::find(wanted, answer.node) == wanted.end()) continue;
        if (!answer.result && answer.result.error().kind != ErrorKind::kBadInput)
          lost_.push_back(answer.node);
        answers.push_back(std::move(answer));
      }
      std::erase_if(own, [&](const std::string& node) { return is_lost(node); });
    }
    std::erase_if(fleets_, [](const Connected& connected) { return connected.nodes.empty(); });
    return answers;
  }

  Peer* find(const std::string& node) {
    connect_lost();
    for (auto& [fleet, own] : fleets_)
      if (std::ranges::find(own, node) != own.end()) return fleet->find(node);
    return nullptr;
  }

 private:
  struct Connected {
    std::unique_ptr<fleet::Fleet> fleet;
    NodeNames nodes;
  };

  bool is_lost(const std::string& node) const { return std::ranges::find(lost_, node) != lost_.end(); }
  void connect_lost() {
    if (lost_.empty()) return;
    fleets_.push_back(
        {std::make_unique<fleet::Fleet>(open_fleet(cluster_, lost_, reach_)), std::move(lost_)});
    lost_.clear();
  }

  const Cluster& cluster_;
  const ReachOptions reach_;
  std::vector<Connected> fleets_;
  NodeNames lost_;  // nodes without a connection
};

// One batch of nodes that change together.
class Batch {
 public:
  Batch(const Cluster& cluster, NodeNames nodes, ConcernedRails concerned, std::string id,
        const ApplyChoice& choice, ReachOptions reach, const Caller& caller)
      : cluster_(cluster),
        nodes_(std::move(nodes)),
        concerned_(std::move(concerned)),
        id_(std::move(id)),
        choice_(choice),
        reach_(std::move(reach)),
        caller_(caller),
        straggler_(choice.seconds),
        fresh_(cluster, nodes_, reach_) {}

  // Notes the rails that do not carry before the change. A path counts only if it fails twice: a fault of one
  // moment must not excuse what the change breaks.
  void look_before() {
    caller_.progress("looking at the rails before the change");
    auto fleet = open_fleet(cluster_, nodes_, reach_);
    const auto look = [&] {
      return look_at_rails(
          cluster_, nodes_, [&](const std::string& node) { return fleet.find(node); }, caller_.stop);
    };
    before_ = look();
    if (before_.faults.empty() || caller_.stop.stop_requested()) return;
    std::this_thread::sleep_for(kAskAgain);
    before_ = seen_twice(before_, look());
  }

  // Changes nothing yet. Returns false if a node cannot stage; then the apply is over.
  bool stage(std::string_view method, const Payloads& payloads) {
    auto fleet = open_fleet(cluster_, nodes_, reach_);
    const auto staged = statuses_of(fleet::gather(
        fleet, method, [&](const std::string& node) { return payloads.find(node)->second; }, kStageDeadline,
        {}, telling("preparing")));
    if (keep(staged)) return true;
    // A node that refused knows no such apply, and one whose reply was lost drops it: both reply. The others
    // are not reached.
    const auto dropped =
        statuses_of(fleet::gather(fleet, kApplyDecide, json::dump(json::encode(ApplyDecided{id_, false})),
                                  kLookDeadline, {}, telling("going back")));
    for (const auto& [node, status] : staged) {
      const auto& now = dropped.at(node);
      if (status || (!now && now.error().kind != ErrorKind::kBadInput)) continue;
      statuses_.insert_or_assign(node, ApplyStatus{.id = id_,
                                                   .state = now ? now->state : ApplyState::kDropped,
                                                   .why = {without_node(status.error())}});
    }
    std::erase_if(nodes_, [&](const std::string& node) { return !staged.at(node); });
    return false;
  }

  // Starts the switch on every node, then polls each over a connection of its own until it has ended.
  bool switch_over(std::chrono::seconds steps) {
    // The same packages take minutes on one node and an hour on another.
    if (steps > kStepsDeadline) straggler_ = std::chrono::seconds(kPackagesWait);
    {
      auto fleet = open_fleet(cluster_, nodes_, reach_);
      // The network that changes may lose the reply: the poll below decides.
      (void)fleet::gather(fleet, kApplySwitch, json::dump(json::encode(ApplyAsked{id_})), kSwitchDeadline, {},
                          telling("switching"));
    }
    const auto statuses = wait_for([](ApplyState state) { return state != ApplyState::kSwitching; },
                                   steps + std::chrono::seconds(choice_.seconds), "switching");
    if (!keep(statuses)) return false;
    for (const auto& [node, status] : statuses)
      if (status->state != ApplyState::kSwitched)
        say(fmt::format("{}: it has not switched and does not say why", node));
    return problem_.empty();
  }

  // Tests the rails between the nodes of the batch. Returns false, with the faults in `outcome`, if one that
  // carried before, or that the change concerns, does not carry data by the deadline.
  bool prove(ApplyOutcome& outcome) {
    caller_.progress("looking at the rails from both ends");
    const auto until = ApplyClock::now() + std::min<ApplyClock::duration>(
                                               kProveDeadline, std::chrono::seconds(choice_.seconds) / 2);
    RailsJudged judged;
    while (true) {
      const RailsSeen seen = look_at_rails(
          cluster_, nodes_, [this](const std::string& node) { return fresh_.find(node); }, caller_.stop);
      judged = judge_rails(before_, seen, concerned_);
      // A link that was set up again needs a moment, and so does an RDMA device on it.
      if (judged.broken.empty() || ApplyClock::now() > until || caller_.stop.stop_requested()) {
        if (judged.broken.empty()) outcome.paths += seen.paths - static_cast<int>(judged.old.size());
        break;
      }
      std::this_thread::sleep_for(2 * kAskAgain);
    }
    outcome.faults = std::move(judged.broken);
    std::ranges::move(judged.old, std::back_inserter(outcome.old_faults));
    if (outcome.faults.empty()) return true;
    const RailFault& first = outcome.faults.front();
    problem_ =
        fmt::format("{} between {} and {} does not carry: {}", first.rail, first.from, first.to, first.cause);
    return false;
  }

  // A node writes its decision to its disk before it replies, and nothing changes it afterwards. Once all
  // nodes have decided to commit, the change is kept, and a node that is lost from then on completes it when
  // it is back. Before that, one lost node rolls back the others. Only the state of a node that was lost
  // between its decision and its reply is unknown.
  bool commit() {
    const auto told = decide(true, "committing");
    for (const auto& [node, status] : told)
      if (!status) told_to_keep_.insert(node);
    const bool all_keep = keep(told) && std::ranges::all_of(told, [](const auto& one) {
                            return one.second->decision == Decision::kCommit;
                          });
    if (!all_keep) return false;
    for (const auto& [node, status] : wait_for_end())
      statuses_.insert_or_assign(node,
                                 status && !is_open(status->state) ? status : ends_by_itself(node, status));
    return true;
  }

  // Sends the rollback decision to the nodes that can be reached; the others roll back when their time is
  // over.
  void take_back() {
    if (nodes_.empty()) return;
    (void)decide(false, "going back");
    for (auto& [node, status] : wait_for_end()) statuses_.insert_or_assign(node, std::move(status));
  }

  void say(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }
  const std::string& problem() const { return problem_; }

  void add_to(ApplyOutcome& outcome) const {
    for (const auto& [node, status] : statuses_) {
      NodeOutcome node_outcome{.node = node};
      if (status) {
        node_outcome.state = status->state;
        node_outcome.why = status->why;
        node_outcome.log = status->log;
      } else {
        node_outcome.why.text = status.error().text;
        node_outcome.told_to_keep = told_to_keep_.contains(node);
      }
      outcome.nodes.push_back(std::move(node_outcome));
    }
  }

 private:
  fleet::OnStep telling(std::string_view doing) const {
    return [this, doing](const fleet::Step& step) {
      caller_.progress(fmt::format("{}: {}", doing, step.to_text()));
    };
  }

  // The caller's stop does not cancel any of these requests: what was begun is completed or rolled back.
  Statuses statuses_of(const std::vector<fleet::Answer>& answers) const {
    Statuses statuses;
    for (const fleet::Answer& answer : answers) statuses.emplace(answer.node, status_of(answer));
    caller_.progress("");
    return statuses;
  }
  Statuses ask(const NodeNames& nodes, std::string_view method, const std::string& payload,
               std::string_view doing) {
    return statuses_of(fresh_.ask(nodes, method, payload, kLookDeadline, telling(doing)));
  }
  Statuses decide(bool commit, std::string_view doing) {
    return ask(nodes_, kApplyDecide, json::dump(json::encode(ApplyDecided{id_, commit})), doing);
  }

  // Stores the nodes' statuses; returns false if one has failed.
  bool keep(const Statuses& statuses) {
    for (const auto& [node, status] : statuses) statuses_.insert_or_assign(node, status);
    say(first_problem(statuses));
    return is_good(statuses);
  }

  // Polls the nodes until reached(state) is true for each, or it counts as lost, or the time is over. Returns
  // the last status of each.
  template <class Reached>
  Statuses wait_for(const Reached& reached, std::chrono::seconds patience, std::string_view doing) {
    const auto began = ApplyClock::now();
    auto until = began + patience;
    const auto asked = json::dump(json::encode(ApplyAsked{id_}));
    Statuses all;
    NodeNames pending = nodes_;
    for (const std::string& node : nodes_) last_heard_[node] = ApplyClock::now();
    while (true) {
      for (auto& [node, status] : ask(pending, kApplyLook, asked, doing)) {
        if (status) last_heard_[node] = ApplyClock::now();
        all.insert_or_assign(node, std::move(status));
      }
      std::erase_if(pending, [&](const std::string& node) {
        const auto& status = all.at(node);
        return status ? reached(status->state) : is_lost(node);
      });
      if (pending.empty() || ApplyClock::now() > until) return all;
      until = std::min(until, last_of_a_minority(began, pending));
      keep_waiting(pending, asked);
      std::this_thread::sleep_for(kAskAgain);
    }
  }
  // Returns the time until which the last nodes are waited for, once at least half of them are ready: the
  // time that those took once more, or the wait of a single node if that is longer. So a node that reports
  // endless work does not hold up the others.
  ApplyClock::time_point last_of_a_minority(ApplyClock::time_point began, const NodeNames& pending) {
    if (2 * pending.size() > nodes_.size()) return ApplyClock::time_point::max();
    if (most_ready_ < began) most_ready_ = ApplyClock::now();
    return most_ready_ + std::max<ApplyClock::duration>(most_ready_ - began, straggler_);
  }
  // True if the node was unreachable for as long as it waits by itself: it is dead or rolls back. The others
  // need not wait for it.
  bool is_lost(const std::string& node) const {
    return ApplyClock::now() - last_heard_.at(node) > std::chrono::seconds(choice_.seconds);
  }
  // Restarts the timers of the nodes that have switched, so that they wait for the others.
  void keep_waiting(const NodeNames& pending, const std::string& asked) {
    if (ApplyClock::now() - told_to_wait_ < kTellAgain) return;
    NodeNames waiting;
    std::ranges::copy_if(nodes_, std::back_inserter(waiting), [&](const std::string& node) {
      return std::ranges::find(pending, node) == pending.end();
    });
    if (!waiting.empty()) (void)fresh_.ask(waiting, kApplyWait, asked, kLookDeadline, {});
    told_to_wait_ = ApplyClock::now();
  }
  // Returns the status of a node that decided to commit and was not seen to end.
  Result<ApplyStatus> ends_by_itself(const std::string& node, const Result<ApplyStatus>& seen) const {
    ApplyStatus status = *statuses_.at(node);
    status.state = ApplyState::kCommitted;
    status.why.text = "it decided to keep the change, and has not said that it has ended: it ends by itself";
    if (!seen) status.why.text += fmt::format(" when it is back ({})", seen.error().text);
    return status;
  }
  Statuses wait_for_end() {
    return wait_for([](ApplyState state) { return !is_open(state); }, kEndDeadline, "ending");
  }

  const Cluster& cluster_;
  NodeNames nodes_;
  const ConcernedRails concerned_;
  RailsSeen before_;
  const std::string id_;
  const ApplyChoice& choice_;
  const ReachOptions reach_;
  const Caller& caller_;
  std::chrono::seconds straggler_;  // extra time for the last few nodes
  FreshConnections fresh_;
  Statuses statuses_;
  std::set<std::string, std::less<>> told_to_keep_;  // nodes that did not reply to the commit
  std::string problem_;
  std::map<std::string, ApplyClock::time_point, std::less<>> last_heard_;
  ApplyClock::time_point told_to_wait_ = ApplyClock::now();
  ApplyClock::time_point most_ready_ = {};  // when half of the nodes were ready
};

// Stages, switches, proves, confirms and commits. Returns false after a rollback; `outcome.why` has the
// cause.
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
  if (choice.prove && !stopped()) batch.look_before();
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

// Rolls back nodes that have already committed, when another node was lost or the nodes after a canary
// failed. They roll back one by one, so that none waits for another that is lost as well.
void take_back_committed(const Cluster& cluster, const ApplyChoice& choice, const ReachOptions& reach,
                         const Caller& caller, ApplyOutcome& outcome) {
  ApplyChoice quiet = choice;
  quiet.prove = false;
  quiet.confirm = {};
  Caller steadfast = caller;  // a stop now would leave nodes in two states
  steadfast.stop = {};
  for (NodeOutcome& node_outcome : outcome.nodes) {
    if (node_outcome.state != ApplyState::kCommitted) continue;
    const ApplyOutcome back = roll_back(cluster, outcome.id, {node_outcome.node}, quiet, reach, steadfast);
    if (back.committed)
      node_outcome.state = ApplyState::kReverted;
    else
      node_outcome.why.text =
          fmt::format("it keeps the change, for it could not be taken back: {}", back.why.text);
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
    // With a wrong clock, signatures of packages and certificates look invalid, and times in histories are
    // wrong.
    const bool sets_clock = std::ranges::all_of(
        node.changes, [](const NodeChange& change) { return change.section == Section::kServices; });
    if (std::abs(node.clock_offset) > kMostClockOffset && !sets_clock)
      return fail(
          ErrorKind::kUnavailable,
          fmt::format("nothing was changed, since the clock of {} is {:.0f} s {} ours.\n"
                      "Set it first: `railbed apply --only services` starts its time service where it "
                      "has one that does not run; or there, by `timedatectl set-time`.",
                      node.node, std::abs(node.clock_offset), node.clock_offset > 0 ? "ahead of" : "behind"));
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
    request.family = node.family;
    request.stays = std::ranges::any_of(
        node.changes, [](const NodeChange& change) { return change.section == Section::kPackages; });
    // Nodes install for minutes or for an hour; none may give up before the slowest has ended.
    request.seconds = request.stays ? kPackagesWait : choice.seconds;
    packages = packages || request.stays;
    nodes.push_back(node.node);
    payloads.emplace(node.node, json::dump(json::encode(request)));
  }
  const std::chrono::seconds steps = packages ? std::chrono::seconds(kPackagesDeadline) : kStepsDeadline;
  for (const NodeNames& some : batches_of(nodes, choice.canary)) {
    Batch batch(cluster, some, ConcernedRails(cluster, plan), outcome.id, choice, reach, caller);
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
  const auto asked = json::dump(json::encode(
      RollbackRequest{outcome.id, choice.who, cluster.name, target, choice.seconds, choice.discard}));
  Payloads payloads;
  for (const std::string& node : nodes) payloads.emplace(node, asked);
  Batch batch(cluster, nodes, {}, outcome.id, choice, std::move(reach), caller);
  outcome.committed = carry_out(batch, kApplyRollback, payloads, kStepsDeadline, choice, caller, outcome);
  return outcome;
}

std::vector<NodeHistory> read_histories(const Cluster& cluster, const std::vector<std::string>& nodes,
                                        ReachOptions reach, const Caller& caller) {
  auto fleet = open_fleet(cluster, nodes, std::move(reach));
  std::vector<NodeHistory> all;
  for (const fleet::Answer& answer : fleet::gather(
           fleet, kApplyHistory, std::string("{}"), kStageDeadline, caller.stop,
           [&](const fleet::Step& step) { caller.progress("reading histories: " + step.to_text()); })) {
    NodeHistory node_history{.node = answer.node};
    auto history = answer.result ? json::read<ApplyHistory>(*answer.result)
                                 : Result<ApplyHistory>(fail(answer.result.error()));
    if (history) {
      node_history.applies = std::move(history->applies);
      node_history.applies.resize(
          std::min(node_history.applies.size(), kKeptApplies + 1));  // and one in progress
      for (PastApply& past : node_history.applies) {
        past.why.text = cut_to(past.why.text, kLongestWhy);
        past.titles.resize(std::min(past.titles.size(), kMostTitles));
        past.files.resize(std::min(past.files.size(), kMostTitles));
      }
    } else
      node_history.error = history.error().text;
    all.push_back(std::move(node_history));
  }
  caller.progress("");
  return all;
}

}  // namespace railbed
