// Starts agents as steps of a Slurm job: one `srun` for each node, whose standard streams are the agent's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fleet/agent_launcher.h"
#include "fleet/launcher.h"

namespace railbed::fleet {

// Returns a launcher. When the first of `nodes` is called, it queries Slurm and selects one job for all of
// them: the chosen one; the present one if it has all of them; or a new allocation, which the destructor
// releases.
std::unique_ptr<AgentLauncher> slurm_launcher(SlurmChoice choice, std::vector<std::string> nodes,
                                              Environment environment);

// Returns the nodes of the choice: those of its job, its partition, or the present job. Returns nullopt if it
// names none. Fails if Slurm does not know them, or cannot be reached.
Result<std::optional<std::vector<std::string>>> slurm_nodes(const SlurmChoice& choice,
                                                            const Environment& environment,
                                                            const std::stop_token& stop = {});

// Returns `words` with a prefix that removes the variables of a job, because they would change the behavior
// of Slurm's programs: SLURM_NTASKS_PER_NODE in a batch script, SQUEUE_USERS. Variables that select the Slurm
// cluster stay, and so do a user's defaults for salloc (SALLOC_ACCOUNT).
std::vector<std::string> without_job_variables(const Environment& environment,
                                               std::vector<std::string> words);

// Returns the command line of srun.
std::vector<std::string> step_words(const std::string& job, const std::string& node,
                                    const std::string& script);

}  // namespace railbed::fleet
