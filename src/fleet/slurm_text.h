// What Slurm's programs print of nodes and jobs, as data. We name the fields ourselves (-o), which means the
// same from Slurm 20.11 on; --json has other shapes in each of its versions, and is not in all builds.
//
// All of it is untrusted: a reason may hold any bytes, line feeds too. So each of our lines begins with a
// nonce that nobody could know who wrote a reason; what does not begin so is no line of Slurm's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace railbed::fleet {

struct SlurmNodeState {
  std::string name;
  std::string state;                    // as sinfo's %T says it: "idle", "down*", "drained"
  std::string reason;                   // empty: none was given
  std::vector<std::string> partitions;  // those that it is in
};
struct SlurmNodes {
  std::vector<SlurmNodeState> nodes;  // each once, in Slurm's order
  std::string standard_partition;     // where jobs go that name none; empty: nowhere
};
// For `sinfo --Node --noheader -o`.
std::string slurm_node_format(std::string_view nonce);
SlurmNodes parse_slurm_nodes(std::string_view text, std::string_view nonce);

struct SlurmJob {
  std::uint64_t number = 0;
  std::string user;
  std::vector<std::string> nodes;
};
// For `squeue --noheader -o`.
std::string slurm_job_format(std::string_view nonce);
std::vector<SlurmJob> parse_slurm_jobs(std::string_view text, std::string_view nonce);

// How a node would be used.
enum class SlurmUse {
  kAlone,    // allocated to us, and nobody else runs there
  kOverlap,  // allocated to us beside others
  kJob,      // as one that a running job has
};
// Why no agent can be started there now: its state and Slurm's reason. A node that is only just becoming free
// can. `reserved`: we have a reservation.
std::optional<std::string> why_not(const SlurmNodeState& node, SlurmUse use, bool reserved = false);

// One that all `nodes` are in, the standard one first; empty: there is none.
std::string partition_of_all(const std::vector<SlurmNodeState>& nodes, const std::string& standard);

// Names as Slurm takes them: "gpu[01-64],nas".
std::string slurm_hostlist(const std::vector<std::string>& names);

// The names of a pattern of Slurm's, at most 100,000; nothing where it is none, or names no node.
std::vector<std::string> slurm_names(std::string_view hostlist);
// What may stand in a node's or a partition's name, and in no case for an option.
bool is_slurm_name(std::string_view name);

}  // namespace railbed::fleet
