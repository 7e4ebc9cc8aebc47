#include "bench/gpu_seats.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"

namespace railbed {
namespace {

GpuSeat seat_of(cuda::Cuda& cuda, int ordinal) {
  GpuSeat seat;
  seat.ordinal = ordinal;
  int device = 0;
  std::array<char, 128> name{};
  std::array<char, 32> address{};
  cuda.call("cuDeviceGet", &device, ordinal) &&
      cuda.call("cuDeviceGetName", name.data(), static_cast<int>(name.size()), device) &&
      cuda.call("cuDeviceGetPCIBusId", address.data(), static_cast<int>(address.size()), device);
  name.back() = address.back() = '\0';
  seat.name = name.data();
  seat.address = lower(address.data());
  seat.memory_clock = cuda.attribute(cuda::kMemoryClock, device).value_or(0);
  seat.memory_bits = cuda.attribute(cuda::kMemoryBusWidth, device).value_or(0);
  return seat;
}

}  // namespace

std::vector<GpuSeat> find_seats(cuda::Cuda& cuda, const std::vector<int>& ordinals) {
  int count = 0;
  std::vector<GpuSeat> seats;
  if (!cuda.call("cuDeviceGetCount", &count)) return seats;
  if (count < 1) cuda.note("the CUDA driver shows no GPU");
  std::vector<int> chosen = ordinals;
  for (int i = 0; chosen.empty() && i < count; ++i) seats.push_back(seat_of(cuda, i));
  for (const int ordinal : chosen) {
    if (ordinal < 0 || ordinal >= count)
      cuda.note(fmt::format("there is no GPU {}: CUDA shows {}, counted from 0", ordinal, count));
    else
      seats.push_back(seat_of(cuda, ordinal));
  }
  return seats;
}

FailureKind failure_kind(const cuda::Cuda& cuda) {
  if (!cuda.opened()) return FailureKind::kNoCuda;
  return cuda.code() == cuda::kOutOfMemory ? FailureKind::kNoMemory : FailureKind::kOther;
}

}  // namespace railbed
