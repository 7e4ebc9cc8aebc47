// How a rank of a ring reaches its neighbours: over TCP, or over RDMA.
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
  // Some of `send` to the next rank, some of `receive` from the one before; waits a moment where neither
  // goes. Nothing once a link is done for: broken() says why.
  virtual std::optional<Moved> move(std::span<const std::byte> send, std::span<std::byte> receive) = 0;
  virtual Failure broken() const = 0;
  // What to say where nothing has gone for so long, although it should: out, or in.
  virtual Failure stalled(bool sending, std::chrono::milliseconds patience) const = 0;
};

// The nodes' names, for complaints.
struct Neighbours {
  std::string next;
  std::string previous;
};

std::unique_ptr<RingLinks> tcp_ring_links(Socket to_next, Socket from_previous, Neighbours names);

// Over connected sessions that were prepared for this run of sends, whose messages are the largest. What was
// sent is on its way as long as the session is open, whether these links are there or not.
std::unique_ptr<RingLinks> rdma_ring_links(std::shared_ptr<RdmaSession> to_next,
                                           std::shared_ptr<RdmaSession> from_previous, const RdmaRun& run,
                                           std::stop_token stop);

}  // namespace railbed
