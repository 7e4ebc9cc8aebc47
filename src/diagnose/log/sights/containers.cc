// Container runtimes, CDI, and pods that wait for GPUs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace {

constexpr std::array<std::string_view, 3> kHostLacksDriver = {"smi-not-found", "red:gpu.driver",
                                                              "smi-no-driver"};

constexpr std::array<std::string_view, 3> kToolkitInstalled = {"toolkit-package", "toolkit-rpm",
                                                               "toolkit-hook-path"};

constexpr std::array<std::string_view, 2> kDockerSnap = {"docker-in-snap", "docker-of-snap"};

Evidence toolkit_is_missing(const LogState& state, const LogProblem& problem) {
  static constexpr std::array<std::string_view, 3> kIds = {"toolkit-command-missing",
                                                           "toolkit-package-missing", "toolkit-hook-missing"};
  if (auto found = first_seen(state, kIds, &problem)) return found;
  const LogSight& asked = state.driver.asked_which_toolkit;
  if (asked.line == 0 || first_seen(state, kToolkitInstalled, &problem)) return std::nullopt;
  return fmt::format("{}, and no path of it follows", at_line(asked));
}

// "unresolvable CDI devices nvidia.com/gpu=all"
std::string_view wanted_cdi_device(const LogProblem& problem) {
  std::string_view name = word_after(problem.message, "unresolvable CDI devices ");
  while (name.ends_with('.') || name.ends_with('"')) name.remove_suffix(1);
  return name;
}

Evidence cdi_has_the_device(const LogState& state, const LogProblem& problem) {
  const std::string_view name = wanted_cdi_device(problem);
  if (!state.driver.cdi_names.contains(name)) return std::nullopt;
  return fmt::format("nvidia-ctk cdi list has {}", name);
}

Evidence cdi_lacks_the_device(const LogState& state, const LogProblem& problem) {
  const std::string_view name = wanted_cdi_device(problem);
  const auto& names = state.driver.cdi_names;
  if (name.empty() || names.empty() || names.contains(name)) return std::nullopt;
  return fmt::format("nvidia-ctk cdi list has {}, and not {}", fmt::join(names, ", "), name);
}

constexpr std::array<std::string_view, 2> kNoCdi = {"cdi-list-empty", "cdi-no-file"};

Evidence cdi_is_new(const LogState& state, const LogProblem&) {
  const DriverLines& driver = state.driver;
  if (driver.cdi_version.line == 0 || driver.cdi_minor < 6) return std::nullopt;
  return at_line(driver.cdi_version);
}

Evidence cdi_is_old(const LogState& state, const LogProblem&) {
  const DriverLines& driver = state.driver;
  if (driver.cdi_version.line == 0 || driver.cdi_minor >= 6) return std::nullopt;
  return at_line(driver.cdi_version);
}

Evidence engine_is_podman(const LogState& state, const LogProblem& problem) {
  if (has_text(problem.message, "setting up CDI devices")) return "the message is Podman's";
  if (const auto podman = state.seen.find("podman-version"); podman != state.seen.end())
    return at_line(podman->second);
  return std::nullopt;
}

// A training step was printed before the failure, in the same file.
Evidence worked_before(const LogState& state, const LogProblem& problem) {
  const auto step = state.seen.find("training-step");
  if (step == state.seen.end() || step->second.file != problem.file || step->second.line >= problem.line)
    return std::nullopt;
  return at_line(step->second);
}

// The first training step, with its loss as a number, was printed after the failure, in the same file: the program
// survived it. Of a failure that came several times only the first place is known.
Evidence trained_after(const LogState& state, const LogProblem& problem) {
  const auto step = state.seen.find("training-step");
  if (step == state.seen.end() || step->second.file != problem.file || step->second.line <= problem.line ||
      problem.count != 1)
    return std::nullopt;
  Scan scan(step->second.text);
  if (!scan.skip_past("loss")) return std::nullopt;
  scan.until("0123456789abcdefghijklmnopqrstuvwxyz_");
  if (!scan.real()) return std::nullopt;
  return at_line(step->second);
}

