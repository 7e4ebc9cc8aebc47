#include "base/reading.h"

namespace railbed {

const Miss& not_collected() {
  static const Miss kMiss{Missing::kAbsent, "not collected"};
  return kMiss;
}

std::string describe(const Miss& miss, std::string_view from) {
  std::string text(enum_names(miss.missing)[static_cast<std::size_t>(miss.missing)]);
  if (!miss.why.empty()) text += ": " + miss.why;
  if (!from.empty()) text += " (" + std::string(from) + ")";
  return text;
}

}  // namespace railbed
