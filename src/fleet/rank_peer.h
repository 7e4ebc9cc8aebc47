// A Peer for another rank of the same start, at the other end of a socket. The rank serves frames like an
// agent.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/peer.h"
#include "fleet/frame.h"

namespace railbed::fleet {

// See the head of this file. Thread-safe.
class RankPeer final : public Peer {
 public:
  // `node` is the name of its host. `who` is its name in errors: "rank 3 on gpu01". The socket must be
  // nonblocking.
  RankPeer(std::string node, std::string who, Fd socket)
      : node_(std::move(node)), who_(std::move(who)), socket_(std::move(socket)) {}

  const std::string& node() const override { return node_; }
  // Calls are serialized: each waits until the one before has ended.
  Result<std::string> call(std::string_view method, std::string params, std::chrono::milliseconds deadline,
                           std::stop_token stop) override;

 private:
  using Time = std::chrono::steady_clock::time_point;
  Result<void> send(std::string_view bytes, Time until, const std::stop_token& stop);
  // Returns the response to request `id`; nullopt if it has not arrived yet.
  Result<std::optional<std::string>> answer_to(std::uint32_t id);
  // Receives bytes, waiting until `until`.
  Result<void> receive(Time until, const std::stop_token& stop);
  Result<std::string> wait_for(std::uint32_t id, Time until, const std::stop_token& stop);
  // Closes the connection, and records the error for all later calls.
  tl::unexpected<Error> lose(ErrorKind kind, std::string why);

  const std::string node_;
  const std::string who_;
  std::mutex mutex_;  // guards the members below
  Fd socket_;
  FrameDecoder decoder_{kMaxToController};
  std::uint32_t last_id_ = 0;
  std::optional<Error> lost_;
};

}  // namespace railbed::fleet
