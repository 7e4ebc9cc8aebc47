// What a switch adds to the time of a message, by its class.
#pragma once

#include <array>
#include <string_view>

#include "base/units.h"

namespace railbed {

enum class SwitchClass { kInfiniband, kCutThrough, kStoreAndForward, kLowCost };
constexpr auto enum_names(SwitchClass) {
  return std::array<std::string_view, 4>{"infiniband", "cut-through", "store-and-forward", "low-cost"};
}

// Of one hop. A class is a range: the models in it differ, and so does what a port's rate adds.
struct HopLatency {
  Nanoseconds low{};
  Nanoseconds high{};
  std::string_view source;
};
const HopLatency& hop_latency(SwitchClass kind);

}  // namespace railbed
