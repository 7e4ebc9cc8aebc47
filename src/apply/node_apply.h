// Requests about applies that an agent handles as root (docs/reference/agent-protocol.md).
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
// nothing → nothing; fails while an apply is changing the node
inline constexpr std::string_view kApplyFree = "apply.free";
inline constexpr std::string_view kApplyBoot = "apply.boot";      // nothing → BootAnswer
inline constexpr std::string_view kApplyReboot = "apply.reboot";  // RebootAsked → BootAnswer

// Request about one apply.
struct ApplyAsked {
  std::string id = {};
  FIELDS(ApplyAsked, id);
};
// Request that decides an apply.
struct ApplyDecided {
  std::string id = {};
  bool commit = false;
  FIELDS(ApplyDecided, id, commit);
};
// State of one apply.
struct ApplyStatus {
  std::string id = {};
  ApplyState state = ApplyState::kStaged;
  // permanent, whatever happens to the node: it only has to be carried out
  std::optional<Decision> decision = {};
  json::Lines why = {};
  json::Lines log = {};
  FIELDS(ApplyStatus, id, state, decision, why, log);
};

// Request for Transaction::stage_rollback().
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
  std::string boot = {};  // the kernel's id of this boot; it changes with each boot
  FIELDS(BootAnswer, boot);
};
struct RebootAsked {
  std::string boot = {};  // the boot that is to end: a repeated request does not reboot twice
  FIELDS(RebootAsked, boot);
};

// One apply in a node's history.
struct PastApply {
  std::string id = {};
  std::string who = {};
  std::string cluster = {};
  std::string begun = {};
  ApplyState state = ApplyState::kStaged;
  std::vector<std::string> titles = {};
  std::vector<std::string> files = {};
  json::Lines why = {};
  bool this_boot = false;  // the node has not rebooted since it began
  FIELDS(PastApply, id, who, cluster, begun, state, titles, files, why, this_boot);
};
struct ApplyHistory {
  std::vector<PastApply> applies = {};  // latest first, by this node's own count
  FIELDS(ApplyHistory, applies);
};

// Number of ended applies that a node keeps; older ones are removed when the next one begins.
inline constexpr std::size_t kKeptApplies = 20;

// Returns the handlers of the requests above. All but kApplyBoot require root.
Handlers apply_handlers();

// Handlers that work on any host.
Result<ApplyStatus> stage_apply(WritableHost& host, const ApplyRequest& request);
Result<ApplyStatus> stage_rollback(WritableHost& host, const RollbackRequest& request);
Result<ApplyHistory> apply_history(WritableHost& host);

}  // namespace railbed
