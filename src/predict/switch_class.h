// The latency that a switch adds to a message, by its class.
#pragma once

#include <array>
#include <string_view>

#include "base/units.h"

namespace railbed {

enum class SwitchClass { kInfiniband, kCutThrough, kStoreAndForward, kLowCost };
constexpr auto enum_names(SwitchClass) {
  return std::array<std::string_view, 4>{"infiniband", "cut-through", "store-and-forward", "low-cost"};
}

// Latency of one hop. A class is a range, because its models differ, and so does the effect of a port's rate.
struct HopLatency {
  Nanoseconds low{};
  Nanoseconds high{};
  std::string_view source;
};
const HopLatency& hop_latency(SwitchClass kind);
// Returns the usual class of switches of a network: InfiniBand's own, else cut-through Ethernet.
constexpr SwitchClass usual_switch(bool infiniband) {
  return infiniband ? SwitchClass::kInfiniband : SwitchClass::kCutThrough;
}

}  // namespace railbed
