#include "bench/path/path_handlers.h"

#include <algorithm>
#include <functional>
#include <thread>

#include "base/random.h"
#include "bench/core/sessions.h"
#include "bench/core/typed.h"
#include "bench/path/path.h"
#include "bench/path/rdma_path.h"
#include "facts/network/net.h"
#include "host/host.h"

namespace railbed {
namespace {

constexpr std::size_t kPathTokenBytes = 16;
constexpr std::size_t kMostLargeSizes = 4;
constexpr int kLargestPacket = 65000;

using EchoDoors = Sessions<EchoDoor>;

template <class T>
std::optional<T> if_read(const Reading<T>& reading) {
  return reading.ok() ? std::optional<T>(*reading) : std::nullopt;
}

const InterfaceAddress* find_address(const NetInterface& interface, const IpAddress& address) {
  const auto& all = items(interface.addresses);
  const auto found = std::ranges::find(all, address, &InterfaceAddress::address);
  return found == all.end() ? nullptr : &*found;
}

void take_address(const Net& net, const NetInterface& own, const IpAddress& address, PathInterface& seen) {
  if (!own.addresses) return;
  const InterfaceAddress* found = find_address(own, address);
  seen.has_address = found != nullptr;
  if (found != nullptr) seen.prefix = found->prefix;
  for (const NetInterface& other : *net.interfaces)
    if (&other != &own && find_address(other, address) != nullptr) seen.address_on = other.name;
}

PathInterface look_at_interface(const Net& net, const PathOpen& question) {
  PathInterface seen;
  if (!net.interfaces) return seen.there = true, seen;  // unreadable: report no trouble
  for (const NetInterface& interface : *net.interfaces)
    if (interface.mac && seen.macs.size() < 256) seen.macs.emplace(interface.name, *interface.mac);
  const NetInterface* own = find_interface(net, question.interface);
  if (own == nullptr) return seen;
  seen.there = true;
  seen.up = if_read(own->administratively_up);
  seen.carrier = if_read(own->carrier);
  seen.mtu = own->mtu.value_or(0);
  if (question.address) take_address(net, *own, *question.address, seen);
  return seen;
}

Result<PathOpened> open_path(Host& host, EchoDoors& doors, const PathOpen& question) {
  const Net net = collect_net(host);
  PathOpened opened;
  opened.interface = look_at_interface(net, question);
  if (question.rdma) opened.rdma = look_at_rdma(host, net, question.interface, question.address);
  if (question.cm) opened.cm = look_at_cm(host, net, question.interface);
  if (!question.address) return opened;
  auto door = EchoDoor::open(*question.address, random_hex(kPathTokenBytes), question.rdma);
  if (!door) return opened.door_error = door.error().text, opened;
  opened.tcp_port = (*door)->tcp_port();
  opened.udp_port = (*door)->udp_port();
  opened.roce_port = (*door)->has_roce_port();
  opened.token = (*door)->token();
  opened.session = doors.add(std::move(*door));
  return opened;
}

Result<void> check_look(const PathLook& look) {
  const auto is_port = [](int port) { return port > 0 && port < 65536; };
  const auto is_size = [](int bytes) { return bytes >= kSmallPacket && bytes <= kLargestPacket; };
  if (!is_port(look.tcp_port) || !is_port(look.udp_port) || look.token.size() != 2 * kPathTokenBytes ||
      look.sizes.size() > kMostLargeSizes || !std::ranges::all_of(look.sizes, is_size))
    return fail(ErrorKind::kBadInput, "ports 1 to 65535, a token, and at most four sizes up to 65000 bytes");
  return {};
}

SizedKnock knock_sized(const KnockAt& knock, const PathLook& look, int bytes) {
  SizedKnock sized;
  sized.bytes = bytes;
  {
    const std::jthread pings([&] { sized.ping = ping(knock, bytes); });
    sized.udp = ask_echo(knock, look.udp_port, look.token, bytes);
  }
  return sized;
}

// Sends all requests at the same time; each returns within the deadline of KnockAt.
Result<PathLooked> look_along(const PathLook& look, std::stop_token stop) {
  RETURN_IF_ERROR(check_look(look));
  const KnockAt knock{.from = look.from, .to = look.to, .stop = std::move(stop)};
  PathLooked looked;
  looked.route = route_to(look.to, look.from);
  looked.large.resize(look.sizes.size());
  std::vector<std::function<void()>> questions{
      [&] { looked.tcp = knock_tcp(knock, look.tcp_port); }, [&] { looked.ssh = knock_tcp(knock, kSshPort); },
      [&] { looked.small = knock_sized(knock, look, kSmallPacket); }};
  if (look.roce)
    questions.emplace_back([&] { looked.roce = ask_echo(knock, kRocePort, look.token, kSmallPacket); });
  for (std::size_t i = 0; i < look.sizes.size(); ++i)
    questions.emplace_back([&, i] { looked.large[i] = knock_sized(knock, look, look.sizes[i]); });
  {
    std::vector<std::jthread> threads;
    for (const auto& question : questions) threads.emplace_back(question);
  }
  looked.neighbour = neighbour_on(look.interface, look.to);
  return looked;
}

// Ends the session, which closes its ports, and returns the sizes of the packets that arrived.
Result<PathHeard> close_path(EchoDoors& doors, const PathClose& request) {
  ASSIGN_OR_RETURN(const auto door, doors.find(request.session));
  doors.remove(request.session);
  const auto heard = door->heard();
  return PathHeard{{heard.begin(), heard.end()}};
}

}  // namespace

Handlers path_handlers(AgentSide& side) {
  auto doors = std::make_shared<EchoDoors>();
  Handlers all;
  all.emplace(kPathOpen,
              typed_handler<PathOpen>([doors, host = side.host](const PathOpen& question, std::stop_token) {
                return open_path(*host, *doors, question);
              }));
  all.emplace(kPathLook, typed_handler<PathLook>([](const PathLook& look, std::stop_token stop) {
                return look_along(look, std::move(stop));
              }));
  all.emplace(kPathClose, typed_handler<PathClose>([doors](const PathClose& request, std::stop_token) {
                return close_path(*doors, request);
              }));
  return all;
}

}  // namespace railbed
