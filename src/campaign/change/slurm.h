// Updates a node's state in slurmctld: from its verdict, as Slurm's HealthCheckProgram, and around a reboot.
// Only this code drains or resumes a node (docs/decisions/0007-slurm-drain.md), and only `railbed verify
// --slurm` and `railbed apply --reboot` call it.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/reading.h"
#include "base/result.h"
#include "host/host.h"
#include "verify/verify.h"

namespace railbed {

// The prefix of every reason that a health check sets. A health check undoes only drains with this prefix.
inline constexpr std::string_view kSlurmMark = "railbed: ";

// The state of a node in the output of `scontrol show node NAME` (scontrol(1); Slurm 20.11 to 25.05).
struct SlurmNode {
  bool drained = false;  // its state contains DRAIN
  std::string reason;    // without "[user@time]"; empty if none
  bool busy = false;     // jobs run on it or are about to end
  bool drained_by_railbed() const { return drained && reason.starts_with(kSlurmMark); }
};
// Parses that output. Returns nothing if it has no state.
std::optional<SlurmNode> parse_slurm_node(std::string_view text);

// The longest line after the mark in a reason. `sinfo -R --format=%200E` shows the whole reason.
inline constexpr std::size_t kSlurmLineBytes = 200 - kSlurmMark.size();

enum class SlurmOutcome {
  kUntouched,     // neither drained nor to be drained
  kOthersDrain,   // drained by another user or program; unchanged
  kDrained,       // now
  kStillDrained,  // by railbed, for the same reason
  kStaysDrained,  // by railbed, and not verified as repaired
  kUndrained,     // now
};

struct SlurmStep {
  SlurmOutcome outcome = SlurmOutcome::kUntouched;
  std::string reason;  // the reason of our drain; for kOthersDrain, the other one's reason
};
// Decides what to do with a node in the state `now`. Failures drain it; warnings do not. A drained node
// returns when nothing fails and the rule that drained it has passed or only warns. If that rule could not
// check, the node stays drained. Drains that railbed did not set stay. `line` is the verdict in at most
// kSlurmLineBytes.
SlurmStep slurm_step(const Verdict& verdict, const std::string& line, const SlurmNode& now);

// Returns Slurm's default name of this node: the host name up to its first dot.
std::string slurm_host_name();

using RunProgram = std::function<Reading<CommandOutput>(const std::vector<std::string>& words,
                                                        std::chrono::milliseconds deadline)>;
// Reads the node's state from slurmctld and makes the step that is due. Returns the step, or an error if
// Slurm could not be read or updated.
Result<SlurmStep> tell_slurm(const std::string& node, const Verdict& verdict, const std::string& line,
                             const RunProgram& run);

// Reads the node's state from slurmctld.
Result<SlurmNode> ask_slurm(const std::string& node, const RunProgram& run);
// Returns whether a job runs there or is about to end; false if Slurm is not installed. Fails if Slurm is
// installed and does not report the node.
Result<bool> job_has_node(const std::string& node, const RunProgram& run);
// The prefix of the reason of a drain for a reboot. It does not begin with kSlurmMark, so no health check
// undoes such a drain.
inline constexpr std::string_view kRebootMark = "railbed reboot: ";
// Drains the node: Slurm starts no new job there. `reason` is one line.
Result<void> drain(const std::string& node, std::string_view reason, const RunProgram& run);
// Resumes the node, also if Slurm marked it as down while it rebooted.
Result<void> resume(const std::string& node, const RunProgram& run);

}  // namespace railbed
