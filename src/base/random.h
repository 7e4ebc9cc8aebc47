// Random numbers of the kernel (getrandom).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace railbed {

// At most 256 bytes, as hexadecimal text: tokens, secrets and session names.
std::string random_hex(std::size_t bytes);
std::uint64_t random_seed();

}  // namespace railbed
