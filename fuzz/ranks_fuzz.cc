// Anybody may connect where ranks meet. Rank 0 lets in who made the proof and nobody else, whatever is said;
// a rank serves nobody who did not prove that it is rank 0; and of a rank that came in, what it answers is
// frames or the end.
//
// A byte says which. Where an introduction's proof is "@" it is made as one that knows the secret makes it.
//
// Rooms: fleet
#include <chrono>
#include <cstdint>
#include <string>

#include "base/json.h"
#include "fleet/frame.h"
#include "fleet/rank_door.h"
#include "fleet/rank_peer.h"
#include "fleet/rank_reception.h"
#include "fuzz/door.h"
#include "fuzz/require.h"

using namespace railbed;
using namespace railbed::fleet;

namespace {

constexpr int kRanks = 4;
constexpr int kMostGuests = 6;
constexpr auto kAtOnce = std::chrono::milliseconds(0);
const Rendezvous kAt{"gpu01", 23'456, "a secret that nobody knows", "job 7"};
const RankIntroduction kOwn{1, kRanks, "gpu02", {0, 1}};

// The same words, with the proof in place of "@".
std::string proven(std::string text, const std::string& nonce, bool& known) {
  const auto hello = json::read<RankHello>(text);
  known = hello && hello->proof == "@";
  if (!known) return text;
  RankHello right = *hello;
  right.proof = proof_of(kAt, Prover::kRank, nonce, hello->nonce, hello->introduction);
  return json::dump(json::encode(right));
}

void come_to_rank_zero(std::string_view text) {
  static const FuzzDoor door;
  RankReception reception(kAt, kRanks, door.listener());
  int guests = 0;
  for (const std::string_view line : lines(text)) {
    if (++guests > kMostGuests) break;
    Fd guest = door.knock();
    reception.serve_slice(kAtOnce);
    const std::string greeting = read_text(guest);
    require(greeting.starts_with(kGreeting));
    bool known = false;
    const std::string said = proven(std::string(line), nonce_of(greeting), known);
    send_text(guest, said.substr(0, said.size() / 2));
    reception.serve_slice(kAtOnce);
    send_text(guest, said.substr(said.size() / 2) + "\n");
    reception.serve_slice(kAtOnce);
    const std::string answer = read_text(guest);
    if (answer.starts_with(kWelcome)) require(known);
    if (answer.empty()) continue;
    require(answer.ends_with('\n') && lines(answer).size() == 1);
    require_printable(lines(answer).front());
  }
  require_printable(reception.who_is_missing());
  int before = 0;
  for (const ArrivedRank& rank : reception.take()) {
    require(rank.introduction.rank > before && rank.introduction.rank < kRanks &&
            rank.introduction.ranks == kRanks);
    before = rank.introduction.rank;
    require_printable(rank.introduction.host);
    require(rank.introduction.host.find_first_of(" \n\t") == std::string::npos);
  }
}

void come_to_a_stranger(std::string_view text) {
  auto [own, other] = socket_pair();
  send_text(other, text);
  shutdown(other.get(), SHUT_WR);
  const auto came = knock_at_rank_zero(std::move(own), kAt, kOwn,
                                       std::chrono::steady_clock::now() + std::chrono::seconds(5), {});
  if (!came) return require_printable(came.error().text);
  require(!*came);
}

void ask_a_rank(std::string_view text) {
  auto [own, other] = socket_pair();
  send_text(other, text);
  shutdown(other.get(), SHUT_WR);
  RankPeer peer("gpu02", "rank 1 on gpu02", std::move(own));
  for (int i = 0; i < 3; ++i)
    if (const auto answer = peer.call("facts", "{}", std::chrono::seconds(5), {}); !answer)
      require_printable(answer.error().text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = as_text(data + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      come_to_rank_zero(text);
      break;
    case 1:
      come_to_a_stranger(text);
      break;
    default:
      ask_a_rank(text);
  }
  return 0;
}
