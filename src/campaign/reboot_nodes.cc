#include "campaign/reboot_nodes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "apply/node_apply.h"
#include "base/json.h"
#include "base/text.h"
#include "campaign/slurm.h"
#include "campaign/survey.h"
#include "host/process.h"
#include "verify/verify.h"

// One node's turn: record its boot id and the rules that fail now; drain it in Slurm and wait for its jobs;
// reboot it; wait until it reports another boot id; wait until its plan is empty and no rule fails that
// passed before; resume it in Slurm. The boot id shows whether a reboot happened even if the reply to the
// request is lost. If the node was not rebooted, it is resumed at once.
namespace railbed {
namespace {

using RebootClock = std::chrono::steady_clock;

constexpr std::string_view kSlurmLook = "slurm.look";      // nothing → SlurmAnswer
constexpr std::string_view kSlurmDrain = "slurm.drain";    // SlurmDrainAsked → SlurmAnswer
constexpr std::string_view kSlurmResume = "slurm.resume";  // nothing → SlurmAnswer
constexpr std::chrono::seconds kAnswerDeadline{20};
constexpr std::chrono::seconds kLookAgain{2};
constexpr std::chrono::seconds kSettles{180};  // services start after sshd
constexpr std::size_t kMostTold = 4;

// --- on the node ---

Reading<CommandOutput> run_here(const std::vector<std::string>& words, std::chrono::milliseconds deadline) {
  return run_program(words, deadline);
}

Result<SlurmAnswer> look_at_slurm() {
  const auto running = run_here({"pgrep", "-x", "slurmd"}, kAnswerDeadline);
  if (!running.ok() || running->exit_code != 0) return SlurmAnswer{};
  ASSIGN_OR_RETURN(const auto now, ask_slurm(slurm_host_name(), run_here));
  return SlurmAnswer{true, now.drained, now.drained && now.reason.starts_with(kRebootMark), now.busy};
}

// Returns a handler that makes `change` (if not null) and replies with the state afterwards. It needs root,
// since slurmctld lets no other user change a node's state.
Handler slurm_answer(Result<void> (*change)(std::string_view payload, const SlurmAnswer& now)) {
  return [change](std::string_view payload, std::stop_token) -> Result<std::string> {
    if (geteuid() != 0) return fail(ErrorKind::kUnavailable, "telling Slurm takes root");
    auto now = look_at_slurm();
    if (now && now->member && change != nullptr) {
      RETURN_IF_ERROR(change(payload, *now));
      now = look_at_slurm();
    }
    if (!now) return fail(now.error());
    return json::dump(json::encode(*now));
  };
}

// A drain by another user serves as well, and stays.
Result<void> drain_for_reboot(std::string_view payload, const SlurmAnswer& now) {
  const auto asked = json::read<SlurmDrainAsked>(payload);
  if (!asked) return fail(asked.error(), "drain");
  if (now.drained) return {};
  return drain(slurm_host_name(), fmt::format("{}asked for by {}", kRebootMark, asked->who), run_here);
}

Result<void> resume_after_reboot(std::string_view, const SlurmAnswer& now) {
  return now.ours ? resume(slurm_host_name(), run_here) : Result<void>();
}

// --- on the controller ---

// The turn of one node.
class Turn {
 public:
  Turn(const Cluster& cluster, const PlanRequest& request, const std::string& node,
       const RebootChoice& choice, const ReachOptions& reach, const Caller& caller)
      : cluster_(cluster),
        request_(request),
        node_(node),
        choice_(choice),
        reach_(made_anew(reach)),
        caller_(caller) {}

  // Fails if the node was not rebooted or is not as it should be.
  Result<void> take() {
    ASSIGN_OR_RETURN(const auto before, boot_name());
    ASSIGN_OR_RETURN(const auto failures, failures_now());
    RETURN_IF_ERROR(wait_for_jobs());
    if (auto told = tell_reboot(before); !told) {
      give_back();
      return fail(told.error());
    }
    rebooted_ = true;
    RETURN_IF_ERROR(wait_for_boot(before));
    RETURN_IF_ERROR(wait_until_well(failures));
    return resume_node();
  }
  bool was_rebooted() const { return rebooted_; }

