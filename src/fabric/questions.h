// Questions on their way: so many at once, each asked again when nothing comes back, each ended once.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <unordered_map>

#include "fabric/discover.h"
#include "fabric/mad.h"

namespace railbed {

class Questions {
 public:
  // Null: no answer came. Asking more from within is what it is for.
  using Heard = std::function<void(const Mad* answer)>;

  Questions(MadDoor& door, const DiscoveryLimits& limits)
      : door_(door), limits_(limits), end_(Clock::now() + limits.whole) {}

  // The transaction's number is put into the question when it leaves.
  void ask(Mad question, const MadRoute& route, Heard heard);
  // Until no question is left. kTimeout and kCancelled when that was not to be.
  Result<void> run();

 private:
  using Clock = std::chrono::steady_clock;
  struct Question {
    Mad mad;
    MadRoute route;
    Heard heard;
    int tries = 0;
  };
  struct Leaving {
    std::uint32_t transaction;
    Clock::time_point due;
  };
  bool send_more();
  void send(Question question);
  void hear(const Mad& mad);
  void hear_what_lies_here();
  void give_up_late(Clock::time_point now);

  MadDoor& door_;
  const DiscoveryLimits& limits_;
  Clock::time_point end_;
  std::uint32_t next_ = 1;
  std::deque<Question> waiting_;
  std::unordered_map<std::uint32_t, Question> asked_;
  std::deque<Leaving> leaving_;  // in the order in which they become late
};

}  // namespace railbed
