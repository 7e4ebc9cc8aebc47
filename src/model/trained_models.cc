#include "model/trained_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace railbed {
namespace {

// One stage of bottleneck blocks: 1×1, 3×3, 1×1 convolutions with batch norms.
struct Stage {
  int blocks;
  std::uint64_t width;   // channels of the middle convolution; the block's output has four times as many
  std::uint64_t pixels;  // side of the stage's output, for an image of 224
};
// He, Zhang, Ren, Sun 2016, table 1. The stride is in the 3×3 convolution, as in the common variant (v1.5 of
// NVIDIA's and torchvision's).
constexpr std::array<Stage, 4> kResnet50{{{3, 64, 56}, {4, 128, 28}, {6, 256, 14}, {3, 512, 7}}};

// A convolution and its batch norm (a scale and a shift for each channel).
Layer convolution(std::string name, std::uint64_t side, std::uint64_t in, std::uint64_t out,
                  std::uint64_t kernel) {
  const std::uint64_t k = in * kernel * kernel;
  return {std::move(name), k * out + 2 * out, {{side * side, out, k}}};
}

Model resnet50() {
  Model model{"ResNet-50", "image", 0, 128, {}};
  model.layers.push_back(convolution("stem", 112, 3, 64, 7));
  std::uint64_t in = 64;
  std::uint64_t side_before = 56;
  for (std::size_t s = 0; s < kResnet50.size(); ++s) {
    const Stage& stage = kResnet50[s];
    const std::uint64_t out = stage.width * 4;
    for (int block = 0; block < stage.blocks; ++block) {
      const std::string name = fmt::format("stage {} block {} ", s + 1, block + 1);
      const std::uint64_t side = block == 0 ? side_before : stage.pixels;
      model.layers.push_back(convolution(name + "reduce", side, in, stage.width, 1));
      model.layers.push_back(convolution(name + "3x3", stage.pixels, stage.width, stage.width, 3));
      model.layers.push_back(convolution(name + "expand", stage.pixels, stage.width, out, 1));
      if (block == 0) model.layers.push_back(convolution(name + "shortcut", stage.pixels, in, out, 1));
      in = out;
    }
    side_before = stage.pixels;
  }
  model.layers.push_back({"classifier", in * 1000 + 1000, {{1, 1000, in}}});
  return model;
}

// The shape of a transformer.
struct Transformer {
  std::string_view word;
  std::string_view name;
  int layers;
  std::uint64_t hidden;
  std::uint64_t feed_forward;
  std::uint64_t heads;
  std::uint64_t key_heads;  // of keys and of values
  std::uint64_t vocabulary;
  std::uint64_t positions;  // learned; 0 for none (rotary)
  std::uint64_t segments;   // embedded sentence types
  std::uint64_t tokens;     // of a training sample
  std::uint64_t batch;      // samples per GPU
  bool gated;               // SwiGLU: a third matrix; RMS norm; no biases
  bool tied;                // the output matrix is the embedding matrix
  bool pooler;              // BERT's dense layer on the first token
};
// Devlin et al. 2019 with BERT's published vocabulary, sequences of its second
// phase; Radford et al. 2019, table 2 (smallest and largest); Touvron et al. 2023, table 2 (LLaMA 7B,
// the shape most 7B models share); Grattafiori et al. 2024, table 3 (Llama 3); Brown et al. 2020, table 2.1
// (GPT-3).
constexpr std::array<Transformer, 9> kTransformers{{
    {"bert-base", "BERT-Base", 12, 768, 3072, 12, 12, 30522, 512, 2, 512, 32, false, true, true},
    {"bert-large", "BERT-Large", 24, 1024, 4096, 16, 16, 30522, 512, 2, 512, 32, false, true, true},
    {"gpt2", "GPT-2", 12, 768, 3072, 12, 12, 50257, 1024, 0, 1024, 16, false, true, false},
    {"gpt2-xl", "GPT-2 XL", 48, 1600, 6400, 25, 25, 50257, 1024, 0, 1024, 4, false, true, false},
    {"7b", "7B", 32, 4096, 11008, 32, 32, 32000, 0, 0, 2048, 2, true, false, false},
    {"llama3-8b", "Llama 3 8B", 32, 4096, 14336, 32, 8, 128256, 0, 0, 8192, 1, true, false, false},
    {"llama3-70b", "Llama 3 70B", 80, 8192, 28672, 64, 8, 128256, 0, 0, 8192, 1, true, false, false},
    {"gpt3-175b", "GPT-3 175B", 96, 12288, 49152, 96, 96, 50257, 2048, 0, 2048, 1, false, true, false},
    {"llama3-405b", "Llama 3 405B", 126, 16384, 53248, 128, 8, 128256, 0, 0, 8192, 1, true, false, false},
}};

void add_block(Model& model, const Transformer& shape, int number) {
  const std::uint64_t h = shape.hidden;
  const std::uint64_t t = shape.tokens;
  const std::uint64_t head = h / shape.heads;
  const std::uint64_t bias = shape.gated ? 0 : 1;
  const std::uint64_t norm = shape.gated ? h : 2 * h;
  const std::string name = fmt::format("block {} ", number + 1);
  const std::uint64_t three = h + 2 * head * shape.key_heads;
  model.layers.push_back({name + "query, key, value", three * (h + bias) + norm, {{t, three, h}}});
  // The scores and their product with the values have no weights.
  model.layers.push_back({name + "attention", 0, {{t, t, head, shape.heads}, {t, head, t, shape.heads}}});
  model.layers.push_back({name + "projection", h * h + bias * h, {{t, h, h}}});
  const std::uint64_t wide = shape.gated ? 2 * shape.feed_forward : shape.feed_forward;
  model.layers.push_back({name + "feed forward, up", wide * (h + bias) + norm, {{t, wide, h}}});
  model.layers.push_back(
      {name + "feed forward, down", h * shape.feed_forward + bias * h, {{t, h, shape.feed_forward}}});
}

Model transformer(const Transformer& shape) {
  const std::uint64_t h = shape.hidden;
  const std::uint64_t norm = shape.gated ? h : 2 * h;
  Model model{std::string(shape.name), "sequence", shape.tokens, shape.batch, {}};
  model.hidden = h;
  model.blocks = shape.layers;
  model.feed_forward = shape.feed_forward;
  model.keys = h / shape.heads * shape.key_heads;
  model.vocabulary = shape.vocabulary;
  model.gated = shape.gated;
  model.causal = !shape.pooler;
  model.layers.push_back(
      {"embedding",
       (shape.vocabulary + shape.positions + shape.segments) * h + (shape.pooler ? norm : 0),
       {}});
  for (int i = 0; i < shape.layers; ++i) add_block(model, shape, i);
  if (shape.pooler) {
    model.layers.push_back({"pooler", h * h + h, {{1, h, h}}});
    return model;
  }
  const std::uint64_t weights = shape.tied ? 0 : shape.vocabulary * h;
  model.layers.push_back({"output", weights + norm, {{shape.tokens, shape.vocabulary, h}}});
  return model;
}

}  // namespace

