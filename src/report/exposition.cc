#include "report/exposition.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "report/escape.h"

namespace railbed {

void Exposition::announce(std::string_view name, std::string_view type, std::string_view help) {
  fmt::format_to(std::back_inserter(text_), "# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
}

void Exposition::begin(std::string_view name, Labels labels) {
  text_ += name;
  char before = '{';
  for (const auto& [label, value] : labels) {
    fmt::format_to(std::back_inserter(text_), "{}{}=\"{}\"", before, label, escape_label(value));
    before = ',';
  }
  text_ += labels.size() == 0 ? " " : "} ";
}

void Exposition::sample(std::string_view name, Labels labels, std::uint64_t value) {
  begin(name, labels);
  fmt::format_to(std::back_inserter(text_), "{}\n", value);
}

void Exposition::sample(std::string_view name, Labels labels, double value) {
  begin(name, labels);
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
