// A peer in this process: its handlers run in the caller's thread. It serves to measure a machine against
// itself, and to run the real engines in tests.
#pragma once

#include <string>
#include <utility>

#include "base/peer.h"

namespace railbed {

class LocalPeer : public Peer {
 public:
  LocalPeer(std::string node, Handlers handlers) : node_(std::move(node)), handlers_(std::move(handlers)) {}
  const std::string& node() const override { return node_; }
  Result<std::string> call(std::string_view method, std::string params, std::chrono::milliseconds deadline,
                           std::stop_token stop = {}) override;

 private:
  std::string node_;
  Handlers handlers_;
};

}  // namespace railbed
