// The door to an InfiniBand subnet: management datagrams (MADs) through libibumad, opened at run time. Only
// what asks passes: a request is a Get.
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

// Where a MAD goes. A directed route is in the MAD itself; its address is the permissive LID.
struct MadRoute {
  std::uint16_t lid = 0xFFFF;
  bool performance = false;  // to queue pair 1; else subnet management, to queue pair 0
};

class MadDoor {
 public:
  virtual ~MadDoor() = default;
  // False when it could not leave; `errno` says why.
  virtual bool send(const Mad& mad, const MadRoute& route, std::chrono::milliseconds timeout) = 0;
  // The next answer, or nothing within the time. A request that the kernel gave up comes back as it was sent.
  virtual std::optional<Mad> receive(std::chrono::milliseconds timeout) = 0;
  // The port that is asked through, for people: "mlx5_0 port 1".
  virtual std::string name() const = 0;
};

// `device` empty: the first port that is InfiniBand and has a link; `port` 0: the device's first.
Result<std::unique_ptr<MadDoor>> open_umad(const std::string& device, int port);

}  // namespace railbed
