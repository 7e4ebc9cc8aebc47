// Reads the variables that srun or mpirun sets, to find which rank this process is and how many there are. No
// MPI library is needed or called.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace railbed::fleet {

using Environment = std::map<std::string, std::string, std::less<>>;
// Returns the environment of this process.
Environment environment_here();
// Returns the value of a variable; empty if it is not set.
std::string text_of(const Environment& environment, std::string_view name);

// The place of this process among the ranks.
struct LaunchedRank {
  std::string launcher;  // "Slurm", "Open MPI", "MPICH or Intel MPI"
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;      // among the ranks on this host
  bool one_host = false;   // all ranks are on this host
  std::string job;         // the same for all ranks of this start; empty if the launcher provides none
  std::string first_host;  // the host of rank 0 according to the launcher; empty if unknown
  int gpu = 0;             // the CUDA ordinal assigned to it, among the devices that are visible to it
  bool operator==(const LaunchedRank&) const = default;
};

// Returns the rank of this process; nullopt if it was started alone, or as the only task of a step. Fails if
// the variables contradict each other, or do not show which ranks are on this host.
Result<std::optional<LaunchedRank>> find_launcher(const Environment& environment);

}  // namespace railbed::fleet
