// The handshake between rank 0 and another rank, and its sockets. Used by rendezvous.cc and
// rank_reception.cc; the proofs also by secret_door.cc.
//
//   rank 0 → rank   railbed-ranks 2 NONCE
//   rank → rank 0   {"introduction": {…}, "nonce": "…", "proof": "…"}
//   rank 0 → rank   proof PROOF, or: no REASON
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "fleet/rendezvous.h"

namespace railbed::fleet {

inline constexpr std::string_view kGreetingName = "railbed-ranks ";
inline constexpr std::string_view kGreeting = "railbed-ranks 2 ";
inline constexpr std::string_view kWelcome = "proof ";
inline constexpr std::string_view kRefusal = "no ";
inline constexpr std::size_t kNonceBytes = 16;
inline constexpr std::size_t kMaxLine = 4096;

// The second line of the handshake.
struct RankHello {
  RankIntroduction introduction;
  std::string nonce;
  std::string proof;
  FIELDS(RankHello, introduction, nonce, proof);
};

// Returns a proof that its author knows the secret. It is valid only for these two nonces, so that it cannot
// be replayed.
enum class Prover { kRank, kRankZero };
std::string proof_of(const Rendezvous& at, Prover prover, std::string_view nonce_of_rank_zero,
                     std::string_view nonce_of_rank, const RankIntroduction& introduction);
// Returns the same proof for other processes than ranks: the listener takes the place of rank 0. `purpose` is
// what the secret is used for, `introduction` the text with which the client introduces itself.
struct Nonces {
  std::string_view of_listener;
  std::string_view of_guest;
};
std::string proof_of(std::string_view secret, Prover prover, std::string_view purpose, const Nonces& nonces,
                     std::string_view introduction);
// Reads a line byte by byte, because the bytes after it belong to another reader. Returns nullopt if the
// connection ends, at `until`, or after 4 KiB without a line break. Fails if `stop` is requested.
Result<std::optional<std::string>> read_line(int fd, std::chrono::steady_clock::time_point until,
                                             const std::stop_token& stop);
// Returns a listener at rank 0's address and port.
Result<Fd> listen_at(const Rendezvous& at, int backlog);
// Starts to connect to each address of the host. Returns the nonblocking sockets.
Result<std::vector<Fd>> start_connecting(const Rendezvous& at);
// Performs the handshake of a rank on a socket that is connecting. Returns a socket to serve on; nullopt if
// rank 0 may not be ready yet; an error if the other end is not rank 0 of this start.
Result<std::optional<Fd>> knock_at_rank_zero(Fd socket, const Rendezvous& at, const RankIntroduction& own,
                                             std::chrono::steady_clock::time_point until,
                                             const std::stop_token& stop);
// Enables keepalive probes, which detect within half a minute that the other machine is gone, and disables
// Nagle's algorithm.
void keep_alive(int fd);

}  // namespace railbed::fleet
