// A listening socket at which anybody may knock, and some may come in.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "host/wait.h"

namespace railbed {

// A connection that has not been let in yet.
struct Guest {
  Fd socket;         // does not block
  std::string said;  // so far
  std::string told;  // by whoever greeted it
  std::chrono::steady_clock::time_point since;
};

// Nobody holds it up: each guest has two seconds for its next words and a limit on their length, and of those
// who wait there are so many at most. When one more comes, or no file is left to open for it, the one that
// has been silent for longest leaves: whoever has something to say says it at once.
class Door {
 public:
  struct Keeper {
    std::size_t longest = 0;  // bytes that a guest may say; what follows them stays in the socket
    // Each answers whether to wait for what the guest says next. One that was let in has lost its socket to
    // whoever let it in; every other is closed.
    std::function<bool(Guest&)> greet;
    std::function<bool(Guest&)> hear;
  };
  Door(int listener, Keeper keeper) : listener_(listener), keeper_(std::move(keeper)) {}

  // Whatever happens within one slice of waiting. With a long one, whoever says nothing stays as much longer.
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
