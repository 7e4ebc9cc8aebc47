#include "bench/train/gpu_train.h"

#include <algorithm>

#include "model/trained_models.h"

namespace railbed {

Result<void> check_gpu_train(const GpuTrainPlan& plan) {
  constexpr std::uint64_t kLargestBucket = std::uint64_t{256} << 20;
  const auto refuse = [](const char* what) { return fail(ErrorKind::kBadInput, what); };
  if (!find_model(plan.model)) return refuse("no such model");
  if (plan.step.batch < 1 || plan.step.batch > 65'536) return refuse("batch: 1 to 65536");
  if (plan.step.word_bytes != 2 && plan.step.word_bytes != 4) return refuse("bytes of a gradient: 2 or 4");
  for (const std::uint64_t bytes : {plan.step.bucket_bytes, plan.step.first_bucket_bytes})
    if (bytes < 4096 || bytes > kLargestBucket) return refuse("buckets: 4 KiB to 256 MiB");
  if (!(plan.seconds > 0 && plan.seconds <= 3600)) return refuse("duration: more than 0, at most 3600 s");
  if (!(plan.patience > 0 && plan.patience <= 86'400)) return refuse("patience: up to a day");
  if (!(plan.stretch_to >= 0 && plan.stretch_to <= 3600)) return refuse("time of a step: at most 3600 s");
  RETURN_IF_ERROR(check_place(plan.place));
  return {};
}

void keep_slower(GpuTrainRound& into, const GpuTrainRound& from) {
  into.step = std::max(into.step, from.step);
  into.exchange = std::max(into.exchange, from.exchange);
  into.compute = std::max(into.compute, from.compute);
}

}  // namespace railbed
