// PCI configuration space as bytes: the few registers that decide about GPUDirect. Untrusted: every offset is
// checked, every list is walked a bounded number of steps. Numbers from linux/pci_regs.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace railbed {

// The offset of a capability in the list of the first 256 bytes, or in the extended list behind them.
std::optional<std::size_t> find_capability(std::string_view config, std::uint8_t id);
std::optional<std::size_t> find_extended_capability(std::string_view config, std::uint16_t id);

std::optional<std::uint16_t> read_u16(std::string_view config, std::size_t offset);
std::optional<std::uint32_t> read_u32(std::string_view config, std::size_t offset);

}  // namespace railbed
