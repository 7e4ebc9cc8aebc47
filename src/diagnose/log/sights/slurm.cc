// Slurm and munge.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace launcher_lines {
namespace {

double sum_of(const std::vector<SlurmShare>& steps, double SlurmShare::*what) {
  double sum = 0;
  for (const SlurmShare& step : steps) sum += std::max(step.*what, 0.0);
  return sum;
}

const SlurmShare* largest_step(const LauncherLines& lines, double SlurmShare::*what) {
  const auto found =
      std::ranges::max_element(lines.steps, {}, [&](const SlurmShare& step) { return step.*what; });
  return found == lines.steps.end() ? nullptr : &*found;
}

constexpr double kNearlyAll = 0.95;

Evidence step_holds(const LogState& state, double SlurmShare::*what, std::string_view unit) {
  const SlurmShare* const step = largest_step(state.launchers, what);
  const double all = state.launchers.job.*what;
  const double held = sum_of(state.launchers.steps, what);
  if (step == nullptr || held <= 0 || all <= 0 || held < kNearlyAll * all) return std::nullopt;
  return fmt::format("step {} runs and holds {} of the job's {} {} ({})", step->step, step->*what, all, unit,
                     at_line(step->sight));
}

Evidence step_leaves(const LogState& state, double SlurmShare::*what, std::string_view unit) {
  const SlurmShare* const step = largest_step(state.launchers, what);
  const double all = state.launchers.job.*what;
  const double held = sum_of(state.launchers.steps, what);
  if (step == nullptr || step->*what < 0) return std::nullopt;
  if (held > 0 && (all <= 0 || held >= kNearlyAll * all)) return std::nullopt;
  return fmt::format("the running step {} holds {} {} ({})", step->step, step->*what, unit,
                     at_line(step->sight));
}

Evidence step_has_gpus(const LogState& state, const LogProblem&) {
  const SlurmShare* const step = largest_step(state.launchers, &SlurmShare::gpus);
  if (step == nullptr || step->gpus <= 0) return std::nullopt;
  const double all = state.launchers.job.gpus;
  if (all > 0 && sum_of(state.launchers.steps, &SlurmShare::gpus) < all) return std::nullopt;
  return fmt::format("step {} runs and holds {} GPUs ({})", step->step, step->gpus, at_line(step->sight));
}

Evidence step_has_no_gpus(const LogState& state, const LogProblem&) {
  const SlurmShare* const step = largest_step(state.launchers, &SlurmShare::gpus);
  if (step == nullptr || step->gpus < 0 || step_has_gpus(state, {})) return std::nullopt;
  return fmt::format("the running steps leave GPUs free ({})", at_line(step->sight));
}

Evidence step_has_memory(const LogState& state, const LogProblem&) {
  return step_holds(state, &SlurmShare::mebibytes, "MiB");
}

Evidence step_leaves_memory(const LogState& state, const LogProblem&) {
  return step_leaves(state, &SlurmShare::mebibytes, "MiB");
}

Evidence step_has_cpus(const LogState& state, const LogProblem&) {
  return step_holds(state, &SlurmShare::cpus, "CPUs");
}

Evidence step_leaves_cpus(const LogState& state, const LogProblem&) {
  return step_leaves(state, &SlurmShare::cpus, "CPUs");
}

// "CoreSpec=8" of the job or "CoreSpecCount=8" of the node.
Evidence cores_are_kept(const LogState& state, const LogProblem&) {
  for (const auto& [sight, words] :
       {std::pair{"slurm-core-spec-job", "CoreSpec="}, std::pair{"slurm-core-spec", "CoreSpecCount="}})
    if (const auto seen = state.seen.find(sight);
        seen != state.seen.end() && number_after(seen->second.text, words).value_or(0) > 0)
      return at_line(seen->second);
  return std::nullopt;
}

Evidence no_cores_are_kept(const LogState& state, const LogProblem& problem) {
  const auto seen = state.seen.find("slurm-core-spec-job");
  if (seen == state.seen.end() || cores_are_kept(state, problem)) return std::nullopt;
  return at_line(seen->second);
}

Evidence srun_wants_more_tasks(const LogState& state, const LogProblem&) {
  const LauncherLines& lines = state.launchers;
  if (lines.job_tasks < 0 || lines.srun_tasks <= lines.job_tasks) return std::nullopt;
  return fmt::format("srun requests {} tasks ({}), and the job has {} ({})", lines.srun_tasks,
                     at_line(lines.srun_tasks_line), lines.job_tasks, at_line(lines.job_tasks_line));
}

Evidence srun_tasks_fit(const LogState& state, const LogProblem&) {
  const LauncherLines& lines = state.launchers;
  if (lines.srun_tasks < 0 || lines.srun_tasks > lines.job_tasks) return std::nullopt;
  return fmt::format("srun requests {} tasks, and the job has {} ({})", lines.srun_tasks, lines.job_tasks,
                     at_line(lines.job_tasks_line));
}

// munge: dates of 1970 stand where a credential could not be decrypted.
Evidence munge_keys_are_equal(const LogState& state, const LogProblem&) {
  if (state.launchers.other_key.line != 0) return std::nullopt;
  return seen_at(state.launchers.same_key);
}

Evidence munge_keys_differ(const LogState& state, const LogProblem&) {
  return seen_at(state.launchers.other_key);
}

// slurmd and its plugins
Evidence slurm_lacks_nvml(const LogState& state, const LogProblem&) {
  if (state.seen.contains("slurm-nvml-plugin")) return std::nullopt;
  const auto plugins = first_seen(state, {"slurm-gpu-plugins"});
  if (!plugins) return std::nullopt;
  return *plugins + ", and no gpu_nvml.so beside it";
}

// "gres/gpu count reported lower than configured (0 < 4)" against the list of nvidia-smi -L
Evidence slurm_gpus_are_listed(const LogState& state, const LogProblem& problem) {
  Scan scan(problem.message);
  if (!scan.skip_past("configured (")) return std::nullopt;
  const auto promised = number_after(scan.rest(), "< ");
  if (!promised || *promised < 1 || state.driver.list_is_cut || std::ssize(state.driver.gpus) < *promised)
    return std::nullopt;
  return fmt::format("nvidia-smi -L lists {} GPUs", state.driver.gpus.size());
}

Evidence cgroups_are_version_2(const LogState& state, const LogProblem&) {
  if (state.seen.contains("cgroup1-mounted")) return std::nullopt;
  return first_seen(state, {"cgroup2-file-system", "cgroup2-mounted"});
}

Evidence cgroup_plugin_is(const LogState& state, bool there) {
  const auto seen = state.seen.find("slurm-cgroup-v2-file");
  if (seen == state.seen.end() || has_text(seen->second.text, "No such file") == there) return std::nullopt;
  return at_line(seen->second);
}

Evidence cgroup_plugin_is_there(const LogState& state, const LogProblem&) {
  return cgroup_plugin_is(state, true);
}

Evidence cgroup_plugin_is_absent(const LogState& state, const LogProblem&) {
  return cgroup_plugin_is(state, false);
}

Evidence prolog_is_missing(const LogState& state, const LogProblem&) {
  return first_seen(state, {"prolog-absent", "epilog-absent"});
}

Evidence prolog_is_not_allowed(const LogState& state, const LogProblem&) {
  return first_seen(state, {"prolog-denied", "epilog-denied"});
}

constexpr Question kSlurmQuestions[] = {
    {"slurm-lacks-nvml", slurm_lacks_nvml},
    {"slurm-gpus-all-listed", slurm_gpus_are_listed},
    {"cgroup2-alone", cgroups_are_version_2},
    {"slurm-cgroup-v2-there", cgroup_plugin_is_there},
    {"slurm-cgroup-v2-absent", cgroup_plugin_is_absent},
    {"prolog-missing", prolog_is_missing},
    {"prolog-not-allowed", prolog_is_not_allowed},
    {"slurm-step-has-gpus", step_has_gpus},
    {"slurm-step-has-no-gpus", step_has_no_gpus},
    {"slurm-step-has-memory", step_has_memory},
    {"slurm-step-leaves-memory", step_leaves_memory},
    {"slurm-step-has-cpus", step_has_cpus},
    {"slurm-step-leaves-cpus", step_leaves_cpus},
    {"munge-keys-equal", munge_keys_are_equal},
    {"munge-keys-differ", munge_keys_differ},
    {"slurm-cores-kept", cores_are_kept},
    {"slurm-no-cores-kept", no_cores_are_kept},
    {"slurm-srun-larger", srun_wants_more_tasks},
    {"slurm-srun-fits", srun_tasks_fit},
};

constexpr Opposites kSlurmOpposites[] = {
    {"slurm-lacks-nvml", "slurm-nvml-plugin"},
    {"cgroup2-alone", "cgroup1-mounted"},
    {"slurm-cgroup-v2-there", "slurm-cgroup-v2-absent"},
    {"slurm-step-has-gpus", "slurm-step-has-no-gpus"},
    {"slurm-step-has-memory", "slurm-step-leaves-memory"},
    {"slurm-step-has-cpus", "slurm-step-leaves-cpus"},
    {"munge-keys-equal", "munge-keys-differ"},
    {"slurm-cores-kept", "slurm-no-cores-kept"},
    {"slurm-srun-larger", "slurm-srun-fits"},
    {"munge-service-down", "munge-service-up"},
    {"slurmctld-down", "slurmctld-up"},
};

}  // namespace
}  // namespace launcher_lines

std::span<const Question> slurm_questions() { return launcher_lines::kSlurmQuestions; }

std::span<const Opposites> slurm_opposites() { return launcher_lines::kSlurmOpposites; }

}  // namespace railbed::diagnose
