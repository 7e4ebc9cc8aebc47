// The agent's side of the protocol: receives requests, runs each handler on its own thread, and sends the
// responses.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "base/fd.h"
#include "fleet/fleet.h"
#include "fleet/frame.h"
#include "fleet/link.h"

namespace railbed::fleet {
namespace {

constexpr std::size_t kMaxRunning = 64;
// A controller cancels a call that it no longer waits for. If it cannot, because its link is dead, no work
// must be left behind. So the agent itself cancels a handler this long after the deadline of its request.
constexpr auto kAfterDeadline = std::chrono::seconds(2);

// The running handlers. It outlives serve(), because a handler that ignores its stop still uses it.
class Serving : public std::enable_shared_from_this<Serving> {
 public:
  Serving(int out, Handlers handlers) : out_(dup(out)), handlers_(std::move(handlers)) {}

  void send(const Frame& frame) {
    const std::string bytes = encode_frame(frame);
    const std::lock_guard lock(out_mutex_);
    std::string_view left = bytes;
    while (!left.empty()) {
      const ssize_t count = write(out_.get(), left.data(), left.size());
      if (count > 0) left.remove_prefix(static_cast<std::size_t>(count));
      if (count < 0 && errno == EAGAIN) {
        pollfd room = {out_.get(), POLLOUT, 0};
        poll(&room, 1, -1);
      } else if (count < 0 && errno != EINTR) {
        return;  // the controller is gone; the input ends next
      }
    }
  }

  void take(const Frame& frame) {
    if (frame.kind == FrameKind::kRequest) return start(frame);
    if (frame.kind != FrameKind::kCancel) return;
    const std::lock_guard lock(mutex_);
    if (const auto found = running_.find(frame.id); found != running_.end())
      found->second.stop.request_stop();
  }

  // Cancels handlers that are past their deadline. Returns the next deadline; nullopt if there is none.
  std::optional<Clock::time_point> cancel_overdue() {
    const std::lock_guard lock(mutex_);
    std::optional<Clock::time_point> next;
    for (auto& [id, run] : running_) {
      if (run.stop.stop_requested()) continue;
      if (run.until <= Clock::now()) {
        run.stop.request_stop();
      } else {
        next = next ? std::min(*next, run.until) : run.until;
      }
    }
    return next;
  }

  // Cancels all handlers. Returns how many still run after `grace`.
  std::size_t cancel_all(std::chrono::milliseconds grace) {
    std::unique_lock lock(mutex_);
    for (auto& [id, run] : running_) run.stop.request_stop();
    ended_.wait_for(lock, grace, [&] { return running_.empty(); });
    return running_.size();
  }

 private:
  struct Run {
    std::stop_source stop;
    Clock::time_point until;
  };

  void refuse(std::uint32_t id, ErrorKind kind, std::string text) {
    send({FrameKind::kError, id, encode_error({kind, std::move(text)})});
  }

  void start(const Frame& frame) {
    auto request = decode_request(frame.body);
    if (!request) return refuse(frame.id, request.error().kind, request.error().text);
    const auto handler = handlers_.find(request->method);
    if (handler == handlers_.end())
      return refuse(frame.id, ErrorKind::kBadInput,
                    "this agent knows no method \"" + quotable(request->method) + "\"");
    std::stop_source stop;
    {
      const std::lock_guard lock(mutex_);
      if (running_.size() >= kMaxRunning || running_.contains(frame.id))
        return refuse(frame.id, ErrorKind::kUnavailable, "the agent has too much to do already");
      constexpr std::uint64_t kDay = 86'400'000;
      const std::chrono::milliseconds wait(std::min(request->deadline_ms, kDay));
      running_.emplace(frame.id, Run{stop, Clock::now() + wait + kAfterDeadline});
    }
    std::thread([self = shared_from_this(), &handle = handler->second, id = frame.id,
                 params = std::move(request->params), token = stop.get_token()] {
      self->answer(id, handle(params, token));
      const std::lock_guard lock(self->mutex_);
      self->running_.erase(id);
      self->ended_.notify_all();
    }).detach();
  }

  void answer(std::uint32_t id, Result<std::string> result) {
    if (!result) return send({FrameKind::kError, id, encode_error(result.error())});
    if (result->size() > kMaxToController)
      return refuse(id, ErrorKind::kInternal,
                    "the answer of " + std::to_string(result->size()) + " bytes is too large");
    send({FrameKind::kAnswer, id, std::move(*result)});
  }

  const Fd out_;
  const Handlers handlers_;
  std::mutex out_mutex_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::map<std::uint32_t, Run> running_;
};

// Waits for input or a stop, at most until the next deadline of a handler.
void wait_for_input(int in, const Waker& stopped, Serving& serving) {
  const auto next = serving.cancel_overdue();
  const auto left = next ? std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now()).count() : -1;
  pollfd fds[] = {{in, POLLIN, 0}, {stopped.fd(), POLLIN, 0}};
  poll(fds, 2, static_cast<int>(next ? std::clamp<long long>(left, 0, 60'000) : -1));
}

bool readable(int in) {
  pollfd input = {in, POLLIN, 0};
  return poll(&input, 1, 0) > 0;
}

}  // namespace

std::size_t serve(int in, int out, const Handlers& handlers, const std::stop_token& stop,
                  std::chrono::milliseconds grace) {
  const Waker stopped;
  const std::stop_callback on_stop(stop, [&] { stopped.wake(); });
  const auto serving = std::make_shared<Serving>(out, handlers);
  serving->send({FrameKind::kReady, 0, ""});
  FrameDecoder decoder(kMaxToAgent);
  char bytes[kChunkBytes];
  while (!stop.stop_requested()) {
    wait_for_input(in, stopped, *serving);
    if (!readable(in)) continue;
    const ssize_t count = read(in, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    decoder.feed({bytes, static_cast<std::size_t>(count)});
    auto frame = decoder.next();
    for (; frame && *frame; frame = decoder.next()) serving->take(**frame);
    if (!frame) {  // not a controller of this protocol: print the reason to stderr and end
      const std::string text = "railbed agent: " + frame.error().text + "\n";
      if (write(STDERR_FILENO, text.data(), text.size()) < 0) break;
      break;
    }
  }
  return serving->cancel_all(grace);
}

std::size_t serve_stdio(const Handlers& handlers, const std::stop_token& stop) {
  signal(SIGPIPE, SIG_IGN);
  const Fd in(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  const Fd out(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  const Fd nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  dup2(nothing.get(), STDIN_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  return serve(in.get(), out.get(), handlers, stop);
}

}  // namespace railbed::fleet
