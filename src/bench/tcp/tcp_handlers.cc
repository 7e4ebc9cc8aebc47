#include "bench/tcp/tcp_handlers.h"

#include "base/random.h"
#include "bench/core/sessions.h"
#include "bench/core/typed.h"
#include "bench/tcp/block.h"
#include "bench/tcp/protocol.h"
#include "bench/tcp/tcp.h"
#include "os/socket.h"

namespace railbed {
namespace {

using Doors = Sessions<TcpDoor>;

Result<TcpListening> listen(Doors& doors, const TcpListen& request) {
  ASSIGN_OR_RETURN(auto listener, listen_on(request.address, kBacklog));
  auto door = std::make_shared<TcpDoor>(TcpDoor{std::move(listener), random_hex(kTokenHex / 2)});
  TcpListening answer;
  answer.port = door->listener.port;
  answer.token = door->token;
  answer.session = doors.add(std::move(door));
  return answer;
}

// Runs a listening engine on the session, and ends the session.
template <class Serve>
auto serve(Doors& doors, const TcpServe& request, std::stop_token stop, std::uint64_t smallest, Serve run)
    -> Result<decltype(run(std::declval<const TcpDoor&>(), request.plan, request.peer, stop))> {
  RETURN_IF_ERROR(check_plan(request.plan, smallest));
  ASSIGN_OR_RETURN(auto door, doors.find(request.session));
  doors.remove(request.session);
  return run(*door, request.plan, request.peer, std::move(stop));
}

template <class Call>
auto connect(const TcpCall& request, std::stop_token stop, std::uint64_t smallest, Call run)
    -> Result<decltype(run(request.target, request.plan, stop))> {
  RETURN_IF_ERROR(check_plan(request.plan, smallest));
  if (request.target.token.size() != kTokenHex) return fail(ErrorKind::kBadInput, "token: wrong length");
  return run(request.target, request.plan, std::move(stop));
}

}  // namespace

Handlers tcp_handlers(AgentSide&) {
  auto doors = std::make_shared<Doors>();
  Handlers handlers;
  handlers.emplace(kTcpListen, typed_handler<TcpListen>([doors](const TcpListen& request, std::stop_token) {
                     return listen(*doors, request);
                   }));
  handlers.emplace(kTcpReceive,
                   typed_handler<TcpServe>([doors](const TcpServe& request, std::stop_token stop) {
                     return serve(*doors, request, std::move(stop), Blocks::kSmallest, tcp_receive);
                   }));
  handlers.emplace(kTcpEcho, typed_handler<TcpServe>([doors](const TcpServe& request, std::stop_token stop) {
                     return serve(*doors, request, std::move(stop), 1, tcp_echo);
                   }));
  handlers.emplace(kTcpSend, typed_handler<TcpCall>([](const TcpCall& request, std::stop_token stop) {
                     return connect(request, std::move(stop), Blocks::kSmallest, tcp_send);
                   }));
  handlers.emplace(kTcpPing, typed_handler<TcpCall>([](const TcpCall& request, std::stop_token stop) {
                     return connect(request, std::move(stop), 1, tcp_ping);
                   }));
  return handlers;
}

}  // namespace railbed
