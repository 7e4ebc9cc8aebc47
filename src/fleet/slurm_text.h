// Parses what Slurm's programs print about nodes and jobs. The format names the fields (-o), which have the
// same meaning since Slurm 20.11. --json differs between versions, and is not in all builds.
//
// All output is untrusted: a reason may hold any bytes, including line feeds. So each requested line starts
// with a nonce that the author of a reason cannot know; other lines are ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace railbed::fleet {

// The state of one node.
struct SlurmNodeState {
  std::string name;
  std::string state;                    // sinfo's %T: "idle", "down*", "drained"
  std::string reason;                   // empty if none was given
  std::vector<std::string> partitions;  // the partitions that it belongs to
};
// The nodes of a query.
struct SlurmNodes {
  std::vector<SlurmNodeState> nodes;  // each once, in Slurm's order
  std::string standard_partition;     // the default partition; empty if there is none
};
// Returns the format for `sinfo --Node --noheader -o`.
std::string slurm_node_format(std::string_view nonce);
// Returns the nodes, at most 100,000.
SlurmNodes parse_slurm_nodes(std::string_view text, std::string_view nonce);

// One running job.
struct SlurmJob {
  std::uint64_t number = 0;
  std::string user;
  std::vector<std::string> nodes;
};
// Returns the format for `squeue --noheader -o`.
std::string slurm_job_format(std::string_view nonce);
// Returns the jobs, at most 100,000.
std::vector<SlurmJob> parse_slurm_jobs(std::string_view text, std::string_view nonce);

// The way in which a node would be used.
enum class SlurmUse {
  kAlone,    // allocated to railbed, without other jobs
  kOverlap,  // allocated to railbed, beside other jobs
  kJob,      // as part of a running job
};
// Returns why no agent can be started on the node now, with its state and Slurm's reason; nullopt if one can.
// A node that is just becoming free is usable. `reserved`: a reservation is set.
std::optional<std::string> why_not(const SlurmNodeState& node, SlurmUse use, bool reserved = false);

// Returns a partition to which all `nodes` belong, preferably the default one; empty if there is none.
std::string partition_of_all(const std::vector<SlurmNodeState>& nodes, const std::string& standard);

// Returns the names in Slurm's form: "gpu[01-64],nas".
std::string slurm_hostlist(const std::vector<std::string>& names);

// Returns the names of a list, as named_hosts() does (inventory/hostlist.h), each of which is_slurm_name().
Result<std::vector<std::string>> slurm_names(std::string_view hostlist);
// Returns whether the text can be the name of a node or partition, and cannot be mistaken for an option.
bool is_slurm_name(std::string_view name);

}  // namespace railbed::fleet
