// What CUDA, NVML and the driver print.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <string_view>

#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"
#include "hardware/xid.h"

namespace railbed::diagnose {
namespace {

// Numbers of devices

Evidence all_ranks_use_device_0(const LogState& state, const LogProblem&) {
  if (state.log.communicators.empty()) return std::nullopt;
  const auto& ranks = state.log.communicators.front().ranks;
  const bool all =
      ranks.size() > 1 && std::ranges::all_of(ranks, [](const LogRank& rank) { return rank.device == 0; });
  if (!all) return std::nullopt;
  return fmt::format("all {} ranks of the log report cudaDev 0", ranks.size());
}

Evidence ranks_use_several_devices(const LogState& state, const LogProblem&) {
  if (state.log.communicators.empty()) return std::nullopt;
  for (const LogRank& rank : state.log.communicators.front().ranks)
    if (rank.device > 0) return fmt::format("rank {} uses cudaDev {}", rank.rank, rank.device);
  return std::nullopt;
}

Evidence process_asks_for_one_gpu(const LogState& state, const LogProblem&) {
  if (state.tests_gpus != 1) return std::nullopt;
  return fmt::format("{}, so each process asks for one GPU", at_line(state.tests_shape));
}

// Returns how many GPUs each process of nccl-tests asks for, if more than one.
Evidence asks_for_several(const LogState& state) {
  if (state.tests_gpus <= 1) return std::nullopt;
  return fmt::format("{}, so each process asks for {} GPUs", at_line(state.tests_shape), state.tests_gpus);
}

Evidence several_ranks_ask_for_several_gpus(const LogState& state, const LogProblem&) {
  const auto asks = asks_for_several(state);
  const auto shared =
      std::ranges::find_if(state.tests_failed, [](const auto& one) { return one.second.size() > 1; });
  if (!asks || shared == state.tests_failed.end()) return std::nullopt;
  return fmt::format("{}; {} processes failed on {}", *asks, shared->second.size(), shared->first);
}

Evidence one_process_asks_for_several_gpus(const LogState& state, const LogProblem&) {
  return asks_for_several(state);
}

// The lowest local rank that failed was beyond the GPUs that the node lists.
Evidence fails_beyond_the_list(const LogState& state, const LogProblem&) {
  const DriverLines& driver = state.driver;
  const int gpus = static_cast<int>(driver.gpus.size());
  if (gpus == 0 || driver.list_is_cut || *driver.gpus.rbegin() + 1 != gpus) return std::nullopt;
  if (driver.failed.empty() || *driver.failed.begin() < gpus) return std::nullopt;
  return fmt::format("{}: the node has {} GPU{}, and the lowest local rank that failed is {}",
                     at_line(driver.list), gpus, gpus == 1 ? "" : "s", *driver.failed.begin());
}

// A local rank failed although the node lists a GPU of its number.
Evidence fails_within_the_list(const LogState& state, const LogProblem&) {
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
Evidence xid_that(const LogState& state, Wanted wanted) {
  for (const auto& [code, sight] : state.driver.xids)
    if (wanted(code, sight.text)) return xid_text(code, sight);
  return std::nullopt;
}

constexpr std::array<std::string_view, 3> kHardwareFindings = {"red:gpu.xid-reboot", "red:gpu.xid-reset",
                                                               "red:gpu.xid-isolate"};

Evidence xid_of_hardware(const LogState& state, const LogProblem& problem) {
  auto found = xid_that(state, is_gpu_failure);
  return found ? found : first_seen(state, kHardwareFindings, &problem);
}

constexpr std::array<std::string_view, 1> kProgramFindings = {"red:gpu.xid-application"};

Evidence xid_of_program(const LogState& state, const LogProblem& problem) {
  if (xid_of_hardware(state, problem)) return std::nullopt;
  auto found = xid_that(state, [](int code, std::string_view) {
    const Xid* const row = find_xid(code);
    return row != nullptr && row->action == XidAction::kApplication;
  });
  return found ? found : first_seen(state, kProgramFindings, &problem);
}

constexpr std::array<std::string_view, 4> kLostIds = {"gpu-off-the-bus", "gpu-lost", "gpu-revision-ff",
                                                      "red:gpu.count"};

Evidence gpu_is_lost(const LogState& state, const LogProblem& problem) {
  auto found = xid_that(state, [](int code, std::string_view) {
    return std::ranges::find(kLostXids, code) != kLostXids.end();
  });
  return found ? found : first_seen(state, kLostIds, &problem);
}

constexpr std::array<std::string_view, 4> kNvlinkIds = {"sxid", "red:gpu.sxid", "red:gpu.nvlink-count",
                                                        "red:gpu.nvlink-recovery"};

Evidence nvlink_failed(const LogState& state, const LogProblem& problem) {
  auto found =
      xid_that(state, [](int code, std::string_view) { return code == 74 || (code >= 144 && code <= 150); });
  return found ? found : first_seen(state, kNvlinkIds, &problem);
}

// Xids 144 to 150 report a part of NVLink, and whether its error is fatal; the others of that moment follow from it.
Evidence nvlink_failed_for_good(const LogState& state, const LogProblem&) {
  if (state.driver.nvlink_fatal.line == 0) return std::nullopt;
  return at_line(state.driver.nvlink_fatal);
}

// "[5745790.204451] NVRM: …": the stamp is the time since the boot, of which the defect needs 66 days.
Evidence is_up_for_66_days(const LogState&, const LogProblem& problem) {
  constexpr double kDay = 86400;
  Scan scan(problem.message);
  const double days = scan.take("[") ? scan.real().value_or(0) / kDay : 0;
  if (days < 66) return std::nullopt;
  return fmt::format("the message came {:.1f} days after the boot", days);
}

Evidence is_not_up_for_66_days(const LogState& state, const LogProblem& problem) {
  Scan scan(problem.message);
  if (is_up_for_66_days(state, problem) || !scan.take("[") || !scan.real()) return std::nullopt;
  return "the message came earlier after the boot";
}

Evidence slices_are_seen(const LogState& state, const LogProblem&) {
  if (state.mig.line != 0) return at_line(state.mig);
  return first_seen(state, {"mig-on", "red:gpu.mig"});
}

Evidence no_slices_are_seen(const LogState& state, const LogProblem& problem) {
  if (slices_are_seen(state, problem)) return std::nullopt;
  return first_seen(state, {"green:gpu.mig"});
}

// The gravest Xid of the log decides what to do.
template <XidAction action>
Evidence gravest_xid_asks(const LogState& state, const LogProblem&) {
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
Evidence os_call_failed_at_start(const LogState& state, const LogProblem& problem) {
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
Evidence fm_was_restarted(const LogState& state, const LogProblem&) {
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

Evidence halves_differ(const LogState& state, const LogProblem& problem) {
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
constexpr std::array<std::string_view, 2> kNoNvidiaPci = {"pci-without-nvidia", "slurm-node-no-gres"};

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

// DKMS has built the module for other kernels than the one that runs.
Evidence module_is_missing(const LogState& state, const LogProblem& problem) {
  if (auto found = first_seen(state, kModuleMissing, &problem)) return found;
  const DriverLines& driver = state.driver;
  if (driver.kernel.empty() || driver.built_for.empty() || driver.built_for.contains(driver.kernel))
    return std::nullopt;
  return fmt::format("{}: the module is built for {}, and {} runs", at_line(driver.built),
                     fmt::join(driver.built_for, ", "), driver.kernel);
}

Evidence task_sees_fewer(const LogState& state, const LogProblem& problem) {
  auto found = fails_within_the_list(state, problem);
  return found ? found : first_seen(state, kTaskBound, &problem);
}

Evidence nvls_is_involved(const LogState& state, const LogProblem& problem) {
  if (has_text(problem.message, "NVLink SHARP") || has_text(problem.message, "NVLS") ||
      has_text(problem.message, " to MC group "))
    return "the message is of NVLink SHARP";
  static constexpr std::array<std::string_view, 2> kIds = {"nvls-failed", "nvls-warned"};
  return first_seen(state, kIds, &problem);
}

Evidence shared_memory_is_full(const LogState& state, const LogProblem&) {
  const auto empty = state.seen.find("nv-no-memory"), gpu = state.seen.find("unified-gpu");
  if (empty == state.seen.end() || gpu == state.seen.end()) return std::nullopt;
  return fmt::format("{}; {}", at_line(empty->second), at_line(gpu->second));
}

// Power

// Processors, memory, fans and disks need the rest of what the supplies give.
constexpr double kShareOfGpus = 0.8;

Evidence compare_power(const LogState& state, bool over) {
  const DriverLines& driver = state.driver;
  if (driver.limit_watts <= 0 || driver.supply_watts <= 0) return std::nullopt;
  if ((driver.limit_watts > kShareOfGpus * driver.supply_watts) != over) return std::nullopt;
  return fmt::format("{}: the GPUs may take {:.0f} W, and the power supplies give {:.0f} W",
                     at_line(driver.supply), driver.limit_watts, driver.supply_watts);
}

Evidence gpus_exceed_the_supply(const LogState& state, const LogProblem&) {
  return compare_power(state, true);
}

Evidence gpus_fit_the_supply(const LogState& state, const LogProblem&) { return compare_power(state, false); }

constexpr std::array<std::string_view, 3> kWentDown = {"machine-reset", "journal-unclean",
                                                       "slurm-node-rebooted"};

// The engines that read CDI 0.6 at most: Podman 4, Docker 25 and 26, containerd 1.7.
Evidence engine_is_old(const LogState& state, const LogProblem&) {
  const auto podman = state.seen.find("podman-version");
  if (podman == state.seen.end()) return std::nullopt;
  const auto major = number_after(podman->second.text, "ersion ");
  if (!major || *major >= 5) return std::nullopt;
  return at_line(podman->second);
}

// srun or sbatch starts the program and no option of the log asks for GPUs.
Evidence step_without_gpus(const LogState& state, const LogProblem& problem) {
  static constexpr std::array<std::string_view, 1> kNode = {"slurm-node-no-gres"};
  if (auto found = first_seen(state, kNode, &problem)) return found;
  const DriverLines& driver = state.driver;
  if (driver.slurm_start.line == 0 || driver.slurm_gpus.line != 0) return std::nullopt;
  return fmt::format("{}, and no line asks for GPUs (--gpus, --gres, -G)", at_line(driver.slurm_start));
}

constexpr std::array<std::string_view, 1> kImexListed = {"imex-of-host-listed"};

Evidence gpus_are_of_one_kind(const LogState& state, const LogProblem&) {
  const auto alike = state.seen.find("gpus-alike");
  if (alike == state.seen.end() || state.seen.contains("gpus-of-two-kinds")) return std::nullopt;
  return fmt::format("{}, like the one before it", at_line(alike->second));
}

// "10:12:44 up 4 min,  1 user,  load average: 0.31, …", "up 3 days, 22:10,"
Evidence is_up_for_minutes(const LogState& state, const LogProblem&) {
  const auto uptime = state.seen.find("uptime-shown");
  if (uptime == state.seen.end()) return std::nullopt;
  Scan scan(uptime->second.text);
  if (!scan.skip_past(" up ") || !scan.number() || !scan.take(" min")) return std::nullopt;
  return at_line(uptime->second);
}

Evidence is_up_for_days(const LogState& state, const LogProblem&) {
  const auto uptime = state.seen.find("uptime-shown");
  if (uptime == state.seen.end() || uptime->second.text.find(" day") == std::string::npos)
    return std::nullopt;
  return at_line(uptime->second);
}

// Blackwell and newer start with the open kernel module alone.
Evidence closed_module_on_blackwell(const LogState& state, const LogProblem&) {
  const auto closed = first_seen(state, {"closed-kernel-module"});
  const auto blackwell = first_seen(state, {"gpus-of-blackwell"});
  if (!closed || !blackwell || first_seen(state, {"open-kernel-module"})) return std::nullopt;
  return *closed + "; " + *blackwell;
}

Evidence start_failed_on_closed(const LogState& state, const LogProblem& problem) {
  if (!first_seen(state, {"init-adapter"})) return std::nullopt;
  return closed_module_on_blackwell(state, problem);
}

constexpr std::string_view kVirtualGpus[] = {"vgpu-mode", "vgpu-grid", "vgpu-profile-c", "vgpu-profile-q"};
constexpr std::string_view kGpusNotVirtual[] = {"vgpu-mode-none", "vgpu-mode-whole"};

// Returns both files if cuBLAS was loaded from a CUDA toolkit and from a Python package.
Evidence cublas_is_of_two(const LogState& state, const LogProblem&) {
  const auto toolkit = first_seen(state, {"cublas-of-toolkit"});
  const auto package = first_seen(state, {"cublas-of-package"});
  if (!toolkit || !package) return std::nullopt;
  return fmt::format("{}; {}", *toolkit, *package);
}

Evidence cublas_is_of_one(const LogState& state, const LogProblem& problem) {
  if (cublas_is_of_two(state, problem)) return std::nullopt;
  return first_seen(state, {"cublas-of-toolkit", "cublas-of-package"});
}

constexpr Question kGpuQuestions[] = {
    {"closed-on-blackwell", closed_module_on_blackwell},
    {"start-failed-on-closed", start_failed_on_closed},
    {"imex-of-host", seen_any<kImexListed>},
    {"gpus-of-one-kind", gpus_are_of_one_kind},
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
    {"compat-in-ldso", seen_any<kCompatInLdso>},
    {"no-driver", seen_any<kNoDriver>},
    {"no-nvidia-pci", seen_any<kNoNvidiaPci>},
    {"nvidia-pci", seen_any<kNvidiaPci>},
    {"engine-old", engine_is_old},
    {"step-without-gpus", step_without_gpus},
    {"power-over-budget", gpus_exceed_the_supply},
    {"power-within-budget", gpus_fit_the_supply},
    {"node-went-down", seen_any<kWentDown>},
    {"cublas-of-two", cublas_is_of_two},
    {"cublas-of-one", cublas_is_of_one},
    {"gpu-is-virtual", seen_any<kVirtualGpus>},
    {"gpu-is-whole", seen_any<kGpusNotVirtual>},
};

constexpr Opposites kGpuOpposites[] = {
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
    {"compat-in-path", "path-without-compat"},
    {"compat-in-ldso", "libcuda-driver-first"},
    {"no-cgroups-true", "no-cgroups-false"},
    {"hmm-on", "hmm-off"},
    {"uvm-absent", "uvm-there"},
    {"gpus-without-nvswitch", "gpus-of-nvlink5"},
    {"power-over-budget", "power-within-budget"},
    {"cublas-of-two", "cublas-of-one"},
    {"gpu-is-virtual", "gpu-is-whole"},
    {"managed-memory", "no-managed-memory"},
};

}  // namespace

std::span<const Question> gpu_questions() { return kGpuQuestions; }

std::span<const Opposites> gpu_opposites() { return kGpuOpposites; }

}  // namespace railbed::diagnose
