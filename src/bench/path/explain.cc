#include "bench/path/explain.h"

#include <algorithm>
#include <set>
#include <thread>

#include "bench/core/typed.h"

namespace railbed {
namespace {

constexpr std::chrono::milliseconds kOpenDeadline{5000};
constexpr std::chrono::milliseconds kOpenRdmaDeadline{10000};  // of which libibverbs gets five seconds
constexpr std::chrono::milliseconds kLookDeadline{8000};
constexpr std::chrono::milliseconds kCloseDoorDeadline{2000};
constexpr int kEthernetMtu = 1500;

// Runs the work for both ends at the same time.
template <class Work>
void at_both(const Work& work) {
  const std::jthread other([&] { work(false); });
  work(true);
}

template <class T>
std::optional<T> if_answered(Result<T> answer) {
  return answer ? std::optional<T>(std::move(*answer)) : std::nullopt;
}

// Returns the sizes of the packets to send, in bytes. A packet of the smaller MTU must pass. One of this
// end's own MTU detects a difference between the ends. One of 1500 bytes shows where a hole between them
// begins.
std::vector<int> sizes_to_ask(const PathInterface& own, const PathInterface& other) {
  if (own.mtu < kEthernetMtu || other.mtu < kEthernetMtu) return {};
  constexpr int kLargest = 65000;
  std::set<int> sizes{kEthernetMtu, std::min({own.mtu, other.mtu, kLargest}), std::min(own.mtu, kLargest)};
  return {sizes.begin(), sizes.end()};
}

std::optional<PacketWay> sent_by(const Failure& failure, const std::string& node) {
  const auto found = std::ranges::find(failure.packets, node, &PacketWay::from);
  return found == failure.packets.end() ? std::nullopt : std::optional(*found);
}

class PathSurvey {
 public:
  PathSurvey(const PairEnd& a, const PairEnd& b, bool rdma, bool cm, const Failure& failure,
             const std::stop_token& stop)
      : peer_a_(*a.peer), peer_b_(*b.peer), stop_(stop) {
    seen_.a = {a.peer->node(), a.interface, a.address, {}, {}, {}, sent_by(failure, a.peer->node())};
    seen_.b = {b.peer->node(), b.interface, b.address, {}, {}, {}, sent_by(failure, b.peer->node())};
    seen_.rdma = rdma;
    seen_.cm = cm;
    seen_.set_up = rdma && failure.stage == "connect";
  }

  PathSeen run() {
    at_both([this](bool a) { open(a ? peer_a_ : peer_b_, a ? seen_.a : seen_.b); });
    if (has_door(seen_.a) && has_door(seen_.b))
      at_both([this](bool a) { a ? look(peer_a_, seen_.a, seen_.b) : look(peer_b_, seen_.b, seen_.a); });
    at_both([this](bool a) { close(a ? peer_a_ : peer_b_, a ? seen_.a : seen_.b); });
    return std::move(seen_);
  }

 private:
  static bool has_door(const PathEndSeen& end) { return end.opened && !end.opened->session.empty(); }

  void open(Peer& peer, PathEndSeen& end) const {
    end.opened = if_answered(ask<PathOpened>(peer, kPathOpen,
                                             PathOpen{end.interface, end.address, seen_.rdma, seen_.cm},
                                             seen_.rdma ? kOpenRdmaDeadline : kOpenDeadline, stop_));
  }

  void look(Peer& peer, PathEndSeen& end, const PathEndSeen& other) const {
    const PathLook question{end.interface,
                            *end.address,
                            *other.address,
                            other.opened->tcp_port,
                            other.opened->udp_port,
                            other.opened->token,
                            seen_.rdma,
                            sizes_to_ask(end.opened->interface, other.opened->interface)};
    end.looked = if_answered(ask<PathLooked>(peer, kPathLook, question, kLookDeadline, stop_));
  }

  void close(Peer& peer, PathEndSeen& end) const {
    if (!has_door(end)) return;
    end.heard = if_answered(
        ask<PathHeard>(peer, kPathClose, PathClose{end.opened->session}, kCloseDoorDeadline, stop_));
  }

  Peer& peer_a_;
  Peer& peer_b_;
  const std::stop_token& stop_;
  PathSeen seen_;
};

bool is_of_path(const Failure& failure) {
  return failure.stage != "verify" && failure.kind != FailureKind::kStopped &&
         failure.kind != FailureKind::kNoRdmaCm;
}

}  // namespace

void PathExplainer::explain(Engine engine, Failure& failure, const std::stop_token& stop) {
  if (stop.stop_requested() || !is_of_path(failure)) return;
  const bool known = found_ && found_->root.layer != PathLayer::kNone && engine_ == engine;
  const bool cm = engine == Engine::kRdmaCm;
  const bool rdma = engine == Engine::kRdma || cm;
  if (!known) found_ = judge_path(PathSurvey(a_, b_, rdma, cm, failure, stop).run());
  engine_ = engine;
  if (!found_) return;
  failure.root = found_->root;
  if (found_->root.layer == PathLayer::kNone) return;
  failure.cause = found_->root.cause + "; " + failure.cause;
  failure.remedy = found_->remedy;
}

std::optional<PathDiagnosis> find_path_fault(const PairEnd& a, const PairEnd& b, bool rdma,
                                             const std::stop_token& stop) {
  auto found = judge_path(PathSurvey(a, b, rdma, false, {}, stop).run());
  if (!found) return PathDiagnosis{{PathLayer::kNone, "", "neither node answered", {}}, ""};
  return found->root.layer == PathLayer::kNone ? std::nullopt : std::move(found);
}

}  // namespace railbed
