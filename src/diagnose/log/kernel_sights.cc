// Observations in what the kernel and its tools print that confirm or refute causes.
#include <array>

#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace kernel_lines {
namespace {

using Evidence = std::optional<std::string>;
using std::string_view;

template <const auto& ids>
Evidence any_of_kernel(const LogState& state, const LogProblem& problem) {
  return first_seen(state, ids, &problem);
}

constexpr std::array<string_view, 4> kRefusesGpu = {"open-module", "driver-gpu-unsupported",
                                                    "driver-needs-open", "driver-legacy"};
constexpr std::array<string_view, 3> kKernelDiffers = {"build-implicit", "build-member", "build-arguments"};
constexpr std::array<string_view, 2> kCompilerDiffers = {"build-option", "build-option-old"};
constexpr std::array<string_view, 3> kMixed = {"nvidia-other-branch", "libnvidia-other-branch",
                                               "cuda-other-branch"};
constexpr std::array<string_view, 2> kIommuFault = {"iommu-fault", "iommu-fault-intel"};

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

constexpr Question kKernelQuestions[] = {
    {"apt-index-failed", any_of_kernel<kAptFailed>},
    {"kernel-not-packaged", kernel_is_in_no_archive},
    {"refused-by-open", open_module_refuses},
    {"driver-refuses-gpu", any_of_kernel<kRefusesGpu>},
    {"build-kernel-differs", any_of_kernel<kKernelDiffers>},
    {"build-compiler-differs", any_of_kernel<kCompilerDiffers>},
    {"nvidia-mixed", any_of_kernel<kMixed>},
    {"iommu-fault-shown", any_of_kernel<kIommuFault>},
};

}  // namespace
}  // namespace kernel_lines

std::span<const Question> kernel_questions() { return kernel_lines::kKernelQuestions; }

}  // namespace railbed::diagnose
