// A Peer for one node's agent. Its own thread owns the Link: it connects, sends the queued requests, and
// delivers the responses. Callers only wait, with their deadline and stop.
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

// See the head of this file. Thread-safe.
class Session final : public Peer {
 public:
  Session(Target target, std::shared_ptr<FleetContext> context)
      : target_(std::move(target)), context_(std::move(context)) {}
  ~Session() override;  // no call may be in progress

  const std::string& node() const override { return target_.name; }
  const Target& target() const { return target_; }
  // The first call connects. Fails with the reason if the connection failed or ended, with kTimeout at the
  // deadline, and with kCancelled if `stop` is requested.
  Result<std::string> call(std::string_view method, std::string params, std::chrono::milliseconds deadline,
                           std::stop_token stop) override;
  // Returns whether it has been connecting for longer than a healthy node takes (2 s).
  bool is_silent();
  // Starts to end the agent. The destructor waits for it.
  void request_stop() { io_.request_stop(); }

 private:
  enum class State { kNew, kConnecting, kOpen, kFailed };
  // A call in progress.
  struct Call {
    std::size_t most = 0;       // limit for the response in bytes
    std::size_t most_text = 0;  // limit for each string in it
    std::optional<Result<std::string>> answer;
  };
  using Pending = std::map<std::uint32_t, Call>;

  // Connects if needed and waits. Returns the error if the connection failed.
  std::optional<Error> wait_until_open(std::unique_lock<std::mutex>& lock, const std::stop_token& stop);
  // The thread of the session.
  void run(const std::stop_token& stop);
  // Serves the calls until the link ends. Returns why it ended.
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
  Error error_;  // the reason for kFailed
  std::uint32_t last_id_ = 0;
  Pending pending_;
  std::string outbox_;

  std::jthread io_;  // last, because it uses all members above
};

}  // namespace railbed::fleet
