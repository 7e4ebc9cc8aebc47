// Writer of text that Prometheus scrapes (exposition format 0.0.4,
// prometheus.io/docs/instrumenting/exposition_formats). A family is announced before its samples. Label
// values may hold anything: they are escaped here.
//
//   Exposition out;
//   out.announce("railbed_nodes", "gauge", "Nodes looked at or tried.");
//   out.sample("railbed_nodes", {{"cluster", name}}, nodes);
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace railbed {

class Exposition {
 public:
  using Label = std::pair<std::string_view, std::string_view>;
  using Labels = std::initializer_list<Label>;

  // Starts a family. `type`: "counter", "gauge" or "histogram". `help` is one line and is not escaped.
  void announce(std::string_view name, std::string_view type, std::string_view help);
  void sample(std::string_view name, Labels labels, double value);
  void sample(std::string_view name, Labels labels, std::uint64_t value);  // exact, every digit of a counter
  void sample(std::string_view name, const std::vector<Label>& labels, double value);
  template <class Whole>
  requires std::is_integral_v<Whole>
  void sample(std::string_view name, Labels labels, Whole value) {
    sample(name, labels, static_cast<std::uint64_t>(value));
  }
  // Writes a family with one sample without labels.
  void number(std::string_view name, std::string_view type, std::string_view help, double value);

  // Returns the text and leaves this object empty.
  std::string take() { return std::move(text_); }

 private:
  void begin(std::string_view name, std::span<const Label> labels);
  void put(double value);
  std::string text_;
};

}  // namespace railbed