Evidence container_without_gpus(const LogState& state, const LogProblem&) {
  const DriverLines& driver = state.driver;
  if (driver.container_start.line == 0 || driver.container_gpus.line != 0) return std::nullopt;
  return fmt::format("{}, and no line has --gpus, --runtime or --device", at_line(driver.container_start));
}

// "… pod/worker-2   0/3 nodes are available" of kubectl get events names the pod; kubectl describe pod does not.
std::string_view refused_pod(const LogProblem& problem) { return word_after(problem.message, "pod/"); }

// "Successfully assigned default/worker-2 to node-b"
Evidence pod_was_placed(const LogState& state, const LogProblem& problem) {
  const auto placed = state.seen.find("pod-assigned");
  if (placed == state.seen.end()) return std::nullopt;
  const std::string_view refused = refused_pod(problem);
  std::string_view pod = word_after(placed->second.text, "Successfully assigned ");
  pod.remove_prefix(std::min(pod.find('/') + 1, pod.size()));
  if (!refused.empty() && pod != refused) return std::nullopt;
  return at_line(placed->second);
}

// "worker-2   0/1   Pending   0   5m"
Evidence pod_still_waits(const LogState& state, const LogProblem& problem) {
  const auto waits = state.seen.find("pod-still-pending");
  if (waits == state.seen.end()) return std::nullopt;
  const std::string_view refused = refused_pod(problem);
  if (!refused.empty() && waits->second.text.find(refused) == std::string::npos) return std::nullopt;
  return at_line(waits->second);
}

Evidence a_pod_had_to_wait(const LogState& state, const LogProblem&) {
  for (const LogProblem& problem : state.log.problems)
    if (problem.symptom == "pod-pending")
      if (const auto placed = pod_was_placed(state, problem))
        return fmt::format("{}; {}", at_line(problem), *placed);
  return std::nullopt;
}

// "unknown device id: no-gpu-has-10MiB-to-run"
Evidence device_is_of_sharer(const LogState&, const LogProblem& problem) {
  if (!has_text(problem.message, "no-gpu-has-")) return std::nullopt;
  return "the device is called no-gpu-has-…-to-run";
}

Evidence device_is_a_name(const LogState& state, const LogProblem& problem) {
  if (device_is_of_sharer(state, problem)) return std::nullopt;
  return "the device is called by a number or UUID";
}

constexpr Question kContainerQuestions[] = {
    {"device-of-sharer", device_is_of_sharer},
    {"device-is-a-name", device_is_a_name},
    {"pod-placed", pod_was_placed},
    {"pod-waits-on", pod_still_waits},
    {"pod-waited", a_pod_had_to_wait},
    {"host-lacks-driver", seen_any<kHostLacksDriver>},
    {"toolkit-installed", seen_any<kToolkitInstalled>},
    {"toolkit-missing", toolkit_is_missing},
    {"docker-snap", seen_any<kDockerSnap>},
    {"cdi-has-device", cdi_has_the_device},
    {"cdi-lacks-device", cdi_lacks_the_device},
    {"cdi-none", seen_any<kNoCdi>},
    {"cdi-new", cdi_is_new},
    {"cdi-old", cdi_is_old},
    {"engine-podman", engine_is_podman},
    {"worked-before", worked_before},
    {"trained-after", trained_after},
    {"container-without-gpus", container_without_gpus},
};

constexpr Opposites kContainerOpposites[] = {
    {"toolkit-missing", "toolkit-installed"},
    {"cdi-has-device", "cdi-lacks-device"},
    {"cdi-new", "cdi-old"},
    {"allocatable-none", "allocatable-some"},
    {"persistence-mode-off", "persistence-mode-on"},
};

}  // namespace

std::span<const Question> container_questions() { return kContainerQuestions; }

std::span<const Opposites> container_opposites() { return kContainerOpposites; }

}  // namespace railbed::diagnose
