#include "base/host_port.h"

#include <fmt/format.h>

namespace railbed {

std::string host_and_port(std::string_view host, int port) {
  const bool needs_brackets = host.find(':') != std::string_view::npos;
  return needs_brackets ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

}  // namespace railbed
