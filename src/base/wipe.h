// Removes secrets from memory after use, so that core dumps and swapped pages do not hold them.
#pragma once

#include <string.h>

#include <string>

namespace railbed {

// Overwrites the string's whole capacity in a way that no optimizer removes (explicit_bzero(3)), and leaves
// it empty.
inline void wipe(std::string& secret) {
  secret.resize(secret.capacity());
  explicit_bzero(secret.data(), secret.size());
  secret.clear();
}

}  // namespace railbed
