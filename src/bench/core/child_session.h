// Work in a child process of an agent, which a controller follows from another machine. The agent keeps the
// results until the controller fetches them.
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
#include "os/process.h"

namespace railbed {

// The deadline for an agent to start such work, or to get a list of GPUs from a child.
inline constexpr std::chrono::seconds kStartDeadline{30};

// The events since the last request, and the present state.
struct ChildNews {
  std::vector<std::string> results;
  std::string step;     // the present step of the work
  json::Lines printed;  // output of libraries; dropped after the first 4 MiB
  bool ended = false;
  std::string trouble;  // why the child ended before its work was done; empty: it did not
  bool killed = false;
  FIELDS(ChildNews, results, step, printed, ended, trouble, killed);
};

// One child process and its news. Thread-safe.
class ChildSession {
 public:
  // Runs `work` in a child. A child that reports nothing for `patience` counts as hanging.
  ChildSession(std::function<void(const Tell& tell)> work, std::chrono::milliseconds patience);
  // Kills the child if it still runs.
  ~ChildSession() = default;

  // Waits at most `at_most` for a result or the end of the child. Returns the news and forgets its results
  // and output. Returns at once if the child has ended.
  ChildNews news(std::chrono::milliseconds at_most, std::stop_token stop);

 private:
  void follow(const std::function<void(const Tell& tell)>& work, std::chrono::milliseconds patience,
              const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  ChildNews news_;
  std::size_t printed_ = 0;
  bool fresh_ = false;
  std::jthread thread_;  // the last member, because it uses the others
};

// Two methods on sessions that other methods started: get the news, and end the session.
inline constexpr std::string_view kChildNext = "bench.child.next";  // ChildName → ChildNews
inline constexpr std::string_view kChildEnd = "bench.child.end";    // ChildName → ChildName

struct ChildName {
  std::string session;
  FIELDS(ChildName, session);
};

using ChildSessions = Sessions<ChildSession>;
// Makes the handlers of these two methods, for the sessions that the engines of this agent share.
Handlers child_handlers(AgentSide& side);

// The controller's side: the functions that receive the news of a child. `step` may be called often, with an
// unchanged step.
struct FollowedChild {
  std::function<void(std::string_view line)> result;
  std::function<void(std::string_view step)> step;
  std::function<void(std::string_view text)> printed;
};
// Fetches the news of a session and passes it on, until the work ends. Then ends the session, also after an
// error. Fails if the child or its agent failed, after four hours, and if the child sends more than 64 MiB of
// results or more than twice kMaxOutput of output.
Result<void> follow_session(Peer& peer, const std::string& session, const FollowedChild& listener,
                            const std::stop_token& stop);

}  // namespace railbed
