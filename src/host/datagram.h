// One datagram that wants one answer, sent again until it comes: what pings and echoes have in common.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "host/knock.h"

namespace railbed {

// What an errno of sending, or of an ICMP error that came back, says.
Knocked knocked_by(int error);

// Connects the socket, forbids fragments whatever path MTU the kernel remembers, and says it thrice within
// the deadline.
Knocked exchange_datagrams(int fd, const KnockAt& knock, int port, std::string_view said,
                           const std::function<bool(std::string_view heard)>& is_answer);

}  // namespace railbed
