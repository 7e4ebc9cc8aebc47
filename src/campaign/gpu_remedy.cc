#include "campaign/gpu_remedy.h"

#include <fmt/format.h>

namespace railbed {

std::string gpu_remedy(const Failure& failure, const nccl::Log& log, std::string_view when_memory_is_short) {
  const auto names = [&](const char* word) { return failure.cause.find(word) != std::string::npos; };
  if (names("libcuda")) return "install the NVIDIA driver; `railbed verify` says what else is missing";
  if (names("libnccl")) return "install libnccl2, or name NCCL's file with --library";
  if (names("libcublas"))
    return "install libcublas (of CUDA's packages, or pip's nvidia-cublas), or name its file with --cublas";
  if (names("OUT_OF_MEMORY"))
    return fmt::format("{}, or free the GPUs: nvidia-smi names who uses them", when_memory_is_short);
  if (names("was killed"))
    return "see who did: `dmesg` names processes that were killed because memory ran out";
  // What the log merely warns of (sockets, say) ended nothing.
  if (log.verdict.severity == nccl::Severity::kError) return log.verdict.remedy;
  return "`railbed verify` on these nodes names what is wrong with them; then run this again";
}

}  // namespace railbed
