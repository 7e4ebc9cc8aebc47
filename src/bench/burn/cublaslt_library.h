// The part of cuBLASLt that a burn-in calls: our own declarations, from its public reference (NVIDIA, "cuBLAS", chapter
// "Using the cuBLASLt API"; releases 11 and newer). To be used only in a child process.
//
// A product keeps the algorithm that was chosen for it once. cuBLAS states that one algorithm gives the same bits in
// every run on GPUs of one architecture with the same number of multiprocessors; splitting sums over K, whose order
// may vary, is forbidden here.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "nvidia/cuda_library.h"
#include "os/library.h"
#include "results/burn.h"

namespace railbed {

// Returns the files that may be cuBLASLt, in the order of cublas_files().
std::vector<std::string> cublaslt_files(int driver_major);

// A square product D = A-transposed · B in one precision, ready to run.
struct LtProduct {
  BurnPhase phase = BurnPhase::kBf16;
  std::uint64_t side = 0;
  void* description = nullptr;               // cublasLtMatmulDesc_t
  void* factor = nullptr;                    // cublasLtMatrixLayout_t of A and B
  void* result = nullptr;                    // of D
  std::array<std::uint64_t, 8> algorithm{};  // cublasLtMatmulAlgo_t
  std::uint64_t workspace = 0;               // bytes that the algorithm takes
  std::uint64_t factor_bytes() const;        // of A, and of B
  std::uint64_t result_bytes() const;
  int factor_width() const;
  int result_width() const;
  double operations() const;
};

class CublasLtLibrary {
 public:
  explicit CublasLtLibrary(const std::vector<std::string>& files);

  const std::string& error() const { return error_; }  // why it cannot be used; empty if it can
  std::string version() const;                         // "13.1.0"

  // The functions return why they failed, or an empty text.
  std::string open();
  // Chooses the algorithm. `product` needs its phase and its side, a multiple of 16.
  std::string prepare(LtProduct& product, std::uint64_t workspace) const;
  // Queues the product.
  std::string multiply(const LtProduct& product, cuda::DevicePointer a, cuda::DevicePointer b,
                       cuda::DevicePointer d, cuda::DevicePointer workspace, cuda::Stream stream) const;

 private:
  using Status = int;  // cublasStatus_t
  struct Functions {
    Status (*create)(void**) = nullptr;
    std::size_t (*version)() = nullptr;
    Status (*describe)(void**, int, int) = nullptr;
    Status (*set_description)(void*, int, const void*, std::size_t) = nullptr;
    Status (*lay_out)(void**, int, std::uint64_t, std::uint64_t, std::int64_t) = nullptr;
    Status (*prefer)(void**) = nullptr;
    Status (*set_preference)(void*, int, const void*, std::size_t) = nullptr;
    Status (*choose)(void*, void*, void*, void*, void*, void*, void*, int, void*, int*) = nullptr;
    Status (*multiply)(void*, void*, const void*, const void*, void*, const void*, void*, const void*,
                       const void*, void*, void*, void*, const void*, void*, std::size_t,
                       cuda::Stream) = nullptr;
  };
  std::string judge(const char* function, Status status) const;

  Library library_;
  std::string error_;
  Functions lt_;
  void* handle_ = nullptr;
};

}  // namespace railbed
