// A listener for untrusted clients: it accepts connections, reads their first bytes, and hands over those
// that the owner admits.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "os/wait.h"

namespace railbed {

// A connection that has not been admitted yet.
struct Guest {
  Fd socket;         // does not block
  std::string said;  // bytes received so far
  std::string told;  // kept by `greet`, such as its nonce
  std::chrono::steady_clock::time_point since;
};

// Limits what untrusted clients can take up. A connection that is not readable two seconds after it was
// accepted is closed; its input is limited in length; and at most 256 connections wait. If one more comes, or
// no file descriptor is left to accept it, the oldest one is closed: an honest client sends at once. Not
// thread-safe.
class Door {
 public:
  struct Keeper {
    std::size_t longest = 0;  // bytes to read from a connection; what follows them stays in the socket
    // Both return whether to wait for more input from this connection; otherwise it is closed. A callback
    // admits a connection by moving the socket out of the Guest and returning false. `hear` is called after
    // each read.
    std::function<bool(Guest&)> greet;
    std::function<bool(Guest&)> hear;
  };
  Door(int listener, Keeper keeper) : listener_(listener), keeper_(std::move(keeper)) {}

  // Waits up to `slice` for new connections and input, and handles what came. Timeouts are checked once per
  // call, so a silent connection may last longer by one slice.
  void serve_slice(std::chrono::milliseconds slice = std::chrono::milliseconds(kPollSliceMs));

 private:
  void open();
  void give_up_a_file();
  bool still_welcome(Guest& guest, bool readable);

  int listener_;
  Keeper keeper_;
  std::vector<Guest> guests_;
};

}  // namespace railbed
