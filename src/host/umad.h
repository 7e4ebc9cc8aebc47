// Access to an InfiniBand subnet: management datagrams (MADs) through libibumad, opened at run time. For
// queries only: a request is a Get.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"

namespace railbed {

inline constexpr std::size_t kMadBytes = 256;
using Mad = std::array<std::uint8_t, kMadBytes>;

// The destination of a MAD. A directed route is in the MAD itself; its address is the permissive LID.
struct MadRoute {
  std::uint16_t lid = 0xFFFF;
  bool performance = false;  // to queue pair 1; otherwise subnet management, to queue pair 0
};

class MadDoor {
 public:
  virtual ~MadDoor() = default;
  // Returns false with errno set if the MAD could not be sent.
  virtual bool send(const Mad& mad, const MadRoute& route, std::chrono::milliseconds timeout) = 0;
  // Returns the next reply; nullopt after the timeout. A request that timed out in the kernel is returned as
  // sent.
  virtual std::optional<Mad> receive(std::chrono::milliseconds timeout) = 0;
  // Returns the name of the port in use, for people: "mlx5_0 port 1".
  virtual std::string name() const = 0;
};

// Opens a port. With an empty `device` it is the first InfiniBand port with a link; with `port` 0 the
// device's first.
Result<std::unique_ptr<MadDoor>> open_umad(const std::string& device, int port);

}  // namespace railbed
