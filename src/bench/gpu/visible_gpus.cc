#include "bench/gpu/visible_gpus.h"

#include <fmt/format.h>

#include <array>

#include "base/json.h"
#include "base/text.h"
#include "os/process.h"

namespace railbed {
namespace {

VisibleGpu visible_gpu(cuda::Cuda& cuda, int ordinal) {
  VisibleGpu gpu;
  gpu.ordinal = ordinal;
  int device = 0;
  std::array<char, 128> name{};
  std::array<char, 32> address{};
  cuda.call("cuDeviceGet", &device, ordinal) &&
      cuda.call("cuDeviceGetName", name.data(), static_cast<int>(name.size()), device) &&
      cuda.call("cuDeviceGetPCIBusId", address.data(), static_cast<int>(address.size()), device);
  name.back() = address.back() = '\0';
  gpu.name = name.data();
  gpu.address = lower(address.data());
  gpu.memory_clock = cuda.attribute(cuda::kMemoryClock, device).value_or(0);
  gpu.memory_bits = cuda.attribute(cuda::kMemoryBusWidth, device).value_or(0);
  return gpu;
}

}  // namespace

std::vector<VisibleGpu> find_visible_gpus(cuda::Cuda& cuda, const std::vector<int>& ordinals) {
  int count = 0;
  std::vector<VisibleGpu> gpus;
  if (!cuda.call("cuDeviceGetCount", &count)) return gpus;
  if (count < 1) cuda.note("the CUDA driver shows no GPU");
  std::vector<int> chosen = ordinals;
  for (int i = 0; chosen.empty() && i < count; ++i) gpus.push_back(visible_gpu(cuda, i));
  for (const int ordinal : chosen) {
    if (ordinal < 0 || ordinal >= count)
      cuda.note(fmt::format("there is no GPU {}: CUDA shows {}, counted from 0", ordinal, count));
    else
      gpus.push_back(visible_gpu(cuda, ordinal));
  }
  return gpus;
}

Result<VisibleGpus> visible_gpus_here(const NvidiaLibraries& from, const std::vector<int>& ordinals) {
  const auto answer = ask_in_child(
      "GPUs",
      [&](const Say& about_to) {
        about_to("opening " + from.cuda.front());
        cuda::Cuda cuda(from.cuda, about_to);
        cuda.start();
        VisibleGpus visible;
        visible.gpus = find_visible_gpus(cuda, ordinals);
        visible.error = cuda.error();
        return json::dump(json::encode(visible));
      },
      from.deadline);
  if (!answer) return fail(ErrorKind::kUnavailable, answer.miss().why);
  auto visible = json::read<VisibleGpus>(*answer);
  if (visible && !visible->error.empty()) return fail(ErrorKind::kUnavailable, visible->error);
  return visible;
}

FailureKind failure_kind(const cuda::Cuda& cuda) {
  if (!cuda.opened()) return FailureKind::kNoCuda;
  return cuda.code() == cuda::kOutOfMemory ? FailureKind::kNoMemory : FailureKind::kOther;
}

}  // namespace railbed
