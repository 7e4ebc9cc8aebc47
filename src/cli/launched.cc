#include "cli/launched.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stop_token>

#include "cli/terminal.h"
#include "fleet/fleet.h"
#include "fleet/rank_secret.h"
#include "host/host_name.h"

namespace railbed {
namespace {

Result<int> serve_until_the_end(const LaunchedCommand& command, const Handlers& handlers) {
  auto socket = fleet::reach_rank_zero(command.at, command.own, interrupted());
  if (!socket) return fail(socket.error(), fmt::format("rank {}", command.own.rank));
  signal(SIGPIPE, SIG_IGN);
  // serve() ends when its input does.
  const std::stop_callback end(interrupted(), [&] { shutdown(socket->get(), SHUT_RDWR); });
  const bool all_ended = fleet::serve(socket->get(), socket->get(), handlers) == 0;
  return all_ended ? kExitClean : kExitInternal;
}

}  // namespace

Result<std::optional<LaunchedCommand>> find_launched(const std::string& rendezvous,
                                                     const std::vector<int>& gpus,
                                                     std::chrono::milliseconds patience) {
  const auto environment = fleet::environment_here();
  const auto launched = fleet::find_launcher(environment);
  if (!launched) return fail(launched.error());
  if (!*launched && !rendezvous.empty())
    return fail(
        ErrorKind::kBadInput,
        "--rendezvous is for several ranks that srun or mpirun starts: this process was started alone");
  if (!*launched) return std::nullopt;
  LaunchedCommand command;
  command.launched = **launched;
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

void serve_rank_zero(const LaunchedCommand& command, const Handlers& handlers) {
  const auto served = serve_until_the_end(command, handlers);
  // At once: a handler that did not heed its stop may still run, and static objects must not go under it.
  _exit(served ? *served : report(served.error()));
}

}  // namespace railbed
