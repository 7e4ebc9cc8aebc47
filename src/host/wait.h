// Waiting for a descriptor, until a time and unless a stop is requested.
#pragma once

#include <chrono>
#include <stop_token>

namespace railbed {

// How often a wait looks at its stop token.
inline constexpr int kPollSliceMs = 50;

enum class Waited { kReady, kTimeout, kStopped };

// A socket that was closed or has failed counts as ready: reading or writing tells.
Waited wait_readable(int fd, std::chrono::steady_clock::time_point until, const std::stop_token& stop);
Waited wait_writable(int fd, std::chrono::steady_clock::time_point until, const std::stop_token& stop);

}  // namespace railbed
