// Open MPI, Intel MPI and the starts of their ranks.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace launcher_lines {
namespace {

Evidence openib_limit_is(const LogState& state, bool unlimited) {
  const auto line = state.seen.find("openib-limit");
  if (line == state.seen.end()) return std::nullopt;
  const std::string_view text = line->second.text;
  const bool is_unlimited = has_text(text, "nlimited");
  if (is_unlimited != unlimited || (!is_unlimited && !number_after<std::int64_t>(text, "Memlock limit: ")))
    return std::nullopt;
  return at_line(line->second);
}

Evidence openib_is_limited(const LogState& state, const LogProblem&) { return openib_limit_is(state, false); }

Evidence openib_is_unlimited(const LogState& state, const LogProblem&) {
  return openib_limit_is(state, true);
}

int ranks_on_a_node(const LogState& state) {
  const auto line = state.seen.find("ranks-by-node");
  return line == state.seen.end() ? 0 : number_after(line->second.text, "ppr:").value_or(0);
}

Evidence one_rank_is_on_a_node(const LogState& state, const LogProblem&) {
  if (ranks_on_a_node(state) != 1) return std::nullopt;
  return first_seen(state, {"ranks-by-node"});
}

Evidence several_ranks_are_on_a_node(const LogState& state, const LogProblem&) {
  if (ranks_on_a_node(state) < 2) return std::nullopt;
  return first_seen(state, {"ranks-by-node"});
}

Evidence mpi_starts_python(const LogState& state, const LogProblem&) {
  return first_seen(state, {"python-by-mpirun", "python-by-mpiexec", "python-by-srun"});
}

// Returns the symbol in "…/openmpi/mca_pml_ucx.so: undefined symbol: ucp_tag_send_nbx (ignored)"; empty if there is none.
std::string_view missing_symbol(const LogProblem& problem) {
  return word_after(problem.message, "undefined symbol: ");
}

bool is_of_open_mpi(std::string_view symbol) {
  while (symbol.starts_with('_')) symbol.remove_prefix(1);
  constexpr std::array<std::string_view, 9> kOwn = {"opal_", "orte_", "ompi_", "mca_", "prte_",
                                                    "pmix_", "PMIx_", "OPAL_", "MPI_"};
  return std::ranges::any_of(kOwn, [&](std::string_view own) { return symbol.starts_with(own); });
}

Evidence symbol_is_of_open_mpi(const LogState&, const LogProblem& problem) {
  const std::string_view symbol = missing_symbol(problem);
  if (!is_of_open_mpi(symbol)) return std::nullopt;
  return std::string(symbol) + " is a symbol of Open MPI or PMIx";
}

Evidence symbol_is_of_another(const LogState&, const LogProblem& problem) {
  const std::string_view symbol = missing_symbol(problem);
  if (symbol.empty() || is_of_open_mpi(symbol)) return std::nullopt;
  return std::string(symbol) + " is no symbol of Open MPI or PMIx";
}

// Returns the program in "/usr/bin/python3: symbol lookup error: …"; empty if the loader does not print it.
std::string_view program_of_loader(const LogProblem& problem) {
  const auto end = problem.message.find(": symbol lookup error");
  if (end == std::string::npos) return {};
  return std::string_view(problem.message).substr(0, end);
}

bool is_interpreter(std::string_view program) {
  return program.find("python") != std::string_view::npos || program.find("julia") != std::string_view::npos;
}

Evidence interpreter_loads_mpi(const LogState&, const LogProblem& problem) {
  const std::string_view program = program_of_loader(problem);
  if (!is_interpreter(program)) return std::nullopt;
  return std::string(program) + " loads it";
}

Evidence other_program_loads_mpi(const LogState&, const LogProblem& problem) {
  const std::string_view program = program_of_loader(problem);
  if (program.empty() || is_interpreter(program)) return std::nullopt;
  return std::string(program) + " loads it";
}

Evidence ssh_agent_was_set(const LogState& state, const LogProblem&) {
  return first_seen(state, {"ssh-agent-named", "ssh-agent-option"});
}

Evidence was_started_by_srun(const LogState& state, const LogProblem&) {
  return first_seen(state, {"srun-command", "srun-program"});
}

Evidence slurm_is_around(const LogState& state, const LogProblem&) {
  return first_seen(
      state, {"srun-command", "srun-program", "python-by-srun", "slurm-inside-step", "slurm-job-variable"});
}

Evidence program_spawns(const LogState& state, const LogProblem&) {
  return first_seen(state, {"mpi-spawn-session", "mpi-spawn-python", "mpi-spawn-function"});
}

Evidence several_print_it(const LogState&, const LogProblem& problem) {
  if (problem.count < 2) return std::nullopt;
  return fmt::format("{} processes print it", problem.count);
}

// Returns the problem with this symptom; null if the log has none.
const LogProblem* problem_with(const LogState& state, std::string_view symptom) {
  const auto found = std::ranges::find(state.log.problems, symptom, &LogProblem::symptom);
  return found == state.log.problems.end() ? nullptr : &*found;
}

template <std::size_t kCount>
Evidence any_problem(const LogState& state, const std::array<std::string_view, kCount>& symptoms) {
  for (const std::string_view symptom : symptoms)
    if (const LogProblem* const problem = problem_with(state, symptom)) return at_line(*problem);
  return std::nullopt;
}

Evidence slurm_ended_the_job(const LogState& state, const LogProblem&) {
  return any_problem(
      state, std::array<std::string_view, 3>{"slurm-time-limit", "slurm-preempted", "slurm-requeued"});
}

Evidence remote_start_failed(const LogState& state, const LogProblem&) {
  return any_problem(
      state, std::array<std::string_view, 14>{"ssh-name", "ssh-resolver", "ssh-refused", "ssh-no-answer",
                                              "ssh-key", "ssh-host-key", "mpi-versions", "mpi-no-orted",
                                              "mpi-no-prted", "mpi-prefix-daemon", "remote-library",
                                              "slurm-task-127", "pdsh-127", "pdsh-255"});
}

Evidence srun_has_mpi(const LogState& state, const LogProblem&) {
  return seen_at(state.launchers.srun_with_mpi);
}

Evidence srun_has_no_mpi(const LogState& state, const LogProblem&) {
  if (state.launchers.srun_with_mpi.line != 0) return std::nullopt;
  return seen_at(state.launchers.srun_without_mpi);
}

// "There are not enough slots available in the system to satisfy the 32"
Evidence compare_slots(const LogProblem& problem, int given, const LogSight& sight, bool more) {
  const auto wanted = number_after(problem.message, "satisfy the ");
  if (!wanted || given < 0 || (*wanted > given) != more) return std::nullopt;
  return fmt::format("{} processes are to start, and {} have a slot ({})", *wanted, given, at_line(sight));
}

Evidence more_slots_than_job(const LogState& state, const LogProblem& problem) {
  return compare_slots(problem, state.launchers.job_tasks, state.launchers.job_tasks_line, true);
}

Evidence slots_fit_job(const LogState& state, const LogProblem& problem) {
  return compare_slots(problem, state.launchers.job_tasks, state.launchers.job_tasks_line, false);
}

Evidence more_slots_than_hostfile(const LogState& state, const LogProblem& problem) {
  return compare_slots(problem, state.launchers.slots, state.launchers.slots_line, true);
}

Evidence slots_fit_hostfile(const LogState& state, const LogProblem& problem) {
  return compare_slots(problem, state.launchers.slots, state.launchers.slots_line, false);
}

// Open MPI: "connect() to 172.17.0.1:1024 failed"
Evidence peer_is_a_bridge(const LogState&, const LogProblem& problem) {
  Scan scan(problem.message);
  if (!scan.skip_past("connect() to ")) return std::nullopt;
  const std::string_view address = scan.until(": ");
  for (const std::string_view bridge : {"172.17.", "172.18.", "192.168.122.", "10.88.", "10.42.", "169.254."})
    if (address.starts_with(bridge))
      return fmt::format(
          "{} is an address that Docker, Podman, libvirt or Kubernetes gives a bridge on every host",
          address);
  return std::nullopt;
}

Evidence peer_is_no_bridge(const LogState& state, const LogProblem& problem) {
  Scan scan(problem.message);
  if (!scan.skip_past("connect() to ") || peer_is_a_bridge(state, problem)) return std::nullopt;
  return fmt::format("{} is no usual address of a bridge", scan.until(": "));
}

// nccl-tests: the MPI that it is linked with, and the one that starts it.
Evidence mpirun_is_of_the_library(const LogState& state, const LogProblem&) {
  const LauncherLines& lines = state.launchers;
  if (lines.mpi_library.empty() || lines.mpi_library != lines.mpi_launcher) return std::nullopt;
  return fmt::format("mpirun and the test's libmpi are both of {}", lines.mpi_library);
}

// ldd lists libnccl and no libmpi.
Evidence tests_are_not_linked(const LogState& state, const LogProblem&) {
  if (state.seen.contains("tests-mpi-linked")) return std::nullopt;
  const auto linked = first_seen(state, {"nccl-linked"});
  if (!linked) return std::nullopt;
  return *linked + ", and no libmpi beside it";
}

Evidence hostfile_has_no_slots(const LogState& state, const LogProblem&) {
  if (state.launchers.slots != 0) return std::nullopt;
  return seen_at(state.launchers.slots_line);
}

Evidence hostfile_has_slots(const LogState& state, const LogProblem&) {
  if (state.launchers.slots <= 0) return std::nullopt;
  return seen_at(state.launchers.slots_line);
}

Evidence launcher_is_of_another_mpi(const LogState& state, const LogProblem&) {
  const LauncherLines& lines = state.launchers;
  if (!lines.mpi_library.empty() && !lines.mpi_launcher.empty() && lines.mpi_library != lines.mpi_launcher)
    return fmt::format("mpirun is of {}, the test's libmpi of {}", lines.mpi_launcher, lines.mpi_library);
  if (lines.srun_with_mpi.line != 0) return std::nullopt;
  return seen_at(lines.srun_without_mpi);
}

constexpr Question kMpiQuestions[] = {
    {"openib-limited", openib_is_limited},
    {"openib-unlimited", openib_is_unlimited},
    {"ranks-one-per-node", one_rank_is_on_a_node},
    {"ranks-several-per-node", several_ranks_are_on_a_node},
    {"python-by-mpi", mpi_starts_python},
    {"mpi-symbol-own", symbol_is_of_open_mpi},
    {"mpi-symbol-of-other", symbol_is_of_another},
    {"mpi-in-interpreter", interpreter_loads_mpi},
    {"mpi-in-program", other_program_loads_mpi},
    {"ssh-agent-set", ssh_agent_was_set},
    {"started-by-srun", was_started_by_srun},
    {"slurm-is-around", slurm_is_around},
    {"mpi-spawns", program_spawns},
    {"intel-several-alone", several_print_it},
    {"slurm-ended-it", slurm_ended_the_job},
    {"remote-start-failed", remote_start_failed},
    {"srun-with-mpi", srun_has_mpi},
    {"srun-without-mpi", srun_has_no_mpi},
    {"mpi-peer-bridge", peer_is_a_bridge},
    {"mpi-peer-no-bridge", peer_is_no_bridge},
    {"tests-own-mpi", mpirun_is_of_the_library},
    {"tests-not-linked", tests_are_not_linked},
    {"hostfile-slots-zero", hostfile_has_no_slots},
    {"hostfile-has-slots", hostfile_has_slots},
    {"launcher-of-other-mpi", launcher_is_of_another_mpi},
    {"mpi-more-than-slurm", more_slots_than_job},
    {"mpi-fits-slurm", slots_fit_job},
    {"mpi-more-than-hostfile", more_slots_than_hostfile},
    {"mpi-fits-hostfile", slots_fit_hostfile},
};

constexpr Opposites kMpiOpposites[] = {
    {"mpi-symbol-own", "mpi-symbol-of-other"},     {"mpi-in-interpreter", "mpi-in-program"},
    {"srun-with-mpi", "srun-without-mpi"},         {"mpi-peer-bridge", "mpi-peer-no-bridge"},
    {"tests-mpi-linked", "tests-not-linked"},      {"tests-own-mpi", "launcher-of-other-mpi"},
    {"mpi-more-than-slurm", "mpi-fits-slurm"},     {"mpi-more-than-hostfile", "mpi-fits-hostfile"},
    {"host-answers-ping", "host-answers-no-ping"},
};

}  // namespace
}  // namespace launcher_lines

std::span<const Question> mpi_questions() { return launcher_lines::kMpiQuestions; }

std::span<const Opposites> mpi_opposites() { return launcher_lines::kMpiOpposites; }

}  // namespace railbed::diagnose
