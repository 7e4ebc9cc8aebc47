// Sends a datagram until a reply comes: the common part of pings and echoes.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "os/knock.h"

namespace railbed {

// Converts an errno, from sending or from an ICMP error that came back.
Knocked knocked_by(int error);

// Connects the socket, forbids fragmentation whatever path MTU the kernel remembers, and sends `said` up to
// three times within the deadline. Returns kAnswered for the first datagram that `is_answer` accepts.
Knocked exchange_datagrams(int fd, const KnockAt& knock, int port, std::string_view said,
                           const std::function<bool(std::string_view heard)>& is_answer);

}  // namespace railbed
