// The connections of a rank to its neighbors in a ring: over TCP, or over RDMA.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "bench/tcp/socket.h"
#include "bench/verbs/rdma.h"
#include "bench/verbs/rdma_session.h"
#include "results/measurement.h"

namespace railbed {

class RingLinks {
 public:
  virtual ~RingLinks() = default;

  struct Moved {
    std::size_t sent = 0;
    std::size_t received = 0;
  };
  // Sends some of `send` to the next rank and receives some of `receive` from the one before. If neither is
  // possible, waits a moment. Returns nothing once a link is broken; broken() then returns the failure.
  virtual std::optional<Moved> move(std::span<const std::byte> send, std::span<std::byte> receive) = 0;
  virtual Failure broken() const = 0;
  // Returns the failure to report if nothing was sent, or received, for `patience`.
  virtual Failure stalled(bool sending, std::chrono::milliseconds patience) const = 0;
};

// The names of the nodes, for error messages.
struct Neighbours {
  std::string next;
  std::string previous;
};

std::unique_ptr<RingLinks> tcp_ring_links(Socket to_next, Socket from_previous, Neighbours names);

// The sessions must be connected and prepared for `run`, a run of sends; its message size is the largest that
// a link sends. Sent bytes still arrive after the links are destroyed, as long as the session is open.
std::unique_ptr<RingLinks> rdma_ring_links(std::shared_ptr<RdmaSession> to_next,
                                           std::shared_ptr<RdmaSession> from_previous, const RdmaRun& run,
                                           std::stop_token stop);

}  // namespace railbed
