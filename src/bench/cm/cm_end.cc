#include "bench/cm/cm_end.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sched.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "bench/core/clock.h"
#include "bench/verbs/verbs_memory.h"
#include "os/errno_name.h"
#include "os/socket.h"
#include "os/wait.h"

namespace railbed {
namespace {

constexpr int kResolveMs = 2000;  // as rping waits
constexpr std::chrono::milliseconds kEventMargin{3000};
constexpr std::chrono::seconds kConnectPatience{20};  // the kernel itself goes on for more than a minute
constexpr std::chrono::seconds kDisconnectPatience{10};
constexpr std::uint64_t kSendPatience = 10'000'000'000;  // ns
constexpr std::uint64_t kSpinsToEvents = 4096;
constexpr std::uint64_t kReceiveId = 1;
constexpr std::uint64_t kSendId = 2;
constexpr std::uint8_t kCmRetries = 6;     // 7 means infinite for rxe
constexpr std::uint8_t kRnrRetries = 7;    // without limit
constexpr int kRejectedByPeer = 28;        // IB_CM_REJ_CONSUMER_DEFINED, InfiniBand Architecture 12.6.7.2
constexpr int kRejectedNobodyListens = 8;  // IB_CM_REJ_INVALID_SERVICE_ID

std::string error_text(int error) { return fmt::format("{} ({})", std::strerror(error), error_name(error)); }

std::string_view event_name(CmEventType type) {
  switch (type) {
    case CmEventType::kAddressResolved:
      return "RDMA_CM_EVENT_ADDR_RESOLVED";
    case CmEventType::kAddressError:
      return "RDMA_CM_EVENT_ADDR_ERROR";
    case CmEventType::kRouteResolved:
      return "RDMA_CM_EVENT_ROUTE_RESOLVED";
    case CmEventType::kRouteError:
      return "RDMA_CM_EVENT_ROUTE_ERROR";
    case CmEventType::kConnectRequest:
      return "RDMA_CM_EVENT_CONNECT_REQUEST";
    case CmEventType::kConnectResponse:
      return "RDMA_CM_EVENT_CONNECT_RESPONSE";
    case CmEventType::kConnectError:
      return "RDMA_CM_EVENT_CONNECT_ERROR";
    case CmEventType::kUnreachable:
      return "RDMA_CM_EVENT_UNREACHABLE";
    case CmEventType::kRejected:
      return "RDMA_CM_EVENT_REJECTED";
    case CmEventType::kEstablished:
      return "RDMA_CM_EVENT_ESTABLISHED";
    case CmEventType::kDisconnected:
      return "RDMA_CM_EVENT_DISCONNECTED";
    case CmEventType::kDeviceRemoval:
      return "RDMA_CM_EVENT_DEVICE_REMOVAL";
  }
  return "an event that this release does not know";
}

// The status of an event is an errno, but for a rejection, whose status is the reason in the peer's message.
std::string status_text(CmEventType type, int status) {
  if (type != CmEventType::kRejected)
    return status == 0 ? "" : fmt::format(", {}", error_text(status < 0 ? -status : status));
  if (status == kRejectedByPeer) return ", reason 28: the program there refused it";
  if (status == kRejectedNobodyListens) return ", reason 8: nobody listens at that address and port";
  return fmt::format(", reason {}", status);
}

// Names what to look at when a step has failed and neither end's state explains it.
struct CmHelp {
  std::string_view call;
  std::string_view remedy;
};
constexpr CmHelp kCmHelp[] = {
    {"rdma_create_event_channel",
     "modprobe rdma_ucm makes /dev/infiniband/rdma_cm; ls -l shows who may open it"},
    {"rdma_bind_addr",
     "the address must belong to an interface of an RDMA device, which must have a GID of it: ip -brief "
     "address; rdma link; show_gids"},
    {"rdma_resolve_addr",
     "ip route get ADDRESS has to name the rail's interface; ip neighbour shows whether the peer's MAC is "
     "known"},
    {"rdma_resolve_route",
     "on InfiniBand the subnet manager answers this (sminfo); on Ethernet the device needs a GID of the "
     "address, of the default type (default_roce_mode in /sys/kernel/config/rdma_cm)"},
    {"rdma_connect",
     "compare default_roce_mode at both ends (/sys/kernel/config/rdma_cm/DEVICE/ports/1); then look whether "
     "the switches carry RoCE's UDP port 4791, and on InfiniBand whether both ports share a partition"},
    {"", "dmesg of both nodes; rdma resource show cm_id"}};

std::string help_with(std::string_view call) {
  for (const CmHelp& help : kCmHelp)
    if (help.call.empty() || call.starts_with(help.call)) return std::string(help.remedy);
  return "";
}

// `local`: no packet was sent, so that nothing between the nodes can be the cause.
Failure cm_failure(std::string_view call, std::string_view detail, bool local) {
  return {local ? "connect" : "run", fmt::format("{}: {}", call, detail), help_with(call)};
}
Failure failed_call(std::string_view call, int error, bool local = true) {
  return cm_failure(call, error_text(error), local);
}

}  // namespace

struct CmEnd::State {
  const CmLibrary& cm;
  const VerbsLibrary& verbs;
  std::string peer;
  std::size_t bytes;
  CmChannel* channel = nullptr;
  CmId* listener = nullptr;
  CmId* id = nullptr;
  std::string device;
  PinnedMemory memory;
  ibv_pd* pd = nullptr;
  ibv_mr* mr = nullptr;
  ibv_cq* cq = nullptr;
  bool sending = false;  // the last send has not completed
  bool arrived = false;  // a message has arrived that await_message() has not returned
  bool disconnected = false;
  CmFault broken;

