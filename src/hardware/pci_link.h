// A PCI Express link as it is: what it runs at, what its two ends can do together, and why it runs at less.
//
// A link has two ends. The lower one is a device, or the upstream port of a switch; the upper one is a root port, or
// the downstream port of a switch, and it reports the speed and the width of the link below it. So a path from a
// device to its root port is a list of pairs of ends, and between the ports of one switch is no link.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/pcie.h"

namespace railbed {

// Returns the fastest link that both ends of a hop support.
inline PcieLink common(const PcieLink& a, const PcieLink& b) {
  return {std::min(a.gigatransfers, b.gigatransfers), std::min(a.width, b.width)};
}

// Returns true if the link is slower or narrower than `most`.
inline bool below(const PcieLink& now, const PcieLink& most) {
  return now.gigatransfers < most.gigatransfers || now.width < most.width;
}

// Why a GPU whose memory and processor share another link than PCI Express is not judged.
inline constexpr std::string_view kUsesNoPcie = "its data does not use PCI Express";

// Returns a text such as "Gen3 x8".
std::string to_text(const PcieLink& link);
// Returns the generation of a speed in GT/s per lane: 16 is 4. Speeds between two generations count as the older
// one; 0 below Gen1.
int pcie_generation_of(double gigatransfers);

// The outcome of comparing a link with what it could be.
enum class PcieState {
  kBest,     // as fast as the lower end can
  kResting,  // all lanes, at less speed: an idle GPU lowers the speed of its link
  kHeld,     // as fast as both ends can, and the upper end can do less than the lower: no fault of the card
  kLost,     // slower than both ends can
  kTunnel,   // over a Thunderbolt or USB4 cable: its ends state Gen1, whatever it carries
  kNoData,   // the device's data goes another way, or a hypervisor stands in for a port: nothing to judge
  kUnknown,  // not stated; or less than the lower end can, and the upper end is not shown
};
constexpr auto enum_names(PcieState) {
  return std::array<std::string_view, 7>{"best",   "resting",         "held",   "lost",
                                         "tunnel", "carries no data", "unknown"};
}

// The pointers point into the list of devices, which must outlive it.
struct RealLink {
  const PciDevice* lower = nullptr;
  const PciDevice* upper = nullptr;  // null: not shown, or the one that is shown cannot be the other end
  std::optional<PcieLink> now = {};  // as stated now
  std::optional<PcieLink> possible =
      {};  // what both ends can do; what the lower end can do if the upper is not known
  PcieState state = PcieState::kUnknown;
  std::string why = {};  // for kNoData and kUnknown

  // Return true if the upper end, which states what it can do, has fewer lanes, or less speed, than the lower end
  // can use.
  bool held_in_width() const;
  bool held_in_speed() const;
  // Returns the link while data flows: a resting one at its full speed. Nullopt if that is not known.
  std::optional<PcieLink> at_work() const;
  // Returns true if both are one link: functions of one card, or paths through one switch.
  bool same_as(const RealLink& other) const;
};

// Returns the link of a device, as seen from its end. A virtual function has that of its physical function.
RealLink real_link(const std::vector<PciDevice>& devices, const PciDevice& device);
// Returns all links from a device to its root port, its own first.
std::vector<RealLink> links_above(const std::vector<PciDevice>& devices, const PciDevice& device);
// Returns the one of these that carries least while data flows; nullopt if none is known. A tunnel does not count,
// since nothing states what it carries.
std::optional<RealLink> narrowest_link(const std::vector<RealLink>& links);
// Returns true if one of these goes over a cable of Thunderbolt or USB4.
bool is_tunnelled(const std::vector<RealLink>& links);

}  // namespace railbed
