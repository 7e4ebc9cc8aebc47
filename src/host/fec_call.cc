// The forward error correction of an Ethernet port over ethtool netlink
// (Documentation/networking/ethtool-netlink.rst, FEC_GET), or by the older ioctl.
#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/json.h"
#include "host/device_calls.h"
#include "host/ethtool.h"
#include "os/errno_name.h"
#include "os/netlink.h"

namespace railbed {
namespace {

template <class Number>
std::optional<Number> fec_number_of(std::string_view payload) {
  Number number = 0;
  if (payload.size() != sizeof number) return std::nullopt;
  std::memcpy(&number, payload.data(), sizeof number);
  return number;
}

// The bits of these modes, in enum ethtool_link_mode_bit_indices and in enum ethtool_fec_config_bits. The first has no
// Auto, and states none by no bit at all.
struct FecModeBits {
  FecMode mode;
  std::uint32_t link_mode;
  std::uint32_t ioctl;
};
constexpr FecModeBits kFecModes[] = {
    {FecMode::kOff, ETHTOOL_LINK_MODE_FEC_NONE_BIT, ETHTOOL_FEC_OFF},
    {FecMode::kRs, ETHTOOL_LINK_MODE_FEC_RS_BIT, ETHTOOL_FEC_RS},
    {FecMode::kBaseR, ETHTOOL_LINK_MODE_FEC_BASER_BIT, ETHTOOL_FEC_BASER},
    {FecMode::kLlrs, ETHTOOL_LINK_MODE_FEC_LLRS_BIT, ETHTOOL_FEC_LLRS},
};

FecMode mode_of_link_bit(std::uint32_t bit) {
  const auto* const found = std::ranges::find(kFecModes, bit, &FecModeBits::link_mode);
  return found == std::end(kFecModes) ? FecMode::kOther : found->mode;
}

// Reads the value of a compact bitset without a mask: words of 32 bits.
void take_fec_modes(std::string_view bitset, std::vector<FecMode>& modes) {
  each_attribute(bitset, [&](int type, std::string_view words) {
    if (type != ETHTOOL_A_BITSET_VALUE) return;
    for (const FecModeBits& known : kFecModes) {
      const std::size_t at = known.link_mode / 32 * sizeof(std::uint32_t);
      if (at + sizeof(std::uint32_t) > words.size()) continue;
      const auto word = fec_number_of<std::uint32_t>(words.substr(at, sizeof(std::uint32_t)));
      if ((*word >> (known.link_mode % 32) & 1) != 0) modes.push_back(known.mode);
    }
  });
}

// Reads the total, and then the lanes. A driver that does not count has an attribute without numbers.
std::optional<FecCounter> fec_counter_of(std::string_view payload) {
  std::vector<std::uint64_t> numbers(std::min(payload.size() / sizeof(std::uint64_t), kMostFecLanes + 1));
  if (numbers.empty()) return std::nullopt;
  std::memcpy(numbers.data(), payload.data(), numbers.size() * sizeof(std::uint64_t));
  return FecCounter{numbers.front(), {numbers.begin() + 1, numbers.end()}};
}

void take_fec_statistics(std::string_view run, FecState& fec) {
  each_attribute(run, [&](int type, std::string_view payload) {
    if (type == ETHTOOL_A_FEC_STAT_CORRECTED) fec.corrected_blocks = fec_counter_of(payload);
    if (type == ETHTOOL_A_FEC_STAT_UNCORR) fec.uncorrectable_blocks = fec_counter_of(payload);
    if (type == ETHTOOL_A_FEC_STAT_CORR_BITS) fec.corrected_bits = fec_counter_of(payload);
  });
}

// Returns nullopt if the kernel or the driver has no such message.
std::optional<FecState> ask_by_netlink(const std::string& interface) {
  const auto family = generic_family(ETHTOOL_GENL_NAME);
  if (!family) return std::nullopt;
  constexpr std::uint32_t kFlags = ETHTOOL_FLAG_COMPACT_BITSETS | ETHTOOL_FLAG_STATS;
  std::string head;
  append_attribute(head, ETHTOOL_A_HEADER_DEV_NAME, interface + '\0');
  append_attribute(head, ETHTOOL_A_HEADER_FLAGS, {reinterpret_cast<const char*>(&kFlags), sizeof kFlags});
  std::string body = body_of(genlmsghdr{ETHTOOL_MSG_FEC_GET, ETHTOOL_GENL_VERSION, 0});
  append_attribute(body, ETHTOOL_A_FEC_HEADER | NLA_F_NESTED, head);
  const NetlinkAnswer answer = ask_netlink(*family, 0, body, NETLINK_GENERIC);
  if (answer.error != 0 || answer.bodies.empty()) return std::nullopt;
  std::string_view reply = answer.bodies.front();
  if (!take_head<genlmsghdr>(reply)) return std::nullopt;
  return parse_fec_reply(reply);
}

std::vector<FecMode> fec_modes_in(std::uint32_t mask) {
  std::vector<FecMode> modes;
  if ((mask & ETHTOOL_FEC_AUTO) != 0) modes.push_back(FecMode::kAuto);
  for (const FecModeBits& known : kFecModes)
    if ((mask & known.ioctl) != 0) modes.push_back(known.mode);
  return modes;
}

// Returns nullopt with errno set.
std::optional<FecState> ask_by_ioctl(const std::string& interface) {
  ethtool_fecparam asked = {};
  asked.cmd = ETHTOOL_GFECPARAM;
  const Fd fd = ethtool_socket();
  if (!fd || !ethtool(fd, interface, &asked)) return std::nullopt;
  FecState fec{.configured = fec_modes_in(asked.fec)};
  const auto active = fec_modes_in(asked.active_fec);
  if (active.size() == 1) fec.active = active.front();
  return fec;
}

}  // namespace

FecState parse_fec_reply(std::string_view attributes) {
  FecState fec;
  each_attribute(attributes, [&](int type, std::string_view payload) {
    if (type == ETHTOOL_A_FEC_AUTO && fec_number_of<std::uint8_t>(payload).value_or(0) != 0)
      fec.configured.insert(fec.configured.begin(), FecMode::kAuto);
    if (type == ETHTOOL_A_FEC_MODES) take_fec_modes(payload, fec.configured);
    if (type == ETHTOOL_A_FEC_STATS) take_fec_statistics(payload, fec);
    if (const auto bit = fec_number_of<std::uint32_t>(payload); type == ETHTOOL_A_FEC_ACTIVE && bit)
      fec.active = mode_of_link_bit(*bit);
  });
  std::ranges::sort(fec.configured);
  fec.configured.erase(std::unique(fec.configured.begin(), fec.configured.end()), fec.configured.end());
  return fec;
}

Reading<std::string> call_fec(const std::string& interface) {
  const std::string source = "fec " + interface;
  auto fec = ask_by_netlink(interface);
  if (!fec) fec = ask_by_ioctl(interface);
  if (!fec) return {miss_of(errno), source};
  return {json::dump(json::encode(*fec)), source};
}

}  // namespace railbed
