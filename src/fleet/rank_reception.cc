// Rank 0's side of the meeting.
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <map>

#include "base/json.h"
#include "base/random.h"
#include "fleet/rank_door.h"
#include "fleet/rank_peer.h"
#include "fleet/rendezvous.h"

namespace railbed::fleet {
namespace {

using Time = std::chrono::steady_clock::time_point;
constexpr auto kHelloPatience = std::chrono::seconds(2);
constexpr std::size_t kMostGuests = 256;
constexpr std::size_t kMostGpus = 64;
constexpr std::size_t kMostHostName = 255;
constexpr int kSliceMs = 50;

bool is_host_name(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  };
  return !text.empty() && text.size() <= kMostHostName && std::ranges::all_of(text, fits);
}

// A connection that has not been let in yet.
struct Guest {
  Fd socket;
  std::string nonce;
  std::string line;
  Time since;
};

class Reception {
 public:
  Reception(const Rendezvous& at, int ranks, int listener)
      : at_(at), ranks_(ranks), listener_(listener), missing_(static_cast<std::size_t>(ranks) - 1) {}

  bool complete() const { return missing_ == 0; }

  void serve_slice() {
    // When all seats are taken, who knocks waits outside: in the kernel's backlog.
    std::vector<pollfd> waiting{{guests_.size() < kMostGuests ? listener_ : -1, POLLIN, 0}};
    for (const Guest& guest : guests_) waiting.push_back({guest.socket.get(), POLLIN, 0});
    if (poll(waiting.data(), waiting.size(), kSliceMs) < 0) return;
    for (std::size_t i = guests_.size(); i-- > 0;)
      if (!still_welcome(guests_[i], waiting[i + 1].revents != 0))
        guests_.erase(guests_.begin() + static_cast<std::ptrdiff_t>(i));
    if (waiting[0].revents != 0) greet();
  }

  std::vector<ArrivedRank> take() {
    std::vector<ArrivedRank> in_order;
    for (auto& [rank, arrived] : arrived_) in_order.push_back(std::move(arrived));
    return in_order;
  }

  // "ranks 2, 3 and 9 more did not come to gpu01 port 23456 within 60 s; a connection was refused: …"
  std::string who_is_missing() const {
    constexpr std::size_t kNamed = 16;
    std::vector<int> names;
    for (int rank = 1; rank < ranks_ && names.size() < kNamed; ++rank)
      if (!arrived_.contains(rank)) names.push_back(rank);
    const std::string more =
        missing_ > names.size() ? fmt::format(" and {} more", missing_ - names.size()) : "";
    return fmt::format("{} {}{} did not come to {} port {} within {:.3g} s{}",
                       missing_ > 1 ? "ranks" : "rank", fmt::join(names, ", "), more, at_.host, at_.port,
                       std::chrono::duration<double>(at_.patience).count(),
                       refused_.empty() ? "" : "; a connection was refused: " + refused_);
  }

 private:
  void greet() {
    Fd socket(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.open()) return;
    keep_alive(socket.get());
    Guest guest{std::move(socket), random_hex(kNonceBytes), "", std::chrono::steady_clock::now()};
    if (say(guest, fmt::format("{}{}\n", kGreeting, guest.nonce))) guests_.push_back(std::move(guest));
  }

  // A new socket has room for a line; one that has none is not worth waiting for.
  static bool say(const Guest& guest, const std::string& line) {
    return ::send(guest.socket.get(), line.data(), line.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(line.size());
  }

  // False when the guest is done with: it is let in, or shown the door.
  bool still_welcome(Guest& guest, bool readable) {
    if (!readable) return std::chrono::steady_clock::now() - guest.since < kHelloPatience;
    char text[kMaxLine];
    const ssize_t got = recv(guest.socket.get(), text, kMaxLine - guest.line.size(), 0);
    if (got <= 0) return got < 0 && (errno == EAGAIN || errno == EINTR);
    guest.line.append(text, static_cast<std::size_t>(got));
    const bool whole = guest.line.ends_with('\n');
    if (!whole && guest.line.size() < kMaxLine) return true;
    const std::string why = whole ? let_in(guest) : "too long an introduction";
    if (!why.empty()) {
      refused_ = why;
      (void)say(guest, fmt::format("{}{}\n", kRefusal, why));
    }
    return false;
  }

  // Empty, or why not.
  std::string let_in(Guest& guest) {
    const auto hello = json::read<RankHello>(guest.line);
    if (!hello) return "no introduction of a rank";
    const RankIntroduction& who = hello->introduction;
    if (!same_proof(hello->proof, proof_of(at_, Prover::kRank, guest.nonce, hello->nonce, who)))
      return "it knows another secret than rank 0. "
             "Give all ranks one RAILBED_SECRET in their environment, or a home folder that they share";
    if (who.ranks != ranks_) return fmt::format("it is one of {} ranks, rank 0 one of {}", who.ranks, ranks_);
    if (who.rank < 1 || who.rank >= ranks_) return fmt::format("there is no rank {} to wait for", who.rank);
    if (!is_host_name(who.host) || who.gpus.size() > kMostGpus) return "no introduction of a rank";
    if (arrived_.contains(who.rank)) return fmt::format("rank {} is here already", who.rank);
    if (!say(guest, fmt::format("{}{}\n", kWelcome,
                                proof_of(at_, Prover::kRankZero, guest.nonce, hello->nonce, who))))
      return "it takes no answer";
    auto peer = std::make_unique<RankPeer>(who.host, fmt::format("rank {} on {}", who.rank, who.host),
                                           std::move(guest.socket));
    arrived_.emplace(who.rank, ArrivedRank{who, std::move(peer)});
    --missing_;
    return "";
  }

  const Rendezvous& at_;
  const int ranks_;
  const int listener_;
  std::size_t missing_;
  std::vector<Guest> guests_;
  std::map<int, ArrivedRank> arrived_;
  std::string refused_;
};

}  // namespace

Result<std::vector<ArrivedRank>> receive_ranks(const Rendezvous& at, int ranks, const std::stop_token& stop) {
  constexpr int kMostBacklog = 4096;
  const auto listener = listen_at(at, std::min(ranks, kMostBacklog));
  if (!listener) return fail(listener.error());
  Reception reception(at, ranks, listener->get());
  const Time end = std::chrono::steady_clock::now() + at.patience;
  while (!reception.complete()) {
    if (stop.stop_requested()) return fail(ErrorKind::kCancelled, "stopped while ranks were awaited");
    if (std::chrono::steady_clock::now() > end) return fail(ErrorKind::kTimeout, reception.who_is_missing());
    reception.serve_slice();
  }
  return reception.take();
}

}  // namespace railbed::fleet
