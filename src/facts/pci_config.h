// Reads the few registers of the PCI configuration space that decide about GPUDirect. The bytes are
// untrusted: every offset is checked, and every list is walked a bounded number of steps. Numbers from
// linux/pci_regs.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace railbed {

// Return the offset of a capability in the list within the first 256 bytes, or of an extended capability in
// the list behind them; nullopt if there is none.
std::optional<std::size_t> find_capability(std::string_view config, std::uint8_t id);
std::optional<std::size_t> find_extended_capability(std::string_view config, std::uint16_t id);

// Read a little-endian number; nullopt if it is not completely inside `config`.
std::optional<std::uint16_t> read_u16(std::string_view config, std::size_t offset);
std::optional<std::uint32_t> read_u32(std::string_view config, std::size_t offset);

}  // namespace railbed
