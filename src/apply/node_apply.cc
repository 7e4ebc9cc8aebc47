#include "apply/node_apply.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <thread>

#include "apply/keeper.h"
#include "base/fd.h"
#include "base/moment.h"
#include "base/text.h"

namespace railbed {
namespace {

constexpr std::chrono::seconds kKeeperStarts{15};
constexpr std::chrono::seconds kStagingTakes{40};
constexpr double kForgottenAfter = 900;  // seconds: a controller stages all nodes before it switches one

ApplyStatus status_of(const Transaction& transaction) {
  return {.id = transaction.journal().request.id,
          .state = transaction.state(),
          .decision = transaction.decided(),
          .why = {transaction.why()},
          .log = {transaction.log()}};
}

Result<void> want_root() {
  if (geteuid() == 0) return {};
  return fail(ErrorKind::kUnavailable, "changing a node takes root, and this agent is not root");
}

// Returns true if a controller abandoned it, by the time since boot: clocks may be set, and boots end.
bool is_forgotten(const WritableHost& host, const Transaction& open) {
  const Journal& journal = open.journal();
  if (open.state() != ApplyState::kStaged) return false;
  const double age = uptime_now() - journal.uptime;
  return journal.boot != boot_now(host) || age < 0 || age > kForgottenAfter;
}

// Names who holds the node and until when. A prepared change has touched nothing yet, but its controller may
// still be preparing other nodes, so it is held for as long as that may take.
Error already_changed_by(const Transaction& open) {
  const ApplyRequest& request = open.journal().request;
  const std::string apply = fmt::format("(apply {}, {})", request.id,
                                        enum_names(open.state())[static_cast<std::size_t>(open.state())]);
  if (open.state() != ApplyState::kStaged)
    return {
        ErrorKind::kUnavailable,
        fmt::format("{} is changing this node since {} {}: wait until it has ended; left alone it goes back "
                    "by itself, {} s after it was last heard of",
                    request.who, open.journal().begun, apply, request.seconds)};
  const double left = std::max(0.0, kForgottenAfter - (uptime_now() - open.journal().uptime));
  return {ErrorKind::kUnavailable,
          fmt::format(
              "{} is changing this node since {} {}: it is prepared and nothing is changed yet. If nobody "
              "goes on with it, for example since its controller died, the node is free again in {:.0f} s",
              request.who, open.journal().begun, apply, std::ceil(left))};
}

// Fails while an apply is changing this node. Abandoned applies are rolled back first.
Result<void> want_no_other(WritableHost& host) {
  ASSIGN_OR_RETURN(const auto all, past_applies(host));
  for (const Transaction& transaction : all) {
    if (!is_open(transaction.state())) continue;
    if (transaction.state() != ApplyState::kStaged || is_forgotten(host, transaction)) {
      RETURN_IF_ERROR(recover_applies(host, transaction.journal().request.id, {}));
      if (!is_open(transaction.state())) continue;
    }
    return fail(already_changed_by(transaction));
  }
  return {};
}

// Like want_no_other(), but changes nothing.
Result<void> want_free(WritableHost& host) {
  ASSIGN_OR_RETURN(const auto all, past_applies(host));
  for (const Transaction& transaction : all)
    if (is_open(transaction.state()) && !is_forgotten(host, transaction))
      return fail(already_changed_by(transaction));
  return {};
}

// Removes records beyond the limit: first those that cannot be read, then the oldest.
void forget_old(WritableHost& host) {
  const auto ids = apply_ids(host);
  const auto all = past_applies(host);
  if (!ids || !all) return;
  std::vector<std::string> ended = *ids;
  for (const Transaction& transaction : *all) std::erase(ended, transaction.journal().request.id);
  for (const Transaction& transaction : *all)
    if (!is_open(transaction.state())) ended.push_back(transaction.journal().request.id);
  if (ended.size() <= kKeptApplies) return;
  ended.resize(ended.size() - kKeptApplies);
  for (const std::string& id : ended) {
    const std::string folder = fmt::format("{}/{}", kApplyFolder, id);
    const auto names = host.list(folder);
    if (!names) continue;
    for (const std::string& name : *names) (void)host.remove(folder + "/" + name);
    host.remove_folder(folder);
  }
}

// Serializes two controllers that stage at the same moment.
class StageLock {
 public:
  explicit StageLock(const WritableHost& host) : fd_(host.open_own_folder(std::string(kApplyFolder))) {
    const auto until = std::chrono::steady_clock::now() + kStagingTakes;
    while (!(taken_ = flock(fd_.get(), LOCK_EX | LOCK_NB) == 0) && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  bool is_taken() const { return taken_; }

 private:
  Fd fd_;
  bool taken_ = false;
};

Result<ApplyStatus> stage_alone(WritableHost& host, const std::function<Result<Transaction>()>& stage) {
  RETURN_IF_ERROR(host.make_folder(std::string(kApplyFolder), 0700));
  const StageLock alone(host);
  if (!alone.is_taken())
    return fail(ErrorKind::kTimeout, "another controller is still preparing this node: try again");
  RETURN_IF_ERROR(want_no_other(host));
  forget_old(host);
  ASSIGN_OR_RETURN(auto staged, stage());
  return status_of(staged);
}

Result<std::string> told(const Result<ApplyStatus>& status) {
  if (!status) return fail(status.error());
  return json::dump(json::encode(*status));
}

// Returns a handler that parses the request and requires root.
template <class Asked>
Handler answers(Result<ApplyStatus> (*handle)(WritableHost& host, const Asked& asked)) {
  return [handle](std::string_view payload, std::stop_token) -> Result<std::string> {
    RETURN_IF_ERROR(want_root());
    const auto asked = json::read<Asked>(payload);
    if (!asked) return fail(asked.error(), "apply");
    WritableHost host;
    return told(handle(host, *asked));
  };
}

Result<ApplyStatus> look(WritableHost& host, const ApplyAsked& asked) {
  ASSIGN_OR_RETURN(auto transaction, Transaction::open(host, asked.id));
  return status_of(transaction);
}

Result<ApplyStatus> wait_longer(WritableHost& host, const ApplyAsked& asked) {
  ASSIGN_OR_RETURN(auto transaction, Transaction::open(host, asked.id));
  if (transaction.state() == ApplyState::kSwitched) transaction.hear();
  return status_of(transaction);
}

Result<ApplyStatus> switch_node(WritableHost& host, const ApplyAsked& asked) {
  ASSIGN_OR_RETURN(auto transaction, Transaction::open(host, asked.id));
  RETURN_IF_ERROR(start_keeper(host, transaction));
  const auto until = std::chrono::steady_clock::now() + kKeeperStarts;
  while (transaction.state() == ApplyState::kStaged && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  if (transaction.state() == ApplyState::kStaged)
    return fail(ErrorKind::kTimeout, "the process that makes the change has not begun");
  return status_of(transaction);
}

// Carries out the decision at once if the apply never switched, because no keeper will.
Result<ApplyStatus> decide(WritableHost& host, const ApplyDecided& asked) {
  ASSIGN_OR_RETURN(auto transaction, Transaction::open(host, asked.id));
  RETURN_IF_ERROR(transaction.decide(asked.commit ? Decision::kCommit : Decision::kRevert));
  if (transaction.state() == ApplyState::kStaged) RETURN_IF_ERROR(transaction.finish(false));
  return status_of(transaction);
}

Result<std::string> free(std::string_view, std::stop_token) {
  RETURN_IF_ERROR(want_root());
  WritableHost host;
  RETURN_IF_ERROR(want_free(host));
  return "{}";
}

Result<std::string> boot(std::string_view, std::stop_token) {
  return json::dump(json::encode(BootAnswer{boot_now(WritableHost())}));
}

// Responds before the node goes down, as long as the network still works.
Result<std::string> reboot(std::string_view payload, std::stop_token) {
  RETURN_IF_ERROR(want_root());
  const auto asked = json::read<RebootAsked>(payload);
  if (!asked) return fail(asked.error(), "reboot");
  WritableHost host;
  RETURN_IF_ERROR(want_no_other(host));
  BootAnswer answer{boot_now(host)};
  if (asked->boot == answer.boot) {
    const auto told = host.run({"systemctl", "--no-block", "reboot"});
    if (!told.ok()) return fail(ErrorKind::kUnavailable, describe(told.miss(), told.from()));
    if (told->exit_code != 0)
      return fail(ErrorKind::kUnavailable, fmt::format("systemctl reboot: {}", trim(told->error_output)));
  }
  return json::dump(json::encode(answer));
}

Result<std::string> history(std::string_view, std::stop_token) {
  RETURN_IF_ERROR(want_root());
  WritableHost host;
  ASSIGN_OR_RETURN(const auto all, apply_history(host));
  return json::dump(json::encode(all));
}

}  // namespace

Result<ApplyStatus> stage_apply(WritableHost& host, const ApplyRequest& request) {
  return stage_alone(host, [&] { return Transaction::stage(host, request); });
}

Result<ApplyStatus> stage_rollback(WritableHost& host, const RollbackRequest& asked) {
  const ApplyRequest request{.id = asked.id,
                             .who = asked.who,
                             .cluster = asked.cluster,
                             .seconds = asked.seconds,
                             .titles = {"back to before " + asked.target}};
  RETURN_IF_ERROR(check_request(request));
  return stage_alone(host,
                     [&] { return Transaction::stage_rollback(host, request, asked.target, asked.discard); });
}

Result<ApplyHistory> apply_history(WritableHost& host) {
  ASSIGN_OR_RETURN(auto past, past_applies(host));
  ApplyHistory all;
  for (const Transaction& apply : reversed(std::move(past))) {
    const Journal& journal = apply.journal();
    PastApply past_apply{journal.request.id,
                         journal.request.who,
                         journal.request.cluster,
                         journal.begun,
                         apply.state(),
                         journal.request.titles,
                         {},
                         {apply.why()},
                         !journal.boot.empty() && journal.boot == boot_now(host)};
    for (const KeptEdit& edit : journal.files) past_apply.files.push_back(edit.path);
    all.applies.push_back(std::move(past_apply));
  }
  return all;
}

Handlers apply_handlers() {
  Handlers handlers;
  handlers[std::string(kApplyStage)] = answers<ApplyRequest>(stage_apply);
  handlers[std::string(kApplyRollback)] = answers<RollbackRequest>(stage_rollback);
  handlers[std::string(kApplySwitch)] = answers<ApplyAsked>(switch_node);
  handlers[std::string(kApplyLook)] = answers<ApplyAsked>(look);
  handlers[std::string(kApplyWait)] = answers<ApplyAsked>(wait_longer);
  handlers[std::string(kApplyDecide)] = answers<ApplyDecided>(decide);
  handlers[std::string(kApplyHistory)] = history;
  handlers[std::string(kApplyFree)] = free;
  handlers[std::string(kApplyBoot)] = boot;
  handlers[std::string(kApplyReboot)] = reboot;
  return handlers;
}

}  // namespace railbed
