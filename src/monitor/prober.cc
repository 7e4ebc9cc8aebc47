#include "monitor/prober.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <cstring>
#include <thread>

#include "campaign/probe_rdma.h"
#include "fleet/rank_peer.h"
#include "host/socket.h"
#include "host/wait.h"
#include "monitor/probe_schedule.h"

namespace railbed {
namespace {

using ProbeClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kConnectPatience{2};
constexpr std::chrono::seconds kDoorPatience{3};
constexpr std::chrono::seconds kBeginPatience{12};  // the peer may have to query Slurm first
constexpr std::chrono::seconds kEchoPatience{1};
constexpr std::chrono::seconds kCountsPatience{5};
constexpr std::uint64_t kMostLost = 3;  // then the rest of the burst is not sent
constexpr std::size_t kEchoBytes = 16;  // a message of hundreds of bytes takes no longer

// Records the failure of a probe that ended early.
PeerProbe& give_up(PeerProbe& probe, ProbeReason reason, std::string why) {
  probe.tcp.reason = reason;
  probe.tcp.why = std::move(why);
  return probe;
}

// Returns a connected socket; on failure an empty Fd, with errno set.
Fd connect_on(const ProbeRail& rail, const ProbePeer& peer, int port, const std::stop_token& stop) {
  const SocketAddress own = socket_address(rail.address, 0);
  Fd fd = stream_socket(own.family());
  if (!fd) return fd;
  keep_on_rail(fd.get(), rail.interface);
  const int on = 1;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (bind(fd.get(), own.get(), own.size) != 0 ||
      !begin_connecting(fd.get(), socket_address(peer.address, port)))
    return {};
  if (wait_writable(fd.get(), ProbeClock::now() + kConnectPatience, stop) != Waited::kReady) {
    errno = ETIMEDOUT;
    return {};
  }
  if (const int error = connect_error(fd.get()); error != 0) {
    errno = error;
    return {};
  }
  return fd;
}

template <class Answer>
Result<Answer> ask(Peer& peer, std::string_view method, std::chrono::milliseconds deadline,
                   const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const auto text, peer.call(method, "{}", deadline, stop));
  return json::read<Answer>(text);
}

// Sends pings one after the other. The first is not timed.
ProbeBurst ping(Peer& peer, const std::stop_token& stop) {
  ProbeBurst burst;
  const std::string message(kEchoBytes, 'r');
  std::uint64_t lost = 0;
  for (std::uint64_t i = 0; i < kProbePings && lost < kMostLost && !stop.stop_requested(); ++i) {
    const auto began = ProbeClock::now();
    ++burst.sent;
    const auto answer = peer.call(kProbeEcho, message, kEchoPatience, stop);
    const double seconds = std::chrono::duration<double>(ProbeClock::now() - began).count();
    if (answer && *answer == message) {
      ++burst.answered;
      if (i > 0) burst.round_trips.push_back(seconds);
      continue;
    }
    ++lost;
    burst.reason = ProbeReason::kLost;
    burst.why = answer ? "the echo came back changed" : answer.error().text;
    if (!answer && answer.error().kind != ErrorKind::kTimeout) break;  // the connection is gone
  }
  return burst;
}

ProbeBurst burst_of(RdmaProbed probed) {
  ProbeBurst burst;
  burst.sent = probed.sent;
  burst.answered = probed.round_trips.size();
  burst.round_trips = std::move(probed.round_trips);
  if (!burst.round_trips.empty()) burst.round_trips.erase(burst.round_trips.begin());
  if (probed.trouble.empty()) return burst;
  burst.reason = burst.answered > 0 ? ProbeReason::kLost : ProbeReason::kRdma;
  burst.why = std::move(probed.trouble);
  return burst;
}

// A peer in this process. Its handlers set up this end of RDMA.
class OwnEnd : public Peer {
 public:
  OwnEnd(std::string node, const Handlers& handlers) : node_(std::move(node)), handlers_(handlers) {}
  const std::string& node() const override { return node_; }
  Result<std::string> call(std::string_view method, std::string params, std::chrono::milliseconds,
                           std::stop_token stop) override {
    const auto handler = handlers_.find(method);
    if (handler == handlers_.end()) return fail(ErrorKind::kInternal, "no method " + std::string(method));
    return handler->second(params, std::move(stop));
  }

