#include "hardware/part_model.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "base/text.h"

namespace railbed {
namespace {

constexpr BitRate gbps(double value) { return BitRate::gigabits(value); }

constexpr std::string_view kManual5022 =
    "InfiniScale IV 8-Port QSFP 40 Gb/s InfiniBand Switch User Manual, MIS5022Q, Rev 1.4";
constexpr std::string_view kManual9700 = "QM9700/QM9790 1U NDR 400Gb/s InfiniBand Switch Systems User Manual";
constexpr std::string_view kSwitchManual = "the switch's user manual; general knowledge, to check";
constexpr std::string_view kCablePages =
    "docs.nvidia.com, LinkX product specifications; the part number, to check";
constexpr std::string_view kFsPage =
    "FS QSFP-PC series: the number is its length; general knowledge, to check";
constexpr std::string_view kAdapterManual = "the adapter's user manual, Ordering Part Numbers; to check";

constexpr SwitchModel kSwitches[] = {
    {"IS5022", 8, gbps(40), true, false, kManual5022},
    {"IS5023", 18, gbps(40), true, false, kSwitchManual},
    {"IS5025", 36, gbps(40), true, false, kSwitchManual},
    {"IS5035", 36, gbps(40), true, true, kSwitchManual},
    {"SX6025", 36, gbps(56), true, false, kSwitchManual},
    {"SX6036", 36, gbps(56), true, true, kSwitchManual},
    {"SB7700", 36, gbps(100), true, true, kSwitchManual},
    {"SB7790", 36, gbps(100), true, false, kSwitchManual},
    {"SB7800", 36, gbps(100), true, true, kSwitchManual},
    {"SB7890", 36, gbps(100), true, false, kSwitchManual},
    {"QM8700", 40, gbps(200), true, true, kSwitchManual},
    {"QM8790", 40, gbps(200), true, false, kSwitchManual},
    {"QM9700", 64, gbps(400), true, true, kManual9700},
    {"QM9790", 64, gbps(400), true, false, kManual9700},
    {"SN2700", 32, gbps(100), false, false, kSwitchManual},
    {"SN3700", 32, gbps(200), false, false, kSwitchManual},
    {"SN4600", 64, gbps(200), false, false, kSwitchManual},
    {"SN5600", 64, gbps(800), false, false, kSwitchManual},
};

constexpr CableModel kCables[] = {
    {"QSFP-PC", gbps(40), true, 0, kFsPage},        {"MC2206130", gbps(40), true, 0, kCablePages},
    {"MC2207130", gbps(56), true, 0, kCablePages},  {"MCP1600-E", gbps(100), true, 0, kCablePages},
    {"MCP1600-C", gbps(100), true, 0, kCablePages}, {"MFA1A00-E", gbps(100), false, 0, kCablePages},
    {"MCP1650-H", gbps(200), true, 0, kCablePages}, {"MFS1S00-H", gbps(200), false, 0, kCablePages},
    {"MCP4Y10-N", gbps(400), true, 0, kCablePages}, {"MCP7Y10-N", gbps(400), true, 0, kCablePages},
};

constexpr AdapterModel kAdapters[] = {
    {"MCX353A-Q", "ConnectX-3", 1, gbps(40), gbps(40), kAdapterManual},
    {"MCX353A-F", "ConnectX-3", 1, gbps(56), gbps(40), kAdapterManual},
    {"MCX354A-Q", "ConnectX-3", 2, gbps(40), gbps(40), kAdapterManual},
    {"MCX354A-F", "ConnectX-3", 2, gbps(56), gbps(40), kAdapterManual},
    {"MCX455A-F", "ConnectX-4", 1, gbps(56), gbps(40), kAdapterManual},
    {"MCX455A-E", "ConnectX-4", 1, gbps(100), gbps(100), kAdapterManual},
    {"MCX456A-E", "ConnectX-4", 2, gbps(100), gbps(100), kAdapterManual},
    {"MCX4121A", "ConnectX-4 Lx", 2, {}, gbps(25), kAdapterManual},
    {"MCX555A-E", "ConnectX-5", 1, gbps(100), gbps(100), kAdapterManual},
    {"MCX556A-E", "ConnectX-5", 2, gbps(100), gbps(100), kAdapterManual},
    {"MCX653105A-E", "ConnectX-6", 1, gbps(100), gbps(100), kAdapterManual},
    {"MCX653105A-H", "ConnectX-6", 1, gbps(200), gbps(200), kAdapterManual},
    {"MCX653106A-H", "ConnectX-6", 2, gbps(200), gbps(200), kAdapterManual},
    {"MCX75310AAS-H", "ConnectX-7", 1, gbps(200), gbps(200), kAdapterManual},
    {"MCX75310AAS-N", "ConnectX-7", 1, gbps(400), gbps(400), kAdapterManual},
    {"MCX715105AS-W", "ConnectX-7", 1, gbps(400), gbps(400), kAdapterManual},
};

// Copper with four lanes; InfiniBand's own limits are not longer than Ethernet's at the same lane speed.
constexpr CopperLimit kCopper[] = {
    {gbps(40), 7, "IEEE 802.3ba, 40GBASE-CR4: 7 m"},
    {gbps(100), 5, "IEEE 802.3bj, 100GBASE-CR4: 5 m"},
    {gbps(200), 3, "IEEE 802.3cd, 200GBASE-CR4: 3 m"},
    {gbps(400), 3, "docs.nvidia.com, MCP7Y10-Nxxx product specifications: 1 to 3 m"},
};

struct InfinibandSpeed {
  double gigabits;
  std::string_view name;
  double part;  // fraction that its coding leaves
};
// 8b/10b up to QDR, 64b/66b for FDR; from EDR on the names refer to data rates (IBTA, Architecture
// Specification 1.3, link speeds).
constexpr InfinibandSpeed kInfinibandSpeeds[] = {
    {10, "SDR", 0.8}, {20, "DDR", 0.8}, {40, "QDR", 0.8}, {56, "FDR", 54.5454 / 56},
    {100, "EDR", 1},  {200, "HDR", 1},  {400, "NDR", 1},  {800, "XDR", 1}};

const InfinibandSpeed* find_speed(BitRate signalled) {
  const auto found = std::ranges::find(kInfinibandSpeeds, signalled.gigabits(), &InfinibandSpeed::gigabits);
  return found == std::end(kInfinibandSpeeds) ? nullptr : &*found;
}

// Returns the row with the longest name that is part of `model`, whatever the case of its letters; null if
// there is none.
template <class Row, std::size_t N>
const Row* find_piece(const Row (&table)[N], std::string_view model) {
  const std::string small = lower(model);
  const Row* best = nullptr;
  for (const Row& row : table)
    if (small.find(lower(row.name)) != std::string::npos &&
        (best == nullptr || row.name.size() > best->name.size()))
      best = &row;
  return best;
}

}  // namespace

std::span<const SwitchModel> switch_models() { return kSwitches; }
const SwitchModel* find_switch_model(std::string_view model) { return find_piece(kSwitches, model); }
const CableModel* find_cable_model(std::string_view model) { return find_piece(kCables, model); }
const AdapterModel* find_adapter_model(std::string_view model) { return find_piece(kAdapters, model); }

const CopperLimit* copper_limit(BitRate speed) {
  const auto found =
      std::ranges::find_if(kCopper, [&](const CopperLimit& row) { return row.speed >= speed; });
  return found == std::end(kCopper) ? nullptr : &*found;
}

double infiniband_data_share(std::string_view speed) {
  const auto found = std::ranges::find(kInfinibandSpeeds, speed, &InfinibandSpeed::name);
  return found == std::end(kInfinibandSpeeds) ? 1 : found->part;
}

BitRate infiniband_data_rate(BitRate signalled) {
  const InfinibandSpeed* speed = find_speed(signalled);
  return speed == nullptr ? signalled : signalled * speed->part;
}

std::string_view infiniband_speed_name(BitRate signalled) {
  const InfinibandSpeed* speed = find_speed(signalled);
  return speed == nullptr ? std::string_view{} : speed->name;
}

double pcie_gigatransfers(int generation) {
  static constexpr double kRates[] = {2.5, 5, 8, 16, 32, 64, 128};  // PCI Express Base Specification 7.0
  return kRates[std::clamp(generation, 1, static_cast<int>(std::size(kRates))) - 1];
}

}  // namespace railbed
