// Reads gzip streams (RFC 1952).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace railbed {

// Returns the unpacked bytes of the first gzip member and ignores what follows it. Returns nullopt if the
// member is incomplete or corrupt, or if the bytes would exceed `most`.
std::optional<std::string> gunzip(std::string_view packed, std::size_t most);

}  // namespace railbed
