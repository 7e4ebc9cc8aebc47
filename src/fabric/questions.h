// Requests in flight: a limited number at once, each repeated if no response comes, each completed once.
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
  // Called with the response; null if none came or if its status is an error. It may call ask() itself, as
  // discovery does.
  using Heard = std::function<void(const Mad* answer)>;

  // Both arguments must outlive this object.
  Questions(MadDoor& door, const DiscoveryLimits& limits)
      : door_(door), limits_(limits), end_(Clock::now() + limits.whole) {}

  // Queues a request. Its transaction number is set when it is sent.
  void ask(Mad question, const MadRoute& route, Heard heard);
  // Sends requests and receives responses until none is left. Fails with kTimeout or kCancelled; the handlers
  // of the requests that are left are not called then.
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
  std::deque<Leaving> leaving_;  // in the order of their timeouts
};

}  // namespace railbed
