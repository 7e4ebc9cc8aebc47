// Secrets leave memory when they are done with: a core dump or a swapped page then holds none.
#pragma once

#include <string.h>

#include <string>

namespace railbed {

// Overwrites it in a way that no optimizer removes (explicit_bzero(3)), with what it held before; it is empty
// then.
inline void wipe(std::string& secret) {
  secret.resize(secret.capacity());
  explicit_bzero(secret.data(), secret.size());
  secret.clear();
}

}  // namespace railbed
