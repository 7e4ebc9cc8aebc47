// The content of the buffers of GPU measurements: numbers that follow from rank and index, small enough that
// sums over all ranks are exact in every type. A kernel in PTX writes and compares them on the GPU; the
// driver compiles it for the GPU that it finds (Maxwell and newer).
//
// A number is a hash of seed, rank and index, scaled to a modulus. So the kernel can compute the expected
// result of any collective for itself, also a sum over ranks, and no reference data needs to be stored or
// copied. The sums are exact because they stay below the largest whole number up to which the type has no
// gaps.
#pragma once

#include <cstdint>

#include "nvidia/cuda_library.h"
#include "results/collective.h"

namespace railbed {

// The expected element i of a buffer. If `ranks` is above 0: the sum of the numbers of ranks `first` …
// `first` + `ranks` − 1 at index `offset` + i. If `ranks` is 0: the buffer consists of blocks of `block`
// elements, and block b holds the numbers of rank b from index `offset` on.
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

// Returns the number of `rank` at `index`, as the kernel computes it.
std::uint32_t pattern_number(const Pattern& pattern, std::uint32_t rank, std::uint64_t index);
// Returns the largest modulus, at most 4096, with which the sum over `ranks` ranks is exact; 1 if there is
// none. With 1 all numbers are 0.
std::uint32_t modulus_for(DataType type, int ranks);

// The kernel, loaded for one GPU's context.
class PatternKernel {
 public:
  PatternKernel() = default;
  explicit PatternKernel(cuda::Cuda& cuda);
  void fill(cuda::DevicePointer buffer, std::uint64_t elements, const Pattern& pattern,
            const Expected& expected, cuda::Stream stream);
  // Returns the number of elements that differ. Waits for the stream.
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
