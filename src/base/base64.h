// Base64 (RFC 4648, section 4), strictly: there is one way to write some bytes, and only that one is read.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace railbed {

inline constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string base64_encoded(std::string_view bytes);
// With its padding; nothing for anything else than what base64_encoded() makes.
std::optional<std::string> base64_decoded(std::string_view text);

}  // namespace railbed