  State(const CmLibrary& own_cm, const VerbsLibrary& own_verbs, std::string own_peer, std::size_t own_bytes)
      : cm(own_cm), verbs(own_verbs), peer(std::move(own_peer)), bytes(own_bytes) {}

  ibv_sge piece_of(std::span<std::byte> message) const {
    return {reinterpret_cast<std::uint64_t>(message.data()), static_cast<std::uint32_t>(message.size()),
            mr->lkey};
  }

  // Takes the next event, and keeps the identifier of a request for connection. Waits until `until`.
  struct Taken {
    CmEventType type;
    int status;
    CmId* id;
    std::string private_data;
  };
  std::optional<Taken> take_event(std::chrono::steady_clock::time_point until, const std::stop_token& stop) {
    while (wait_readable(channel->fd, until, stop) == Waited::kReady)
      if (auto taken = take_ready_event()) return taken;
    return std::nullopt;
  }
  std::optional<Taken> take_ready_event() {
    CmEvent* event = nullptr;
    if (cm.get_cm_event(channel, &event) != 0 || event == nullptr) return std::nullopt;
    Taken taken{event->event, event->status, event->id, {}};
    const CmParameters& with = event->parameters;
    if (event->event == CmEventType::kConnectRequest && with.private_data != nullptr)
      taken.private_data.assign(static_cast<const char*>(with.private_data), with.private_bytes);
    cm.ack_cm_event(event);
    if (taken.type == CmEventType::kDisconnected || taken.type == CmEventType::kDeviceRemoval)
      disconnected = true;
    return taken;
  }

  // Waits for the event that completes `call`. Any other event of the connection is a fault.
  CmFault await(std::string_view call, CmEventType wanted, std::chrono::milliseconds patience,
                const std::stop_token& stop) {
    const auto taken = take_event(std::chrono::steady_clock::now() + patience, stop);
    if (stop.stop_requested()) return stopped_failure();
    if (!taken) return cm_failure(call, fmt::format("no event within {} s", patience.count() / 1000), false);
    if (taken->type == wanted) return std::nullopt;
    return cm_failure(
        call, fmt::format("{}{}", event_name(taken->type), status_text(taken->type, taken->status)), false);
  }

