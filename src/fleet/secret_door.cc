#include "fleet/secret_door.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include "base/fields.h"
#include "base/json.h"
#include "base/random.h"
#include "base/text.h"
#include "fleet/frame.h"
#include "fleet/rank_door.h"

namespace railbed::fleet {
namespace {

constexpr std::string_view kPeersGreeting = "railbed-peers 1 ";

struct PeerHello {
  PeerIntroduction introduction;
  std::string nonce;
  std::string proof;
  FIELDS(PeerHello, introduction, nonce, proof);
};

std::string peer_proof(const SecretPurpose& purpose, Prover prover, const Nonces& nonces,
                       const PeerIntroduction& introduction) {
  return proof_of(purpose.secret, prover, purpose.purpose, nonces, json::dump(json::encode(introduction)));
}

// Sends a line. A new socket has room for one; if it has none, the connection is not worth waiting for.
bool say(int fd, const std::string& line) {
  return ::send(fd, line.data(), line.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(line.size());
}

bool greet(Guest& guest) {
  keep_alive(guest.socket.get());
  guest.told = random_hex(kNonceBytes);
  return say(guest.socket.get(), fmt::format("{}{}\n", kPeersGreeting, guest.told));
}

tl::unexpected<Error> stranger(std::string_view does) {
  return fail(ErrorKind::kUnavailable, fmt::format("what answers there {}", does));
}

// Returns the listener's next line; an error if none arrives.
Result<std::string> hear_line(int fd, std::chrono::steady_clock::time_point until,
                              const std::stop_token& stop) {
  ASSIGN_OR_RETURN(auto line, read_line(fd, until, stop));
  if (!line) return stranger("closes the connection, or says nothing");
  return std::move(*line);
}

}  // namespace

SecretDoor::SecretDoor(int listener, SecretPurpose purpose, Keeper keeper)
    : purpose_(std::move(purpose)),
      keeper_(std::move(keeper)),
      door_(listener, {kMaxLine, greet, [this](Guest& guest) { return hear(guest); }}) {}

bool SecretDoor::hear(Guest& guest) {
  const bool whole = guest.said.ends_with('\n');
  if (!whole && guest.said.size() < kMaxLine) return true;
  const std::string why = whole ? let_in(guest) : "too long an introduction";
  if (why.empty()) return false;
  keeper_.turned_away();
  (void)say(guest.socket.get(), fmt::format("{}{}\n", kRefusal, why));
  return false;
}

// Returns why the client is refused; empty if it is accepted.
std::string SecretDoor::let_in(Guest& guest) {
  const auto hello = json::read<PeerHello>(guest.said);
  if (!hello) return "no introduction";
  const PeerIntroduction& who = hello->introduction;
  const Nonces nonces{guest.told, hello->nonce};
  if (!same_secret(hello->proof, peer_proof(purpose_, Prover::kRank, nonces, who))) return "another secret";
  if (std::string why = keeper_.refusal(who); !why.empty()) return why;
  if (!say(guest.socket.get(),
           fmt::format("{}{}\n", kWelcome, peer_proof(purpose_, Prover::kRankZero, nonces, who))))
    return "it takes no answer";
  keeper_.enter(who, std::move(guest.socket));
  return "";
}

Result<Knocked> knock(Fd socket, const SecretPurpose& purpose, const PeerIntroduction& own,
                      std::chrono::steady_clock::time_point until, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const auto greeting, hear_line(socket.get(), until, stop));
  if (!greeting.starts_with(kPeersGreeting))
    return stranger("says \"" + quotable(greeting, 60) + "\": it is no monitor with --probe");
  PeerHello hello{own, random_hex(kNonceBytes), ""};
  const Nonces nonces{std::string_view(greeting).substr(kPeersGreeting.size()), hello.nonce};
  hello.proof = peer_proof(purpose, Prover::kRank, nonces, own);
  if (!say(socket.get(), json::dump(json::encode(hello)) + "\n")) return stranger("takes no introduction");
  ASSIGN_OR_RETURN(const auto answer, hear_line(socket.get(), until, stop));
  if (answer.starts_with(kRefusal)) return Knocked{Fd(), quotable(answer.substr(kRefusal.size()))};
  const std::string right = peer_proof(purpose, Prover::kRankZero, nonces, own);
  if (!answer.starts_with(kWelcome) || !same_secret(answer.substr(kWelcome.size()), right))
    return stranger("does not know the secret");
  keep_alive(socket.get());
  return Knocked{std::move(socket), ""};
}

}  // namespace railbed::fleet