std::uint64_t Model::parameters() const {
  return std::accumulate(layers.begin(), layers.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Layer& layer) { return sum + layer.parameters; });
}

double Model::forward_flops() const {
  double sum = 0;
  for (const Layer& layer : layers)
    for (const Gemm& gemm : layer.gemms) sum += gemm.flops();
  return sum;
}

Model model_of(const ModelSize& size) {
  Model model{"a transformer", "sequence", size.tokens, 1, {}};
  model.hidden = size.hidden;
  model.blocks = size.blocks;
  model.feed_forward = 4 * size.hidden;
  model.keys = size.hidden;
  const auto each = static_cast<std::uint64_t>(size.parameters / size.blocks);
  for (int block = 0; block < size.blocks; ++block)
    model.layers.push_back(
        {fmt::format("block {}", block + 1), each, {{size.tokens, each / size.hidden, size.hidden}}});
  return model;
}

std::vector<std::string_view> model_words() {
  std::vector<std::string_view> words = {"resnet50"};
  for (const Transformer& shape : kTransformers) words.push_back(shape.word);
  return words;
}

std::optional<Model> find_model(std::string_view word) {
  if (word == "resnet50") return resnet50();
  const auto found = std::find_if(kTransformers.begin(), kTransformers.end(),
                                  [&](const Transformer& shape) { return shape.word == word; });
  if (found == kTransformers.end()) return std::nullopt;
  return transformer(*found);
}

}  // namespace railbed
