// The part of cuBLAS that railbed calls: our own declarations, from its public reference (NVIDIA, "cuBLAS":
// cublasCreate, cublasSetStream, cublasGetProperty, cublasGemmEx, cublasGemmStridedBatchedEx, cudaDataType_t,
// cublasComputeType_t; releases 11 and newer). To be used only in a child process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nvidia/cuda_library.h"
#include "os/library.h"
#include "results/collective.h"

namespace railbed {

using CublasHandle = void*;

// Returns the files that may be cuBLAS, newest release first. For each release: the loader's, then those in
// CUDA's own folder, then those that pip installed with Python. Releases newer than the driver's CUDA (its
// major number) do not work with it and are left out.
std::vector<std::string> cublas_files(int driver_major);

// A product C = op(A)·op(B) of matrices stored column by column. Sizes and leading dimensions are in
// elements. There are `count` products, whose matrices are one after the other.
struct Product {
  std::uint64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  std::uint64_t lda = 0, ldb = 0, ldc = 0;
  std::uint64_t count = 1;
  std::uint64_t a_elements() const { return lda * (transpose_a ? m : k); }  // of one
  std::uint64_t b_elements() const { return ldb * (transpose_b ? k : n); }
  std::uint64_t c_elements() const { return ldc * n; }
  double multiplications() const {  // of all
    return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
           static_cast<double>(count);
  }
};

// The functions return why they failed: "cublasGemmEx: CUBLAS_STATUS_NOT_SUPPORTED (15)"; empty if they did
// not.
class CublasLibrary {
 public:
  explicit CublasLibrary(const std::vector<std::string>& files);

  const std::string& error() const { return error_; }  // why it cannot be used; empty if it can
  const std::string& file() const { return library_.file(); }
  std::string version() const;  // "13.1.0"

  // Makes a handle for the calling thread's context. Its products are queued on the stream.
  std::string open(CublasHandle& handle, cuda::Stream stream) const;
  // Queues the products. Inputs and outputs have this type: float16, bfloat16 or float32. Sums are float32.
  std::string multiply(CublasHandle handle, DataType type, const Product& product, cuda::DevicePointer a,
                       cuda::DevicePointer b, cuda::DevicePointer c) const;

 private:
  using Status = int;  // cublasStatus_t
  struct Functions {
    Status (*create)(CublasHandle*) = nullptr;
    Status (*set_stream)(CublasHandle, cuda::Stream) = nullptr;
    Status (*get_property)(int, int*) = nullptr;
    Status (*multiply)(CublasHandle, int, int, int, int, int, const void*, const void*, int, int, const void*,
                       int, int, const void*, void*, int, int, int, int) = nullptr;
    Status (*multiply_many)(CublasHandle, int, int, int, int, int, const void*, const void*, int, int,
                            long long, const void*, int, int, long long, const void*, void*, int, int,
                            long long, int, int, int) = nullptr;
  };
  std::string judge(const char* function, Status status) const;

  Library library_;
  std::string error_;
  Functions cublas_;
};

}  // namespace railbed