 private:
  template <class Answer>
  Result<Answer> ask(std::string_view method, const std::string& payload = "{}") const {
    return ask<Answer>(method, payload, caller_.stop);
  }
  template <class Answer>
  Result<Answer> ask(std::string_view method, const std::string& payload, std::stop_token stop) const {
    auto fleet = open_fleet(cluster_, {node_}, reach_);
    const auto answers = fleet::gather(fleet, method, payload, kAnswerDeadline, std::move(stop));
    if (!answers.front().result) return fail(answers.front().result.error());
    return json::read<Answer>(*answers.front().result);
  }

  Result<std::string> boot_name() const {
    ASSIGN_OR_RETURN(auto answer, ask<BootAnswer>(kApplyBoot));
    if (answer.boot.empty())
      return fail(ErrorKind::kUnavailable,
                  "its kernel does not name its boot: that it rebooted could not be told");
    return answer.boot;
  }

  std::chrono::seconds settling() const { return std::min(kSettles, std::chrono::seconds(choice_.seconds)); }
  bool stopped() const { return caller_.stop.stop_requested(); }
  // Polls until done() is true. Returns false if the time is over or the caller stops.
  template <class Done>
  bool wait_for(std::chrono::seconds patience, std::string_view doing, const Done& done) const {
    const auto begun = RebootClock::now();
    while (!done()) {
      const auto passed = std::chrono::duration_cast<std::chrono::seconds>(RebootClock::now() - begun);
      if (passed >= patience || stopped()) return false;
      caller_.progress(fmt::format("{}: {}, {} s", node_, doing, passed.count()));
      std::this_thread::sleep_for(kLookAgain);
    }
    return true;
  }

  Result<void> wait_for_jobs() {
    auto slurm = ask<SlurmAnswer>(kSlurmLook);
    in_slurm_ = slurm && slurm->member;
    if (in_slurm_) {
      // Not cancelled by a stop: the node may be drained although the reply did not come.
      slurm = ask<SlurmAnswer>(kSlurmDrain, json::dump(json::encode(SlurmDrainAsked{choice_.who})),
                               std::stop_token());
      if (!slurm) give_back();
    }
    if (!slurm) return fail(slurm.error());
    if (!in_slurm_ || !slurm->busy) return {};
    const bool ended = wait_for(std::chrono::seconds(choice_.drain_seconds), "jobs of Slurm are to end", [&] {
      const auto now = ask<SlurmAnswer>(kSlurmLook);
      return now && !now->busy;
    });
    if (ended) return {};
    give_back();
    return fail(ErrorKind::kTimeout,
                stopped() ? "it was stopped while jobs still ran"
                          : fmt::format("jobs of Slurm still run there after {} s: it was not rebooted; "
                                        "--drain-timeout waits longer",
                                        choice_.drain_seconds));
  }

  Result<void> tell_reboot(const std::string& boot) const {
    if (stopped()) return fail(ErrorKind::kCancelled, "it was stopped");
    const auto told = ask<BootAnswer>(kApplyReboot, json::dump(json::encode(RebootAsked{boot})));
    // The network that goes down may lose the reply. If the node itself reports an error (kUnavailable), it
    // is still in the same boot a little later.
    if (told) return {};
    const bool left = wait_for(kAnswerDeadline, "whether it reboots", [&] {
      const auto now = boot_name();
      return !now || *now != boot;
    });
    return left ? Result<void>() : fail(told.error());
  }

  Result<void> wait_for_boot(const std::string& boot) const {
    const bool back = wait_for(std::chrono::seconds(choice_.seconds), "rebooting", [&] {
      const auto now = boot_name();
      return now && *now != boot;
    });
    if (back) return {};
    return fail(ErrorKind::kTimeout,
                stopped()
                    ? "it was stopped while the node rebooted"
                    : fmt::format("it did not come back within {} s: look at its console", choice_.seconds));
  }

  // The failed findings of verify on the node, as rule and message.
  using Failures = std::set<std::string>;
  Result<Failures> failures_now() const {
    auto fleet = open_fleet(cluster_, {node_}, reach_);
    Evidence evidence;
    evidence.cluster = cluster_;
    std::erase_if(evidence.cluster.nodes, [&](const Node& node) { return node.name != node_; });
    for (Rail& rail : evidence.cluster.rails)
      std::erase_if(rail.ports, [&](const RailPort& port) { return port.node != node_; });
    Surveyed surveyed = survey_nodes(fleet, {.stop = caller_.stop});
    if (!surveyed.unreachable.empty()) return fail(surveyed.unreachable.front().error);
    evidence.nodes = std::move(surveyed.facts);
    Failures failures;
    for (const Finding& finding : verify(evidence).findings)
      if (finding.status == Status::kFail)
        failures.insert(fmt::format("{}: {}", finding.rule, finding.message));
    return failures;
  }

