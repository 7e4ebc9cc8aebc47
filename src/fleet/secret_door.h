// A door at which only who knows a secret comes in, and sees it proved that whoever opened knows it too: the
// proofs of ranks (rank_door.h), for processes that start by themselves and stay, such as monitors.
//
//   door → guest   railbed-peers 1 NONCE
//   guest → door   {"introduction": {…}, "nonce": "…", "proof": "…"}
//   door → guest   proof PROOF, or: no REASON
//
// The introduction says whom the guest takes the door for: a proof that was made for one node opens no
// other's door. What is said afterwards is neither hidden nor signed.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>

#include "base/fd.h"
#include "base/fields.h"
#include "base/result.h"
#include "host/door.h"

namespace railbed::fleet {

inline constexpr std::size_t kLeastSecret = 16;  // characters

struct SecretPurpose {
  std::string secret;
  std::string purpose;  // what it is good for here: with another purpose, its proofs differ
};

struct PeerIntroduction {
  std::string from;   // the guest's name
  std::string to;     // whom it takes the door for
  std::string place;  // what at: a rail
  FIELDS(PeerIntroduction, from, to, place);
  bool operator==(const PeerIntroduction&) const = default;
};

class SecretDoor {
 public:
  struct Keeper {
    // Of one that proved the secret: why it may not come in all the same, which it is told; empty: it may.
    std::function<std::string(const PeerIntroduction&)> refusal;
    // Takes it in: the socket does not block.
    std::function<void(const PeerIntroduction&, Fd socket)> enter;
    std::function<void()> turned_away = [] {};
  };
  SecretDoor(int listener, SecretPurpose purpose, Keeper keeper);

  void serve_slice(std::chrono::milliseconds slice) { door_.serve_slice(slice); }

 private:
  bool hear(Guest& guest);
  std::string let_in(Guest& guest);

  const SecretPurpose purpose_;
  const Keeper keeper_;
  Door door_;
};

// What came of knocking: a socket, or why the door stays shut.
struct Knocked {
  Fd socket;
  std::string refusal;
};
// Over a socket that is connected and does not block. An error: what answers does not know the secret, speaks
// otherwise, or not in time.
Result<Knocked> knock(Fd socket, const SecretPurpose& purpose, const PeerIntroduction& own,
                      std::chrono::steady_clock::time_point until, const std::stop_token& stop);

}  // namespace railbed::fleet
