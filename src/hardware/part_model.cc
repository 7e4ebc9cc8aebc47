#include "hardware/part_model.h"

#include <algorithm>
#include <array>
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

// Port counts of files that were read there. A switch's maximum is that of its maker's data sheet as stated there.
constexpr std::string_view kDeviceTypes =
    "netbox-community/devicetype-library, the file of this model: ports; its data sheet, to check";
constexpr std::string_view kMikrotik = "mikrotik.com, the product's page: ports and maximum power";

constexpr SwitchModel kSwitches[] = {
    {"IS5022", 8, gbps(40), true, false, kManual5022},
    {"IS5023", 18, gbps(40), true, false, kSwitchManual},
    {"IS5025", 36, gbps(40), true, false, kSwitchManual},
    {"IS5035", 36, gbps(40), true, true, kSwitchManual},
    {"SX6012", 12, gbps(56), true, true, kDeviceTypes},
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
    {"Q3400", 144, gbps(800), true, true, kDeviceTypes},
    {"SN2010", 4, gbps(100), false, false, kDeviceTypes, 18, gbps(25)},
    {"SN2100", 16, gbps(100), false, false, kSwitchManual},
    {"SN2410", 8, gbps(100), false, false, kSwitchManual, 48, gbps(25)},
    {"SN2700", 32, gbps(100), false, false, kDeviceTypes},
    {"SN3420", 12, gbps(100), false, false, kSwitchManual, 48, gbps(25)},
    {"SN3700", 32, gbps(200), false, false, kDeviceTypes},
    {"SN3700C", 32, gbps(100), false, false, kDeviceTypes},
    {"SN4600", 64, gbps(200), false, false, kDeviceTypes},
    {"SN4600C", 64, gbps(100), false, false, kDeviceTypes},
    {"SN4700", 32, gbps(400), false, false, kDeviceTypes},
    {"SN5400", 64, gbps(400), false, false, kSwitchManual},
    {"SN5600", 64, gbps(800), false, false, kSwitchManual},
    {"CRS504", 4, gbps(100), false, false, kDeviceTypes, 0, {}, 41},
    {"CRS518", 2, gbps(100), false, false, kDeviceTypes, 16, gbps(25)},
    {"CRS804", 4, gbps(400), false, false, kMikrotik, 0, {}, 123},
    {"CRS812", 2, gbps(400), false, false, kMikrotik, 2, gbps(200), 134},
    {"9332PQ", 32, gbps(40), false, false, kSwitchManual},
    {"9332C", 32, gbps(100), false, false, kDeviceTypes},
    {"7050QX-32", 32, gbps(40), false, false, kDeviceTypes, 0, {}, 500},
    {"7060CX-32", 32, gbps(100), false, false, kDeviceTypes},
    {"7060CX2-32", 32, gbps(100), false, false, kDeviceTypes},
    {"7060PX4-32", 32, gbps(400), false, false, kDeviceTypes, 0, {}, 1600},
    {"7060DX4-32", 32, gbps(400), false, false, kDeviceTypes, 0, {}, 1600},
};

constexpr CableModel kCables[] = {
    {"QSFP-PC", gbps(40), true, 0, kFsPage},
    {"MC2206130", gbps(40), true, 0, kCablePages, CableUse::kInfiniband},
    {"MC2207130", gbps(56), true, 0, kCablePages, CableUse::kInfiniband},
    {"MC2210130", gbps(40), true, 0, kCablePages, CableUse::kEthernet},
    {"MCP1600-E", gbps(100), true, 0, kCablePages, CableUse::kInfiniband},
    {"MCP1600-C", gbps(100), true, 0, kCablePages, CableUse::kEthernet},
    {"MFA1A00-E", gbps(100), false, 0, kCablePages, CableUse::kInfiniband},
    {"MFA1A00-C", gbps(100), false, 0, kCablePages, CableUse::kEthernet},
    {"MCP1650-H", gbps(200), true, 0, kCablePages, CableUse::kInfiniband},
    {"MCP1650-V", gbps(200), true, 0, kCablePages, CableUse::kEthernet},
    {"MFS1S00-H", gbps(200), false, 0, kCablePages, CableUse::kInfiniband},
    {"MFS1S00-V", gbps(200), false, 0, kCablePages, CableUse::kEthernet},
    {"MCP4Y10-N", gbps(400), true, 0, kCablePages, CableUse::kBoth},
    {"MCP7Y10-N", gbps(400), true, 0, kCablePages, CableUse::kBoth},
};

