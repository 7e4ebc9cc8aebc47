// Another rank of the same start, at the other end of a socket, as a Peer: it serves frames as an agent does.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/peer.h"
#include "fleet/frame.h"

namespace railbed::fleet {

class RankPeer final : public Peer {
 public:
  // `node`: its host. `who`: what errors call it, "rank 3 on gpu01". The socket does not block.
  RankPeer(std::string node, std::string who, Fd socket)
      : node_(std::move(node)), who_(std::move(who)), socket_(std::move(socket)) {}

  const std::string& node() const override { return node_; }
  // One at a time: others wait until it ends.
  Result<std::string> call(std::string_view method, std::string params, std::chrono::milliseconds deadline,
                           std::stop_token stop) override;

 private:
  using Time = std::chrono::steady_clock::time_point;
  Result<void> send(std::string_view bytes, Time until, const std::stop_token& stop);
  // Nothing: not yet.
  Result<std::optional<std::string>> answer_to(std::uint32_t id);
  Result<void> receive(Time until, const std::stop_token& stop);
  Result<std::string> wait_for(std::uint32_t id, Time until, const std::stop_token& stop);
  tl::unexpected<Error> lose(ErrorKind kind, std::string why);

  const std::string node_;
  const std::string who_;
  std::mutex mutex_;  // guards what follows
  Fd socket_;
  FrameDecoder decoder_{kMaxToController};
  std::uint32_t last_id_ = 0;
  std::optional<Error> lost_;
};

}  // namespace railbed::fleet
