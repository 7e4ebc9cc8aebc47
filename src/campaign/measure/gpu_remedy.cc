#include "campaign/measure/gpu_remedy.h"

#include <fmt/format.h>

namespace railbed {

std::string gpu_remedy(const Failure& failure, const diagnose::Log& log,
                       std::string_view when_memory_is_short, std::string_view nccl_option) {
  switch (failure.kind) {
    case FailureKind::kNoCuda:
      return "install the NVIDIA driver; `railbed verify` says what else is missing";
    case FailureKind::kNoNccl:
      return fmt::format("install libnccl2, or name NCCL's file with {}", nccl_option);
    case FailureKind::kNoCublas:
      return "install libcublas (of CUDA's packages, or pip's nvidia-cublas), or name its file with --cublas";
    case FailureKind::kNoMemory:
      return fmt::format("{}, or free the GPUs: nvidia-smi names who uses them", when_memory_is_short);
    case FailureKind::kKilled:
      return "see who did: `dmesg` names processes that were killed because memory ran out";
    default:
      break;
  }
  // A warning in the log (of sockets, say) does not explain a failure.
  if (log.verdict.severity == nccl::Severity::kError) return log.verdict.remedy;
  return "`railbed verify` on these nodes names what is wrong with them; then run this again";
}

}  // namespace railbed
