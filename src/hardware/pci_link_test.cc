#include "hardware/pci_link.h"

#include <gtest/gtest.h>

#include "hardware/ceilings.h"

namespace railbed {
namespace {

constexpr std::uint32_t kBridgeClass = 0x060400, kGpuClass = 0x030200, kNetworkClass = 0x020000;

struct Made {
  std::string address = {};
  std::string parent = {};  // none: directly at the root complex
  std::uint32_t class_code = kBridgeClass;
  PcieLink now = {};   // width 0: not stated
  PcieLink most = {};  // same
  std::uint16_t vendor = 0x8086, device = 0x1234;
};

std::vector<PciDevice> devices_of(const std::vector<Made>& all) {
  std::vector<PciDevice> devices;
  for (const Made& made : all) {
    PciDevice device;
    device.address = made.address;
    device.parent = made.parent.empty() ? Reading<std::string>(Miss{Missing::kAbsent, "at the root"}, "pci")
                                        : Reading<std::string>(made.parent, "pci");
    device.class_code = {made.class_code, "pci"};
    device.vendor = {made.class_code == kGpuClass ? kVendorNvidia : made.vendor, "pci"};
    device.device = {made.device, "pci"};
    const Miss none{Missing::kUnsupported, "it says \"Unknown\", width 63"};
    device.link_now =
        made.now.width > 0 ? Reading<PcieLink>(made.now, "pci") : Reading<PcieLink>(none, "pci");
    device.link_max =
        made.most.width > 0 ? Reading<PcieLink>(made.most, "pci") : Reading<PcieLink>(none, "pci");
    devices.push_back(std::move(device));
  }
  return devices;
}

constexpr PcieLink kGen1x16{2.5, 16}, kGen3x4{8, 4}, kGen3x8{8, 8}, kGen3x16{8, 16}, kGen4x8{16, 8},
    kGen4x16{16, 16}, kGen5x16{32, 16}, kNotStated{};

// A card in a slot: the port above it, then the card.
RealLink in_slot(Made slot, Made card) {
  static std::vector<PciDevice> devices;
  slot.address = "0000:00:01.0";
  card.address = "0000:01:00.0";
  card.parent = slot.address;
  devices = devices_of({slot, card});
  return real_link(devices, devices[1]);
}

struct SlotCase {
  const char* what;
  Made slot, card;
  PcieState state;
};

const SlotCase kSlots[] = {
    {"all it can",
     {.now = kGen4x16, .most = kGen4x16},
     {.class_code = kNetworkClass, .now = kGen4x16, .most = kGen4x16},
     PcieState::kBest},
    {"a Gen4 card in a Gen5 slot",
     {.now = kGen4x16, .most = kGen5x16},
     {.class_code = kNetworkClass, .now = kGen4x16, .most = kGen4x16},
     PcieState::kBest},
    {"a Gen5 card in a Gen4 slot",
     {.now = kGen4x16, .most = kGen4x16},
     {.class_code = kNetworkClass, .now = kGen4x16, .most = kGen5x16},
     PcieState::kHeld},
    {"eight lanes wired, or the slot is split",
     {.now = kGen3x8, .most = kGen3x8},
     {.class_code = kGpuClass, .now = kGen3x8, .most = kGen3x16},
     PcieState::kHeld},
    {"OCuLink, or an adapter for M.2",
     {.now = kGen3x4, .most = {16, 4}},
     {.class_code = kGpuClass, .now = {16, 4}, .most = kGen4x16},
     PcieState::kHeld},
    {"a card that lost lanes",
     {.now = kGen4x8, .most = kGen4x16},
     {.class_code = kNetworkClass, .now = kGen4x8, .most = kGen4x16},
     PcieState::kLost},
    {"an adapter that lost speed",
     {.now = kGen3x16, .most = kGen4x16},
     {.class_code = kNetworkClass, .now = kGen3x16, .most = kGen4x16},
     PcieState::kLost},
    {"an idle GPU",
     {.now = kGen1x16, .most = kGen4x16},
     {.class_code = kGpuClass, .now = kGen1x16, .most = kGen4x16},
     PcieState::kResting},
    {"an idle GPU that lost lanes",
     {.now = {2.5, 8}, .most = kGen4x16},
     {.class_code = kGpuClass, .now = {2.5, 8}, .most = kGen4x16},
     PcieState::kLost},
    {"a GPU that sleeps (D3cold)",
     {.now = kNotStated, .most = kGen4x16},
     {.class_code = kGpuClass, .now = kNotStated, .most = kNotStated},
     PcieState::kUnknown},
    {"a GB10",
     {.now = {2.5, 1}, .most = {32, 16}},
     {.class_code = kGpuClass, .now = {2.5, 1}, .most = {32, 16}, .device = 0x2e12},
     PcieState::kNoData},
    {"a bridge that cannot be the other end",
     {.now = {2.5, 1}, .most = {2.5, 1}},
     {.class_code = kNetworkClass, .now = kGen5x16, .most = kGen5x16},
     PcieState::kBest},
    {"a bridge of QEMU's, and less than the card can",
     {.now = kGen5x16, .most = kGen5x16, .vendor = 0x1b36, .device = 0x0c},
     {.class_code = kNetworkClass, .now = kGen4x16, .most = kGen5x16},
     PcieState::kUnknown},
    {"a port that states nothing, and less than the card can",
     {.now = kNotStated, .most = kNotStated},
     {.class_code = kNetworkClass, .now = kGen4x8, .most = kGen4x16},
     PcieState::kUnknown},
};

TEST(PciLink, ComparesACardWithItsSlot) {
  for (const SlotCase& one : kSlots) EXPECT_EQ(in_slot(one.slot, one.card).state, one.state) << one.what;
}

TEST(PciLink, IsAtWorkWhatAnIdleGpuCanDoWithItsLanes) {
  EXPECT_EQ(
      in_slot({.most = kGen3x16}, {.class_code = kGpuClass, .now = {2.5, 8}, .most = kGen4x16}).at_work(),
      std::optional(kGen3x8));
  EXPECT_EQ(
      in_slot({.most = kGen4x16}, {.class_code = kNetworkClass, .now = kGen3x8, .most = kGen4x16}).at_work(),
      std::optional(kGen3x8));
  EXPECT_EQ(
      in_slot({}, {.class_code = kGpuClass, .now = {2.5, 1}, .most = kGen5x16, .device = 0x2e12}).at_work(),
      std::nullopt);
}

// ConnectX-6 Dx (Gen4) below a switch of Gen5: the downstream port runs at what the adapter can.
TEST(PciLink, TakesADownstreamPortAsTheUpperEndOfTheLinkBelowIt) {
  const auto devices =
      devices_of({{.address = "0000:15:01.0", .now = kGen5x16, .most = kGen5x16},
                  {.address = "0000:16:00.0", .parent = "0000:15:01.0", .now = kGen5x16, .most = kGen5x16},
                  {.address = "0000:17:03.0", .parent = "0000:16:00.0", .now = kGen4x16, .most = kGen5x16},
                  {.address = "0000:1b:00.0",
                   .parent = "0000:17:03.0",
                   .class_code = kNetworkClass,
                   .now = kGen4x16,
                   .most = kGen4x16}});
  const auto links = links_above(devices, devices[3]);
  ASSERT_EQ(links.size(), 2U);
  EXPECT_EQ(links[0].state, PcieState::kBest);
  EXPECT_EQ(links[1].state, PcieState::kBest);
  EXPECT_EQ(links[1].lower, &devices[1]);
  EXPECT_EQ(links[1].upper, &devices[0]);
  EXPECT_EQ(narrowest_link(links)->lower, &devices[3]);
}

// A GPU in an enclosure. The ports of the tunnel state 2.5 GT/s x4, whatever the cable carries.
TEST(PciLink, DoesNotBelieveTheEndsOfATunnel) {
  const auto devices =
      devices_of({{.address = "0000:00:07.0", .now = kGen3x4, .most = kGen3x4},
                  {.address = "0000:04:00.0", .parent = "0000:00:07.0", .now = kGen3x4, .most = kGen3x4},
                  {.address = "0000:05:01.0", .parent = "0000:04:00.0", .now = {2.5, 4}, .most = {2.5, 4}},
                  {.address = "0000:07:00.0", .parent = "0000:05:01.0", .now = {2.5, 4}, .most = {2.5, 4}},
                  {.address = "0000:08:01.0", .parent = "0000:07:00.0", .now = kGen3x4, .most = kGen3x4},
                  {.address = "0000:09:00.0",
                   .parent = "0000:08:01.0",
                   .class_code = kGpuClass,
                   .now = kGen3x4,
                   .most = kGen3x16}});
  const auto links = links_above(devices, devices[5]);
  ASSERT_EQ(links.size(), 3U);
  EXPECT_EQ(links[0].state, PcieState::kHeld);
  EXPECT_EQ(links[1].state, PcieState::kTunnel);
  EXPECT_EQ(links[2].state, PcieState::kBest);
  EXPECT_TRUE(is_tunnelled(links));
  EXPECT_EQ(narrowest_link(links)->at_work(), std::optional(kGen3x4));
}

// A virtual machine of QEMU's: what its bridge states limits nothing.
TEST(PciLink, OfAHypervisorsBridgeIsNoLimit) {
  const auto devices = devices_of(
      {{.address = "0000:00:02.0", .now = {2.5, 1}, .most = {2.5, 1}, .vendor = 0x1b36, .device = 0x0c},
       {.address = "0000:01:00.0",
        .parent = "0000:00:02.0",
        .class_code = kNetworkClass,
        .now = kGen5x16,
        .most = kGen5x16}});
  EXPECT_EQ(narrowest_hop(devices, "0000:01:00.0"), &devices[1]);
  const PciePath path = pcie_path_of(devices, "0000:01:00.0", "vm");
  ASSERT_EQ(path.hops.size(), 1U);
  EXPECT_EQ(path.hops[0].link, kGen5x16);
}

TEST(PciLink, OfAVirtualFunctionIsThatOfItsPhysicalFunction) {
  auto devices =
      devices_of({{.address = "0000:00:01.0", .now = kGen4x8, .most = kGen4x8},
                  {.address = "0000:01:00.0",
                   .parent = "0000:00:01.0",
                   .class_code = kNetworkClass,
                   .now = kGen4x8,
                   .most = kGen4x16},
                  {.address = "0000:01:00.2", .parent = "0000:00:01.0", .class_code = kNetworkClass}});
  devices[2].virtual_function = {true, "pci"};
  EXPECT_EQ(real_link(devices, devices[2]).state, PcieState::kNoData);
  devices[2].physical_function = {"0000:01:00.0", "pci"};
  EXPECT_EQ(real_link(devices, devices[2]).lower, &devices[1]);
  EXPECT_TRUE(real_link(devices, devices[2]).same_as(real_link(devices, devices[1])));
}

TEST(PciLink, EndsWithACycleOfParents) {
  const auto devices =
      devices_of({{.address = "0000:01:00.0", .parent = "0000:02:00.0", .now = kGen4x8, .most = kGen4x8},
                  {.address = "0000:02:00.0", .parent = "0000:01:00.0", .now = kGen4x8, .most = kGen4x8}});
  EXPECT_LE(links_above(devices, devices[0]).size(), 2U);
}

TEST(PciLink, NamesGenerations) {
  EXPECT_EQ(to_text(kGen3x8), "Gen3 x8");
  EXPECT_EQ(to_text(PcieLink{3, 8}), "3 GT/s x8");
  EXPECT_EQ(pcie_generation_of(16), 4);
  EXPECT_EQ(pcie_generation_of(1), 0);
}

}  // namespace
}  // namespace railbed
