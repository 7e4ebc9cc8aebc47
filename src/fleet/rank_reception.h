// Rank 0's side of the meeting: who comes is greeted, has to prove that it knows the secret, and waits as a
// peer.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "fleet/rendezvous.h"
#include "host/door.h"
#include "host/wait.h"

namespace railbed::fleet {

// Borrows both.
class RankReception {
 public:
  RankReception(const Rendezvous& at, int ranks, int listener);

  bool complete() const { return missing_ == 0; }
  void serve_slice(std::chrono::milliseconds slice = std::chrono::milliseconds(kPollSliceMs)) {
    door_.serve_slice(slice);
  }
  std::vector<ArrivedRank> take();  // in the order of ranks
  // "ranks 2, 3 and 9 more did not come to gpu01 port 23456 within 60 s; a connection was refused: …"
  std::string who_is_missing() const;

 private:
  bool hear(Guest& guest);
  std::string let_in(Guest& guest);

  const Rendezvous& at_;
  const int ranks_;
  Door door_;
  std::size_t missing_;
  std::map<int, ArrivedRank> arrived_;
  std::string refused_;
};

}  // namespace railbed::fleet
