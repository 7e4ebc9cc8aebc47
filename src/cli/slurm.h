// Slurm's HealthCheckProgram: what to tell slurmctld about the node that a verdict is on. Only this drains or
// resumes a node (docs/decisions/0007-slurm-drain.md), and only `railbed verify --slurm` calls it.
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
  bool drained_by_railbed() const { return drained && reason.starts_with(kSlurmMark); }
};
std::optional<SlurmNode> parse_slurm_node(std::string_view text);

// What to do, and the line that says so.
struct SlurmStep {
  enum class Kind { kNothing, kDrain, kUndrain } kind = Kind::kNothing;
  std::string reason;  // to drain with
  std::string line;
};
// Failures drain; warnings do not. A node that could not be looked at keeps the state it has.
SlurmStep slurm_step(const std::string& node, const Verdict& verdict, const SlurmNode& now);

// SLURMD_NODENAME, which slurmd sets, else the host name up to its first dot.
std::string slurm_node_name();

using RunProgram = std::function<Reading<CommandOutput>(const std::vector<std::string>& words,
                                                        std::chrono::milliseconds deadline)>;
// Asks slurmctld for the node and does what is due. The line to print, or why Slurm could not be told.
Result<std::string> tell_slurm(const std::string& node, const Verdict& verdict, const RunProgram& run);

}  // namespace railbed
