// SHA-256 (FIPS 180-4), to name an agent by its content.
#pragma once

#include <string>
#include <string_view>

namespace railbed::fleet {

std::string sha256_hex(std::string_view bytes);

}  // namespace railbed::fleet
