// SHA-256 (FIPS 180-4), which identifies an agent by its content, and HMAC-SHA-256 (RFC 2104), which proves
// knowledge of a secret. Both return 64 lower-case hexadecimal digits.
#pragma once

#include <string>
#include <string_view>

namespace railbed {

std::string sha256_hex(std::string_view bytes);
std::string hmac_sha256_hex(std::string_view key, std::string_view text);

}  // namespace railbed
