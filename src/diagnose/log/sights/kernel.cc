// Observations in what the kernel and its tools print that confirm or refute causes.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace kernel_lines {
namespace {

using std::string_view;

constexpr std::array<string_view, 5> kRefusesGpu = {
    "open-module", "open-module-gsp", "driver-gpu-unsupported", "driver-needs-open", "driver-legacy"};
// Messages of the driver that state why a GPU does not start.
constexpr std::array<string_view, 17> kStartReasons = {"open-module",
                                                       "spdm-no-crypto",
                                                       "open-module-gsp",
                                                       "driver-gpu-unsupported",
                                                       "driver-needs-open",
                                                       "driver-legacy",
                                                       "gsp-file",
                                                       "gsp-wpr2",
                                                       "vbios-copy",
                                                       "bar-firewall",
                                                       "bar-zero",
                                                       "bar-invalid",
                                                       "gfw-boot",
                                                       "gfw-boot-halt",
                                                       "gpu-bound",
                                                       "gpu-off-the-bus",
                                                       "red:gpu.memory-window"};
constexpr std::array<string_view, 2> kBootMounts = {"boot-mount-failed", "boot-mount-timeout"};
constexpr std::array<string_view, 2> kKubeletStarts = {"kubelet-started", "kubelet-restarted"};
constexpr std::array<string_view, 3> kKernelDiffers = {"build-implicit", "build-member", "build-arguments"};
constexpr std::array<string_view, 2> kCompilerDiffers = {"build-option", "build-option-old"};
constexpr std::array<string_view, 3> kMixed = {"nvidia-other-branch", "libnvidia-other-branch",
                                               "cuda-other-branch"};
constexpr std::array<string_view, 2> kIommuFault = {"iommu-fault", "iommu-fault-intel"};

constexpr std::array<string_view, 2> kMpsServerReady = {"mps-server-new", "mps-server-there"};
constexpr std::array<string_view, 2> kMpsFolderClosed = {"mps-folder-mode", "mps-folder-denied"};
constexpr std::array<string_view, 2> kMediumBad = {"medium-critical", "medium-sense"};
constexpr std::array<string_view, 2> kUntrusted = {"apt-tls", "apt-no-authorities"};

constexpr std::array<string_view, 3> kAptFailed = {"apt-fetch-failed", "apt-lists-failed", "apt-no-names"};

// Kernels that come from no archive of a distribution.
Evidence kernel_is_in_no_archive(const LogState&, const LogProblem& problem) {
  for (const string_view kernel : {"icrosoft", "linuxkit", "xanmod", "-pve"})
    if (has_text(problem.message, kernel)) return "the kernel in the message is of no archive";
  return std::nullopt;
}

// "installed in this system is not supported by open"
Evidence open_module_refuses(const LogState&, const LogProblem& problem) {
  if (!has_text(problem.message, "supported by open")) return std::nullopt;
  return "the open kind of the driver refuses it";
}

Evidence release_refuses(const LogState&, const LogProblem& problem) {
  if (!has_text(problem.message, "supported by the")) return std::nullopt;
  return "the release of the driver refuses it";
}

// Messages of a GPU, or of its start, that failed.
constexpr std::array<string_view, 5> kStartFailures = {"init-adapter", "gfw-boot", "gfw-boot-halt",
                                                       "gfw-boot-complete", "xid"};

// A GPU or its start failed in an earlier line of the same file.
Evidence start_failed_before(const LogState& state, const LogProblem& problem) {
  for (const LogProblem& other : state.log.problems) {
    if (std::ranges::find(kStartFailures, other.symptom) == kStartFailures.end()) continue;
    if (other.file == problem.file && other.line < problem.line) return at_line(other);
  }
  return std::nullopt;
}

// The log shows the driver's load, and no failure between it and the message.
Evidence start_did_not_fail_before(const LogState& state, const LogProblem& problem) {
  if (start_failed_before(state, problem)) return std::nullopt;
  return first_seen(state, {"nvrm-loads"});
}

// A memory region that a failed start left running (WPR2) is no reason of that failure.
Evidence start_has_a_reason(const LogState& state, const LogProblem& problem) {
  const auto follows = [&](const LogProblem& other) {
    return other.symptom == "gsp-wpr2" && other.file == problem.file && other.line > problem.line;
  };
  const bool only_follows = std::ranges::any_of(state.log.problems, follows);
  for (const string_view id : kStartReasons) {
    if (id == "gsp-wpr2" && only_follows) continue;
    if (auto evidence = first_seen(state, std::span(&id, 1), &problem)) return evidence;
  }
  return std::nullopt;
}

// The log shows the driver from its load on, and it states no reason.
Evidence start_has_no_reason(const LogState& state, const LogProblem& problem) {
  if (start_has_a_reason(state, problem)) return std::nullopt;
  return first_seen(state, {"nvrm-loads"});
}

// The key of NVIDIA's CUDA repositories since 2022, or their address.
constexpr string_view kNvidiaKey[] = {"A4B469963BF863CC", "developer.download.nvidia.com"};

Evidence apt_key_is_of_nvidia(const LogState&, const LogProblem& problem) {
  for (const string_view words : kNvidiaKey)
    if (has_text(problem.message, words)) return "the message names NVIDIA's repository or its key";
  return std::nullopt;
}

Evidence apt_key_is_another(const LogState& state, const LogProblem& problem) {
  if (apt_key_is_of_nvidia(state, problem)) return std::nullopt;
  return "the key in the message is not NVIDIA's";
}

Evidence drive_reads_ones(const LogState&, const LogProblem& problem) {
  if (!has_text(problem.message, "CSTS=0xffffffff")) return std::nullopt;
  return "its status reads 0xffffffff";
}

Evidence drive_reads_a_status(const LogState& state, const LogProblem& problem) {
  if (drive_reads_ones(state, problem)) return std::nullopt;
  return "the message has its status";
}

// "CSTS=0xffffffff, PCI_STATUS=0x10": the second is of the configuration space, which reads as ones when the drive is gone.
Evidence drive_is_off_pci(const LogState&, const LogProblem& problem) {
  if (!has_text(problem.message, "PCI_STATUS=0xffff")) return std::nullopt;
  return "its PCI status reads 0xffff";
}

Evidence drive_is_on_pci(const LogState& state, const LogProblem& problem) {
  if (!has_text(problem.message, "PCI_STATUS=0x") || drive_is_off_pci(state, problem)) return std::nullopt;
  return "its PCI status can be read";
}

// "Unable to mount root fs on unknown-block(0,0)": the numbers of the device that root= names. (0,255) is NFS, after which
// older kernels try a floppy (2,0).
Evidence root_is_unknown(const LogState&, const LogProblem& problem) {
  if (!has_text(problem.message, "unknown-block(0,0)")) return std::nullopt;
  return "root= led to no device: unknown-block(0,0)";
}

Evidence root_is_known(const LogState&, const LogProblem& problem) {
  const auto major = number_after(problem.message, "unknown-block(");
  if (!major || *major == 0 || *major == 2) return std::nullopt;
  return "root= led to a device of the major number " + std::to_string(*major);
}

// "I/O error, dev sdb, sector 183500800 op 0x0:(READ)"
string_view failed_drive(const LogProblem& problem) { return word_after(problem.message, "I/O error, dev "); }

// The kernel reports a bad sector of this drive ("[sdb] tag#12 Add. Sense: Unrecovered read error").
Evidence medium_is_bad(const LogState& state, const LogProblem& problem) {
  const std::string drive(failed_drive(problem));
  for (const string_view id : kMediumBad) {
    const auto evidence = first_seen(state, {id});
    if (!evidence) continue;
    if (has_text(*evidence, "[" + drive + "]") || has_text(*evidence, "dev " + drive + ",")) return evidence;
  }
  return std::nullopt;
}

// "nvme nvme0: controller is down; will reset" and the namespace nvme0n1
Evidence drive_is_down(const LogState& state, const LogProblem& problem) {
  const string_view drive = failed_drive(problem);
  if (!drive.starts_with("nvme")) return std::nullopt;
  const string_view controller = drive.substr(0, drive.find('n', 1));
  for (const string_view id : {"drive-down", "drive-timeout"}) {
    const auto evidence = first_seen(state, {id});
    if (evidence && has_text(*evidence, std::string(controller) + ":")) return evidence;
  }
  return std::nullopt;
}

// The lines of a SATA or SAS link do not name the drive.
Evidence drive_went_away(const LogState& state, const LogProblem& problem) {
  if (auto evidence = drive_is_down(state, problem)) return evidence;
  if (!failed_drive(problem).starts_with("sd")) return std::nullopt;
  return first_seen(state, {"drive-offline", "drive-link-reset"});
}

// A reset takes the link within seconds; more lines than these are of another time.
constexpr std::uint64_t kNearLines = 20;

std::optional<std::string> adapter_was_reset_before(const LogState& state, const LogProblem& problem) {
  for (const std::string_view id : {"adapter-reset-irdma", "adapter-reset-ice", "adapter-reset-mlx5"})
    if (const auto reset = state.seen.find(id);
        reset != state.seen.end() && reset->second.file == problem.file &&
        reset->second.line < problem.line && problem.line - reset->second.line <= kNearLines)
      return at_line(reset->second);
  return std::nullopt;
}

std::optional<std::string> no_adapter_was_reset_before(const LogState& state, const LogProblem& problem) {
  if (adapter_was_reset_before(state, problem) || problem.line <= kNearLines) return std::nullopt;
  return "no reset of an adapter stands in the lines before it";
}

constexpr Question kKernelQuestions[] = {
    {"adapter-reset-before", adapter_was_reset_before},
    {"no-adapter-reset-before", no_adapter_was_reset_before},
    {"root-unknown", root_is_unknown},
    {"root-known", root_is_known},
    {"mps-server-ready", seen_any<kMpsServerReady>},
    {"mps-folder-closed", seen_any<kMpsFolderClosed>},
    {"drive-medium-bad", medium_is_bad},
    {"drive-is-down", drive_is_down},
    {"drive-went-away", drive_went_away},
    {"apt-server-untrusted", seen_any<kUntrusted>},
    {"refused-by-release", release_refuses},
    {"init-has-reason", start_has_a_reason},
    {"init-has-none", start_has_no_reason},
    {"boot-mount-missing", seen_any<kBootMounts>},
    {"kubelet-was-restarted", seen_any<kKubeletStarts>},
    {"apt-key-nvidia", apt_key_is_of_nvidia},
    {"apt-key-other", apt_key_is_another},
    {"drive-reads-ones", drive_reads_ones},
    {"drive-reads-status", drive_reads_a_status},
    {"drive-off-pci", drive_is_off_pci},
    {"drive-on-pci", drive_is_on_pci},
    {"start-failed-before", start_failed_before},
    {"start-not-failed-before", start_did_not_fail_before},
    {"apt-index-failed", seen_any<kAptFailed>},
    {"kernel-not-packaged", kernel_is_in_no_archive},
    {"refused-by-open", open_module_refuses},
    {"driver-refuses-gpu", seen_any<kRefusesGpu>},
    {"build-kernel-differs", seen_any<kKernelDiffers>},
    {"build-compiler-differs", seen_any<kCompilerDiffers>},
    {"nvidia-mixed", seen_any<kMixed>},
    {"iommu-fault-shown", seen_any<kIommuFault>},
};

}  // namespace
}  // namespace kernel_lines

std::span<const Question> kernel_questions() { return kernel_lines::kKernelQuestions; }

}  // namespace railbed::diagnose
