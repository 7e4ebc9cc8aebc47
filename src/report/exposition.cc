#include "report/exposition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "report/escape.h"

namespace railbed {

void Exposition::announce(std::string_view name, std::string_view type, std::string_view help) {
  fmt::format_to(std::back_inserter(text_), "# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
}

namespace {

// True if the value needs no escaping, as nearly every label: then it need not be copied twice.
bool is_plain(std::string_view value) {
  return std::ranges::all_of(value, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

}  // namespace

void Exposition::begin(std::string_view name, std::span<const Label> labels) {
  text_ += name;
  char before = '{';
  for (const auto& [label, value] : labels) {
    text_ += before;
    text_ += label;
    text_ += "=\"";
    if (is_plain(value))
      text_ += value;
    else
      text_ += escape_label(value);
    text_ += '"';
    before = ',';
  }
  text_ += labels.empty() ? " " : "} ";
}

void Exposition::sample(std::string_view name, Labels labels, std::uint64_t value) {
  begin(name, {labels.begin(), labels.size()});
  const fmt::format_int digits(value);
  text_.append(digits.data(), digits.size());
  text_ += '\n';
}

void Exposition::sample(std::string_view name, Labels labels, double value) {
  begin(name, {labels.begin(), labels.size()});
  put(value);
}

void Exposition::sample(std::string_view name, const std::vector<Label>& labels, double value) {
  begin(name, labels);
  put(value);
}

void Exposition::put(double value) {
  if (std::isfinite(value))
    fmt::format_to(std::back_inserter(text_), "{}\n", value);
  else
    text_ += std::isnan(value) ? "NaN\n" : value > 0 ? "+Inf\n" : "-Inf\n";
}

void Exposition::number(std::string_view name, std::string_view type, std::string_view help, double value) {
  announce(name, type, help);
  sample(name, {}, value);
}

}  // namespace railbed
