#include "bench/gpu/gpu_memory_left.h"

#include "host/open.h"

namespace railbed {
namespace {

constexpr int kIntegrated = 18;  // CU_DEVICE_ATTRIBUTE_INTEGRATED: the GPU uses the host's memory

}  // namespace

MemoryLeft gpu_memory_left(cuda::Cuda& cuda) {
  MemoryLeft left = memory_left(*open_this_machine());
  std::size_t free = 0;
  std::size_t total = 0;
  if (cuda.call("cuMemGetInfo_v2", &free, &total)) left.gpu = free;
  left.unified = cuda.attribute(kIntegrated).value_or(0) != 0;
  return left;
}

}  // namespace railbed
