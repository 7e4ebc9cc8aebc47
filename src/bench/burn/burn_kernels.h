// The kernels of a burn-in, in PTX: they write numbers that follow from their place, and compare on the GPU, so
// that a comparison costs a read of the memory and no copy.
#pragma once

#include <cstdint>

#include "bench/burn/burn.h"
#include "nvidia/cuda_library.h"

namespace railbed {

// The content of a buffer: word i of 8 bytes is (hash(i, seed) & mask) ^ bits. The mask leaves random what may be
// random in a number of the buffer's type; with a mask of 0 all words are `bits`.
struct BurnWords {
  std::uint64_t seed = 0;
  std::uint64_t mask = ~std::uint64_t{0};
  std::uint64_t bits = 0;
};

// Returns word i, as the kernel computes it.
constexpr std::uint64_t burn_word(const BurnWords& words, std::uint64_t index) {
  std::uint64_t x = index * 0x9E3779B97F4A7C15U + words.seed;
  x ^= x >> 32;
  x *= 0xBF58476D1CE4E5B9U;
  x ^= x >> 29;
  return (x & words.mask) ^ words.bits;
}

// Returns the pattern of a pass over memory: in turn numbers that follow from the address, their inverse, and words of
// the test literature.
BurnWords burn_pattern(std::uint64_t pass);

// The sum of the differences that comparisons found.
struct BurnDifference {
  std::uint64_t elements = 0;               // that differ
  std::uint64_t first = ~std::uint64_t{0};  // the lowest index of them
  std::uint64_t bits = 0;                   // all bits that differ
};
// Returns it as a fault of a comparison. `flipped`: a drill flipped a bit before.
BurnFault fault_of(BurnPhase phase, std::string of, double at, const BurnDifference& difference,
                   bool flipped);

// The kernels, loaded for one GPU's context. Sizes are bytes, multiples of 16. Work is queued on the stream; a
// failure is the error of `cuda`.
class BurnKernels {
 public:
  BurnKernels(cuda::Cuda& cuda, cuda::Stream stream);

  void fill(cuda::DevicePointer buffer, std::uint64_t bytes, const BurnWords& words);
  // Both add to the difference that read() returns. `width` is that of an element: 2, 4 or 8 bytes.
  void check(cuda::DevicePointer buffer, std::uint64_t bytes, const BurnWords& words);
  void compare(cuda::DevicePointer a, cuda::DevicePointer b, std::uint64_t bytes, int width);
  // Waits for the stream. Returns what differed since the last call.
  BurnDifference read();
  // Waits for the stream. Flips kDrillBit of the word in the middle of the buffer.
  void flip(cuda::DevicePointer buffer, std::uint64_t bytes);
  // Waits for the stream. Returns a number that depends on every bit of the buffer and on its place.
  std::uint64_t digest(cuda::DevicePointer buffer, std::uint64_t bytes);

 private:
  void clear();
  void launch(cuda::Function kernel, std::uint64_t pairs, void** arguments);

  cuda::Cuda& cuda_;
  cuda::Stream stream_;
  cuda::Function words_ = nullptr;
  cuda::Function compare_ = nullptr;
  cuda::Function digest_ = nullptr;
  cuda::DevicePointer found_ = 0;  // a BurnDifference
  unsigned blocks_ = 1;
};

}  // namespace railbed
