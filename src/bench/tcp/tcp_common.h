// The failures that the TCP engines report. `peer` is the other node's name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/tcp/socket.h"
#include "results/measurement.h"

namespace railbed {

Failure connect_failure(std::string_view peer, const std::string& text);
// Returns the failure of a side that was sending when the transfer broke. Reads errno and TCP_INFO, so it
// must be called at once, with the connection still open.
Failure send_failure(std::string_view peer, Break why, int fd);
Failure receive_failure(std::string_view peer, Break why);
Failure verify_failure(std::string_view peer, std::uint64_t wrong_bytes);

}  // namespace railbed
