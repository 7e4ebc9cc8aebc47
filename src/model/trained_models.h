// The shapes of models that people train, as data: the computations of a step, and the gradients that it has
// to exchange.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace railbed {

// `count` products of an m×k with a k×n matrix, for one sample. A convolution is given as the equivalent
// product: m output pixels, n output channels, k = input channels × kernel².
struct Gemm {
  std::uint64_t m = 0, n = 0, k = 0;
  std::uint64_t count = 1;
  double flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
           static_cast<double>(count);
  }
};

// One layer: its parameters and its matrix products.
struct Layer {
  std::string name;              // "encoder 3 query, key, value"
  std::uint64_t parameters = 0;  // weights, biases and the norm that goes with them
  std::vector<Gemm> gemms;       // empty for a lookup table
};

// A model as a list of layers.
struct Model {
  std::string name;                // "ResNet-50"
  std::string sample;              // "image", "sequence"
  std::uint64_t tokens = 0;        // of a sample; 0 if samples have none
  std::uint64_t batch = 8;         // usual samples per GPU and step; ours, after common recipes
  std::vector<Layer> layers;       // in the order of the forward pass
  std::uint64_t hidden = 0;        // width of a transformer; 0 if it is none
  int blocks = 0;                  // of a transformer
  std::uint64_t feed_forward = 0;  // width between a block's last two products
  std::uint64_t keys = 0;          // width of its keys, and of its values; less than `hidden` if heads share
  std::uint64_t vocabulary = 0;    // scores of its output; 0: unknown, or none
  bool gated = false;              // a third matrix in the feed-forward part
  bool causal = false;             // a token looks at earlier ones alone: half of attention's products
  std::uint64_t parameters() const;
  // Operations for one sample. The backward pass costs twice as much: each product has two gradients.
  double forward_flops() const;
};

// Returns the words that find_model() knows: "resnet50", "bert-base", "bert-large", "gpt2", "gpt2-xl", "7b",
// "llama3-8b", "llama3-70b", "gpt3-175b", "llama3-405b".
std::vector<std::string_view> model_words();
// Returns nullopt if the word is unknown.
std::optional<Model> find_model(std::string_view word);

// A transformer that is only known by its size: each token costs two operations per parameter. Attention's
// own products are left out. Its feed-forward part is taken to be four times as wide.
struct ModelSize {
  double parameters = 0;
  int blocks = 32;
  std::uint64_t hidden = 4096;
  std::uint64_t tokens = 2048;
};
Model model_of(const ModelSize& size);

}  // namespace railbed