// Part numbers, ports, speeds and lanes: the adapters' user manuals on docs.nvidia.com that list them, or the
// list that KCORES keeps of them. Both were read.
constexpr std::string_view kConnectX4En = "docs.nvidia.com/networking/display/ConnectX4EN, Introduction";
constexpr std::string_view kConnectX4Ib = "docs.nvidia.com/networking/display/ConnectX4IB, Introduction";
constexpr std::string_view kPartList = "KCORES/100g.kcores.com, Mellanox(NVIDIA)-nic-list";
constexpr AdapterForm kStandUp = AdapterForm::kCard;
constexpr AdapterForm kMezzanine = AdapterForm::kOcp;
constexpr BitRate kNoRate{};

// MCX353A-Q and MCX354A-Q have QDR, and Ethernet of 10 Gb/s only (the same list).
constexpr AdapterModel kAdapters[] = {
    {"MCX353A-Q", "ConnectX-3", 1, gbps(40), gbps(10), kPartList, "MCX353A-QCBT", kStandUp, 8},
    {"MCX353A-F", "ConnectX-3", 1, gbps(56), gbps(40), kPartList, "MCX353A-FCBT", kStandUp, 8},
    {"MCX354A-Q", "ConnectX-3", 2, gbps(40), gbps(10), kPartList, "MCX354A-QCBT", kStandUp, 8},
    {"MCX354A-F", "ConnectX-3", 2, gbps(56), gbps(40), kPartList, "MCX354A-FCBT", kStandUp, 8},
    {"MCX353A-FCC", "ConnectX-3 Pro", 1, gbps(56), gbps(40), kPartList, "MCX353A-FCCT", kStandUp, 8},
    {"MCX354A-FCC", "ConnectX-3 Pro", 2, gbps(56), gbps(40), kPartList, "MCX354A-FCCT", kStandUp, 8},
    {"MCX313A-BCC", "ConnectX-3 Pro", 1, kNoRate, gbps(40), kPartList, "MCX313A-BCCT", kStandUp, 8},
    {"MCX314A-BCC", "ConnectX-3 Pro", 2, kNoRate, gbps(40), kPartList, "MCX314A-BCCT", kStandUp, 8},
    {"MCX413A-B", "ConnectX-4", 1, kNoRate, gbps(40), kConnectX4En, "MCX413A-BCAT", kStandUp, 8},
    {"MCX414A-B", "ConnectX-4", 2, kNoRate, gbps(40), kConnectX4En, "MCX414A-BCAT", kStandUp, 8},
    {"MCX413A-G", "ConnectX-4", 1, kNoRate, gbps(50), kConnectX4En, "MCX413A-GCAT", kStandUp, 8},
    {"MCX414A-G", "ConnectX-4", 2, kNoRate, gbps(50), kConnectX4En, "MCX414A-GCAT", kStandUp, 8},
    {"MCX415A-B", "ConnectX-4", 1, kNoRate, gbps(40), kConnectX4En, "MCX415A-BCAT"},
    {"MCX416A-B", "ConnectX-4", 2, kNoRate, gbps(40), kConnectX4En, "MCX416A-BCAT"},
    {"MCX415A-G", "ConnectX-4", 1, kNoRate, gbps(50), kConnectX4En, "MCX415A-GCAT"},
    {"MCX416A-G", "ConnectX-4", 2, kNoRate, gbps(50), kConnectX4En, "MCX416A-GCAT"},
    {"MCX415A-C", "ConnectX-4", 1, kNoRate, gbps(100), kConnectX4En, "MCX415A-CCAT"},
    {"MCX416A-C", "ConnectX-4", 2, kNoRate, gbps(100), kConnectX4En, "MCX416A-CCAT"},
    {"MCX453A-F", "ConnectX-4", 1, gbps(56), gbps(40), kConnectX4Ib, "MCX453A-FCAT", kStandUp, 8},
    {"MCX454A-F", "ConnectX-4", 2, gbps(56), gbps(40), kConnectX4Ib, "MCX454A-FCAT", kStandUp, 8},
    {"MCX455A-F", "ConnectX-4", 1, gbps(56), gbps(40), kConnectX4Ib, "MCX455A-FCAT"},
    {"MCX456A-F", "ConnectX-4", 2, gbps(56), gbps(40), kConnectX4Ib, "MCX456A-FCAT"},
    {"MCX455A-E", "ConnectX-4", 1, gbps(100), gbps(100), kConnectX4Ib, "MCX455A-ECAT"},
    {"MCX456A-E", "ConnectX-4", 2, gbps(100), gbps(100), kConnectX4Ib, "MCX456A-ECAT"},
    {"MCX4111A-A", "ConnectX-4 Lx", 1, kNoRate, gbps(25), kPartList, "MCX4111A-ACAT", kStandUp, 8},
    {"MCX4121A-X", "ConnectX-4 Lx", 2, kNoRate, gbps(10), kPartList, "MCX4121A-XCAT", kStandUp, 8},
    {"MCX4121A", "ConnectX-4 Lx", 2, kNoRate, gbps(25), kPartList, "MCX4121A-ACAT", kStandUp, 8},
    {"MCX512A", "ConnectX-5", 2, kNoRate, gbps(25), kPartList, "MCX512A-ACAT", kStandUp, 8},
    {"MCX512F", "ConnectX-5", 2, kNoRate, gbps(25), kPartList, "MCX512F-ACAT"},
    {"MCX515A-C", "ConnectX-5", 1, kNoRate, gbps(100), kPartList, "MCX515A-CCAT"},
    {"MCX516A-C", "ConnectX-5", 2, kNoRate, gbps(100), kPartList, "MCX516A-CCAT"},
    {"MCX516A-CD", "ConnectX-5 Ex", 2, kNoRate, gbps(100), kPartList, "MCX516A-CDAT"},
    {"MCX555A-E", "ConnectX-5", 1, gbps(100), gbps(100), kPartList, "MCX555A-ECAT"},
    {"MCX556A-E", "ConnectX-5", 2, gbps(100), gbps(100), kPartList, "MCX556A-ECAT"},
    {"MCX556A-ED", "ConnectX-5 Ex", 2, gbps(100), gbps(100), kPartList, "MCX556A-EDAT"},
    {"MCX653105A-E", "ConnectX-6", 1, gbps(100), gbps(100), kPartList, "MCX653105A-ECAT"},
    {"MCX653106A-E", "ConnectX-6", 2, gbps(100), gbps(100), kPartList, "MCX653106A-ECAT"},
    {"MCX653105A-H", "ConnectX-6", 1, gbps(200), gbps(200), kPartList, "MCX653105A-HDAT"},
    {"MCX653106A-H", "ConnectX-6", 2, gbps(200), gbps(200), kPartList, "MCX653106A-HDAT"},
    {"MCX623105AN-C", "ConnectX-6 Dx", 1, kNoRate, gbps(100), kPartList, "MCX623105AN-CDAT"},
    {"MCX623106AN-C", "ConnectX-6 Dx", 2, kNoRate, gbps(100), kPartList, "MCX623106AN-CDAT"},
    {"MCX623106AS-C", "ConnectX-6 Dx", 2, kNoRate, gbps(100), kPartList, "MCX623106AS-CDAT"},
    {"MCX623105AN-V", "ConnectX-6 Dx", 1, kNoRate, gbps(200), kPartList, "MCX623105AN-VDAT"},
    {"MCX631102A", "ConnectX-6 Lx", 2, kNoRate, gbps(25), kPartList, "MCX631102AN-ADAT", kStandUp, 8},
    {"MCX631105A", "ConnectX-6 Lx", 1, kNoRate, gbps(50), kPartList, "MCX631105AN-GDAT", kStandUp, 8},
    {"MCX713106AS-C", "ConnectX-7", 2, kNoRate, gbps(100), kPartList, "MCX713106AS-CEAT"},
    {"MCX713106AS-V", "ConnectX-7", 2, kNoRate, gbps(200), kPartList, "MCX713106AS-VEAT"},
    {"MCX75310AAS-H", "ConnectX-7", 1, gbps(200), gbps(200), kPartList, "MCX75310AAS-HEAT"},
    {"MCX75310AAS-N", "ConnectX-7", 1, gbps(400), gbps(400), kPartList, "MCX75310AAS-NEAT"},
    {"MCX715105AS-W", "ConnectX-7", 1, gbps(400), gbps(400), kPartList, "MCX715105AS-WEAT"},
    {"MCX755106AS-H", "ConnectX-7", 2, gbps(200), gbps(200), kPartList, "MCX755106AS-HEAT"},
    {"MCX4411A", "ConnectX-4 Lx", 1, kNoRate, gbps(25), kPartList, {}, kMezzanine, 8},
    {"MCX4421A", "ConnectX-4 Lx", 2, kNoRate, gbps(25), kPartList, {}, kMezzanine, 8},
    {"MCX542B", "ConnectX-5", 2, kNoRate, gbps(25), kPartList, {}, kMezzanine, 8},
    {"MCX545B-E", "ConnectX-5", 1, gbps(100), gbps(100), kPartList, {}, kMezzanine},
    {"MCX545B-C", "ConnectX-5", 1, kNoRate, gbps(100), kPartList, {}, kMezzanine},
    {"MCX546A-C", "ConnectX-5 Ex", 2, kNoRate, gbps(100), kPartList, {}, kMezzanine},
    {"MCX546A-E", "ConnectX-5 Ex", 2, gbps(100), gbps(100), kPartList, {}, kMezzanine},
    {"MCX562A", "ConnectX-5", 2, kNoRate, gbps(25), kPartList, {}, kMezzanine},
    {"MCX566A-C", "ConnectX-5", 2, kNoRate, gbps(100), kPartList, {}, kMezzanine},
    {"MCX623432A", "ConnectX-6 Dx", 2, kNoRate, gbps(25), kPartList, {}, kMezzanine},
    {"MCX623435A", "ConnectX-6 Dx", 1, kNoRate, gbps(100), kPartList, {}, kMezzanine},
    {"MCX631432A", "ConnectX-6 Lx", 2, kNoRate, gbps(25), kPartList, {}, kMezzanine, 8},
    {"MCX653435A-H", "ConnectX-6", 1, gbps(200), gbps(200), kPartList, {}, kMezzanine},
    {"MCX753436M", "ConnectX-7", 2, gbps(200), gbps(200), kPartList, {}, kMezzanine},
    {"MCX75343A", "ConnectX-7", 1, gbps(400), gbps(400), kPartList, {}, kMezzanine},
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
const NicModel* find_nic_of_part(std::string_view model) {
  const AdapterModel* part = find_adapter_model(model);
  return find_nic_named(part != nullptr ? part->nic : model);
}
std::optional<PcieLink> find_adapter_link(std::string_view model) {
  const NicModel* nic = find_nic_of_part(model);
  if (nic == nullptr) return std::nullopt;
  const AdapterModel* part = find_adapter_model(model);
  return PcieLink{nic->pcie_gigatransfers,
                  part == nullptr ? nic->pcie_width : std::min(nic->pcie_width, part->lanes)};
}
std::span<const AdapterModel> adapter_models() { return kAdapters; }

int SwitchModel::ports_at(BitRate wanted) const {
  return (speed >= wanted ? ports : 0) + (slower_speed >= wanted ? slower_ports : 0);
}

const CableModel* cable_for(BitRate speed, bool infiniband) {
  const CableModel* best = nullptr;
  for (const CableModel& row : kCables) {
    const bool fits = row.use == CableUse::kBoth || (row.use == CableUse::kInfiniband) == infiniband;
    if (row.passive && fits && row.speed >= speed && (best == nullptr || row.speed < best->speed))
      best = &row;
  }
  return best;
}

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
  // PCI Express Base Specification 7.0.
  static constexpr std::array<double, kNewestPcieGeneration> kRates = {2.5, 5, 8, 16, 32, 64, 128};
  return kRates[std::clamp(generation, 1, static_cast<int>(std::size(kRates))) - 1];
}

}  // namespace railbed
