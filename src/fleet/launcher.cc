#include "fleet/launcher.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "inventory/hostlist.h"

namespace railbed::fleet {
namespace {

constexpr int kMostRanks = 1 << 16;

bool has(const Environment& environment, std::string_view name) { return environment.contains(name); }

// The names of the variables that every launcher has in some form.
struct Names {
  std::string_view launcher;
  std::string_view rank;
  std::string_view ranks;
  std::string_view local_rank;
  std::string_view local_ranks;  // number of ranks on this host
};

// Open MPI 1.3 to 5: mpirun(1), "Environment variables".
constexpr Names kOpenMpi = {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                            "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"};
// MPICH and Intel MPI: hydra_pmi_proxy sets them (MPICH, src/pm/hydra/proxy/pmip_cb.c).
constexpr Names kHydra = {"MPICH or Intel MPI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};
// Slurm: srun(1), "OUTPUT ENVIRONMENT VARIABLES". A batch script has SLURM_PROCID and SLURM_NTASKS too, but
// is no task of a step.
constexpr Names kSlurm = {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""};

Result<int> number_of(const Environment& environment, const Names& names, std::string_view name, int least,
                      int most) {
  const auto number = parse_number<int>(text_of(environment, name));
  if (number && *number >= least && *number <= most) return *number;
  return fail(ErrorKind::kBadInput, fmt::format("{} seems to have started this, but {} is \"{}\"",
                                                names.launcher, name, printable(text_of(environment, name))));
}

Result<LaunchedRank> read_numbers(const Environment& environment, const Names& names) {
  LaunchedRank found;
  found.launcher = names.launcher;
  ASSIGN_OR_RETURN(const auto ranks, number_of(environment, names, names.ranks, 1, kMostRanks));
  ASSIGN_OR_RETURN(const auto rank, number_of(environment, names, names.rank, 0, ranks - 1));
  ASSIGN_OR_RETURN(const auto local, number_of(environment, names, names.local_rank, 0, ranks - 1));
  found.rank = rank;
  found.ranks = ranks;
  found.local_rank = local;
  found.one_host =
      has(environment, names.local_ranks) && text_of(environment, names.local_ranks) == std::to_string(ranks);
  return found;
}

// Returns the first name of a host list: "gpu[03-18],nas" → "gpu03".
std::string first_of(std::string_view hosts) {
  const auto names = expand_hostlists(hosts, kMostHosts);
  return names && !names->empty() ? names->front() : "";
}

// Returns the GPU's ordinal. A launcher makes either all GPUs of the host visible to each process, or only
// its own.
int gpu_of(const Environment& environment, int local_rank) {
  const std::string visible = text_of(environment, "CUDA_VISIBLE_DEVICES");
  const bool only_one = !visible.empty() && visible.find(',') == std::string::npos;
  return only_one ? 0 : local_rank;
}

bool inside_slurm_step(const Environment& environment) {
  return has(environment, "SLURM_PROCID") && has(environment, "SLURM_STEP_ID") &&
         has(environment, "SLURM_STEP_NUM_TASKS");
}

// Returns the names of the innermost launcher: mpirun starts its daemons with srun, and their children
// inherit Slurm's variables. srun --mpi=pmi2 also sets PMI_RANK, but no local rank under Hydra's name.
const Names* names_for(const Environment& environment) {
  if (has(environment, kOpenMpi.rank)) return &kOpenMpi;
  if (has(environment, kHydra.local_rank) && has(environment, kHydra.rank)) return &kHydra;
  if (inside_slurm_step(environment)) return &kSlurm;
  return nullptr;
}

void read_slurm(const Environment& environment, LaunchedRank& found) {
  found.one_host = text_of(environment, "SLURM_STEP_NUM_NODES") == "1";
  found.job =
      fmt::format("{}.{}", text_of(environment, "SLURM_JOB_ID"), text_of(environment, "SLURM_STEP_ID"));
  found.first_host = first_of(text_of(environment, "SLURM_STEP_NODELIST"));
}

}  // namespace

std::string text_of(const Environment& environment, std::string_view name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

Environment environment_here() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos)
      environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

Result<std::optional<LaunchedRank>> find_launcher(const Environment& environment) {
  const Names* names = names_for(environment);
  if (names == nullptr) {
    for (const std::string_view alone : {"PMIX_RANK", "PMI_RANK"})
      if (has(environment, alone) && text_of(environment, "PMI_SIZE") != "1")
        return fail(
            ErrorKind::kBadInput,
            fmt::format("{} says that a launcher started this, but not which of its ranks are on this host: "
                        "start it by srun, or by the mpirun of Open MPI, MPICH or Intel",
                        alone));
    return std::nullopt;
  }
  ASSIGN_OR_RETURN(auto found, read_numbers(environment, *names));
  if (found.ranks == 1) return std::nullopt;
  found.gpu = gpu_of(environment, found.local_rank);
  if (names == &kSlurm) {
    read_slurm(environment, found);
    return std::optional(std::move(found));
  }
  if (names == &kOpenMpi) found.job = text_of(environment, "PMIX_NAMESPACE");
  // In a Slurm allocation, mpirun places its first ranks on the first host.
  found.first_host = first_of(text_of(environment, "SLURM_JOB_NODELIST"));
  return std::optional(std::move(found));
}

}  // namespace railbed::fleet
