// Rank 0's side of the handshake: greets each connection, verifies that it knows the secret, and keeps it as
// a peer.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "fleet/rendezvous.h"
#include "os/door.h"
#include "os/wait.h"

namespace railbed::fleet {

// Collects the ranks. `at` and the listener must outlive it. For one thread.
class RankReception {
 public:
  RankReception(const Rendezvous& at, int ranks, int listener);

  // Returns whether all ranks have arrived.
  bool complete() const { return missing_ == 0; }
  // Accepts and serves connections for the duration of `slice`.
  void serve_slice(std::chrono::milliseconds slice = std::chrono::milliseconds(kPollSliceMs)) {
    door_.serve_slice(slice);
  }
  std::vector<ArrivedRank> take();  // returns the ranks in order
  // Returns a message: "ranks 2, 3 and 9 more did not come to gpu01 port 23456 within 60 s; a connection was
  // refused: …"
  std::string who_is_missing() const;

 private:
  // Handles received bytes. Returns false once the connection is done.
  bool hear(Guest& guest);
  // Verifies an introduction and accepts the rank. Returns why not; empty on success.
  std::string let_in(Guest& guest);

  const Rendezvous& at_;
  const int ranks_;
  Door door_;
  std::size_t missing_;
  std::map<int, ArrivedRank> arrived_;
  std::string refused_;
};

}  // namespace railbed::fleet
