#include "fleet/rank_reception.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/json.h"
#include "base/random.h"
#include "base/text.h"
#include "fleet/rank_door.h"
#include "fleet/rank_peer.h"

namespace railbed::fleet {
namespace {

using Time = std::chrono::steady_clock::time_point;
constexpr std::size_t kMostGpus = 64;
constexpr std::size_t kMostHostName = 255;

bool is_host_name(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  };
  return !text.empty() && text.size() <= kMostHostName && std::ranges::all_of(text, fits);
}

// Sends a line. A new socket has room for one; if it has none, the connection is not worth waiting for.
bool say_to(const Guest& guest, const std::string& line) {
  return ::send(guest.socket.get(), line.data(), line.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(line.size());
}

bool greet_rank(Guest& guest) {
  keep_alive(guest.socket.get());
  guest.told = random_hex(kNonceBytes);
  return say_to(guest, fmt::format("{}{}\n", kGreeting, guest.told));
}

}  // namespace

RankReception::RankReception(const Rendezvous& at, int ranks, int listener)
    : at_(at),
      ranks_(ranks),
      door_(listener, {kMaxLine, greet_rank, [this](Guest& guest) { return hear(guest); }}),
      missing_(static_cast<std::size_t>(ranks) - 1) {}

std::vector<ArrivedRank> RankReception::take() {
  std::vector<ArrivedRank> in_order;
  for (auto& [rank, arrived] : arrived_) in_order.push_back(std::move(arrived));
  return in_order;
}

std::string RankReception::who_is_missing() const {
  constexpr std::size_t kNamed = 16;
  std::vector<int> names;
  for (int rank = 1; rank < ranks_ && names.size() < kNamed; ++rank)
    if (!arrived_.contains(rank)) names.push_back(rank);
  const std::string more =
      missing_ > names.size() ? fmt::format(" and {} more", missing_ - names.size()) : "";
  return fmt::format("{} {}{} did not come to {} port {} within {:.3g} s{}", missing_ > 1 ? "ranks" : "rank",
                     fmt::join(names, ", "), more, at_.host, at_.port,
                     std::chrono::duration<double>(at_.patience).count(),
                     refused_.empty() ? "" : "; a connection was refused: " + refused_);
}

bool RankReception::hear(Guest& guest) {
  const bool whole = guest.said.ends_with('\n');
  if (!whole && guest.said.size() < kMaxLine) return true;
  const std::string why = whole ? let_in(guest) : "too long an introduction";
  if (!why.empty()) {
    refused_ = why;
    (void)say_to(guest, fmt::format("{}{}\n", kRefusal, why));
  }
  return false;
}

// Returns why the rank is refused; empty if it is accepted.
std::string RankReception::let_in(Guest& guest) {
  const auto hello = json::read<RankHello>(guest.said);
  if (!hello) return "no introduction of a rank";
  const RankIntroduction& who = hello->introduction;
  if (!is_host_name(who.host) || who.gpus.size() > kMostGpus) return "no introduction of a rank";
  if (!same_secret(hello->proof, proof_of(at_, Prover::kRank, guest.told, hello->nonce, who)))
    return "it knows another secret than rank 0. "
           "Give all ranks one RAILBED_SECRET in their environment, or a home folder that they share";
  if (who.railbed != railbed_version())
    return fmt::format("it runs railbed {}, rank 0 {}: start the same program on all nodes",
                       printable(who.railbed.substr(0, 64)), railbed_version());
  if (who.ranks != ranks_) return fmt::format("it is one of {} ranks, rank 0 one of {}", who.ranks, ranks_);
  if (who.rank < 1 || who.rank >= ranks_) return fmt::format("there is no rank {} to wait for", who.rank);
  if (arrived_.contains(who.rank)) return fmt::format("rank {} is here already", who.rank);
  if (!say_to(guest, fmt::format("{}{}\n", kWelcome,
                                 proof_of(at_, Prover::kRankZero, guest.told, hello->nonce, who))))
    return "it takes no answer";
  auto peer = std::make_unique<RankPeer>(who.host, fmt::format("rank {} on {}", who.rank, who.host),
                                         std::move(guest.socket));
  arrived_.emplace(who.rank, ArrivedRank{who, std::move(peer)});
  --missing_;
  return "";
}

Result<std::vector<ArrivedRank>> receive_ranks(const Rendezvous& at, int ranks, const std::stop_token& stop) {
  constexpr int kMostBacklog = 4096;
  ASSIGN_OR_RETURN(const auto listener, listen_at(at, std::min(ranks, kMostBacklog)));
  RankReception reception(at, ranks, listener.get());
  const Time end = std::chrono::steady_clock::now() + at.patience;
  while (!reception.complete()) {
    if (stop.stop_requested()) return fail(ErrorKind::kCancelled, "stopped while ranks were awaited");
    if (std::chrono::steady_clock::now() > end) return fail(ErrorKind::kTimeout, reception.who_is_missing());
    reception.serve_slice();
  }
  return reception.take();
}

}  // namespace railbed::fleet
