// Which rank of how many this process is, from the variables that srun or mpirun set for it. No MPI library
// is needed, nor asked.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace railbed::fleet {

using Environment = std::map<std::string, std::string, std::less<>>;
// Of this process.
Environment environment_here();
// Empty where it is not set.
std::string text_of(const Environment& environment, std::string_view name);

struct LaunchedRank {
  std::string launcher;  // "Slurm", "Open MPI", "MPICH or Intel MPI"
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;      // among those on this host
  bool one_host = false;   // all ranks are on this host
  std::string job;         // the same for all ranks of this start; empty: the launcher names none
  std::string first_host;  // where rank 0 is, as the launcher has it; empty: it does not say
  int gpu = 0;             // the ordinal meant for it, among those that CUDA shows it
  bool operator==(const LaunchedRank&) const = default;
};

// Nothing for a process that was started alone, or as the only task of a step. An error when the variables
// contradict each other.
Result<std::optional<LaunchedRank>> find_launcher(const Environment& environment);

}  // namespace railbed::fleet
