// The shapes of models that people train, as data: what a step computes and
// what it has to exchange.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace railbed {

// `count` products of an m×k with a k×n matrix, for one sample. Convolutions
// stand as the products that they amount to: m output pixels, n channels out, k
// = channels in × kernel².
struct Gemm {
  std::uint64_t m = 0, n = 0, k = 0;
  std::uint64_t count = 1;
  double flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
           static_cast<double>(count);
  }
};

struct Layer {
  std::string name;              // "encoder 3 query, key, value"
  std::uint64_t parameters = 0;  // weights, biases and the norm that goes with them
  std::vector<Gemm> gemms;       // none: a table that is looked up
};

struct Model {
  std::string name;           // "ResNet-50"
  std::string sample;         // "image", "sequence"
  std::uint64_t tokens = 0;   // of a sample; 0: samples have none
  std::uint64_t batch = 8;    // samples that a GPU usually gets a step; ours, after common recipes
  std::vector<Layer> layers;  // in the order of the forward pass
  std::uint64_t hidden = 0;   // width of a transformer; 0: it is none
  int blocks = 0;             // of a transformer
  std::uint64_t parameters() const;
  double forward_flops() const;  // of one sample; backward costs twice as much:
                                 // each product gives two
};

// "resnet50", "bert-base", "bert-large", "gpt2", "gpt2-xl", "7b".
std::vector<std::string_view> model_words();
std::optional<Model> find_model(std::string_view word);

// A transformer of which only its size is known: each token costs two operations for each parameter, and
// attention's own products are left out.
struct ModelSize {
  double parameters = 0;
  int blocks = 32;
  std::uint64_t hidden = 4096;
  std::uint64_t tokens = 2048;
};
Model model_of(const ModelSize& size);

}  // namespace railbed
