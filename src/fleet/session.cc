#include "fleet/session.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bounded.h"
#include "fleet/diagnose.h"
#include "fleet/frame.h"
#include "fleet/start.h"

namespace railbed::fleet {
namespace {

constexpr auto kGrace = std::chrono::seconds(1);    // time for an agent to end by itself
constexpr auto kSilence = std::chrono::seconds(2);  // even a cold agent on a busy node has responded by then

// Limits for the response to a method, in total and for one string. A larger response is not even parsed.
// Texts of a node are shown to people, so they are short unless they carry a file or a program's output.
struct AnswerLimit {
  std::string_view method;  // a method, or the common start of several
  std::size_t most;
  std::size_t most_text;
};
constexpr std::size_t kText = 16 << 10;
constexpr AnswerLimit kLimits[] = {
    {"clock", 4 << 10, kText},
    {"hello", 4 << 10, kText},
    {"facts", kMaxToController, 64 << 10},
    {"files", kMaxToController, kMaxToController},
    {"counts", kMaxToController, kText},
    {"bench.child.next", kMaxToController, kMaxToController},  // output of NCCL, and results within strings
    {"bench.", kMaxToController, kText},
    {"apply.history", 1 << 20, kText},
    {"apply.", 512 << 10, 512 << 10},  // the log of a change
    {"job.record", 8 << 20, kText},
    {"launch.read", 1 << 20, 512 << 10},
    {"links.hear", 4 << 20, kText},  // what a port of each of many nodes heard, and routes
    {"", 64 << 10, kText},
};

const AnswerLimit& limit_of(std::string_view method) {
  return *std::ranges::find_if(kLimits,
                               [&](const AnswerLimit& limit) { return method.starts_with(limit.method); });
}

// Returns why a response exceeds its limits; empty if it does not.
std::string beyond(std::size_t most, std::size_t most_text, std::string_view body) {
  if (body.size() > most)
    return fmt::format("an answer of {} bytes, more than the limit of {}", body.size(), most);
  if (const std::size_t longest = longest_string(body); longest > most_text)
    return fmt::format("an answer with a text of {} bytes, more than the limit of {}", longest, most_text);
  return {};
}

}  // namespace

Session::~Session() {
  io_.request_stop();
  if (io_.joinable()) io_.join();
}

Result<std::string> Session::call(std::string_view method, std::string params,
                                  std::chrono::milliseconds deadline, std::stop_token stop) {
  const std::string request =
      encode_request({std::string(method), static_cast<std::uint64_t>(deadline.count()), std::move(params)});
  if (request.size() > kMaxToAgent)
    return fail(
        own_error(ErrorKind::kBadInput, fmt::format("a request of {} bytes is too large", request.size())));
  std::unique_lock lock(mutex_);
  if (auto error = wait_until_open(lock, stop)) return fail(*error);
  const std::uint32_t id = ++last_id_;
  const AnswerLimit& limit = limit_of(method);
  const auto pending = pending_.emplace(id, Call{limit.most, limit.most_text, {}}).first;
  outbox_ += encode_frame({FrameKind::kRequest, id, request});
  waker_.wake();
  changed_.wait_until(lock, stop, Clock::now() + deadline,
                      [&] { return pending->second.answer.has_value() || state_ != State::kOpen; });
  const auto answer = std::move(pending->second.answer);
  pending_.erase(pending);
  if (answer) return *answer;
  if (state_ != State::kOpen) return fail(error_);
  outbox_ += encode_frame({FrameKind::kCancel, id, ""});
  waker_.wake();
  if (stop.stop_requested()) return fail(cancelled(target_));
  const auto seconds = std::chrono::duration<double>(deadline).count();
  return fail(own_error(
      ErrorKind::kTimeout,
      fmt::format("no answer to \"{}\" within {:.3g} s; the agent was told to stop it", method, seconds)));
}

std::optional<Error> Session::wait_until_open(std::unique_lock<std::mutex>& lock,
                                              const std::stop_token& stop) {
  if (state_ == State::kNew) {
    state_ = State::kConnecting;
    connecting_since_ = Clock::now();
    io_ = std::jthread([this](const std::stop_token& token) { run(token); });
  }
  changed_.wait(lock, stop, [&] { return state_ != State::kConnecting; });
  if (state_ == State::kConnecting) return cancelled(target_);
  if (state_ == State::kFailed) return error_;
  return std::nullopt;
}

bool Session::is_silent() {
  const std::lock_guard lock(mutex_);
  return state_ == State::kConnecting && Clock::now() - connecting_since_ > kSilence;
}

Error Session::own_error(ErrorKind kind, std::string text) const {
  return at_node(node(), {kind, std::move(text)});
}

void Session::run(const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] { waker_.wake(); });
  auto link = start_agent(target_, *context_, waker_, stop);
  if (!link) return become(State::kFailed, std::move(link.error()));
  become(State::kOpen);
  Error error = serve_link(*link, stop);
  // Callers get the error at once; the process may need its grace.
  become(State::kFailed, std::move(error));
  link->close(kGrace);
}

Error Session::serve_link(Link& link, const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      const std::lock_guard lock(mutex_);
      link.send(outbox_);
      outbox_.clear();
    }
    const Link::Event event = link.pump(Clock::now() + std::chrono::hours(1), waker_);
    if (auto error = take_frames(link)) return *error;
    if (event != Link::Event::kEnd) continue;
    link.close(kGrace);
    Sighting seen;
    seen.doing = "at work";
    seen.errors = link.errors();
    seen.exit_code = link.exit_code();
    return diagnose(target_, seen).error;
  }
  return cancelled(target_);
}

std::optional<Error> Session::take_frames(Link& link) {
  while (true) {
    auto frame = link.next();
    if (!frame) return own_error(ErrorKind::kUnavailable, frame.error().text);
    if (!*frame) return std::nullopt;
    take(std::move(**frame));
  }
}

void Session::take(Frame frame) {
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(frame.id);
  if (found == pending_.end()) return;  // late: its caller has stopped waiting
  std::optional<Result<std::string>>& answer = found->second.answer;
  if (frame.kind == FrameKind::kAnswer) {
    if (const std::string why = beyond(found->second.most, found->second.most_text, frame.body); !why.empty())
      answer = Result<std::string>(fail(own_error(ErrorKind::kBadInput, why)));
    else
      answer = std::move(frame.body);
  } else if (frame.kind == FrameKind::kError) {
    answer = Result<std::string>(fail(at_node(node(), decode_error(frame.body))));
  } else {
    return;
  }
  changed_.notify_all();
}

void Session::become(State state, Error error) {
  const std::lock_guard lock(mutex_);
  state_ = state;
  error_ = std::move(error);
  changed_.notify_all();
}

}  // namespace railbed::fleet
