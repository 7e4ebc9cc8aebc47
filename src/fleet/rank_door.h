// The first words between rank 0 and another rank, and the sockets for them. Used by rendezvous.cc and
// rank_reception.cc; its proofs also by secret_door.cc.
//
//   rank 0 → rank   railbed-ranks 1 NONCE
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

inline constexpr std::string_view kGreeting = "railbed-ranks 1 ";
inline constexpr std::string_view kWelcome = "proof ";
inline constexpr std::string_view kRefusal = "no ";
inline constexpr std::size_t kNonceBytes = 16;
inline constexpr std::size_t kMaxLine = 4096;

struct RankHello {
  RankIntroduction introduction;
  std::string nonce;
  std::string proof;
  FIELDS(RankHello, introduction, nonce, proof);
};

// Only who knows the secret can say it, and only for these two nonces: nobody can play back what he heard.
enum class Prover { kRank, kRankZero };
std::string proof_of(const Rendezvous& at, Prover prover, std::string_view nonce_of_rank_zero,
                     std::string_view nonce_of_rank, const RankIntroduction& introduction);
// The same for others than ranks: who listens takes the place of rank zero. `purpose` is what the secret is
// good for here, `introduction` what the one that comes says of itself.
struct Nonces {
  std::string_view of_listener;
  std::string_view of_guest;
};
std::string proof_of(std::string_view secret, Prover prover, std::string_view purpose, const Nonces& nonces,
                     std::string_view introduction);
// Byte by byte: what follows the line belongs to others. Nothing: the connection ended, or time did.
Result<std::optional<std::string>> read_line(int fd, std::chrono::steady_clock::time_point until,
                                             const std::stop_token& stop);
Result<Fd> listen_at(const Rendezvous& at, int backlog);
// A connection under way on a socket that does not block, to each address of the host in turn.
Result<std::vector<Fd>> start_connecting(const Rendezvous& at);
// One attempt of a rank on a connection that is under way: a socket to serve on; nothing: rank 0 may come
// yet; an error: whoever answers is not rank 0 of this start.
Result<std::optional<Fd>> knock_at_rank_zero(Fd socket, const Rendezvous& at, const RankIntroduction& own,
                                             std::chrono::steady_clock::time_point until,
                                             const std::stop_token& stop);
// Notices within half a minute that the other end's machine is gone.
void keep_alive(int fd);

}  // namespace railbed::fleet
