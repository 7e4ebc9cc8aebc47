// What gzip packed (RFC 1952).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace railbed {

// Unpacked; nothing where it is not whole, or larger than `most` bytes.
std::optional<std::string> gunzip(std::string_view packed, std::size_t most);

}  // namespace railbed
