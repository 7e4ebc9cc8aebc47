#include "bench/gpu/cublas_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "bench/gpu/library_files.h"

namespace railbed {
namespace {

constexpr int kCompute32F = 68;   // CUBLAS_COMPUTE_32F
constexpr int kGemmDefault = -1;  // CUBLAS_GEMM_DEFAULT
// Scales products down, so that large sums of the pattern's numbers stay within float16.
constexpr float kAlpha = 1.0F / 65536;
constexpr float kBeta = 0;

// cudaDataType_t: CUDA_R_32F 0, CUDA_R_16F 2, CUDA_R_16BF 14
int cuda_type(DataType type) {
  if (type == DataType::kFloat16) return 2;
  return type == DataType::kBfloat16 ? 14 : 0;
}

bool fits(const Product& product) {
  constexpr std::uint64_t kMost = std::numeric_limits<int>::max();
  return std::max({product.m, product.n, product.k, product.lda, product.ldb, product.ldc, product.count}) <=
         kMost;
}

}  // namespace

std::vector<std::string> cublas_files(int driver_major) {
  constexpr int kNewest = 13;
  constexpr int kOldest = 11;
  std::vector<std::string> files;
  for (int major = std::min(driver_major, kNewest); major >= kOldest; --major) {
    const std::string name = fmt::format("libcublas.so.{}", major);
    files.push_back(name);
    const auto add = [&](std::vector<std::string> found) {
      files.insert(files.end(), found.begin(), found.end());
    };
    add(matching_files("/usr/local/cuda*/lib64/" + name));
    add(beside_python(fmt::format("nvidia/cu{}/lib/{}", major, name)));
    add(beside_python("nvidia/cublas/lib/" + name));
  }
  return files;
}

CublasLibrary::CublasLibrary(const std::vector<std::string>& files) : library_(files) {
  if (!library_) {
    error_ = files.empty() ? "the driver's CUDA is older than any libcublas that is used here (11)"
                           : not_opened(library_, files);
    return;
  }
  library_.bind(cublas_.create, "cublasCreate_v2", error_);
  library_.bind(cublas_.set_stream, "cublasSetStream_v2", error_);
  library_.bind(cublas_.get_property, "cublasGetProperty", error_);
  library_.bind(cublas_.multiply, "cublasGemmEx", error_);
  library_.bind(cublas_.multiply_many, "cublasGemmStridedBatchedEx", error_);
}

std::string CublasLibrary::judge(const char* function, Status status) const {
  if (status == 0) return "";
  // Since CUDA 11.4.
  const auto name_of = reinterpret_cast<const char* (*)(Status)>(library_.find("cublasGetStatusName"));
  return fmt::format("{}: {} ({})", function, name_of != nullptr ? name_of(status) : "error", status);
}

std::string CublasLibrary::version() const {
  int numbers[3] = {};  // libraryPropertyType: MAJOR_VERSION 0, MINOR_VERSION 1, PATCH_LEVEL 2
  for (int i = 0; i < 3; ++i)
    if (cublas_.get_property(i, &numbers[i]) != 0) return "";
  return fmt::format("{}.{}.{}", numbers[0], numbers[1], numbers[2]);
}

std::string CublasLibrary::open(CublasHandle& handle, cuda::Stream stream) const {
  if (auto why = judge("cublasCreate", cublas_.create(&handle)); !why.empty()) return why;
  return judge("cublasSetStream", cublas_.set_stream(handle, stream));
}

std::string CublasLibrary::multiply(CublasHandle handle, DataType type, const Product& product,
                                    cuda::DevicePointer a, cuda::DevicePointer b,
                                    cuda::DevicePointer c) const {
  if (!fits(product)) return "a matrix is larger than cuBLAS takes";
  const int cuda = cuda_type(type);
  const auto number = [](std::uint64_t value) { return static_cast<int>(value); };
  const auto stride = [](std::uint64_t value) { return static_cast<long long>(value); };
  const int m = number(product.m), n = number(product.n), k = number(product.k);
  const int of_a = product.transpose_a ? 1 : 0, of_b = product.transpose_b ? 1 : 0;  // cublasOperation_t
  const int lda = number(product.lda), ldb = number(product.ldb), ldc = number(product.ldc);
  if (product.count == 1)
    return judge("cublasGemmEx", cublas_.multiply(handle, of_a, of_b, m, n, k, &kAlpha, cuda::pointer(a),
                                                  cuda, lda, cuda::pointer(b), cuda, ldb, &kBeta,
                                                  cuda::pointer(c), cuda, ldc, kCompute32F, kGemmDefault));
  return judge(
      "cublasGemmStridedBatchedEx",
      cublas_.multiply_many(handle, of_a, of_b, m, n, k, &kAlpha, cuda::pointer(a), cuda, lda,
                            stride(product.a_elements()), cuda::pointer(b), cuda, ldb,
                            stride(product.b_elements()), &kBeta, cuda::pointer(c), cuda, ldc,
                            stride(product.c_elements()), number(product.count), kCompute32F, kGemmDefault));
}

}  // namespace railbed
