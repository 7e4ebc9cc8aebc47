// A command that srun or mpirun started once for each GPU: rank 0 leads, the others serve its requests.
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

// Returns this process's role if the environment shows that it is one of several ranks, and nothing if it was
// started alone. `rendezvous` is the address that the user gave. `gpus` are the GPUs of each process; if
// empty, each uses the GPU of its local rank. Fails if the ranks have no rendezvous or no common secret.
Result<std::optional<LaunchedCommand>> find_launched(const fleet::Environment& environment,
                                                     const std::string& rendezvous,
                                                     const std::vector<int>& gpus,
                                                     std::chrono::milliseconds patience);

// For ranks other than 0: serves rank 0's requests until it ends or the caller stops. Returns the number of
// handlers that still run because they ignored their stop token. If it is not 0, the process must end without
// cleanup (_exit).
Result<std::size_t> serve_rank_zero(const LaunchedCommand& command, const Handlers& handlers,
                                    const Caller& caller);

}  // namespace railbed
