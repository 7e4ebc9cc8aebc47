// The two ends of a link are found by their place: of the devices from the card to the root port each second one is an
// upper end. Where a hypervisor puts a bridge of its own above a card that it passes through, that bridge is not the
// other end. Such a bridge is known by its identity, or by a card that runs faster than the bridge could.
#include "hardware/pci_link.h"

#include <fmt/format.h>

#include "hardware/ceilings.h"
#include "hardware/nic.h"
#include "hardware/part_model.h"
#include "hardware/spark.h"

namespace railbed {
namespace {

bool is_usable(const PcieLink& link) { return link.gigatransfers > 0 && link.width > 0; }

// Returns true for bridges that a hypervisor shows to its guests; what they state of links is invented.
bool is_emulated_bridge(const PciDevice& device) {
  struct Emulated {
    std::uint16_t vendor, device;
  };
  constexpr Emulated kBridges[] = {
      {0x1b36, 0x000c},  // QEMU, pcie-root-port: docs/specs/pci-ids.rst
      {0x104c,
       0x8232},  // QEMU, x3130-upstream: hw/pci-bridge/xio3130_upstream.c. The chip itself is of Gen1 x1
      {0x104c, 0x8233},  // QEMU, xio3130-downstream
      {0x15ad, 0x07a0},  // VMware: pci.ids, PCI Express Root Port
  };
  return std::ranges::any_of(kBridges, [&](const Emulated& one) {
    return device.vendor.value_or(0) == one.vendor && device.device.value_or(0) == one.device;
  });
}

// Returns true for a link that is tunnelled over USB4 or Thunderbolt. Its ports have to state 2.5 GT/s, whatever the
// cable carries (USB4 Specification V2, 11.2.1; so the kernel's "PCI: Ignore PCIe ports used for tunneling"). No other
// port of a switch is that slow: switches of Gen1 are older than any card that is of use here.
bool is_tunnel(const PciDevice& lower, const PciDevice& upper) {
  constexpr double kGen1 = 2.5;
  return is_bridge(lower) && is_bridge(upper) && lower.link_max.ok() && upper.link_max.ok() &&
         lower.link_max->gigatransfers <= kGen1 && upper.link_max->gigatransfers <= kGen1;
}

// Returns true if the upper end cannot be the other end of this link, which has more than that end can do.
bool contradicts(const RealLink& link, const PciDevice& upper) {
  return link.now && upper.link_max.ok() && below(*upper.link_max, *link.now);
}

std::string missing_text(const Reading<PcieLink>& reading) {
  return reading.ok() ? "it states no lanes" : reading.miss().why;
}

void find_state(RealLink& link) {
  const PciDevice& lower = *link.lower;
  if (!link.now || !link.possible) {
    link.state = PcieState::kUnknown;
    link.why = missing_text(link.now ? lower.link_max : lower.link_now);
    return;
  }
  if (link.upper != nullptr && is_tunnel(lower, *link.upper)) {
    link.state = PcieState::kTunnel;
    return;
  }
  const bool slower = link.now->gigatransfers < link.possible->gigatransfers;
  const bool narrower = link.now->width < link.possible->width;
  const bool upper_known = link.upper != nullptr && link.upper->link_max.ok();
  if (!upper_known && (narrower || (slower && !is_gpu(lower)))) {
    link.state = PcieState::kUnknown;
    link.why =
        fmt::format("{} of {}; the port above it, which is not shown here, tells whether the slot has more",
                    to_text(*link.now), to_text(*link.possible));
  } else if (narrower || (slower && !is_gpu(lower))) {
    link.state = PcieState::kLost;
  } else if (slower) {
    link.state = PcieState::kResting;
  } else {
    link.state = link.held_in_width() || link.held_in_speed() ? PcieState::kHeld : PcieState::kBest;
  }
}

RealLink without_data(const PciDevice& device, std::string why) {
  return {.lower = &device, .state = PcieState::kNoData, .why = std::move(why)};
}

// Returns the link below `upper`, which is null if nothing is shown above.
RealLink link_between(const PciDevice& lower, const PciDevice* upper) {
  if (is_spark_gpu(lower)) return without_data(lower, std::string(kUsesNoPcie));
  if (is_emulated_bridge(lower)) return without_data(lower, "a bridge of the hypervisor");
  RealLink link{.lower = &lower};
  if (lower.link_now.ok() && is_usable(*lower.link_now)) link.now = *lower.link_now;
  if (upper != nullptr && !is_emulated_bridge(*upper) && !contradicts(link, *upper)) link.upper = upper;
  if (lower.link_max.ok() && is_usable(*lower.link_max)) {
    link.possible = *lower.link_max;
    if (link.upper != nullptr && link.upper->link_max.ok())
      link.possible = common(*link.possible, *link.upper->link_max);
  }
  find_state(link);
  return link;
}

}  // namespace

std::string to_text(const PcieLink& link) {
  const int generation = pcie_generation_of(link.gigatransfers);
  if (generation > 0 && link.gigatransfers == pcie_gigatransfers(generation))
    return fmt::format("Gen{} x{}", generation, link.width);
  return fmt::format("{} GT/s x{}", link.gigatransfers, link.width);
}

int pcie_generation_of(double gigatransfers) {
  int generation = 0;
  while (generation < kNewestPcieGeneration && gigatransfers >= pcie_gigatransfers(generation + 1))
    ++generation;
  return generation;
}

bool RealLink::held_in_width() const {
  return upper != nullptr && upper->link_max.ok() && lower->link_max.ok() &&
         upper->link_max->width < lower->link_max->width;
}

bool RealLink::held_in_speed() const {
  return upper != nullptr && upper->link_max.ok() && lower->link_max.ok() &&
         upper->link_max->gigatransfers < lower->link_max->gigatransfers;
}

std::optional<PcieLink> RealLink::at_work() const {
  if (!now || state == PcieState::kTunnel || state == PcieState::kNoData) return std::nullopt;
  // A GPU that is idle may have lost lanes, too, and its speed is still not that at work.
  const bool speeds_up = lower != nullptr && is_gpu(*lower) && possible;
  return PcieLink{speeds_up ? std::max(now->gigatransfers, possible->gigatransfers) : now->gigatransfers,
                  now->width};
}

bool RealLink::same_as(const RealLink& other) const {
  if (upper != nullptr || other.upper != nullptr) return upper == other.upper;
  return lower == other.lower;
}

RealLink real_link(const std::vector<PciDevice>& devices, const PciDevice& device) {
  return links_above(devices, device).front();
}

std::vector<RealLink> links_above(const std::vector<PciDevice>& devices, const PciDevice& device) {
  const PciDevice* from = &device;
  if (is_virtual_function(device)) {
    const PciDevice* physical =
        device.physical_function.ok() ? find_pci(devices, *device.physical_function) : nullptr;
    if (physical == nullptr || is_virtual_function(*physical))
      return {without_data(
          device, "a virtual function has no link of its own, and its physical function is not shown")};
    from = physical;
  }
  const auto path = path_to_root(devices, *from);
  std::vector<RealLink> links;
  for (std::size_t i = 0; i < path.size(); i += 2)
    links.push_back(link_between(*path[i], i + 1 < path.size() ? path[i + 1] : nullptr));
  return links;
}

std::optional<RealLink> narrowest_link(const std::vector<RealLink>& links) {
  const RealLink* narrowest = nullptr;
  for (const RealLink& link : links) {
    if (!link.at_work()) continue;
    if (narrowest == nullptr || pcie_rate(*link.at_work()) < pcie_rate(*narrowest->at_work()))
      narrowest = &link;
  }
  return narrowest == nullptr ? std::nullopt : std::optional(*narrowest);
}

bool is_tunnelled(const std::vector<RealLink>& links) {
  return std::ranges::any_of(links, [](const RealLink& link) { return link.state == PcieState::kTunnel; });
}

}  // namespace railbed