  // Takes what has completed. Returns false once the connection is broken.
  bool poll() {
    ibv_wc done[4];
    const int count = ibv_poll_cq(cq, 4, done);
    for (int i = 0; i < count; ++i) {
      if (done[i].status == IBV_WC_SUCCESS) {
        if (done[i].wr_id == kSendId) sending = false;
        if (done[i].wr_id == kReceiveId) arrived = true;
      } else if (done[i].status != IBV_WC_WR_FLUSH_ERR && !broken) {
        broken = cm_failure(
            "message",
            fmt::format("{} (vendor error {}), {} {}", status_name(done[i].status), done[i].vendor_err,
                        done[i].wr_id == kSendId ? "sending to" : "receiving from", peer),
            false);
      }
    }
    if (count < 0 && !broken) broken = failed_call("ibv_poll_cq", errno, false);
    return !broken;
  }
};

CmEnd::CmEnd(const CmLibrary& cm, const VerbsLibrary& verbs, std::string peer, std::size_t bytes)
    : state_(std::make_unique<State>(cm, verbs, std::move(peer), bytes)) {}

CmEnd::~CmEnd() {
  State& s = *state_;
  if (s.id != nullptr && s.id->queue_pair != nullptr) s.cm.destroy_qp(s.id);
  if (s.cq != nullptr) s.verbs.destroy_cq(s.cq);
  if (s.mr != nullptr) s.verbs.dereg_mr(s.mr);
  if (s.pd != nullptr) s.verbs.dealloc_pd(s.pd);
  if (s.id != nullptr) s.cm.destroy_id(s.id);
  if (s.listener != nullptr) s.cm.destroy_id(s.listener);
  if (s.channel != nullptr) s.cm.destroy_event_channel(s.channel);
}

CmFault CmEnd::open() {
  State& s = *state_;
  errno = 0;
  s.channel = s.cm.create_event_channel();
  if (s.channel == nullptr) return failed_call("rdma_create_event_channel", errno);
  fcntl(s.channel->fd, F_SETFL, fcntl(s.channel->fd, F_GETFL) | O_NONBLOCK);
  fcntl(s.channel->fd, F_SETFD, FD_CLOEXEC);
  return std::nullopt;
}

CmFault CmEnd::listen(const IpAddress& address) {
  State& s = *state_;
  if (s.cm.create_id(s.channel, &s.listener, nullptr, kCmPortSpaceTcp) != 0)
    return failed_call("rdma_create_id", errno);
  SocketAddress name = socket_address(address, 0);
  if (s.cm.bind_addr(s.listener, name.get()) != 0)
    return failed_call("rdma_bind_addr " + address.to_text(), errno);
  if (s.listener->verbs != nullptr) s.device = s.verbs.get_device_name(s.listener->verbs->device);
  if (s.cm.listen(s.listener, 4) != 0) return failed_call("rdma_listen " + address.to_text(), errno);
  return std::nullopt;
}

int CmEnd::port() const { return ntohs(state_->cm.get_src_port(state_->listener)); }

CmFault CmEnd::accept(std::string_view token, double seconds, const std::stop_token& stop) {
  State& s = *state_;
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  while (const auto taken = s.take_event(until, stop)) {
    if (taken->type != CmEventType::kConnectRequest) continue;
    // The kernel pads what the peer sent with zeros.
    if (!taken->private_data.starts_with(token)) {
      s.cm.reject(taken->id, nullptr, 0);
      s.cm.destroy_id(taken->id);
      continue;
    }
    s.id = taken->id;
    s.device = s.verbs.get_device_name(s.id->verbs->device);
    if (auto fault = prepare()) return fault;
    CmParameters with{};
    with.rnr_retry_count = kRnrRetries;
    if (s.cm.accept(s.id, &with) != 0) return failed_call("rdma_accept", errno, false);
    return s.await("rdma_accept", CmEventType::kEstablished, kConnectPatience, stop);
  }
  if (stop.stop_requested()) return stopped_failure();
  return cm_failure("rdma_listen", fmt::format("no request for connection came from {}", s.peer), false);
}

CmFault CmEnd::resolve(const IpAddress& from, const IpAddress& to, int port, const std::stop_token& stop) {
  State& s = *state_;
  if (s.cm.create_id(s.channel, &s.id, nullptr, kCmPortSpaceTcp) != 0)
    return failed_call("rdma_create_id", errno);
  SocketAddress source = socket_address(from, 0);
  SocketAddress destination = socket_address(to, port);
  const std::string call = fmt::format("rdma_resolve_addr {} → {}", from.to_text(), to.to_text());
  if (s.cm.resolve_addr(s.id, source.get(), destination.get(), kResolveMs) != 0)
    return failed_call(call, errno);
  constexpr auto kPatience = std::chrono::milliseconds(kResolveMs) + kEventMargin;
  if (auto fault = s.await(call, CmEventType::kAddressResolved, kPatience, stop)) return fault;
  if (s.id->verbs != nullptr) s.device = s.verbs.get_device_name(s.id->verbs->device);
  if (s.cm.resolve_route(s.id, kResolveMs) != 0) return failed_call("rdma_resolve_route", errno);
  return s.await("rdma_resolve_route", CmEventType::kRouteResolved, kPatience, stop);
}

CmFault CmEnd::connect(std::string_view token, const std::stop_token& stop) {
  State& s = *state_;
  if (auto fault = prepare()) return fault;
  CmParameters with{};
  with.private_data = token.data();
  with.private_bytes = static_cast<std::uint8_t>(token.size());
  with.retry_count = kCmRetries;
  with.rnr_retry_count = kRnrRetries;
  if (s.cm.connect(s.id, &with) != 0) return failed_call("rdma_connect", errno);
  return s.await("rdma_connect to " + s.peer, CmEventType::kEstablished, kConnectPatience, stop);
}

std::string CmEnd::device() const { return state_->device; }

// Makes memory and queues. A receive is posted before the connection is there.
CmFault CmEnd::prepare() {
  State& s = *state_;
  auto memory = PinnedMemory::map(2 * s.bytes);
  if (!memory) return Failure{"connect", memory.error().text, ""};
  s.memory = std::move(*memory);
  s.pd = s.verbs.alloc_pd(s.id->verbs);
  if (s.pd == nullptr) return failed_call("ibv_alloc_pd", errno);
  s.mr = s.verbs.reg_mr(s.pd, s.memory.bytes().data(), s.memory.bytes().size(), IBV_ACCESS_LOCAL_WRITE);
  if (s.mr == nullptr) return failed_call("ibv_reg_mr", errno);
  s.cq = s.verbs.create_cq(s.id->verbs, 8, nullptr, nullptr, 0);
  if (s.cq == nullptr) return failed_call("ibv_create_cq", errno);
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = s.cq;
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap.max_send_wr = attributes.cap.max_recv_wr = 2;
  attributes.cap.max_send_sge = attributes.cap.max_recv_sge = 1;
  if (s.cm.create_qp(s.id, s.pd, &attributes) != 0) return failed_call("rdma_create_qp", errno);
  return post_receive();
}

std::span<std::byte> CmEnd::outgoing() { return state_->memory.bytes().first(state_->bytes); }
std::span<std::byte> CmEnd::incoming() {
  return state_->memory.bytes().subspan(state_->bytes, state_->bytes);
}

CmFault CmEnd::post_receive() {
  State& s = *state_;
  ibv_sge piece = s.piece_of(incoming());
  ibv_recv_wr request{};
  request.wr_id = kReceiveId;
  request.sg_list = &piece;
  request.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  if (const int error = ibv_post_recv(s.id->queue_pair, &request, &bad))
    return failed_call("ibv_post_recv", error, false);
  return std::nullopt;
}

CmFault CmEnd::send() {
  State& s = *state_;
  for (const std::uint64_t until = now_ns() + kSendPatience; s.sending && s.poll();)
    if (now_ns() > until) return cm_failure("message", "the last one was not acknowledged in 10 s", false);
  if (s.broken) return s.broken;
  ibv_sge piece = s.piece_of(outgoing());
  ibv_send_wr request{};
  request.wr_id = kSendId;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  s.sending = true;
  if (const int error = ibv_post_send(s.id->queue_pair, &request, &bad))
    return failed_call("ibv_post_send", error, false);
  return std::nullopt;
}

CmEnd::Arrived CmEnd::await_message(std::uint64_t patience_ns, const std::stop_token& stop) {
  State& s = *state_;
  const std::uint64_t until = now_ns() + patience_ns;
  for (std::uint64_t spins = 1; !s.arrived; ++spins) {
    if (!s.poll()) return {s.broken};
    if (s.arrived) break;
    sched_yield();
    if (spins % kSpinsToEvents != 0) continue;
    s.take_ready_event();
    if (s.disconnected) return {};
    if (stop.stop_requested()) return {stopped_failure()};
    if (now_ns() > until)
      return {cm_failure(
          "message",
          fmt::format("none came from {} for {:.0f} s", s.peer, static_cast<double>(patience_ns) / 1e9),
          false)};
  }
  s.arrived = false;
  return {post_receive(), true};
}

CmFault CmEnd::disconnect(const std::stop_token& stop) {
  State& s = *state_;
  if (s.cm.disconnect(s.id) != 0) return failed_call("rdma_disconnect", errno, false);
  const auto until = std::chrono::steady_clock::now() + kDisconnectPatience;
  while (!s.disconnected)
    if (!s.take_event(until, stop))
      return stop.stop_requested()
                 ? stopped_failure()
                 : cm_failure("rdma_disconnect", fmt::format("no answer of {}", s.peer), false);
  return std::nullopt;
}

}  // namespace railbed
