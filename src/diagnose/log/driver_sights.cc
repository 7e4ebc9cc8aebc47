// Observations in what CUDA, NVML, the driver and the container runtimes print that confirm or refute causes.
//
// People paste commands with their output. Where an answer makes sense only below its command (a count, the state
// of a service), the reader remembers the command for the lines that follow it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include "base/phrases.h"
#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"
#include "hardware/xid.h"

namespace railbed::diagnose {
namespace {

using DriverEvidence = std::optional<std::string>;

constexpr int kMostGpus = 1024;
constexpr std::size_t kMostXids = 64;
constexpr std::size_t kMostCdiNames = 256;
constexpr std::size_t kMostKernels = 64;
constexpr std::uint64_t kLongestList = 12;  // lines below "Allocatable:"
constexpr std::size_t kLongestQuery = 1024;
constexpr double kMostWatts = 1e5;
constexpr int kIdleLevel = 5;            // performance state P5 and those of less work
constexpr std::uint64_t kLastLines = 8;  // lines below the command last that are about the last boot

template <const auto& ids>
DriverEvidence seen_any(const LogState& state, const LogProblem& problem) {
  return first_seen(state, ids, &problem);
}

// Numbers of devices

DriverEvidence all_ranks_use_device_0(const LogState& state, const LogProblem&) {
  if (state.log.communicators.empty()) return std::nullopt;
  const auto& ranks = state.log.communicators.front().ranks;
  const bool all =
      ranks.size() > 1 && std::ranges::all_of(ranks, [](const LogRank& rank) { return rank.device == 0; });
  if (!all) return std::nullopt;
  return fmt::format("all {} ranks of the log report cudaDev 0", ranks.size());
}

DriverEvidence ranks_use_several_devices(const LogState& state, const LogProblem&) {
  if (state.log.communicators.empty()) return std::nullopt;
  for (const LogRank& rank : state.log.communicators.front().ranks)
    if (rank.device > 0) return fmt::format("rank {} uses cudaDev {}", rank.rank, rank.device);
  return std::nullopt;
}

DriverEvidence process_asks_for_one_gpu(const LogState& state, const LogProblem&) {
  if (state.tests_gpus != 1) return std::nullopt;
  return fmt::format("{}, so each process asks for one GPU", at_line(state.tests_shape));
}

// Returns how many GPUs each process of nccl-tests asks for, if more than one.
DriverEvidence asks_for_several(const LogState& state) {
  if (state.tests_gpus <= 1) return std::nullopt;
  return fmt::format("{}, so each process asks for {} GPUs", at_line(state.tests_shape), state.tests_gpus);
}

DriverEvidence several_ranks_ask_for_several_gpus(const LogState& state, const LogProblem&) {
  const auto asks = asks_for_several(state);
  const auto shared =
      std::ranges::find_if(state.tests_failed, [](const auto& one) { return one.second.size() > 1; });
  if (!asks || shared == state.tests_failed.end()) return std::nullopt;
  return fmt::format("{}; {} processes failed on {}", *asks, shared->second.size(), shared->first);
}

DriverEvidence one_process_asks_for_several_gpus(const LogState& state, const LogProblem&) {
  return asks_for_several(state);
}

// The lowest local rank that failed was beyond the GPUs that the node lists.
DriverEvidence fails_beyond_the_list(const LogState& state, const LogProblem&) {
  const DriverLines& driver = state.driver;
  const int gpus = static_cast<int>(driver.gpus.size());
  if (gpus == 0 || driver.list_is_cut || *driver.gpus.rbegin() + 1 != gpus) return std::nullopt;
  if (driver.failed.empty() || *driver.failed.begin() < gpus) return std::nullopt;
  return fmt::format("{}: the node has {} GPU{}, and the lowest local rank that failed is {}",
                     at_line(driver.list), gpus, gpus == 1 ? "" : "s", *driver.failed.begin());
}

// A local rank failed although the node lists a GPU of its number.
DriverEvidence fails_within_the_list(const LogState& state, const LogProblem&) {
  const DriverLines& driver = state.driver;
  if (driver.gpus.size() < 2 || driver.failed.empty()) return std::nullopt;
  const int lowest = *driver.failed.begin();
  if (lowest > *driver.gpus.rbegin()) return std::nullopt;
  return fmt::format("{}: the node has {} GPUs, and local rank {} failed all the same", at_line(driver.list),
                     driver.gpus.size(), lowest);
}

// Xids

constexpr std::array kLostXids = {79, 119, 120, 143};

std::string xid_text(int code, const LogSight& sight) {
  const Xid* const row = find_xid(code);
  return fmt::format("{} (Xid {}: {})", at_line(sight), code,
                     row != nullptr ? row->meaning : "not in NVIDIA's list");
}

template <class Wanted>
DriverEvidence xid_that(const LogState& state, Wanted wanted) {
  for (const auto& [code, sight] : state.driver.xids)
    if (wanted(code, sight.text)) return xid_text(code, sight);
  return std::nullopt;
}

constexpr std::array<std::string_view, 3> kHardwareFindings = {"red:gpu.xid-reboot", "red:gpu.xid-reset",
                                                               "red:gpu.xid-isolate"};

DriverEvidence xid_of_hardware(const LogState& state, const LogProblem& problem) {
  auto found = xid_that(state, is_gpu_failure);
  return found ? found : first_seen(state, kHardwareFindings, &problem);
}

constexpr std::array<std::string_view, 1> kProgramFindings = {"red:gpu.xid-application"};

DriverEvidence xid_of_program(const LogState& state, const LogProblem& problem) {
  if (xid_of_hardware(state, problem)) return std::nullopt;
  auto found = xid_that(state, [](int code, std::string_view) {
    const Xid* const row = find_xid(code);
    return row != nullptr && row->action == XidAction::kApplication;
  });
  return found ? found : first_seen(state, kProgramFindings, &problem);
}

constexpr std::array<std::string_view, 4> kLostIds = {"gpu-off-the-bus", "gpu-lost", "gpu-revision-ff",
                                                      "red:gpu.count"};

DriverEvidence gpu_is_lost(const LogState& state, const LogProblem& problem) {
  auto found = xid_that(state, [](int code, std::string_view) {
    return std::ranges::find(kLostXids, code) != kLostXids.end();
  });
  return found ? found : first_seen(state, kLostIds, &problem);
}

constexpr std::array<std::string_view, 4> kNvlinkIds = {"sxid", "red:gpu.sxid", "red:gpu.nvlink-count",
                                                        "red:gpu.nvlink-recovery"};

DriverEvidence nvlink_failed(const LogState& state, const LogProblem& problem) {
  auto found =
      xid_that(state, [](int code, std::string_view) { return code == 74 || (code >= 144 && code <= 150); });
  return found ? found : first_seen(state, kNvlinkIds, &problem);
}

// Xids 144 to 150 report a part of NVLink, and whether its error is fatal; the others of that moment follow from it.
DriverEvidence nvlink_failed_for_good(const LogState& state, const LogProblem&) {
  if (state.driver.nvlink_fatal.line == 0) return std::nullopt;
  return at_line(state.driver.nvlink_fatal);
}

// "[5745790.204451] NVRM: …": the stamp is the time since the boot, of which the defect needs 66 days.
DriverEvidence is_up_for_66_days(const LogState&, const LogProblem& problem) {
  constexpr double kDay = 86400;
  Scan scan(problem.message);
  const double days = scan.take("[") ? scan.real().value_or(0) / kDay : 0;
  if (days < 66) return std::nullopt;
  return fmt::format("the message came {:.1f} days after the boot", days);
}

DriverEvidence is_not_up_for_66_days(const LogState& state, const LogProblem& problem) {
  Scan scan(problem.message);
  if (is_up_for_66_days(state, problem) || !scan.take("[") || !scan.real()) return std::nullopt;
  return "the message came earlier after the boot";
}

DriverEvidence slices_are_seen(const LogState& state, const LogProblem&) {
  if (state.mig.line != 0) return at_line(state.mig);
  return first_seen(state, {"mig-on", "red:gpu.mig"});
}

DriverEvidence no_slices_are_seen(const LogState& state, const LogProblem& problem) {
  if (slices_are_seen(state, problem)) return std::nullopt;
  return first_seen(state, {"green:gpu.mig"});
}

// The gravest Xid of the log decides what to do.
template <XidAction action>
DriverEvidence gravest_xid_asks(const LogState& state, const LogProblem&) {
  const auto rank_of = [](int code) {
    const Xid* const row = find_xid(code);
    if (row == nullptr) return 0;
    switch (row->action) {
      case XidAction::kIsolate:
        return 4;
      case XidAction::kReboot:
        return 3;
      case XidAction::kReset:
        return 2;
      case XidAction::kApplication:
        return 1;
      default:
        return 0;
    }
  };
  const auto& xids = state.driver.xids;
  const auto gravest =
      std::ranges::max_element(xids, {}, [&](const auto& item) { return rank_of(item.first); });
  if (gravest == xids.end()) return std::nullopt;
  const Xid* const row = find_xid(gravest->first);
  const XidAction asked = row != nullptr ? row->action : XidAction::kInformation;
  const bool same = asked == action || (action == XidAction::kInformation && asked == XidAction::kDriverSays);
  if (!same) return std::nullopt;
  return fmt::format("Xid {}: {}", gravest->first, row != nullptr ? row->meaning : "not in NVIDIA's list");
}

// CUDA failed at its start, or a trace shows what was denied.
DriverEvidence os_call_failed_at_start(const LogState& state, const LogProblem& problem) {
  for (const std::string_view words : {"cudaGetDeviceCount", "cuInit", "init failure: 304"})
    if (has_text(problem.message, words)) return "the message is of the start of CUDA";
  return first_seen(state, {"os-call-refused", "memfd-refused"});
}

// Fabric manager

constexpr std::array<std::string_view, 2> kFmDiffers = {"fm-mismatch", "red:gpu.fabric-manager-version"};
constexpr std::array<std::string_view, 2> kFmAbsent = {"fm-unit-absent", "fm-not-packaged"};
constexpr std::array<std::string_view, 2> kFmFailed = {"fm-unit-failed", "fm-start-failed"};
constexpr std::array<std::string_view, 2> kCheckpointAsked = {"cuda-checkpoint-asked",
                                                              "cuda-checkpoint-call"};
constexpr std::array<std::string_view, 2> kSystemCallRefused = {"os-call-refused", "memfd-refused"};
constexpr std::array<std::string_view, 4> kCcGuest = {"cc-not-ready", "cc-not-ready-listed", "cc-on",
                                                      "cc-on-listed"};
constexpr std::array<std::string_view, 3> kNvlsmMissing = {"nvlsm-absent", "nvlsm-no-unit", "umad-absent"};

// Stopped and started again while the GPUs were up, or the driver reports that its state is out of date.
DriverEvidence fm_was_restarted(const LogState& state, const LogProblem&) {
  const auto stopped = state.seen.find("fm-stopped");
  const LogSight& again = state.driver.fm_started_again;
  if (stopped == state.seen.end() || again.line == 0) return first_seen(state, {"nvlink-fabric-stale"});
  return fmt::format("{}, then {}", at_line(stopped->second), at_line(again));
}

// The driver's two halves

constexpr std::array<std::string_view, 7> kUpgraded = {
    "nvidia-upgraded",         "unattended-upgrade",       "api-mismatch",
    "red:gpu.driver-library",  "red:gpu.version-mismatch", "driver-library",
    "container-driver-library"};

// Returns the version in "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.126.09  Release Build".
std::string_view driver_version_in(std::string_view text) {
  for (std::size_t at = text.find('.'); at != std::string_view::npos; at = text.find('.', at + 1)) {
    std::size_t first = at, last = at;
    while (first > 0 && is_digit(text[first - 1])) --first;
    while (last + 1 < text.size() && (is_digit(text[last + 1]) || text[last + 1] == '.')) ++last;
    if (at - first == 3 && last > at) return text.substr(first, last + 1 - first);
  }
  return {};
}

DriverEvidence halves_differ(const LogState& state, const LogProblem& problem) {
  const auto module = state.seen.find("module-version");
  const auto library = state.seen.find("library-version");
  if (module != state.seen.end() && library != state.seen.end()) {
    const auto loaded = driver_version_in(module->second.text),
               installed = driver_version_in(library->second.text);
    if (!loaded.empty() && !installed.empty() && loaded != installed)
      return fmt::format("the loaded module is {} ({}), the library {} ({})", loaded,
                         place_text(module->second.file, module->second.line), installed,
                         place_text(library->second.file, library->second.line));
  }
  return first_seen(state, kUpgraded, &problem);
}

constexpr std::array<std::string_view, 2> kCompatInLdso = {"libcuda-compat-first", "ldso-compat"};
constexpr std::array<std::string_view, 2> kNoDriver = {"smi-no-driver", "red:gpu.driver"};
constexpr std::array<std::string_view, 2> kNoNvidiaPci = {"pci-without-nvidia", "node-without-gres"};
constexpr std::array<std::string_view, 3> kNvidiaPci = {"pci-with-nvidia", "red:gpu.driver",
                                                        "green:gpu.count"};
constexpr std::array<std::string_view, 2> kModuleMissing = {"module-not-built", "red:gpu.module-built"};
constexpr std::array<std::string_view, 5> kModuleUnsigned = {"insert-key-missing", "insert-unsigned",
                                                             "insert-locked", "module-key-rejected",
                                                             "red:gpu.module-signature"};
constexpr std::array<std::string_view, 6> kOtherDriver = {"gpu-bound",      "gpu-already-vfio",
                                                          "nv-nouveau",     "nouveau-loaded",
                                                          "nouveau-module", "red:gpu.other-driver"};
constexpr std::array<std::string_view, 2> kOpenModule = {"open-module", "red:gpu.open-module"};
constexpr std::array<std::string_view, 3> kWasUpgraded = {"nvidia-upgraded", "unattended-upgrade",
                                                          "red:gpu.driver-library"};
constexpr std::array<std::string_view, 2> kInImage = {"library-in-image", "library-in-local"};
constexpr std::array<std::string_view, 2> kReloads = {"systemd-reloaded", "daemon-reload"};
constexpr std::array<std::string_view, 3> kVisibleNothing = {"visible-none", "visible-empty",
                                                             "visible-brackets"};
constexpr std::array<std::string_view, 2> kTaskBound = {"gpus-per-task", "gpu-bind"};
constexpr std::array<std::string_view, 3> kExclusive = {"exclusive-mode", "exclusive-short",
                                                        "red:gpu.compute-mode"};
constexpr std::array<std::string_view, 2> kMigEmpty = {"mig-without-slice", "red:gpu.mig"};
constexpr std::array<std::string_view, 6> kFmDown = {"fm-unit-absent", "fm-not-packaged",
                                                     "fm-unit-failed", "fm-start-failed",
                                                     "fm-inactive",    "red:gpu.fabric-manager"};
constexpr std::array<std::string_view, 3> kHostLacksDriver = {"smi-not-found", "red:gpu.driver",
                                                              "smi-no-driver"};

// DKMS has built the module for other kernels than the one that runs.
DriverEvidence module_is_missing(const LogState& state, const LogProblem& problem) {
  if (auto found = first_seen(state, kModuleMissing, &problem)) return found;
  const DriverLines& driver = state.driver;
  if (driver.kernel.empty() || driver.built_for.empty() || driver.built_for.contains(driver.kernel))
    return std::nullopt;
  return fmt::format("{}: the module is built for {}, and {} runs", at_line(driver.built),
                     fmt::join(driver.built_for, ", "), driver.kernel);
}

DriverEvidence task_sees_fewer(const LogState& state, const LogProblem& problem) {
  auto found = fails_within_the_list(state, problem);
  return found ? found : first_seen(state, kTaskBound, &problem);
}

DriverEvidence nvls_is_involved(const LogState& state, const LogProblem& problem) {
  if (has_text(problem.message, "NVLink SHARP") || has_text(problem.message, "NVLS") ||
      has_text(problem.message, " to MC group "))
    return "the message is of NVLink SHARP";
  static constexpr std::array<std::string_view, 2> kIds = {"nvls-failed", "nvls-warned"};
  return first_seen(state, kIds, &problem);
}

DriverEvidence shared_memory_is_full(const LogState& state, const LogProblem&) {
  const auto empty = state.seen.find("nv-no-memory"), gpu = state.seen.find("unified-gpu");
  if (empty == state.seen.end() || gpu == state.seen.end()) return std::nullopt;
  return fmt::format("{}; {}", at_line(empty->second), at_line(gpu->second));
}

// Power

// Processors, memory, fans and disks need the rest of what the supplies give.
constexpr double kShareOfGpus = 0.8;

DriverEvidence compare_power(const LogState& state, bool over) {
  const DriverLines& driver = state.driver;
  if (driver.limit_watts <= 0 || driver.supply_watts <= 0) return std::nullopt;
  if ((driver.limit_watts > kShareOfGpus * driver.supply_watts) != over) return std::nullopt;
  return fmt::format("{}: the GPUs may take {:.0f} W, and the power supplies give {:.0f} W",
                     at_line(driver.supply), driver.limit_watts, driver.supply_watts);
}

DriverEvidence gpus_exceed_the_supply(const LogState& state, const LogProblem&) {
  return compare_power(state, true);
}

DriverEvidence gpus_fit_the_supply(const LogState& state, const LogProblem&) {
  return compare_power(state, false);
}

constexpr std::array<std::string_view, 3> kWentDown = {"machine-reset", "journal-unclean",
                                                       "slurm-node-rebooted"};

// Containers

constexpr std::array<std::string_view, 3> kToolkitInstalled = {"toolkit-package", "toolkit-rpm",
                                                               "toolkit-hook-path"};
constexpr std::array<std::string_view, 2> kDockerSnap = {"docker-in-snap", "docker-of-snap"};

DriverEvidence toolkit_is_missing(const LogState& state, const LogProblem& problem) {
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

DriverEvidence cdi_has_the_device(const LogState& state, const LogProblem& problem) {
  const std::string_view name = wanted_cdi_device(problem);
  if (!state.driver.cdi_names.contains(name)) return std::nullopt;
  return fmt::format("nvidia-ctk cdi list has {}", name);
}

DriverEvidence cdi_lacks_the_device(const LogState& state, const LogProblem& problem) {
  const std::string_view name = wanted_cdi_device(problem);
  const auto& names = state.driver.cdi_names;
  if (name.empty() || names.empty() || names.contains(name)) return std::nullopt;
  return fmt::format("nvidia-ctk cdi list has {}, and not {}", fmt::join(names, ", "), name);
}

constexpr std::array<std::string_view, 2> kNoCdi = {"cdi-list-empty", "cdi-no-file"};

DriverEvidence cdi_is_new(const LogState& state, const LogProblem&) {
  const DriverLines& driver = state.driver;
  if (driver.cdi_version.line == 0 || driver.cdi_minor < 6) return std::nullopt;
  return at_line(driver.cdi_version);
}

DriverEvidence cdi_is_old(const LogState& state, const LogProblem&) {
  const DriverLines& driver = state.driver;
  if (driver.cdi_version.line == 0 || driver.cdi_minor >= 6) return std::nullopt;
  return at_line(driver.cdi_version);
}

// The engines that read CDI 0.6 at most: Podman 4, Docker 25 and 26, containerd 1.7.
DriverEvidence engine_is_old(const LogState& state, const LogProblem&) {
  const auto podman = state.seen.find("podman-version");
  if (podman == state.seen.end()) return std::nullopt;
  const auto major = number_after(podman->second.text, "ersion ");
  if (!major || *major >= 5) return std::nullopt;
  return at_line(podman->second);
}

DriverEvidence engine_is_podman(const LogState& state, const LogProblem& problem) {
  if (has_text(problem.message, "setting up CDI devices")) return "the message is Podman's";
  if (const auto podman = state.seen.find("podman-version"); podman != state.seen.end())
    return at_line(podman->second);
  return std::nullopt;
}

// A training step was printed before the failure, in the same file.
DriverEvidence worked_before(const LogState& state, const LogProblem& problem) {
  const auto step = state.seen.find("training-step");
  if (step == state.seen.end() || step->second.file != problem.file || step->second.line >= problem.line)
    return std::nullopt;
  return at_line(step->second);
}

// The first training step, with its loss as a number, was printed after the failure, in the same file: the program
// survived it. Of a failure that came several times only the first place is known.
DriverEvidence trained_after(const LogState& state, const LogProblem& problem) {
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

// srun or sbatch starts the program and no option of the log asks for GPUs.
DriverEvidence step_without_gpus(const LogState& state, const LogProblem& problem) {
  static constexpr std::array<std::string_view, 1> kNode = {"node-without-gres"};
  if (auto found = first_seen(state, kNode, &problem)) return found;
  const DriverLines& driver = state.driver;
  if (driver.slurm_start.line == 0 || driver.slurm_gpus.line != 0) return std::nullopt;
  return fmt::format("{}, and no line asks for GPUs (--gpus, --gres, -G)", at_line(driver.slurm_start));
}

DriverEvidence container_without_gpus(const LogState& state, const LogProblem&) {
  const DriverLines& driver = state.driver;
  if (driver.container_start.line == 0 || driver.container_gpus.line != 0) return std::nullopt;
  return fmt::format("{}, and no line has --gpus, --runtime or --device", at_line(driver.container_start));
}

// "… pod/worker-2   0/3 nodes are available" of kubectl get events names the pod; kubectl describe pod does not.
std::string_view refused_pod(const LogProblem& problem) { return word_after(problem.message, "pod/"); }

// "Successfully assigned default/worker-2 to node-b"
DriverEvidence pod_was_placed(const LogState& state, const LogProblem& problem) {
  const auto placed = state.seen.find("pod-assigned");
  if (placed == state.seen.end()) return std::nullopt;
  const std::string_view refused = refused_pod(problem);
  std::string_view pod = word_after(placed->second.text, "Successfully assigned ");
  pod.remove_prefix(std::min(pod.find('/') + 1, pod.size()));
  if (!refused.empty() && pod != refused) return std::nullopt;
  return at_line(placed->second);
}

// "worker-2   0/1   Pending   0   5m"
DriverEvidence pod_still_waits(const LogState& state, const LogProblem& problem) {
  const auto waits = state.seen.find("pod-still-pending");
  if (waits == state.seen.end()) return std::nullopt;
  const std::string_view refused = refused_pod(problem);
  if (!refused.empty() && waits->second.text.find(refused) == std::string::npos) return std::nullopt;
  return at_line(waits->second);
}

DriverEvidence a_pod_had_to_wait(const LogState& state, const LogProblem&) {
  for (const LogProblem& problem : state.log.problems)
    if (problem.symptom == "pod-pending")
      if (const auto placed = pod_was_placed(state, problem))
        return fmt::format("{}; {}", at_line(problem), *placed);
  return std::nullopt;
}

constexpr std::array<std::string_view, 1> kImexListed = {"imex-of-host-listed"};

DriverEvidence gpus_are_of_one_kind(const LogState& state, const LogProblem&) {
  const auto alike = state.seen.find("gpus-alike");
  if (alike == state.seen.end() || state.seen.contains("gpus-of-two-kinds")) return std::nullopt;
  return fmt::format("{}, like the one before it", at_line(alike->second));
}

// "unknown device id: no-gpu-has-10MiB-to-run"
DriverEvidence device_is_of_sharer(const LogState&, const LogProblem& problem) {
  if (!has_text(problem.message, "no-gpu-has-")) return std::nullopt;
  return "the device is called no-gpu-has-…-to-run";
}

DriverEvidence device_is_a_name(const LogState& state, const LogProblem& problem) {
  if (device_is_of_sharer(state, problem)) return std::nullopt;
  return "the device is called by a number or UUID";
}

// "10:12:44 up 4 min,  1 user,  load average: 0.31, …", "up 3 days, 22:10,"
DriverEvidence is_up_for_minutes(const LogState& state, const LogProblem&) {
  const auto uptime = state.seen.find("uptime-shown");
  if (uptime == state.seen.end()) return std::nullopt;
  Scan scan(uptime->second.text);
  if (!scan.skip_past(" up ") || !scan.number() || !scan.take(" min")) return std::nullopt;
  return at_line(uptime->second);
}

DriverEvidence is_up_for_days(const LogState& state, const LogProblem&) {
  const auto uptime = state.seen.find("uptime-shown");
  if (uptime == state.seen.end() || uptime->second.text.find(" day") == std::string::npos)
    return std::nullopt;
  return at_line(uptime->second);
}

// Blackwell and newer start with the open kernel module alone.
DriverEvidence closed_module_on_blackwell(const LogState& state, const LogProblem&) {
  const auto closed = first_seen(state, {"closed-kernel-module"});
  const auto blackwell = first_seen(state, {"gpus-of-blackwell"});
  if (!closed || !blackwell || first_seen(state, {"open-kernel-module"})) return std::nullopt;
  return *closed + "; " + *blackwell;
}

DriverEvidence start_failed_on_closed(const LogState& state, const LogProblem& problem) {
  if (!first_seen(state, {"init-adapter"})) return std::nullopt;
  return closed_module_on_blackwell(state, problem);
}

constexpr std::string_view kVirtualGpus[] = {"vgpu-mode", "vgpu-grid", "vgpu-profile-c", "vgpu-profile-q"};
constexpr std::string_view kGpusNotVirtual[] = {"vgpu-mode-none", "vgpu-mode-whole"};

// Returns both files if cuBLAS was loaded from a CUDA toolkit and from a Python package.
DriverEvidence cublas_is_of_two(const LogState& state, const LogProblem&) {
  const auto toolkit = first_seen(state, {"cublas-of-toolkit"});
  const auto package = first_seen(state, {"cublas-of-package"});
  if (!toolkit || !package) return std::nullopt;
  return fmt::format("{}; {}", *toolkit, *package);
}

DriverEvidence cublas_is_of_one(const LogState& state, const LogProblem& problem) {
  if (cublas_is_of_two(state, problem)) return std::nullopt;
  return first_seen(state, {"cublas-of-toolkit", "cublas-of-package"});
}

constexpr Question kDriverQuestions[] = {
    {"closed-on-blackwell", closed_module_on_blackwell},
    {"start-failed-on-closed", start_failed_on_closed},
    {"imex-of-host", seen_any<kImexListed>},
    {"gpus-of-one-kind", gpus_are_of_one_kind},
    {"device-of-sharer", device_is_of_sharer},
    {"device-is-a-name", device_is_a_name},
    {"pod-placed", pod_was_placed},
    {"pod-waits-on", pod_still_waits},
    {"pod-waited", a_pod_had_to_wait},
    {"all-use-device-0", all_ranks_use_device_0},
    {"use-several-devices", ranks_use_several_devices},
    {"asks-for-one-gpu", process_asks_for_one_gpu},
    {"ranks-ask-for-several-gpus", several_ranks_ask_for_several_gpus},
    {"asks-for-several-gpus", one_process_asks_for_several_gpus},
    {"fails-beyond-the-list", fails_beyond_the_list},
    {"fails-within-the-list", fails_within_the_list},
    {"xid-hardware", xid_of_hardware},
    {"xid-program", xid_of_program},
    {"gpu-is-lost", gpu_is_lost},
    {"nvlink-failed", nvlink_failed},
    {"nvlink-failed-for-good", nvlink_failed_for_good},
    {"up-66-days", is_up_for_66_days},
    {"not-up-66-days", is_not_up_for_66_days},
    {"mig-seen", slices_are_seen},
    {"no-mig-seen", no_slices_are_seen},
    {"xid-asks-isolate", gravest_xid_asks<XidAction::kIsolate>},
    {"xid-asks-reboot", gravest_xid_asks<XidAction::kReboot>},
    {"xid-asks-reset", gravest_xid_asks<XidAction::kReset>},
    {"xid-asks-program", gravest_xid_asks<XidAction::kApplication>},
    {"xid-asks-nothing", gravest_xid_asks<XidAction::kInformation>},
    {"fm-differs", seen_any<kFmDiffers>},
    {"fm-absent", seen_any<kFmAbsent>},
    {"fm-failed", seen_any<kFmFailed>},
    {"fm-restarted", fm_was_restarted},
    {"nvlsm-missing", seen_any<kNvlsmMissing>},
    {"cc-guest", seen_any<kCcGuest>},
    {"checkpoint-asked", seen_any<kCheckpointAsked>},
    {"os-call-at-start", os_call_failed_at_start},
    {"system-call-refused", seen_any<kSystemCallRefused>},
    {"driver-halves-differ", halves_differ},
    {"up-for-minutes", is_up_for_minutes},
    {"up-for-days", is_up_for_days},
    {"driver-was-upgraded", seen_any<kWasUpgraded>},
    {"library-in-image", seen_any<kInImage>},
    {"systemd-reloads", seen_any<kReloads>},
    {"module-is-missing", module_is_missing},
    {"module-is-unsigned", seen_any<kModuleUnsigned>},
    {"other-driver", seen_any<kOtherDriver>},
    {"open-module-refuses", seen_any<kOpenModule>},
    {"visible-nothing", seen_any<kVisibleNothing>},
    {"task-sees-fewer", task_sees_fewer},
    {"compute-exclusive", seen_any<kExclusive>},
    {"mig-empty", seen_any<kMigEmpty>},
    {"fm-down", seen_any<kFmDown>},
    {"nvls-involved", nvls_is_involved},
    {"unified-no-memory", shared_memory_is_full},
    {"host-lacks-driver", seen_any<kHostLacksDriver>},
    {"compat-in-ldso", seen_any<kCompatInLdso>},
    {"no-driver", seen_any<kNoDriver>},
    {"no-nvidia-pci", seen_any<kNoNvidiaPci>},
    {"nvidia-pci", seen_any<kNvidiaPci>},
    {"toolkit-installed", seen_any<kToolkitInstalled>},
    {"toolkit-missing", toolkit_is_missing},
    {"docker-snap", seen_any<kDockerSnap>},
    {"cdi-has-device", cdi_has_the_device},
    {"cdi-lacks-device", cdi_lacks_the_device},
    {"cdi-none", seen_any<kNoCdi>},
    {"cdi-new", cdi_is_new},
    {"cdi-old", cdi_is_old},
    {"engine-old", engine_is_old},
    {"engine-podman", engine_is_podman},
    {"worked-before", worked_before},
    {"trained-after", trained_after},
    {"step-without-gpus", step_without_gpus},
    {"container-without-gpus", container_without_gpus},
    {"power-over-budget", gpus_exceed_the_supply},
    {"power-within-budget", gpus_fit_the_supply},
    {"node-went-down", seen_any<kWentDown>},
    {"cublas-of-two", cublas_is_of_two},
    {"cublas-of-one", cublas_is_of_one},
    {"gpu-is-virtual", seen_any<kVirtualGpus>},
    {"gpu-is-whole", seen_any<kGpusNotVirtual>},
};

constexpr Opposites kDriverOpposites[] = {
    {"up-66-days", "not-up-66-days"},
    {"mig-seen", "no-mig-seen"},
    {"imex-of-host", "imex-host-absent"},
    {"imex-channel-there", "imex-channel-absent"},
    {"all-use-device-0", "use-several-devices"},
    {"asks-for-several-gpus", "asks-for-one-gpu"},
    {"ranks-ask-for-several-gpus", "asks-for-one-gpu"},
    {"fails-beyond-the-list", "fails-within-the-list"},
    {"fm-absent", "fm-active"},
    {"fm-failed", "fm-active"},
    {"fm-inactive", "fm-active"},
    {"no-nvswitch", "nvswitch"},
    {"no-nvidia-pci", "nvidia-pci"},
    {"nvlsm-missing", "umad-loaded"},
    {"no-driver", "gpus-listed"},
    {"toolkit-missing", "toolkit-installed"},
    {"cdi-has-device", "cdi-lacks-device"},
    {"cdi-new", "cdi-old"},
    {"compat-in-path", "path-without-compat"},
    {"compat-in-ldso", "libcuda-driver-first"},
    {"no-cgroups-true", "no-cgroups-false"},
    {"allocatable-none", "allocatable-some"},
    {"hmm-on", "hmm-off"},
    {"uvm-absent", "uvm-there"},
    {"gpus-without-nvswitch", "gpus-of-nvlink5"},
    {"persistence-mode-off", "persistence-mode-on"},
    {"power-over-budget", "power-within-budget"},
    {"cublas-of-two", "cublas-of-one"},
    {"gpu-is-virtual", "gpu-is-whole"},
    {"managed-memory", "no-managed-memory"},
};

// Reading

enum DriverMark : std::size_t {
  kGpuLine,
  kXid,
  kUnit,
  kActive,
  kIsActive,
  kLspci,
  kLsSwitch,
  kContext,
  kNoCgroups,
  kCdiName,
  kCdiVersion,
  kWhich,
  kLibcuda,
  kPathVariable,
  kLdso,
  kHmm,
  kLocalRank,
  kTasks,
  kRankPrefix,
  kStartedFm,
  kSrun,
  kSbatch,
  kDockerRun,
  kPodmanRun,
  kPciList,
  kListCommand,
  kNvls,
  kAllocatable,
  kHeading,
  kDkms,
  kUname,
  kNouveau,
  kUmad,
  kNvidia,
  kGpusOption,
  kGresOption,
  kRuntimeOption,
  kDeviceOption,
  kProduct,
  kDkmsOld,
  kDkmsServer,
  kPersistenceColumn,
  kLimitColumn,
  kGenerationColumn,
  kSupply,
  kPstore,
  kLastLogins,
  kSystemBoot,
  kSystemDown,
  kCrashed,
  kDriverMarks
};
constexpr std::array<std::string_view, kDriverMarks> kDriverWords = {"GPU ",
                                                                     "Xid (",
                                                                     "nvidia-fabricmanager",
                                                                     "Active: ",
                                                                     "is-active",
                                                                     "lspci",
                                                                     "/dev/nvidia-nvswitch",
                                                                     "docker context show",
                                                                     "no-cgroups",
                                                                     "nvidia.com/gpu=",
                                                                     "cdiVersion",
                                                                     "which ",
                                                                     "libcuda.so.1",
                                                                     "LD_LIBRARY_PATH",
                                                                     "/etc/ld.so.conf.d/",
                                                                     "uvm_disable_hmm",
                                                                     "local_rank: ",
                                                                     ": tasks ",
                                                                     "[rank",
                                                                     "NVIDIA fabric manager service",
                                                                     "srun ",
                                                                     "#SBATCH ",
                                                                     "docker run",
                                                                     "podman run",
                                                                     "NVIDIA Corporation",
                                                                     "nvidia-smi -L",
                                                                     "transport/nvls.cc:",
                                                                     "nvidia.com/gpu:",
                                                                     "Allocatable:",
                                                                     "nvidia/",
                                                                     "uname -r",
                                                                     "nouveau ",
                                                                     "ib_umad ",
                                                                     "nvidia ",
                                                                     "--gpus",
                                                                     "--gres",
                                                                     "--runtime",
                                                                     "--device",
                                                                     "NVIDIA ",
                                                                     "nvidia, ",
                                                                     "nvidia-srv/",
                                                                     "persistence_mode",
                                                                     "power.limit",
                                                                     "pcie.link.gen",
                                                                     "Max Power Capacity: ",
                                                                     "/sys/fs/pstore",
                                                                     "last -x",
                                                                     "system boot",
                                                                     "system down",
                                                                     " - crash "};

const Phrases& driver_marks() {
  static const Phrases phrases{kDriverWords};
  return phrases;
}

// Returns the number that the line consists of.
std::optional<int> lone_number(std::string_view line) {
  Scan scan(trim(line));
  const auto number = scan.number();
  return number && scan.empty() ? number : std::nullopt;
}

// "nvidia_uvm           4595712  8"
bool is_of_lsmod(std::string_view line, std::string_view module) {
  if (!line.starts_with(module)) return false;
  Scan scan(trim(line.substr(module.size())));
  return scan.number() && scan.take(" ");
}

// Returns "NVIDIA H100 80GB HBM3" of "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1f0a…)".
std::string_view listed_name(std::string_view line) {
  Scan scan(line);
  return scan.skip_past(": ") ? trim(scan.until("(")) : std::string_view();
}

// "# GPU 3: NVIDIA H100 80GB HBM3 (UUID: GPU-…)"
std::optional<int> listed_gpu(std::string_view line) {
  if (!has_text(line, "(UUID: GPU-")) return std::nullopt;
  Scan scan(line);
  if (!scan.skip_past("GPU ")) return std::nullopt;
  const auto number = scan.number();
  return number && *number >= 0 && *number < kMostGpus && scan.take(": ") ? number : std::nullopt;
}

// Returns whether the GPU of this name, without "NVIDIA ", is a card that joins no NVSwitch.
bool is_card(std::string_view name) {
  constexpr std::string_view kLines[] = {"GeForce ", "RTX ", "TITAN ", "Quadro "};
  if (std::ranges::any_of(kLines, [&](std::string_view one) { return name.starts_with(one); })) return true;
  constexpr std::string_view kModels[] = {"A2",  "A10", "A10G", "A16", "A30", "A40", "L4",
                                          "L20", "L40", "L40S", "T4",  "T4G", "GB10"};
  const std::string_view model = name.substr(0, name.find_first_of(" ,)|["));
  if (std::ranges::find(kModels, model) != std::end(kModels)) return true;
  constexpr std::size_t kLongestProduct = 32;
  name = name.substr(0, kLongestProduct);
  return !model.starts_with("GB") &&
         (has_text(name, "PCIe") || has_text(name, "PCIE") || has_text(name, " NVL"));
}

// Returns whether the GPU of this name is one whose NVSwitch is managed through InfiniBand devices.
bool is_of_nvlink5(std::string_view name) {
  constexpr std::string_view kModels[] = {"B100", "B200", "B300"};
  return std::ranges::find(kModels, name.substr(0, name.find_first_of(" ,)|["))) != std::end(kModels);
}

// Returns whether a product's name or its line in lspci is of a Blackwell GPU: "GB20B [GB10]", "RTX PRO 6000 Blackwell".
bool is_of_blackwell(std::string_view name) {
  constexpr std::size_t kLongestLine = 160;
  name = name.substr(0, kLongestLine);
  if (is_of_nvlink5(name) || has_text(name, "Blackwell") || has_text(name, "GeForce RTX 50")) return true;
  for (std::size_t at = name.find("GB"); at != std::string_view::npos; at = name.find("GB", at + 1)) {
    const bool word = at == 0 || name[at - 1] == ' ' || name[at - 1] == '[';
    if (!word || at + 3 >= name.size()) continue;
    const char generation = name[at + 2];
    if ((generation == '1' || generation == '2' || generation == '3') && is_digit(name[at + 3])) return true;
  }
  return false;
}

void forget_query(DriverLines& driver) {
  driver.persistence_column.reset();
  driver.limit_column.reset();
  driver.state_column.reset();
  driver.generation_column.reset();
  driver.most_generation_column.reset();
}

// Reads the head of `nvidia-smi --query-gpu=… --format=csv`.
void read_query_head(DriverLines& driver, std::string_view line) {
  if (has_text(line, "--query-gpu")) return;  // the command
  const auto columns = split(line.substr(0, kLongestQuery), ',');
  forget_query(driver);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string_view name = trim(columns[i]);
    if (name == "persistence_mode") driver.persistence_column = i;
    if (name.starts_with("power.limit")) driver.limit_column = i;
    if (name == "pstate") driver.state_column = i;
    if (name == "pcie.link.gen.current" || name == "pcie.link.gen.gpucurrent") driver.generation_column = i;
    if (name == "pcie.link.gen.max" || name == "pcie.link.gen.gpumax") driver.most_generation_column = i;
  }
  if (driver.limit_column) driver.limit_watts = 0;
}

// Reads a row below it; another line ends the table.
void read_query_row(LogState& state, std::string_view line) {
  DriverLines& driver = state.driver;
  const auto columns = split(line.substr(0, kLongestQuery), ',');
  const auto value_at = [&](std::optional<std::size_t> column) {
    return column && *column < columns.size() ? trim(columns[*column]) : std::string_view();
  };
  const std::string_view mode = value_at(driver.persistence_column);
  if (mode == "Disabled") state.keep_sight(state.seen["persistence-mode-off"], line);
  if (mode == "Enabled") state.keep_sight(state.seen["persistence-mode-on"], line);
  Scan limit(value_at(driver.limit_column));
  const double watts = limit.real().value_or(0);
  if (watts > 0 && watts < kMostWatts) driver.limit_watts += watts;
  // "P8, 1, 4": performance state, the link's PCIe generation, and the highest one.
  const auto generation = parse_number<int>(value_at(driver.generation_column));
  const auto most = parse_number<int>(value_at(driver.most_generation_column));
  const std::string_view pstate = value_at(driver.state_column);
  const auto level = pstate.starts_with('P') ? parse_number<int>(pstate.substr(1)) : std::nullopt;
  if (generation && most && level && *generation < *most)
    state.keep_sight(state.seen[*level >= kIdleLevel ? "link-slow-idle" : "link-slow-busy"], line);
  if (mode.empty() && watts <= 0 && !generation) forget_query(driver);
}

void keep_names(std::set<std::string, std::less<>>& names, std::string_view line) {
  line = trim(line);
  if (!line.starts_with("nvidia.com/gpu=") || has_text(line, " ") || names.size() >= kMostCdiNames) return;
  names.emplace(line.substr(0, 80));
}

}  // namespace

std::span<const Question> driver_questions() { return kDriverQuestions; }

std::span<const Opposites> driver_opposites() { return kDriverOpposites; }

void LogState::read_driver(std::string_view line) {
  const auto keep = [&](std::string_view id, std::string_view text) { keep_sight(seen[id], text); };
  // The answer to the command on the line before.
  const auto asked = std::exchange(driver.asked, DriverAsked::kNothing);
  const std::string_view answer = trim(line);
  switch (asked) {
    case DriverAsked::kNothing:
      break;
    case DriverAsked::kNvidiaOnPci:
      if (const auto count = lone_number(line))
        keep(*count == 0 ? "pci-without-nvidia" : "pci-with-nvidia",
             fmt::format("{} NVIDIA devices on PCI", *count));
      break;
    case DriverAsked::kNvswitch:
      if (lone_number(line) == 0 || has_text(line, "No such file"))
        keep("no-nvswitch", "no /dev/nvidia-nvswitch* is there");
      break;
    case DriverAsked::kFabricManager:
      if (answer == "active") keep("fm-active", "nvidia-fabricmanager: active");
      if (answer == "inactive") keep("fm-inactive", "nvidia-fabricmanager: inactive");
      if (answer == "failed") keep("fm-unit-failed", "nvidia-fabricmanager: failed");
      break;
    case DriverAsked::kContext:
      if (answer == "rootless") keep("docker-rootless", "docker context: rootless");
      if (answer.starts_with("desktop")) keep("docker-desktop", fmt::format("docker context: {}", answer));
      break;
    case DriverAsked::kLibraryPath:
      if (answer.starts_with('/') || answer == "" || has_text(answer, "LD_LIBRARY_PATH="))
        keep(has_text(answer, "compat") ? "compat-in-path" : "path-without-compat",
             fmt::format("LD_LIBRARY_PATH={}", answer));
      break;
    case DriverAsked::kKernel:
      if (!answer.empty() && is_digit(answer.front())) driver.kernel = answer.substr(0, 64);
      break;
    case DriverAsked::kHmm:
      if (answer == "N") keep("hmm-on", "uvm_disable_hmm is N");
      if (answer == "Y") keep("hmm-off", "uvm_disable_hmm is Y");
      break;
    case DriverAsked::kInitWithoutHmm:
      if (answer == "0") keep("hmm-off-helps", "cuInit gives 0 with uvm_disable_hmm=1");
      break;
    case DriverAsked::kPstore:
      if (answer == "total 0") keep("pstore-empty", "/sys/fs/pstore is empty: the kernel kept no panic");
      break;
  }
  if (driver.persistence_column || driver.limit_column || driver.generation_column)
    read_query_row(*this, line);

  std::bitset<kDriverMarks> found;
  driver_marks().visit(line, [&](std::size_t index) { found.set(index); });
  if (found.none()) return;

  if (found[kGpuLine]) {
    if (const auto gpu = listed_gpu(line)) {
      if (driver.list.line != 0)
        keep(listed_name(line) == listed_name(driver.list.text) ? "gpus-alike" : "gpus-of-two-kinds", line);
      driver.gpus.insert(*gpu);
      keep_sight(driver.list, line);
      keep("gpus-listed", line);
    }
  }
  if (found[kListCommand] && has_text(line, "head")) driver.list_is_cut = true;
  if (found[kXid] && !has_text(line, "SXid")) {
    // "NVRM: Xid (PCI:0000:3b:00): 79, …"
    Scan scan(line);
    if (scan.skip_past("Xid (") && scan.skip_past("): ")) {
      const auto code = scan.number();
      if (code && (driver.xids.size() < kMostXids || driver.xids.contains(*code)))
        keep_sight(driver.xids[*code], line);
      if (code && *code >= 144 && *code <= 150 && has_text(line, " Fatal "))
        keep_sight(driver.nvlink_fatal, line);
    }
  }
  if (found[kUnit] || found[kStartedFm]) {
    driver.unit = log.lines;
    if (has_text(line, "could not be found") || has_text(line, "not loaded")) keep("fm-unit-absent", line);
    if (found[kIsActive]) driver.asked = DriverAsked::kFabricManager;
    if (has_text(line, "Started") && seen.contains("fm-stopped")) keep_sight(driver.fm_started_again, line);
    if (has_text(line, "Stopping") || has_text(line, "Stopped") || has_text(line, "Deactivated"))
      keep("fm-stopped", line);
    if (has_text(line, "Failed to start") || has_text(line, "status=1/FAILURE"))
      keep("fm-start-failed", line);
  }
  // "     Active: failed (Result: exit-code) since …" some lines below the unit's name.
  constexpr std::uint64_t kStatusLines = 6;
  if (found[kActive] && driver.unit != 0 && log.lines - driver.unit <= kStatusLines) {
    Scan scan(line);
    scan.skip_past("Active: ");
    const std::string text = fmt::format("nvidia-fabricmanager: {}", trim(line));
    if (scan.take("active (running)")) keep("fm-active", text);
    if (scan.take("failed") || scan.take("activating (auto-restart)")) keep("fm-unit-failed", text);
    if (scan.take("inactive")) keep("fm-inactive", text);
  }
  if (found[kPciList] && has_text(line, "NVSwitch]")) keep("nvswitch", line);
  if (found[kPciList] && (has_text(line, "3D controller") || has_text(line, "VGA compatible")))
    keep("pci-with-nvidia", line);
  const auto counts = [&] { return has_text(line, "grep -c") || has_text(line, "wc -l"); };
  if (found[kLspci] && counts() && has_text(lower(line), "nvidia")) driver.asked = DriverAsked::kNvidiaOnPci;
  if (found[kLsSwitch]) {
    if (counts()) driver.asked = DriverAsked::kNvswitch;
    if (has_text(line, "No such file") || has_text(line, "cannot access")) keep("no-nvswitch", line);
    if (trim(line).starts_with("/dev/nvidia-nvswitch") || has_text(line, "crw")) keep("nvswitch", line);
  }
  if (found[kNvls] && has_text(line, "NCCL WARN")) keep("nvls-warned", line);
  if (found[kHeading]) driver.allocatable = log.lines;
  if (found[kAllocatable] && driver.allocatable != 0 && log.lines - driver.allocatable <= kLongestList) {
    Scan scan(line);
    scan.skip_past("nvidia.com/gpu:");
    if (const auto count = lone_number(scan.rest()))
      keep(*count == 0 ? "allocatable-none" : "allocatable-some", line);
  }
  if (found[kDkms] && has_text(line, "installed")) {
    // "nvidia/570.133.20, 6.8.0-55-generic, x86_64: installed"
    const std::string_view kernel = word_after(line, ", ");
    if (!kernel.empty() && driver.built_for.size() < kMostKernels)
      driver.built_for.emplace(kernel.substr(0, 64));
    keep_sight(driver.built, line);
  } else if ((found[kDkmsOld] || found[kDkmsServer]) && has_text(line, ": installed")) {
    // DKMS 2: "nvidia, 525.105.17, 5.10.0-23-cloud-amd64, x86_64: installed"
    // Ubuntu's server driver: "nvidia-srv/535.183.06, 6.8.0-45-generic, x86_64: installed"
    const auto parts = split(line.substr(0, 256), ',');
    const std::size_t at = found[kDkmsServer] ? 1 : 2;
    if (parts.size() == at + 2 && driver.built_for.size() < kMostKernels)
      driver.built_for.emplace(trim(parts[at]).substr(0, 64));
    keep_sight(driver.built, line);
  }
  if (found[kProduct]) {
    const std::string_view name = line.substr(line.find("NVIDIA ") + 7);
    if (is_card(name)) keep("gpus-without-nvswitch", line);
    if (is_of_nvlink5(name)) keep("gpus-of-nvlink5", line);
    if (is_of_blackwell(name)) keep("gpus-of-blackwell", line);
  }
  if (found[kPersistenceColumn] || found[kLimitColumn] || found[kGenerationColumn])
    read_query_head(driver, line);
  if (found[kSupply]) {
    const double watts = number_after(line, "Max Power Capacity: ").value_or(0);
    if (watts > 0 && watts < kMostWatts) driver.supply_watts += watts;
    keep_sight(driver.supply, line);
  }
  if (found[kPstore] && has_text(line, "ls ") && !has_text(line, "cannot access"))
    driver.asked = DriverAsked::kPstore;
  // Of last -x, newest first: the last boot, and whoever was logged in when the machine went down before it.
  if (found[kLastLogins]) {
    driver.asked_last = log.lines;
    driver.after_boot = false;
  }
  if (driver.asked_last != 0 && log.lines - driver.asked_last <= kLastLines) {
    if (found[kSystemBoot] && line.starts_with("reboot ")) driver.after_boot = true;
    if (found[kSystemDown]) driver.asked_last = 0;
    if (found[kCrashed] && driver.after_boot) {
      driver.asked_last = 0;
      read_symptom(fmt::format("The last boot followed a crash: {}", answer.substr(0, 160)), nullptr, nullptr,
                   false);
    }
  }
  if (found[kUname]) driver.asked = DriverAsked::kKernel;
  if (found[kNouveau] && is_of_lsmod(line, "nouveau ")) keep("nouveau-module", line);
  if (found[kUmad] && is_of_lsmod(line, "ib_umad ")) keep("umad-loaded", line);
  if (found[kNvidia] && is_of_lsmod(line, "nvidia ")) keep("nvidia-loaded", line);
  if (found[kContext]) driver.asked = DriverAsked::kContext;
  if (found[kNoCgroups]) {
    std::string_view value = trim(line);
    if (value.starts_with("no-cgroups")) {
      value.remove_prefix(std::string_view("no-cgroups").size());
      value.remove_prefix(std::min(value.find_first_not_of(" ="), value.size()));
      if (value.starts_with("true")) keep("no-cgroups-true", line);
      if (value.starts_with("false")) keep("no-cgroups-false", line);
    }
    if (value.starts_with('#')) keep("no-cgroups-false", line);
  }
  if (found[kCdiName]) keep_names(driver.cdi_names, line);
  if (found[kCdiVersion]) {
    Scan scan(line);
    scan.skip_past("cdiVersion");
    while (!scan.empty() && !is_digit(scan.rest().front())) scan.take(scan.rest().substr(0, 1));
    const auto major = scan.number();
    const auto minor = scan.take(".") ? scan.number() : std::nullopt;
    if (major && minor && driver.cdi_version.line == 0) {
      driver.cdi_minor = *major > 0 ? 1000 : *minor;
      keep_sight(driver.cdi_version, line);
    }
  }
  if (found[kWhich] && (has_text(line, "nvidia-ctk") || has_text(line, "nvidia-container-runtime-hook")))
    keep_sight(driver.asked_which_toolkit, line);
  if (found[kLibcuda] && has_text(line, "=>") && !seen.contains("libcuda-compat-first") &&
      !seen.contains("libcuda-driver-first"))
    keep(has_text(line, "compat/") ? "libcuda-compat-first" : "libcuda-driver-first", line);
  if (found[kPathVariable]) {
    if (has_text(line, "echo $LD_LIBRARY_PATH") || has_text(line, "printenv LD_LIBRARY_PATH")) {
      driver.asked = DriverAsked::kLibraryPath;
    } else if (const auto at = line.find("LD_LIBRARY_PATH=");
               at != std::string_view::npos && !has_text(line, "echo")) {
      keep(has_text(line.substr(at), "compat") ? "compat-in-path" : "path-without-compat", line);
    }
  }
  if (found[kLdso] && has_text(line, "compat")) keep("ldso-compat", line);
  if (found[kHmm]) {
    if (has_text(line, "parameters/uvm_disable_hmm")) driver.asked = DriverAsked::kHmm;
    if (has_text(line, "uvm_disable_hmm=1") && has_text(line, "cuInit"))
      driver.asked = DriverAsked::kInitWithoutHmm;
  }
  if (found[kLocalRank])
    if (const auto rank = number_after(line, "local_rank: ");
        rank && *rank >= 0 && driver.failed.size() < kMostGpus)
      driver.failed.insert(*rank);
  if (found[kTasks] && has_text(line, "xited with exit code"))
    if (const auto task = number_after(line, ": tasks ");
        task && *task >= 0 && driver.failed.size() < kMostGpus)
      driver.failed.insert(*task);
  // Options may stand on a line of their own, and a step has those of its allocation.
  if (found[kGpusOption] || found[kGresOption] ||
      ((found[kSrun] || found[kSbatch]) && has_text(line, " -G "))) {
    keep_sight(driver.slurm_gpus, line);
    keep_sight(driver.container_gpus, line);
  }
  if (found[kRuntimeOption] || found[kDeviceOption]) keep_sight(driver.container_gpus, line);
  if (found[kSbatch] || (found[kSrun] && (has_text(line, " -p ") || has_text(line, " --partition"))))
    keep_sight(driver.slurm_start, line);
  if (found[kDockerRun] || found[kPodmanRun]) keep_sight(driver.container_start, line);
}

}  // namespace railbed::diagnose
