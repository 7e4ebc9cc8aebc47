// What slurmctld is told about a node: as Slurm's HealthCheckProgram, by the verdict on it, and around a
// reboot. Only this drains or resumes a node (docs/decisions/0007-slurm-drain.md), and only `railbed verify
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

// What every reason begins with that railbed gave: those drains, and no others, are its own to take back.
inline constexpr std::string_view kSlurmMark = "railbed: ";

// Of `scontrol show node NAME` (scontrol(1); Slurm 20.11 to 25.05).
struct SlurmNode {
  bool drained = false;  // DRAIN stands in its state
  std::string reason;    // without "[user@time]"; empty: none
  bool busy = false;     // jobs run on it, or are just ending
  bool drained_by_railbed() const { return drained && reason.starts_with(kSlurmMark); }
};
std::optional<SlurmNode> parse_slurm_node(std::string_view text);

// Of slurmctld's reasons: ours is a mark and one line. What `sinfo -R --format=%200E` still shows.
inline constexpr std::size_t kSlurmLineBytes = 200 - kSlurmMark.size();

enum class SlurmOutcome {
  kUntouched,     // neither drained nor to be drained
  kOthersDrain,   // somebody else's, left alone
  kDrained,       // now
  kStillDrained,  // by us, for the same reason
  kStaysDrained,  // by us, and not seen mended
  kUndrained,     // now
};

struct SlurmStep {
  SlurmOutcome outcome = SlurmOutcome::kUntouched;
  std::string reason;  // to drain with; of kOthersDrain, theirs
};
// Failures drain; warnings do not. A node that could not be looked at keeps the state it has; one that is
// drained comes back when nothing fails and the rule that drained it has looked again. `line`: the verdict in
// at most kSlurmLineBytes.
SlurmStep slurm_step(const Verdict& verdict, const std::string& line, const SlurmNode& now);

// What Slurm calls this node unless somebody named it otherwise: the host name up to its first dot.
std::string slurm_host_name();

using RunProgram = std::function<Reading<CommandOutput>(const std::vector<std::string>& words,
                                                        std::chrono::milliseconds deadline)>;
// Asks slurmctld for the node and does what is due. What was done, or why Slurm could not be told.
Result<SlurmStep> tell_slurm(const std::string& node, const Verdict& verdict, const std::string& line,
                             const RunProgram& run);

// What Slurm knows of the node.
Result<SlurmNode> ask_slurm(const std::string& node, const RunProgram& run);
// Whether a job runs there, or is just ending. Where Slurm is not installed, none of its does. An error: it
// is installed, and does not say.
Result<bool> job_has_node(const std::string& node, const RunProgram& run);
// The mark of a drain before a reboot. No health check takes it back: it is none of kSlurmMark.
inline constexpr std::string_view kRebootMark = "railbed reboot: ";
// No new job starts there. `reason`: one line.
Result<void> drain(const std::string& node, std::string_view reason, const RunProgram& run);
// Jobs again, also where Slurm took the node for lost while it rebooted.
Result<void> resume(const std::string& node, const RunProgram& run);

}  // namespace railbed
