// What the buffers of GPU measurements hold: numbers that each rank and place determine, small enough that
// sums over all ranks are exact in every type. Written and compared on the GPU, by a kernel in PTX that the
// driver compiles for whatever GPU it finds (Maxwell and newer).
#pragma once

#include <cstdint>

#include "host/cuda_library.h"
#include "results/collective.h"

namespace railbed {

// What stands at element i of a buffer. With `ranks` above 0: the sum over that many ranks, from `first` on,
// of what each has at `offset` + i. With 0: blocks of `block` elements, block b what rank b has at `offset`
// on.
struct Expected {
  std::uint32_t first = 0;
  std::uint32_t ranks = 1;
  std::uint64_t offset = 0;
  std::uint64_t block = 1;
};

struct Pattern {
  DataType type = DataType::kFloat32;
  std::uint32_t seed = 0;
  std::uint32_t modulus = 1;  // numbers are below it
};

// The number that `rank` has at `index`, as the kernel computes it.
std::uint32_t pattern_number(const Pattern& pattern, std::uint32_t rank, std::uint64_t index);
// The largest modulus with which the sum over `ranks` ranks is exact; 1 where there is none better.
std::uint32_t modulus_for(DataType type, int ranks);

// The kernel, loaded for one GPU's context.
class PatternKernel {
 public:
  PatternKernel() = default;
  explicit PatternKernel(cuda::Cuda& cuda);
  void fill(cuda::DevicePointer buffer, std::uint64_t elements, const Pattern& pattern,
            const Expected& expected, cuda::Stream stream);
  // How many elements differ. Waits for the stream.
  std::uint64_t count_wrong(cuda::DevicePointer buffer, std::uint64_t elements, const Pattern& pattern,
                            const Expected& expected, cuda::Stream stream);

 private:
  void launch(cuda::DevicePointer buffer, std::uint64_t elements, const Pattern& pattern,
              const Expected& expected, cuda::DevicePointer wrong, cuda::Stream stream);

  cuda::Cuda* cuda_ = nullptr;
  cuda::Function kernel_ = nullptr;
  cuda::DevicePointer wrong_ = 0;
  unsigned blocks_ = 1;
};

}  // namespace railbed
