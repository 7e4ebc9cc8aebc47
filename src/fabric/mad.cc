#include "fabric/mad.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/text.h"

namespace railbed {
namespace {

constexpr std::uint8_t kGet = 0x01;
constexpr std::uint8_t kGetResponse = 0x81;
constexpr std::uint8_t kLidRouted = 0x01;
constexpr std::uint8_t kDirected = 0x81;
constexpr std::uint8_t kPerformance = 0x04;

// Offsets in the header.
constexpr std::size_t kVersion = 0, kClass = 1, kClassVersion = 2, kMethod = 3, kStatus = 4, kHopCount = 7,
                      kTransaction = 12, kAttribute = 16, kModifier = 20, kFromLid = 32, kToLid = 34,
                      kData = 64, kInitialPath = 128;

// Offsets in the attributes, from kData on.
struct NodeInfoAt {
  static constexpr std::size_t kType = 2, kPorts = 3, kSystemGuid = 4, kGuid = 12, kPortGuid = 20,
                               kDevice = 30, kRevision = 32, kLocalPort = 36, kVendor = 37;
};
struct PortInfoAt {
  static constexpr std::size_t kLid = 16, kSmLid = 18, kCapabilities = 20, kWidthSupported = 30,
                               kWidthActive = 31, kSpeedSupportedAndState = 32, kPhysicalState = 33,
                               kLmc = 34, kSpeedActive = 35, kExtended2 = 56,
                               kExtendedActiveAndSupported = 62;
};
// ExtendedPortInfo of Mellanox (libibmad/fields.c of rdma-core).
struct VendorPortInfoAt {
  static constexpr std::size_t kSpeedSupported = 7, kSpeedEnabled = 11, kSpeedActive = 15;
  static constexpr unsigned kFdr10 = 1;
};
struct ClassPortInfoAt {
  static constexpr std::size_t kCapabilities = 2, kCapabilities2 = 4;
  static constexpr int kCapabilities2Shift = 5;  // the response time's bits are below
};
struct SmInfoAt {
  static constexpr std::size_t kPortGuid = 0, kActivity = 16, kPriorityAndState = 20;
};
constexpr std::size_t kSwitchFlags = 16;  // of SwitchInfo
constexpr unsigned kEnhancedPort0 = 1U << 3;
constexpr std::size_t kCountedPort = 1;
constexpr std::size_t kDescriptionBytes = 64;
constexpr unsigned kExtendedWidth = 1U << 9, kExtendedWidthUnicast = 1U << 10, kAdditionalCounters = 1U << 1;
constexpr std::uint32_t kIsManager = 1U << 1;
constexpr int kPhysicallyUp = 5;

std::uint64_t big_endian(const Mad& mad, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | mad[at + i];
  return value;
}
void put(Mad& mad, std::size_t at, std::size_t bytes, std::uint64_t value) {
  for (std::size_t i = 0; i < bytes; ++i)
    mad[at + i] = static_cast<std::uint8_t>(value >> 8 * (bytes - 1 - i));
}
std::uint64_t data(const Mad& mad, std::size_t at, std::size_t bytes) {
  return big_endian(mad, kData + at, bytes);
}

Mad request(std::uint8_t management_class, MadAttribute attribute, std::uint32_t modifier,
            std::uint32_t transaction) {
  Mad mad = {};
  mad[kVersion] = 1;
  mad[kClass] = management_class;
  mad[kClassVersion] = 1;
  mad[kMethod] = kGet;
  put(mad, kTransaction, 4, transaction);
  put(mad, kAttribute, 2, static_cast<std::uint16_t>(attribute));
  put(mad, kModifier, 4, modifier);
  return mad;
}

// Returns the widest link in a mask. Bits 0 to 4 are 1, 4, 8, 12 and 2 lanes.
int widest(unsigned mask) {
  constexpr std::array<int, 5> kLanes = {1, 4, 8, 12, 2};
  int best = 0;
  for (std::size_t bit = 0; bit < kLanes.size(); ++bit)
    if ((mask >> bit & 1) != 0) best = std::max(best, kLanes[bit]);
  return best;
}

// Returns the highest speed that the three fields name. LinkSpeed has SDR, DDR, QDR; LinkSpeedExt has FDR,
// EDR, HDR, NDR; and LinkSpeedExt2 has XDR. The newest field that is set counts. A field that a port does not
// have is reserved, and zero.
IbSpeed fastest(unsigned speed, unsigned extended, unsigned extended2) {
  if ((extended2 & 1) != 0) return IbSpeed::kXdr;
  constexpr std::array<IbSpeed, 4> kExtended = {IbSpeed::kFdr, IbSpeed::kEdr, IbSpeed::kHdr, IbSpeed::kNdr};
  constexpr std::array<IbSpeed, 3> kBasic = {IbSpeed::kSdr, IbSpeed::kDdr, IbSpeed::kQdr};
  for (std::size_t bit = kExtended.size(); bit-- > 0;)
    if ((extended >> bit & 1) != 0) return kExtended[bit];
  for (std::size_t bit = kBasic.size(); bit-- > 0;)
    if ((speed >> bit & 1) != 0) return kBasic[bit];
  return IbSpeed::kNone;
}

}  // namespace

Mad ask_directed(const MadPath& path, MadAttribute attribute, std::uint32_t modifier,
                 std::uint32_t transaction) {
  Mad mad = request(kDirected, attribute, modifier, transaction);
  const std::size_t hops = std::min(path.size(), kMostHops);
  mad[kHopCount] = static_cast<std::uint8_t>(hops);
  put(mad, kFromLid, 2, 0xFFFF);
  put(mad, kToLid, 2, 0xFFFF);
  // The path's first byte is not used.
  std::copy_n(path.begin(), hops, mad.begin() + kInitialPath + 1);
  return mad;
}

Mad ask_by_lid(MadAttribute attribute, std::uint32_t modifier, std::uint32_t transaction) {
  return request(kLidRouted, attribute, modifier, transaction);
}

Mad ask_counters(MadAttribute attribute, int port) {
  Mad mad = request(kPerformance, attribute, 0, 0);
  mad[kData + kCountedPort] = static_cast<std::uint8_t>(port);
  return mad;
}

std::optional<MadAnswer> answer_of(const Mad& mad) {
  if (mad[kMethod] != kGetResponse) return std::nullopt;
  MadAnswer answer;
  answer.transaction = static_cast<std::uint32_t>(big_endian(mad, kTransaction, 4));
  answer.management_class = mad[kClass];
  answer.attribute = static_cast<MadAttribute>(big_endian(mad, kAttribute, 2));
  // The highest bit of a directed route's status is its direction.
  answer.status =
      static_cast<unsigned>(big_endian(mad, kStatus, 2)) & (mad[kClass] == kDirected ? 0x7FFFU : 0xFFFFU);
  return answer;
}

std::optional<MadNodeInfo> node_info(const Mad& mad) {
  MadNodeInfo info;
  IbNode& node = info.node;
  const auto type = data(mad, NodeInfoAt::kType, 1);
  const int ports = static_cast<int>(data(mad, NodeInfoAt::kPorts, 1));
  info.local_port = static_cast<int>(data(mad, NodeInfoAt::kLocalPort, 1));
  node.guid = data(mad, NodeInfoAt::kGuid, 8);
  if (type < 1 || type > 3 || ports < 1 || ports > kMostIbPorts || info.local_port > ports || node.guid == 0)
    return std::nullopt;
  node.type = static_cast<IbNodeType>(type - 1);  // 1 HCA, 2 switch, 3 router
  if (!node.is_switch() && info.local_port == 0) return std::nullopt;
  node.system_guid = data(mad, NodeInfoAt::kSystemGuid, 8);
  node.port_guid = data(mad, NodeInfoAt::kPortGuid, 8);
  node.device = static_cast<unsigned>(data(mad, NodeInfoAt::kDevice, 2));
  node.revision = static_cast<unsigned>(data(mad, NodeInfoAt::kRevision, 4));
  node.vendor = static_cast<unsigned>(data(mad, NodeInfoAt::kVendor, 3));
  node.ports.resize(static_cast<std::size_t>(ports) + 1);
  for (int i = 0; i <= ports; ++i) node.ports[static_cast<std::size_t>(i)].number = i;
  return info;
}

std::string node_description(const Mad& mad) {
  const auto* const text = reinterpret_cast<const char*>(mad.data() + kData);
  const std::string_view all(text, kDescriptionBytes);
  return std::string(trim(printable(all.substr(0, all.find('\0')))));
}

void port_info(const Mad& mad, IbPort& port) {
  const auto speed_and_state = static_cast<unsigned>(data(mad, PortInfoAt::kSpeedSupportedAndState, 1));
  const auto extended = static_cast<unsigned>(data(mad, PortInfoAt::kExtendedActiveAndSupported, 1));
  // From the highest bit: one reserved, two for the active speed, two for the supported, three for the
  // enabled.
  const auto extended2 = static_cast<unsigned>(data(mad, PortInfoAt::kExtended2, 1));
  const unsigned state = speed_and_state & 0xF;
  port.lid = static_cast<unsigned>(data(mad, PortInfoAt::kLid, 2));
  port.sm_lid = static_cast<unsigned>(data(mad, PortInfoAt::kSmLid, 2));
  port.lmc = static_cast<unsigned>(data(mad, PortInfoAt::kLmc, 1)) & 7;
  port.runs_manager = (data(mad, PortInfoAt::kCapabilities, 4) & kIsManager) != 0;
  port.state = state <= 4 ? static_cast<IbState>(state) : IbState::kNotSaid;
  port.link_up = data(mad, PortInfoAt::kPhysicalState, 1) >> 4 == kPhysicallyUp;
  port.supported = {widest(static_cast<unsigned>(data(mad, PortInfoAt::kWidthSupported, 1))),
                    fastest(speed_and_state >> 4, extended & 0xF, extended2 >> 3 & 3)};
  if (!port.link_up) return;
  port.active = {widest(static_cast<unsigned>(data(mad, PortInfoAt::kWidthActive, 1))),
                 fastest(static_cast<unsigned>(data(mad, PortInfoAt::kSpeedActive, 1)) >> 4, extended >> 4,
                         extended2 >> 5 & 3)};
}

// The devices are those of is_mlnx_ext_port_info_supported() in rdma-core's libibnetdisc: SwitchX, Switch-IB,
// Quantum; ConnectX-3 to ConnectX-6 and BlueField; the same by Bull.
bool may_run_fdr10(const IbNode& node, const IbPort& port) {
  constexpr unsigned kBull = 0x119f;
  constexpr std::array<unsigned, 7> kSwitches = {0xc839, 0xcb20, 0xcf08, 0xcf09, 0xd2f0, 0xa2d2, 0xc73b};
  constexpr std::array<unsigned, 19> kOfBull = {0x1b02, 0x1b50, 0x1ba0, 0x1bf0, 0x1b33, 0x1b73, 0x1b40,
                                                0x1b41, 0x1b60, 0x1b61, 0x1b83, 0x1b93, 0x1b94, 0x1bb4,
                                                0x1bb5, 0x1bc4, 0x1bc5, 0x1bc6, 0x1bd0};
  if (!port.link_up || port.active.speed != IbSpeed::kQdr) return false;
  const unsigned device = node.device;
  if (node.vendor == kBull)
    return std::ranges::find(kOfBull, device) != kOfBull.end() || (device > 0x1bd0 && device <= 0x1bd5);
  return (device >= 0xc738 && device <= 0xc73a) || (device >= 0x1003 && device <= 0x101b) ||
         std::ranges::find(kSwitches, device) != kSwitches.end();
}

void vendor_port_info(const Mad& mad, IbPort& port) {
  const auto says = [&](std::size_t at) { return (data(mad, at, 1) & VendorPortInfoAt::kFdr10) != 0; };
  const bool active = says(VendorPortInfoAt::kSpeedActive);
  if (active) port.active.speed = IbSpeed::kFdr10;
  // FDR10 is off by default on some devices; a speed that is not enabled is no fault of the cable.
  const bool could = says(VendorPortInfoAt::kSpeedSupported) && says(VendorPortInfoAt::kSpeedEnabled);
  if ((active || could) && port.supported.speed == IbSpeed::kQdr) port.supported.speed = IbSpeed::kFdr10;
}

bool has_enhanced_port0(const Mad& mad) { return (data(mad, kSwitchFlags, 1) & kEnhancedPort0) != 0; }

IbManager sm_info(const Mad& mad) {
  const auto both = static_cast<unsigned>(data(mad, SmInfoAt::kPriorityAndState, 1));
  IbManager manager;
  manager.port_guid = data(mad, SmInfoAt::kPortGuid, 8);
  manager.activity = static_cast<std::uint32_t>(data(mad, SmInfoAt::kActivity, 4));
  manager.priority = static_cast<int>(both >> 4);
  manager.state = static_cast<IbManagerState>(std::min(both & 0xF, 3U));
  return manager;
}

std::optional<IbCounts> port_counters(const Mad& mad, int port) {
  if (mad[kData + kCountedPort] != port) return std::nullopt;
  IbCounts counts;
  const auto& rows = ib_counter_rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto bytes = static_cast<std::size_t>(std::max(rows[i].bits / 8, 1));
    std::uint64_t value = data(mad, rows[i].byte, bytes);
    if (rows[i].bits == 4) value = rows[i].high_half ? value >> 4 : value & 0xF;
    counts.value[i] = value;
  }
  return counts;
}

ExtendedCounters extended_counters(const Mad& mad) {
  const auto first = data(mad, ClassPortInfoAt::kCapabilities, 2);
  const auto second = data(mad, ClassPortInfoAt::kCapabilities2, 4) >> ClassPortInfoAt::kCapabilities2Shift;
  return {(first & (kExtendedWidth | kExtendedWidthUnicast)) != 0, (second & kAdditionalCounters) != 0};
}

void add_extended_counters(const Mad& mad, int port, const ExtendedCounters& has, IbCounts& counts) {
  if (mad[kData + kCountedPort] != port) return;
  const auto& rows = ib_counter_rows();
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (is_traffic(static_cast<IbCounter>(i)) ? has.data : has.errors)
      counts.value[i] = std::max(counts.value[i], data(mad, rows[i].extended_byte, 8));
}

}  // namespace railbed
