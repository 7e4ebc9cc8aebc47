// How the processes that srun or mpirun started find each other without an MPI library: all connect to rank
// 0, prove that they know the secret of its job, see it proved, and serve it from then on
// (docs/reference/agent-protocol.md, "Ranks").
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/fields.h"
#include "base/peer.h"
#include "base/result.h"
#include "fleet/launcher.h"

namespace railbed::fleet {

struct Rendezvous {
  std::string host;  // of rank 0. It listens on this very address, or on all where this is a name.
  int port = 0;
  std::string secret;
  std::string job;  // what the secret is good for
  std::chrono::milliseconds patience = std::chrono::seconds(60);
};

// Where rank 0 is: `wanted` ("HOST", "HOST:PORT", "[ADDRESS]:PORT"); else, when all are on one host, there;
// else MASTER_ADDR and MASTER_PORT; else what the launcher says. A port that nobody names follows from user
// and job. The secret stays empty.
Result<Rendezvous> plan_rendezvous(const LaunchedRank& launched, const Environment& environment,
                                   const std::string& wanted);

struct RankIntroduction {
  int rank = 0;
  int ranks = 0;
  std::string host;
  std::vector<int> gpus;  // ordinals
  FIELDS(RankIntroduction, rank, ranks, host, gpus);
};

struct ArrivedRank {
  RankIntroduction introduction;
  std::unique_ptr<Peer> peer;
};

// Rank 0: waits for all the others, and answers them in order. It listens no longer than this call.
Result<std::vector<ArrivedRank>> receive_ranks(const Rendezvous& at, int ranks, const std::stop_token& stop);

// Any other: a socket on which rank 0 now sends requests, for serve(). Tries until rank 0 is there.
Result<Fd> reach_rank_zero(const Rendezvous& at, const RankIntroduction& own, const std::stop_token& stop);

}  // namespace railbed::fleet
