// What monitors say to each other over a rail. At the door comes in who made the proof for this very node,
// and nobody else; who knocks takes no stranger for a monitor; a request of one that came in is answered or
// refused, whatever its words; and what the other end answers to a probe is taken or refused.
//
// A byte says which. Where an introduction's proof is "@" it is made as one that knows the secret makes it.
//
// Rooms: monitor campaign fleet host nvidia os
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "base/json.h"
#include "campaign/measure/probe_rdma.h"
#include "fleet/rank_door.h"
#include "fuzz/door.h"
#include "fuzz/require.h"
#include "host/tree.h"
#include "monitor/probe/probe_protocol.h"

using namespace railbed;
using namespace railbed::fleet;

namespace {

constexpr int kMostGuests = 4;
constexpr auto kAtOnce = std::chrono::milliseconds(0);
const SecretPurpose kPurpose{"a secret that nobody knows", std::string(kProbePurpose)};
const PeerIntroduction kOwn{"gpu01", "gpu02", "rail0"};

struct Hello {  // as secret_door.cc has it
  PeerIntroduction introduction;
  std::string nonce;
  std::string proof;
  FIELDS(Hello, introduction, nonce, proof);
};

std::string proven(std::string text, const std::string& nonce, bool& known) {
  const auto hello = json::read<Hello>(text);
  known = hello && hello->proof == "@";
  if (!known) return text;
  Hello right = *hello;
  right.proof = proof_of(kPurpose.secret, Prover::kRank, kPurpose.purpose, {nonce, hello->nonce},
                         json::dump(json::encode(hello->introduction)));
  return json::dump(json::encode(right));
}

void come_to_the_door(std::string_view text) {
  static const FuzzDoor listening;
  bool entered = false;
  SecretDoor door(
      listening.listener(), kPurpose,
      {.refusal =
           [](const PeerIntroduction& who) {
             return who.to == "gpu02" && who.place == "rail0" ? "" : "this is another node, or another rail";
           },
       .enter = [&](const PeerIntroduction&, Fd) { entered = true; }});
  int guests = 0;
  for (const std::string_view line : lines(text)) {
    if (++guests > kMostGuests) break;
    Fd guest = listening.knock();
    door.serve_slice(kAtOnce);
    bool known = false;
    const std::string said = proven(std::string(line), nonce_of(read_text(guest)), known);
    send_text(guest, said + "\n");
    entered = false;
    door.serve_slice(kAtOnce);
    require(!entered || known);
    const std::string answer = read_text(guest);
    require(entered == answer.starts_with(kWelcome));
    if (!answer.empty()) require_printable(lines(answer).front());
  }
}

void knock_at_a_stranger(std::string_view text) {
  auto [own, other] = socket_pair();
  send_text(other, text);
  shutdown(other.get(), SHUT_WR);
  const auto came =
      knock(std::move(own), kPurpose, kOwn, std::chrono::steady_clock::now() + std::chrono::seconds(5), {});
  if (!came) return require_printable(came.error().text);
  require(!came->socket);
  require_printable(came->refusal);
}

// "METHOD PARAMS" on each line; those of a visit, of an interface that is there.
void ask_us(std::string_view text) {
  static const std::shared_ptr<Host> host = open_tree(Tree{});
  const Handlers handlers = served_rdma_handlers(host, {"rail"});
  int left = 16;
  for (const std::string_view line : lines(text)) {
    const auto space = line.find(' ');
    const auto handler = handlers.find(line.substr(0, space));
    if (handler == handlers.end() || space == std::string_view::npos || --left < 0) continue;
    if (const auto answer = handler->second(line.substr(space + 1), {}); !answer)
      require_printable(answer.error().text);
  }
}

// Answers what it was given, line by line.
class Teller : public Peer {
 public:
  explicit Teller(std::string_view text) : lines_(lines(text)) {}
  const std::string& node() const override { return node_; }
  Result<std::string> call(std::string_view, std::string, std::chrono::milliseconds,
                           std::stop_token) override {
    if (at_ >= lines_.size()) return fail(ErrorKind::kUnavailable, "nothing more");
    return std::string(lines_[at_++]);
  }

 private:
  const std::string node_ = "gpu02";
  std::vector<std::string_view> lines_;
  std::size_t at_ = 0;
};

void ask_another(std::string_view text) {
  Teller here(text);
  Teller there(text.substr(text.size() / 2));
  const RdmaProbed probed = probe_rdma(here, there, {"rail", "rail", 106, 4}, {});
  require_printable(probed.trouble);
  (void)json::read<ProbePause>(text);
  (void)json::read<PriorityCounts>(text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = as_text(data + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      come_to_the_door(text);
      break;
    case 1:
      knock_at_a_stranger(text);
      break;
    case 2:
      ask_us(text);
      break;
    default:
      ask_another(text);
  }
  return 0;
}
