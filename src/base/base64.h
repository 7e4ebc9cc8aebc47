// Base64 (RFC 4648, section 4), read strictly: every byte sequence has one valid text, and only that text
// decodes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace railbed {

inline constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Returns the padded Base64 text of `bytes`, without line breaks.
std::string base64_encoded(std::string_view bytes);
// Returns the bytes of `text`, padding included; nullopt unless base64_encoded() of the result is `text`
// again.
std::optional<std::string> base64_decoded(std::string_view text);

}  // namespace railbed
