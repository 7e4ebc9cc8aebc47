// An address with a port, in the one text that URLs, NCCL, Prometheus and web servers share.
#pragma once

#include <string>
#include <string_view>

namespace railbed {

// Returns "node4:9100", "10.0.0.4:9100" or "[fd00::1]:9100". `host` is a name or an address without brackets.
std::string host_and_port(std::string_view host, int port);

}  // namespace railbed