 private:
  const std::string node_;
  const Handlers& handlers_;
};

PrioritiesOfPair count_priorities(Host& host, const ProbeRail& rail, Peer& there,
                                  const std::stop_token& stop) {
  PrioritiesOfPair counts;
  counts.here = read_priority_counts(host, rail.counted);
  if (auto told = ask<PriorityCounts>(there, kProbeCounts, kCountsPatience, stop))
    counts.there = std::move(*told);
  return counts;
}

}  // namespace

Prober::Prober(ProberOptions options, std::shared_ptr<Host> host)
    : options_(std::move(options)), host_(std::move(host)), own_rdma_(own_rdma_handlers(host_)) {}

PeerProbe Prober::probe(const ProbeRail& rail, const ProbePeer& peer, const std::stop_token& stop) const {
  PeerProbe probe{.rail = rail.name, .peer = peer.node};
  Fd fd = connect_on(rail, peer, options_.port, stop);
  if (!fd)
    return give_up(
        probe, ProbeReason::kUnreachable,
        fmt::format("{} port {}: {}", peer.address.to_text(), options_.port, std::strerror(errno)));
  auto knocked =
      fleet::knock(std::move(fd), {options_.secret, std::string(kProbePurpose)},
                   {options_.plan.node, peer.node, rail.name}, ProbeClock::now() + kDoorPatience, stop);
  if (!knocked) return give_up(probe, ProbeReason::kStranger, knocked.error().text);
  if (!knocked->refusal.empty())
    return give_up(probe, ProbeReason::kRefused, "it refused: " + knocked->refusal);
  fleet::RankPeer there(peer.node, peer.node, std::move(knocked->socket));
  const auto pause = ask<ProbePause>(there, kProbeBegin, kBeginPatience, stop);
  if (!pause) return give_up(probe, ProbeReason::kLost, pause.error().text);
  if (*pause) {
    probe.skipped = pause->reason == "job" ? "job" : "slurm-silent";
    return probe;
  }
  probe.tcp = ping(there, stop);
  if (!rail.rdma || probe.tcp.reason != ProbeReason::kNone) return probe;
  OwnEnd here(options_.plan.node, own_rdma_);
  const PrioritiesOfPair before = count_priorities(*host_, rail, there, stop);
  probe.rdma = burst_of(
      probe_rdma(here, there, {rail.interface, peer.interface, rail.traffic_class, kProbeReads}, stop));
  if (!rail.priority)
    probe.priority_untold = "cluster.yaml names neither traffic_class nor pfc_priority";
  else if (probe.rdma->answered > 0)
    probe.priorities = judge_priorities(*rail.priority, probe.rdma->answered, before,
                                        count_priorities(*host_, rail, there, stop));
  return probe;
}

std::vector<PeerProbe> Prober::round(std::uint64_t number, const std::stop_token& stop) const {
  const auto& rails = options_.plan.rails;
  std::vector<std::vector<PeerProbe>> by_rail(rails.size());
  {
    std::vector<std::jthread> workers;
    for (std::size_t i = 0; i < rails.size(); ++i)
      workers.emplace_back([this, &rail = rails[i], &found = by_rail[i], number, &stop] {
        for (const std::size_t other : partners(rail.others.size(), rail.own, number, kPartnersPerRound))
          if (!stop.stop_requested()) found.push_back(probe(rail, rail.others[other], stop));
      });
  }
  std::vector<PeerProbe> all;
  for (auto& found : by_rail)
    for (PeerProbe& probe : found) all.push_back(std::move(probe));
  return all;
}

}  // namespace railbed
