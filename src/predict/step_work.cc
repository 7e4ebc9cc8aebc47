// A layer's product takes the longer of its operations at the matrix rate and its bytes at the memory's rate.
// Between products a transformer's block reads and writes its activations: two norms (read and write), two
// residual additions (two reads, one write), positions of queries and keys, and the activation function;
// attention's scores stay on the chip, as in FlashAttention. After a convolution, its batch norm reads twice
// and writes once, and the activation writes once. The backward pass costs twice the forward pass.
#include "predict/step_work.h"

#include <fmt/format.h>

#include <algorithm>

namespace railbed {
namespace {

constexpr double kWordBytes = 2;
// Share of the data sheet's bandwidth that kernels without matrix products reach. Assumed.
constexpr double kMemoryShare = 0.8;
// Attention reaches less than products of large matrices: 0.75 of it, between the figures of FlashAttention-2
// (A100) and FlashAttention-3 (H100) forward and backward. Assumed.
constexpr double kAttentionShare = 0.75;
// Bytes for each score of the output: written in 16 bits, read for its maximum, its sum and its exponent in
// 32 bits. Assumed.
constexpr double kScoreBytes = 14;
// Adam reads weight, gradient and two moments in 32 bits, and writes three of them and the 16-bit weight.
constexpr double kOptimizerBytes = 30;
// What selective recomputing costs of a forward pass: torchtitan's Llama 2 13B on 64 A100 went from 2,162 to
// 1,904 tokens a second (pytorch/torchtitan docs/performance.md, 2024): 13.5 % of a step of three passes.
constexpr double kSelectiveCost = 0.41;

// Fitted to tests/predict/training.json: the geometric mean of the shares that make the forecast of each run
// exact; predict_test checks that. Rows without a source are assumed to be those of a neighbour.
constexpr AchievedShare kShares[] = {
    {GpuArchitecture::kPascal, MatrixType::kBf16, 0.70, 0},
    {GpuArchitecture::kPascal, MatrixType::kFp32, 0.70, 0},
    {GpuArchitecture::kVolta, MatrixType::kBf16, 0.55, 0},
    {GpuArchitecture::kVolta, MatrixType::kFp32, 0.70, 0},
    {GpuArchitecture::kTuring, MatrixType::kBf16, 0.55, 0},
    {GpuArchitecture::kTuring, MatrixType::kFp32, 0.70, 0},
    {GpuArchitecture::kAmpere, MatrixType::kBf16, 0.848, 4},
    {GpuArchitecture::kAmpere, MatrixType::kTf32, 0.70, 0},
    {GpuArchitecture::kAmpere, MatrixType::kFp32, 0.70, 0},
    {GpuArchitecture::kAda, MatrixType::kBf16, 0.70, 0},
    {GpuArchitecture::kAda, MatrixType::kFp8, 0.50, 0},
    {GpuArchitecture::kAda, MatrixType::kTf32, 0.70, 0},
    {GpuArchitecture::kAda, MatrixType::kFp32, 0.70, 0},
    {GpuArchitecture::kHopper, MatrixType::kBf16, 0.563, 4},
    {GpuArchitecture::kHopper, MatrixType::kFp8, 0.522, 3},
    {GpuArchitecture::kHopper, MatrixType::kTf32, 0.60, 0},
    {GpuArchitecture::kHopper, MatrixType::kFp32, 0.70, 0},
    {GpuArchitecture::kBlackwell, MatrixType::kBf16, 0.60, 0},
    {GpuArchitecture::kBlackwell, MatrixType::kFp8, 0.542, 1},
    {GpuArchitecture::kBlackwell, MatrixType::kTf32, 0.60, 0},
    {GpuArchitecture::kBlackwell, MatrixType::kFp32, 0.70, 0},
};

bool is_attention(const Layer& layer) { return layer.parameters == 0 && !layer.gemms.empty(); }
bool is_output(const Model& model, const Layer& layer) {
  return model.vocabulary > 0 && layer.gemms.size() == 1 && layer.gemms.front().n == model.vocabulary;
}

double flops_of(const Model& model, const Layer& layer) {
  double flops = 0;
  for (const Gemm& gemm : layer.gemms) flops += gemm.flops();
  return model.causal && is_attention(layer) ? flops / 2 : flops;
}

// Returns the bytes of activations that a product reads and writes.
double activation_bytes(const Layer& layer) {
  double words = 0;
  for (const Gemm& gemm : layer.gemms)
    words += static_cast<double>(gemm.m * gemm.k + gemm.m * gemm.n) * static_cast<double>(gemm.count);
  return words * kWordBytes;
}

// Returns the bytes that a sample's forward pass moves between the products.
double bytes_between(const Model& model) {
  if (model.hidden == 0) {
    double outputs = 0;
    for (const Layer& layer : model.layers)
      for (const Gemm& gemm : layer.gemms) outputs += static_cast<double>(gemm.m * gemm.n);
    return outputs * 4 * kWordBytes;
  }
  const auto hidden = static_cast<double>(model.hidden);
  const double positions = 2 * (hidden + static_cast<double>(model.keys));
  const double activation = (model.gated ? 3 : 2) * static_cast<double>(model.feed_forward);
  const double words = 2 * 2 * hidden + 2 * 3 * hidden + positions + activation;
  const auto tokens = static_cast<double>(model.tokens);
  return tokens * (words * kWordBytes * model.blocks + static_cast<double>(model.vocabulary) * kScoreBytes);
}

double seconds_of(const Model& model, const Layer& layer, const TrainingRates& rates) {
  if (is_attention(layer)) return flops_of(model, layer) / (kAttentionShare * rates.wide);
  const double rate = is_output(model, layer) ? rates.wide : rates.matrix;
  return std::max(flops_of(model, layer) / rate, activation_bytes(layer) / rates.memory);
}

std::string names_alike(std::string_view piece) {
  std::string text;
  for (const GpuSpeed& speed : gpu_speeds())
    if (piece.empty() || speed.name.find(piece) != std::string_view::npos)
      text += fmt::format("{}{} ({:g})", text.empty() ? "" : ", ", speed.name,
                          speed.half > 0 ? speed.half : speed.fp32);
  return text;
}

}  // namespace

std::span<const AchievedShare> achieved_shares() { return kShares; }

AchievedShare achieved_share(GpuArchitecture architecture, MatrixType type) {
  const MatrixType row = type == MatrixType::kFp16 ? MatrixType::kBf16 : type;
  for (const AchievedShare& share : kShares)
    if (share.architecture == architecture && share.type == row) return share;
  return {architecture, row, 0.6, 0};
}

Result<const GpuSpeed*> speed_of(const ClusterShape& shape) {
  const GpuSpeed* speed = shape.nvlinks > 0 ? find_module_speed(shape.gpu) : find_gpu_speed(shape.gpu);
  if (speed != nullptr) return speed;
  const std::string alike = names_alike(shape.gpu);
  return fail(ErrorKind::kBadInput,
              fmt::format("GPU {}: {}; or say with --teraflops what it reaches", shape.gpu,
                          alike.empty()
                              ? "the table has no speed for it. It has these, in TFLOP/s: " + names_alike("")
                              : "several products have that name. Say which (TFLOP/s): " + alike));
}

Result<TrainingRates> rates_with(const ClusterShape& shape, MatrixType type, double share) {
  ASSIGN_OR_RETURN(const GpuSpeed* speed, speed_of(shape));
  const double peak = speed->teraflops(type) * 1e12;
  if (peak <= 0)
    return fail(ErrorKind::kBadInput,
                fmt::format("GPU {} has no {} units, by its data sheet: choose another --dtype", speed->name,
                            enum_names(type)[static_cast<std::size_t>(type)]));
  const double wide = type == MatrixType::kFp8 ? speed->half * 1e12 : peak;
  return TrainingRates{share * peak, share * wide, kMemoryShare * speed->bandwidth * 1e9, peak, ""};
}

Result<TrainingRates> rates_of(const ClusterShape& shape, MatrixType type) {
  const AchievedShare share = achieved_share(shape.architecture, type);
  ASSIGN_OR_RETURN(TrainingRates rates, rates_with(shape, type, share.share));
  const std::string from =
      share.sources > 0 ? fmt::format("fitted, {} source{}", share.sources, share.sources == 1 ? "" : "s")
                        : "assumed";
  rates.source = fmt::format("{:.0f} % of the data sheet ({})", 100 * share.share, from);
  return rates;
}

SampleWork sample_work(const Model& model, const TrainingRates& rates, Recompute recompute) {
  SampleWork work;
  if (rates.memory > 0) {
    TrainingRates known = rates;
    if (known.wide <= 0) known.wide = known.matrix;
    for (const Layer& layer : model.layers) work.forward += seconds_of(model, layer, known);
    work.forward += bytes_between(model) / rates.memory;
  } else {
    work.forward = useful_flops(model) / 3 / rates.matrix;
  }
  const double again = recompute == Recompute::kFull        ? 1
                       : recompute == Recompute::kSelective ? kSelectiveCost
                                                            : 0;
  work.backward = (2 + again) * work.forward;
  return work;
}

double useful_flops(const Model& model) {
  double flops = 0;
  for (const Layer& layer : model.layers) flops += flops_of(model, layer);
  return 3 * flops;
}

double optimizer_seconds(double parameters, const TrainingRates& rates) {
  return rates.memory > 0 ? parameters * kOptimizerBytes / rates.memory : 0;
}

}  // namespace railbed
