// Waits for a descriptor or for time to pass, until a stop request.
#pragma once

#include <chrono>
#include <stop_token>

namespace railbed {

// Interval at which a wait checks its stop token, in milliseconds.
inline constexpr int kPollSliceMs = 50;

enum class Waited { kReady, kTimeout, kStopped };

// A socket that was closed or has failed counts as ready; reading or writing it then reports that.
Waited wait_readable(int fd, std::chrono::steady_clock::time_point until, const std::stop_token& stop);
Waited wait_writable(int fd, std::chrono::steady_clock::time_point until, const std::stop_token& stop);

// Lets this time pass, none if it is negative. Returns false, and at once, after a stop request.
bool wait_unless_stopped(std::chrono::duration<double> time, const std::stop_token& stop);

}  // namespace railbed
