// Work in a child process that a controller follows from afar: results are kept until they are asked for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/fields.h"
#include "base/json.h"
#include "base/peer.h"
#include "bench/core/agent_side.h"
#include "bench/core/sessions.h"
#include "host/process.h"

namespace railbed {

// What an agent may take to start such work, or to ask a child for its GPUs.
inline constexpr std::chrono::seconds kStartDeadline{30};

// What has happened since it was last asked.
struct ChildNews {
  std::vector<std::string> results;
  std::string step;     // what is being done now
  json::Lines printed;  // what libraries wrote; past the first 4 MiB it is dropped
  bool ended = false;
  std::string trouble;  // why it ended before its work did
  bool killed = false;
  FIELDS(ChildNews, results, step, printed, ended, trouble, killed);
};

class ChildSession {
 public:
  ChildSession(std::function<void(const Tell& tell)> work, std::chrono::milliseconds patience);
  // Kills the child where it still works.
  ~ChildSession() = default;

  // Waits for something new, so long at most.
  ChildNews news(std::chrono::milliseconds at_most, std::stop_token stop);

 private:
  void follow(const std::function<void(const Tell& tell)>& work, std::chrono::milliseconds patience,
              const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  ChildNews news_;
  std::size_t printed_ = 0;
  bool fresh_ = false;
  std::jthread thread_;  // last: it uses the others
};

// The methods "bench.child.next" and "bench.child.end" on what other methods started.
inline constexpr std::string_view kChildNext = "bench.child.next";  // ChildName → ChildNews
inline constexpr std::string_view kChildEnd = "bench.child.end";    // ChildName → ChildName

struct ChildName {
  std::string session;
  FIELDS(ChildName, session);
};

using ChildSessions = Sessions<ChildSession>;
// These two methods, for the sessions that engines of this agent share.
Handlers child_handlers(AgentSide& side);

// The controller's side: hands on each line until the work ends. `step` may be called often.
struct FollowedChild {
  std::function<void(std::string_view line)> result;
  std::function<void(std::string_view step)> step;
  std::function<void(std::string_view text)> printed;
};
Result<void> follow_session(Peer& peer, const std::string& session, const FollowedChild& listener,
                            const std::stop_token& stop);

}  // namespace railbed
