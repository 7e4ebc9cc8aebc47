#include "bench/burn/cublaslt_library.h"

#include <fmt/format.h>

#include "bench/gpu/cublas_library.h"

namespace railbed {
namespace {

// cudaDataType_t
constexpr int kR32F = 0, kR64F = 1, kR16F = 2, kR16BF = 14, kR8F_E4M3 = 28;
constexpr int kLtCompute32F = 68, kLtCompute64F = 70;  // cublasComputeType_t
// cublasLtMatmulDescAttributes_t, cublasLtMatmulPreferenceAttributes_t
constexpr int kTransposeA = 3, kFastAccumulation = 25;
constexpr int kMostWorkspace = 1, kReductionSchemes = 3;

struct LtTypes {
  int factor, result, compute, scale;
  int factor_width, result_width;
};
LtTypes types_of(BurnPhase phase) {
  switch (phase) {
    case BurnPhase::kFp16:
      return {kR16F, kR16F, kLtCompute32F, kR32F, 2, 2};
    case BurnPhase::kFp8:
      return {kR8F_E4M3, kR16BF, kLtCompute32F, kR32F, 1, 2};
    case BurnPhase::kFp64:
      return {kR64F, kR64F, kLtCompute64F, kR64F, 8, 8};
    default:
      return {kR16BF, kR16BF, kLtCompute32F, kR32F, 2, 2};
  }
}

// cublasLtMatmulHeuristicResult_t
struct LtChoice {
  std::uint64_t algorithm[8];
  std::size_t workspace;
  int status;
  float waves;
  int reserved[4];
};
static_assert(sizeof(LtChoice) == 96);

}  // namespace

std::vector<std::string> cublaslt_files(int driver_major) {
  std::vector<std::string> files = cublas_files(driver_major);
  for (std::string& file : files) file.replace(file.rfind("libcublas"), 9, "libcublasLt");
  return files;
}

int LtProduct::factor_width() const { return types_of(phase).factor_width; }
int LtProduct::result_width() const { return types_of(phase).result_width; }
std::uint64_t LtProduct::factor_bytes() const {
  return side * side * static_cast<std::uint64_t>(factor_width());
}
std::uint64_t LtProduct::result_bytes() const {
  return side * side * static_cast<std::uint64_t>(result_width());
}
double LtProduct::operations() const {
  const auto n = static_cast<double>(side);
  return 2 * n * n * n;
}

CublasLtLibrary::CublasLtLibrary(const std::vector<std::string>& files) : library_(files) {
  if (!library_) {
    error_ = files.empty() ? "the driver's CUDA is older than any libcublasLt that is used here (11)"
                           : library_.error();
    return;
  }
  library_.bind(lt_.create, "cublasLtCreate", error_);
  library_.bind(lt_.version, "cublasLtGetVersion", error_);
  library_.bind(lt_.describe, "cublasLtMatmulDescCreate", error_);
  library_.bind(lt_.set_description, "cublasLtMatmulDescSetAttribute", error_);
  library_.bind(lt_.lay_out, "cublasLtMatrixLayoutCreate", error_);
  library_.bind(lt_.prefer, "cublasLtMatmulPreferenceCreate", error_);
  library_.bind(lt_.set_preference, "cublasLtMatmulPreferenceSetAttribute", error_);
  library_.bind(lt_.choose, "cublasLtMatmulAlgoGetHeuristic", error_);
  library_.bind(lt_.multiply, "cublasLtMatmul", error_);
}

std::string CublasLtLibrary::judge(const char* function, Status status) const {
  if (status == 0) return "";
  const auto name_of = reinterpret_cast<const char* (*)(Status)>(library_.find("cublasLtGetStatusName"));
  return fmt::format("{}: {} ({})", function, name_of != nullptr ? name_of(status) : "error", status);
}

std::string CublasLtLibrary::version() const {
  // 120805 is 12.8.5; before 12.?, as cuBLAS's own number does, 11.11.3 was 111103.
  const std::size_t number = lt_.version();
  return fmt::format("{}.{}.{}", number / 10'000, number / 100 % 100, number % 100);
}

std::string CublasLtLibrary::open() { return judge("cublasLtCreate", lt_.create(&handle_)); }

std::string CublasLtLibrary::prepare(LtProduct& product, std::uint64_t workspace) const {
  const LtTypes types = types_of(product.phase);
  const std::uint64_t n = product.side;
  const int transpose = 1;  // CUBLAS_OP_T: what products of FP8 require
  const signed char fast = 1;
  const std::uint32_t no_reduction = 0;
  const std::size_t most = workspace;
  void* preference = nullptr;
  std::string why =
      judge("cublasLtMatmulDescCreate", lt_.describe(&product.description, types.compute, types.scale));
  const auto then = [&](const char* function, auto&& call) {
    if (why.empty()) why = judge(function, call());
  };
  then("cublasLtMatmulDescSetAttribute",
       [&] { return lt_.set_description(product.description, kTransposeA, &transpose, sizeof transpose); });
  // Sums stay in the tensor cores: what loads them most.
  if (product.phase == BurnPhase::kFp8)
    then("cublasLtMatmulDescSetAttribute",
         [&] { return lt_.set_description(product.description, kFastAccumulation, &fast, sizeof fast); });
  then("cublasLtMatrixLayoutCreate",
       [&] { return lt_.lay_out(&product.factor, types.factor, n, n, static_cast<std::int64_t>(n)); });
  then("cublasLtMatrixLayoutCreate",
       [&] { return lt_.lay_out(&product.result, types.result, n, n, static_cast<std::int64_t>(n)); });
  then("cublasLtMatmulPreferenceCreate", [&] { return lt_.prefer(&preference); });
  then("cublasLtMatmulPreferenceSetAttribute",
       [&] { return lt_.set_preference(preference, kMostWorkspace, &most, sizeof most); });
  then("cublasLtMatmulPreferenceSetAttribute",
       [&] { return lt_.set_preference(preference, kReductionSchemes, &no_reduction, sizeof no_reduction); });
  LtChoice choice{};
  int found = 0;
  then("cublasLtMatmulAlgoGetHeuristic", [&] {
    return lt_.choose(handle_, product.description, product.factor, product.factor, product.result,
                      product.result, preference, 1, &choice, &found);
  });
  if (why.empty() && found < 1) why = "cublasLtMatmulAlgoGetHeuristic: it has no algorithm for it";
  if (why.empty()) why = judge("cublasLtMatmulAlgoGetHeuristic", choice.status);
  if (!why.empty()) return why;
  std::copy(std::begin(choice.algorithm), std::end(choice.algorithm), product.algorithm.begin());
  product.workspace = choice.workspace;
  return "";
}

std::string CublasLtLibrary::multiply(const LtProduct& product, cuda::DevicePointer a, cuda::DevicePointer b,
                                      cuda::DevicePointer d, cuda::DevicePointer workspace,
                                      cuda::Stream stream) const {
  // Scales down, so that sums of numbers near 1 stay within FP16.
  constexpr float kOne = 1.0F / 64, kNone = 0;
  constexpr double kWideOne = 1.0 / 64, kWideNone = 0;
  const bool wide = product.phase == BurnPhase::kFp64;
  const void* alpha = wide ? static_cast<const void*>(&kWideOne) : &kOne;
  const void* beta = wide ? static_cast<const void*>(&kWideNone) : &kNone;
  return judge(
      "cublasLtMatmul",
      lt_.multiply(handle_, product.description, alpha, cuda::pointer(a), product.factor, cuda::pointer(b),
                   product.factor, beta, cuda::pointer(d), product.result, cuda::pointer(d), product.result,
                   product.algorithm.data(), cuda::pointer(workspace), product.workspace, stream));
}

}  // namespace railbed
