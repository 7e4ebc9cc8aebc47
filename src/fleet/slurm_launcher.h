// Agents as steps of a Slurm job: one `srun` a node, whose standard streams are the agent's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fleet/agent_launcher.h"
#include "fleet/launcher.h"

namespace railbed::fleet {

// Asks Slurm when the first of `nodes` is to be reached, and has one job for all of them: the one that is
// chosen, the present one if it has them all, or an allocation of its own, which ends with this object.
std::unique_ptr<AgentLauncher> slurm_launcher(SlurmChoice choice, std::vector<std::string> nodes,
                                              Environment environment);

// The nodes that the choice names: those of its job or of its partition, or of the present job. Nothing where
// it names none. An error where Slurm does not know them, or cannot be asked.
Result<std::optional<std::vector<std::string>>> slurm_nodes(const SlurmChoice& choice,
                                                            const Environment& environment,
                                                            const std::stop_token& stop = {});

// `words` without what a job's variables would make Slurm's programs do otherwise: SLURM_NTASKS_PER_NODE in a
// batch script, SQUEUE_USERS. What says which Slurm is meant stays, and what salloc reads of a user's
// (SALLOC_ACCOUNT).
std::vector<std::string> without_job_variables(const Environment& environment,
                                               std::vector<std::string> words);

// srun's whole command line.
std::vector<std::string> step_words(const std::string& job, const std::string& node,
                                    const std::string& script);

}  // namespace railbed::fleet
