// Random numbers from the kernel (getrandom).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace railbed {

// Returns `bytes` random bytes, at most 256, as hexadecimal text: for tokens, secrets and session names.
std::string random_hex(std::size_t bytes);
std::uint64_t random_seed();

}  // namespace railbed
