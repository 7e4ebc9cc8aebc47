#include "bench/gpu/gpu_engine.h"

#include "bench/gpu/child_work.h"
#include "bench/gpu/gpu_copy.h"
#include "bench/gpu/nccl_run.h"
#include "bench/gpu/visible_gpus.h"

namespace railbed {
namespace {

constexpr std::uint64_t kMostCopyBytes = std::uint64_t{16} << 30;

Result<void> check_copies(const GpuCopyPlan& plan) {
  const auto refuse = [](const char* what) { return fail(ErrorKind::kBadInput, what); };
  if (plan.bytes < 4096 || plan.bytes > kMostCopyBytes) return refuse("bytes: 4 KiB to 16 GiB");
  if (plan.samples < 1 || plan.samples > 10'000) return refuse("samples: 1 to 10000");
  if (!(plan.patience > 0) || plan.patience > 86'400) return refuse("patience: up to a day");
  return {};
}

Handlers gpu_copy_handlers(AgentSide& side) {
  Handlers handlers;
  handlers.emplace(kVisibleGpus,
                   typed_handler<VisibleGpus>([from = side.nvidia](const VisibleGpus&, std::stop_token) {
                     return visible_gpus_here(from);
                   }));
  add_child_work<GpuCopyPlan>(handlers, kGpuCopies, side, check_copies, run_gpu_copies);
  return handlers;
}

}  // namespace

EngineRegistration gpu_engine() { return {Engine::kGpuCopy, gpu_copy_handlers}; }

}  // namespace railbed
