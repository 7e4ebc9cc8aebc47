#include "base/json_wrapped.h"

namespace railbed::json {
namespace {

void wrap(const Value& value, std::size_t indent, std::string& into) {
  constexpr std::size_t kWidth = 110;
  const std::string line = dump(value);
  if (!value.is_structured() || value.empty() || indent + line.size() <= kWidth) {
    into += line;
    return;
  }
  into += value.is_object() ? "{" : "[";
  bool first = true;
  for (const auto& [key, item] : value.items()) {
    into += (first ? "\n" : ",\n") + std::string(indent + 1, ' ');
    if (value.is_object()) into += dump(Value(key)) + ": ";
    wrap(item, indent + 1, into);
    first = false;
  }
  into += "\n" + std::string(indent, ' ') + (value.is_object() ? "}" : "]");
}

}  // namespace

std::string dump_wrapped(const Value& value) {
  std::string text;
  wrap(value, 0, text);
  return text + "\n";
}

}  // namespace railbed::json
