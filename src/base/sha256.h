// SHA-256 (FIPS 180-4), to name an agent by its content, and HMAC (RFC 2104), to prove that one knows a
// secret.
#pragma once

#include <string>
#include <string_view>

namespace railbed {

std::string sha256_hex(std::string_view bytes);
std::string hmac_sha256_hex(std::string_view key, std::string_view text);

}  // namespace railbed
