// What an agent that runs as root answers about applies (docs/reference/agent-protocol.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apply/transaction.h"
#include "base/fields.h"
#include "base/json.h"
#include "base/peer.h"

namespace railbed {

inline constexpr std::string_view kApplyStage = "apply.stage";        // ApplyRequest → ApplyStatus
inline constexpr std::string_view kApplyRollback = "apply.rollback";  // RollbackRequest → ApplyStatus
inline constexpr std::string_view kApplySwitch = "apply.switch";      // ApplyAsked → ApplyStatus
inline constexpr std::string_view kApplyLook = "apply.look";          // ApplyAsked → ApplyStatus
inline constexpr std::string_view kApplyWait =
    "apply.wait";  // ApplyAsked → ApplyStatus: others are not ready
inline constexpr std::string_view kApplyDecide = "apply.decide";    // ApplyDecided → ApplyStatus
inline constexpr std::string_view kApplyHistory = "apply.history";  // nothing → ApplyHistory
inline constexpr std::string_view kApplyFree =
    "apply.free";  // nothing → nothing; an error: somebody changes it
inline constexpr std::string_view kApplyBoot = "apply.boot";      // nothing → BootAnswer
inline constexpr std::string_view kApplyReboot = "apply.reboot";  // RebootAsked → BootAnswer

struct ApplyAsked {
  std::string id = {};
  FIELDS(ApplyAsked, id);
};
struct ApplyDecided {
  std::string id = {};
  bool commit = false;
  FIELDS(ApplyDecided, id, commit);
};
struct ApplyStatus {
  std::string id = {};
  ApplyState state = ApplyState::kStaged;
  std::optional<Decision> decision =
      {};  // it lasts, whatever becomes of the node: it only has to be carried out
  json::Lines why = {};
  json::Lines log = {};
  FIELDS(ApplyStatus, id, state, decision, why, log);
};

// Transaction::stage_rollback()
struct RollbackRequest {
  std::string id = {};
  std::string who = {};
  std::string cluster = {};
  std::string target = {};
  int seconds = 120;
  bool discard = false;
  FIELDS(RollbackRequest, id, who, cluster, target, seconds, discard);
};

struct BootAnswer {
  std::string boot = {};  // the kernel's own name of this boot: another one after the next
  FIELDS(BootAnswer, boot);
};
struct RebootAsked {
  std::string boot = {};  // the one that is to end: a second request does not reboot twice
  FIELDS(RebootAsked, boot);
};

struct PastApply {
  std::string id = {};
  std::string who = {};
  std::string cluster = {};
  std::string begun = {};
  ApplyState state = ApplyState::kStaged;
  std::vector<std::string> titles = {};
  std::vector<std::string> files = {};
  json::Lines why = {};
  bool this_boot = false;  // the node has not started anew since it began
  FIELDS(PastApply, id, who, cluster, begun, state, titles, files, why, this_boot);
};
struct ApplyHistory {
  std::vector<PastApply> applies = {};  // the latest first, as this node counts them
  FIELDS(ApplyHistory, applies);
};

// A node keeps so many that have ended; older ones go when the next begins.
inline constexpr std::size_t kKeptApplies = 20;

Handlers apply_handlers();

// The same on any host.
Result<ApplyStatus> stage_apply(WritableHost& host, const ApplyRequest& request);
Result<ApplyStatus> stage_rollback(WritableHost& host, const RollbackRequest& request);
Result<ApplyHistory> apply_history(WritableHost& host);

}  // namespace railbed
