#include "facts/pci_config.h"

namespace railbed {
namespace {

constexpr std::size_t kStatus = 0x06;
constexpr std::uint16_t kStatusHasList = 0x10;
constexpr std::size_t kListHead = 0x34;
constexpr std::size_t kExtendedHead = 0x100;
// Limits of the two lists: the kernel's PCI_FIND_CAP_TTL, and the extended space divided by the smallest
// capability.
constexpr int kMaxCapabilities = 48;
constexpr int kMaxExtended = (4096 - 256) / 8;

std::optional<std::uint8_t> read_u8(std::string_view config, std::size_t offset) {
  if (offset >= config.size()) return std::nullopt;
  return static_cast<std::uint8_t>(config[offset]);
}

}  // namespace

std::optional<std::uint16_t> read_u16(std::string_view config, std::size_t offset) {
  const auto low = read_u8(config, offset);
  const auto high = read_u8(config, offset + 1);
  if (!low || !high) return std::nullopt;
  return static_cast<std::uint16_t>(*low | *high << 8);
}

std::optional<std::uint32_t> read_u32(std::string_view config, std::size_t offset) {
  const auto low = read_u16(config, offset);
  const auto high = read_u16(config, offset + 2);
  if (!low || !high) return std::nullopt;
  return static_cast<std::uint32_t>(*low) | static_cast<std::uint32_t>(*high) << 16;
}

std::optional<std::size_t> find_capability(std::string_view config, std::uint8_t id) {
  const auto status = read_u16(config, kStatus);
  if (!status || (*status & kStatusHasList) == 0) return std::nullopt;
  auto at = read_u8(config, kListHead);
  for (int step = 0; step < kMaxCapabilities && at; ++step) {
    const std::size_t offset = *at & 0xfcU;  // the lower bits are reserved
    if (offset < 0x40) return std::nullopt;
    const auto found = read_u8(config, offset);
    if (!found || *found == 0xff) return std::nullopt;  // 0xff: the device is gone
    if (*found == id) return offset;
    at = read_u8(config, offset + 1);
  }
  return std::nullopt;
}

std::optional<std::size_t> find_extended_capability(std::string_view config, std::uint16_t id) {
  std::size_t offset = kExtendedHead;
  for (int step = 0; step < kMaxExtended; ++step) {
    const auto header = read_u32(config, offset);
    if (!header || *header == 0 || *header == 0xffffffff) return std::nullopt;
    if ((*header & 0xffff) == id) return offset;
    offset = *header >> 20 & 0xffc;
    if (offset < kExtendedHead) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace railbed
