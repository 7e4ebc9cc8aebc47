// A command that srun or mpirun started once for each GPU: rank 0 leads, the others serve it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/peer.h"
#include "campaign/caller.h"
#include "fleet/rendezvous.h"

namespace railbed {

struct LaunchedCommand {
  fleet::LaunchedRank launched;
  fleet::Rendezvous at;
  fleet::RankIntroduction own;
};

// What a process with this environment has to do as one of several ranks; nothing when it was started alone.
// `rendezvous`: what the user said of the place; `gpus`: those of each process, the one of its local rank
// when empty.
Result<std::optional<LaunchedCommand>> find_launched(const fleet::Environment& environment,
                                                     const std::string& rendezvous,
                                                     const std::vector<int>& gpus,
                                                     std::chrono::milliseconds patience);

// For the others: answers rank 0's requests until it ends, or the caller's stop. Answers how many handlers
// did not heed their stop and still run: the process must then end without clearing up (_exit).
Result<std::size_t> serve_rank_zero(const LaunchedCommand& command, const Handlers& handlers,
                                    const Caller& caller);

}  // namespace railbed