  // Returns what is not as it should be: changes that a plan would make, a pending reboot, and failures that
  // are not in `before`.
  std::vector<std::string> faults_now(const Failures& before) const {
    PlanRequest own = request_;
    own.nodes = {node_};
    own.fix = false;
    const auto plan = plan_nodes(own, reach_, {.stop = caller_.stop});
    if (!plan) return {plan.error().text};
    std::vector<std::string> faults;
    for (const NodePlan& node_plan : plan->nodes) {
      if (!node_plan.error.empty()) faults.push_back(node_plan.error);
      for (const NodeChange& change : node_plan.changes) faults.push_back("not set: " + change.title);
      if (node_plan.wants_reboot)
        faults.push_back(
            fmt::format("it wants another reboot: {}", fmt::join(node_plan.awaiting_reboot, ", ")));
    }
    const auto now = failures_now();
    if (!now) return {now.error().text};
    std::ranges::set_difference(*now, before, std::back_inserter(faults));
    return faults;
  }

  // Waits, because a node that has just begun to respond still starts its services.
  Result<void> wait_until_well(const Failures& before) const {
    std::vector<std::string> faults;
    const bool well = wait_for(settling(), "looking at it after its reboot",
                               [&] { return (faults = faults_now(before)).empty(); });
    if (well) return {};
    if (faults.size() > kMostTold) {
      faults.resize(kMostTold);
      faults.emplace_back("and more: see `railbed verify`");
    }
    return fail(ErrorKind::kUnavailable,
                fmt::format("after its reboot it is not as it shall be: {}", fmt::join(faults, "; ")));
  }

  // Retries, because Slurm takes a moment to register a node that has just started.
  Result<void> resume_node() const {
    if (!in_slurm_) return {};
    Result<SlurmAnswer> last = SlurmAnswer{};
    const bool resumed = wait_for(settling(), "back into Slurm", [&] {
      last = ask<SlurmAnswer>(kSlurmResume);
      return last && last->member && !last->ours;
    });
    if (resumed) return {};
    return fail(ErrorKind::kUnavailable,
                fmt::format("it is well, and stays drained in Slurm: {}",
                            last ? "it was resumed, and Slurm still shows the drain" : last.error().text));
  }
  // Resumes a node that was not rebooted, also after a stop by the caller.
  void give_back() const {
    if (in_slurm_) (void)ask<SlurmAnswer>(kSlurmResume, "{}", std::stop_token());
  }

  const Cluster& cluster_;
  const PlanRequest& request_;
  const std::string node_;
  const RebootChoice& choice_;
  const ReachOptions reach_;
  const Caller& caller_;
  bool in_slurm_ = false;
  bool rebooted_ = false;
};

}  // namespace

Handlers slurm_handlers() {
  Handlers handlers;
  handlers[std::string(kSlurmLook)] = slurm_answer(nullptr);
  handlers[std::string(kSlurmDrain)] = slurm_answer(drain_for_reboot);
  handlers[std::string(kSlurmResume)] = slurm_answer(resume_after_reboot);
  return handlers;
}

RebootOutcome reboot_nodes(const Cluster& cluster, const PlanRequest& request,
                           const std::vector<std::string>& nodes, const RebootChoice& choice,
                           ReachOptions reach, const Caller& caller) {
  RebootOutcome outcome;
  for (const std::string& node : nodes) outcome.nodes.push_back({.node = node});
  for (RebootedNode& node : outcome.nodes) {
    const auto begun = RebootClock::now();
    Turn turn(cluster, request, node.node, choice, reach, caller);
    const auto taken = turn.take();
    node.seconds = std::chrono::duration<double>(RebootClock::now() - begun).count();
    caller.progress("");
    node.state = taken                 ? RebootState::kWell
                 : turn.was_rebooted() ? RebootState::kNotWell
                                       : RebootState::kLeft;
    if (taken) continue;
    node.why.text = taken.error().text;
    break;  // the others remain unchanged
  }
  return outcome;
}

}  // namespace railbed
