// The rendezvous of processes that srun or mpirun started, without an MPI library. All ranks connect to rank
// 0. Both sides prove that they know the secret of the job. From then on the ranks serve rank 0
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
#include "base/version.h"
#include "fleet/launcher.h"

namespace railbed::fleet {

// The place where the ranks meet.
struct Rendezvous {
  // Host of rank 0. If this is an address, rank 0 listens only there; if it is a name, at all addresses.
  std::string host;
  int port = 0;
  std::string secret;
  std::string job;  // the purpose of the secret
  std::chrono::milliseconds patience = std::chrono::seconds(60);
};

// Returns the place of rank 0. It is `wanted` ("HOST", "HOST:PORT", "[ADDRESS]:PORT"); otherwise 127.0.0.1 if
// all ranks are on one host; otherwise MASTER_ADDR and MASTER_PORT; otherwise the launcher's first host. A
// port that is not given is derived from user and job. The secret stays empty.
Result<Rendezvous> plan_rendezvous(const LaunchedRank& launched, const Environment& environment,
                                   const std::string& wanted);

// The introduction that a rank sends.
struct RankIntroduction {
  int rank = 0;
  int ranks = 0;
  std::string host;
  std::vector<int> gpus;  // CUDA ordinals
  std::string railbed = railbed_version();
  FIELDS(RankIntroduction, rank, ranks, host, gpus, railbed);
};

// A rank that has connected to rank 0.
struct ArrivedRank {
  RankIntroduction introduction;
  std::unique_ptr<Peer> peer;
};

// Rank 0: waits for all other ranks and returns them in order. Listens only during the call. Fails with
// kTimeout after the patience.
Result<std::vector<ArrivedRank>> receive_ranks(const Rendezvous& at, int ranks, const std::stop_token& stop);

// Other ranks: returns a socket on which rank 0 sends requests, for serve(). Retries until rank 0 is
// reachable or the patience is over.
Result<Fd> reach_rank_zero(const Rendezvous& at, const RankIntroduction& own, const std::stop_token& stop);

}  // namespace railbed::fleet
