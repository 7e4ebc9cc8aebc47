#include "campaign/measure/launched.h"

#include <fmt/format.h>
#include <signal.h>

#include "fleet/fleet.h"
#include "fleet/rank_secret.h"
#include "os/host_name.h"

namespace railbed {
Result<std::optional<LaunchedCommand>> find_launched(const fleet::Environment& environment,
                                                     const std::string& rendezvous,
                                                     const std::vector<int>& gpus,
                                                     std::chrono::milliseconds patience) {
  ASSIGN_OR_RETURN(const auto launched, fleet::find_launcher(environment));
  if (!launched && !rendezvous.empty())
    return fail(
        ErrorKind::kBadInput,
        "--rendezvous is for several ranks that srun or mpirun starts: this process was started alone");
  if (!launched) return std::nullopt;
  LaunchedCommand command;
  command.launched = *launched;
  auto at = fleet::plan_rendezvous(command.launched, environment, rendezvous);
  const std::string who = fmt::format("rank {}", command.launched.rank);
  if (!at) return fail(at.error(), who);
  auto secret = fleet::find_rank_secret(environment);
  if (!secret) return fail(secret.error(), who);
  command.at = std::move(*at);
  command.at.secret = std::move(*secret);
  command.at.patience = patience;
  command.own = {command.launched.rank, command.launched.ranks, host_name(),
                 gpus.empty() ? std::vector{command.launched.gpu} : gpus};
  return std::optional(std::move(command));
}

Result<std::size_t> serve_rank_zero(const LaunchedCommand& command, const Handlers& handlers,
                                    const Caller& caller) {
  auto socket = fleet::reach_rank_zero(command.at, command.own, caller.stop);
  if (!socket) return fail(socket.error(), fmt::format("rank {}", command.own.rank));
  signal(SIGPIPE, SIG_IGN);
  return fleet::serve(socket->get(), socket->get(), handlers, caller.stop);
}

}  // namespace railbed
