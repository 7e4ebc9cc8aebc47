#include "model/kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hardware/nic.h"

namespace railbed {

std::string counted(const std::map<std::string, int>& kinds) {
  std::vector<std::string> texts;
  for (const auto& [name, number] : kinds) texts.push_back(fmt::format("{} × {}", number, name));
  return texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", "));
}

std::string adapters_text(const NodeView& node) {
  std::map<std::string, int> kinds;
  for (const PciDevice* adapter : node.adapters()) {
    const NicModel* model = find_nic(adapter->device.value_or(0));
    ++kinds[model == nullptr ? "unknown adapter" : std::string(model->name)];
  }
  return counted(kinds);
}

std::string MemorySizes::text(ByteCount size) {
  constexpr double kTolerance = 0.05;
  const auto own = static_cast<double>(size.bytes);
  auto same = std::ranges::find_if(
      seen_, [&](double other) { return std::abs(other - own) <= kTolerance * std::max(other, own); });
  if (same == seen_.end()) same = seen_.insert(same, own);
  return to_text(ByteCount{static_cast<std::uint64_t>(*same)});
}

}  // namespace railbed
