// One node's agent as a Peer. A thread of its own owns the Link: it connects, sends what callers queue, and
// hands them their answers; callers only wait, with their deadline and stop.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "fleet/fleet.h"
#include "fleet/fleet_context.h"
#include "fleet/link.h"

namespace railbed::fleet {

class Session final : public Peer {
 public:
  Session(Target target, std::shared_ptr<FleetContext> context)
      : target_(std::move(target)), context_(std::move(context)) {}
  ~Session() override;  // no call may be under way

  const std::string& node() const override { return target_.name; }
  Result<std::string> call(std::string_view method, std::string params, std::chrono::milliseconds deadline,
                           std::stop_token stop) override;
  // True while it is being connected, and nothing has come of that for longer than a sound node takes.
  bool is_silent();
  // Begins to end the agent; the destructor waits for it.
  void request_stop() { io_.request_stop(); }

 private:
  enum class State { kNew, kConnecting, kOpen, kFailed };
  struct Call {
    std::size_t most = 0;       // bytes that its answer may have
    std::size_t most_text = 0;  // and each string in it
    std::optional<Result<std::string>> answer;
  };
  using Pending = std::map<std::uint32_t, Call>;

  std::optional<Error> wait_until_open(std::unique_lock<std::mutex>& lock, const std::stop_token& stop);
  void run(const std::stop_token& stop);
  // Serves the calls until the link ends; answers why it did.
  Error serve_link(Link& link, const std::stop_token& stop);
  std::optional<Error> take_frames(Link& link);
  Error own_error(ErrorKind kind, std::string text) const;
  void take(Frame frame);
  void become(State state, Error error = {});

  const Target target_;
  const std::shared_ptr<FleetContext> context_;
  Waker waker_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  State state_ = State::kNew;
  Clock::time_point connecting_since_;
  Error error_;  // why kFailed
  std::uint32_t last_id_ = 0;
  Pending pending_;
  std::string outbox_;

  std::jthread io_;  // last: it uses all of the above
};

}  // namespace railbed::fleet
