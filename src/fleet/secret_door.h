// A listener that accepts only clients with the secret, and proves to them that it knows the secret, too. It
// uses the proofs of ranks (rank_door.h), for processes that start independently and keep running, such as
// monitors.
//
//   listener → client   railbed-peers 1 NONCE
//   client → listener   {"introduction": {…}, "nonce": "…", "proof": "…"}
//   listener → client   proof PROOF, or: no REASON
//
// The introduction names the listener that the client expects, so a proof made for one node is not valid at
// another. What follows is neither encrypted nor signed.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>

#include "base/fd.h"
#include "base/fields.h"
#include "base/result.h"
#include "os/door.h"

namespace railbed::fleet {

inline constexpr std::size_t kLeastSecret = 16;  // in characters

// A secret and its use.
struct SecretPurpose {
  std::string secret;
  std::string purpose;  // the use of the secret; proofs for another purpose differ
};

// The introduction that a client sends.
struct PeerIntroduction {
  std::string from;   // name of the client
  std::string to;     // name of the listener that it expects
  std::string place;  // where they meet: a rail
  FIELDS(PeerIntroduction, from, to, place);
  bool operator==(const PeerIntroduction&) const = default;
};

// See the head of this file. For one thread.
class SecretDoor {
 public:
  // The callbacks of the listener.
  struct Keeper {
    // Called for a client with the secret. Returns why it is refused nevertheless, which is sent to it; empty
    // if it is accepted.
    std::function<std::string(const PeerIntroduction&)> refusal;
    // Receives an accepted connection. The socket is nonblocking.
    std::function<void(const PeerIntroduction&, Fd socket)> enter;
    // Called after each refusal.
    std::function<void()> turned_away = [] {};
  };
  // `listener` is a socket that must outlive the object.
  SecretDoor(int listener, SecretPurpose purpose, Keeper keeper);

  // Accepts and serves connections for the duration of `slice`.
  void serve_slice(std::chrono::milliseconds slice) { door_.serve_slice(slice); }

 private:
  // Handles received bytes. Returns false once the connection is done.
  bool hear(Guest& guest);
  // Verifies an introduction and accepts the client. Returns why not; empty on success.
  std::string let_in(Guest& guest);

  const SecretPurpose purpose_;
  const Keeper keeper_;
  Door door_;
};

// The result of knock(): a socket, or the listener's reason for refusing.
struct Knocked {
  Fd socket;
  std::string refusal;
};
// Performs the client's side of the handshake on a connected, nonblocking socket. Fails if the other end does
// not know the secret, uses another protocol, or does not respond until `until`.
Result<Knocked> knock(Fd socket, const SecretPurpose& purpose, const PeerIntroduction& own,
                      std::chrono::steady_clock::time_point until, const std::stop_token& stop);

}  // namespace railbed::fleet
