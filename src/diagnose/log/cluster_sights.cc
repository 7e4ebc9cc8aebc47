// Observations in what Kubernetes and programs print that confirm or refute causes.
#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace cluster_lines {
namespace {

std::optional<std::string> driver_pod_is_not_up(const LogState& state, const LogProblem&) {
  return first_seen(state, {"plugin-pods-down", "plugin-pods-init"});
}

// An error of CUDA after which every other call of the process fails.
std::optional<std::string> cuda_failed_before(const LogState& state, const LogProblem& problem) {
  constexpr std::string_view kErrors[] = {"cuda-program",  "cuda-assert",      "cuda-launch",
                                          "cuda-hardware", "cuda-instruction", "cuda-misaligned"};
  return first_seen(state, kErrors, &problem);
}

std::optional<std::string> gpu_was_full(const LogState& state, const LogProblem& problem) {
  constexpr std::string_view kErrors[] = {"torch-memory", "gpu-memory", "run-memory", "test-memory"};
  return first_seen(state, kErrors, &problem);
}

std::optional<std::string> containerd_names_two_programs(const LogState& state, const LogProblem&) {
  const auto nvidia = first_seen(state, {"binary-name-nvidia"});
  const auto runc = first_seen(state, {"binary-name-runc"});
  if (!nvidia || !runc) return std::nullopt;
  return *nvidia + "; " + *runc;
}

std::optional<std::string> containerd_names_one_program(const LogState& state, const LogProblem& problem) {
  if (containerd_names_two_programs(state, problem)) return std::nullopt;
  return first_seen(state, {"binary-name-nvidia"});
}

constexpr Question kClusterQuestions[] = {
    {"one-binary-name", containerd_names_one_program},
    {"two-binary-names", containerd_names_two_programs},
    {"operator-driver-not-up", driver_pod_is_not_up},
    {"cuda-failed-before", cuda_failed_before},
    {"gpu-was-full", gpu_was_full},
};

}  // namespace
}  // namespace cluster_lines

std::span<const Question> cluster_questions() { return cluster_lines::kClusterQuestions; }

}  // namespace railbed::diagnose
