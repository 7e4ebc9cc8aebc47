#include "fleet/rank_peer.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include "os/wait.h"

namespace railbed::fleet {
tl::unexpected<Error> RankPeer::lose(ErrorKind kind, std::string why) {
  lost_ = Error{kind, fmt::format("{} {}", who_, why), node_};
  socket_.reset();
  return tl::unexpected<Error>(*lost_);
}

Result<void> RankPeer::send(std::string_view bytes, Time until, const std::stop_token& stop) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
      continue;
    }
    if (errno != EAGAIN && errno != EINTR) return lose(ErrorKind::kUnavailable, "has gone");
    // Half a frame cannot be undone, so the stream is unusable afterwards.
    if (const Waited waited = wait_writable(socket_.get(), until, stop); waited != Waited::kReady)
      return waited == Waited::kStopped ? lose(ErrorKind::kCancelled, "was not asked: stopped")
                                        : lose(ErrorKind::kTimeout, "takes no requests");
  }
  return {};
}

Result<std::optional<std::string>> RankPeer::answer_to(std::uint32_t id) {
  for (;;) {
    auto frame = decoder_.next();
    if (!frame) return lose(frame.error().kind, "sent what is no frame: " + frame.error().text);
    if (!*frame) return std::nullopt;
    if ((*frame)->id != id) continue;  // late: its caller has stopped waiting
    if ((*frame)->kind == FrameKind::kAnswer) return std::optional(std::move((*frame)->body));
    if ((*frame)->kind != FrameKind::kError) continue;
    Error error = decode_error((*frame)->body);
    return fail({error.kind, who_ + ": " + error.text, node_});
  }
}

Result<void> RankPeer::receive(Time until, const std::stop_token& stop) {
  if (const Waited waited = wait_readable(socket_.get(), until, stop); waited != Waited::kReady)
    return waited == Waited::kStopped
               ? fail({ErrorKind::kCancelled, who_ + " was not waited for: stopped", node_})
               : fail({ErrorKind::kTimeout, who_ + " did not answer in time", node_});
  char bytes[kChunkBytes];
  const ssize_t count = recv(socket_.get(), bytes, sizeof bytes, 0);
  if (count > 0) {
    decoder_.feed({bytes, static_cast<std::size_t>(count)});
    return {};
  }
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  return lose(ErrorKind::kUnavailable, "has gone");
}

Result<std::string> RankPeer::wait_for(std::uint32_t id, Time until, const std::stop_token& stop) {
  for (;;) {
    ASSIGN_OR_RETURN(auto answer, answer_to(id));
    if (answer) return std::move(*answer);
    RETURN_IF_ERROR(receive(until, stop));
  }
}

Result<std::string> RankPeer::call(std::string_view method, std::string params,
                                   std::chrono::milliseconds deadline, std::stop_token stop) {
  const Time until = std::chrono::steady_clock::now() + deadline;
  const std::string request =
      encode_request({std::string(method), static_cast<std::uint64_t>(deadline.count()), std::move(params)});
  if (request.size() > kMaxToAgent)
    return fail(ErrorKind::kBadInput, fmt::format("a request of {} bytes is too large", request.size()));
  const std::lock_guard lock(mutex_);
  if (lost_) return fail(*lost_);
  const std::uint32_t id = ++last_id_;
  RETURN_IF_ERROR(send(encode_frame({FrameKind::kRequest, id, request}), until, stop));
  auto answer = wait_for(id, until, stop);
  const bool waited_in_vain =
      !answer && !lost_ &&
      (answer.error().kind == ErrorKind::kTimeout || answer.error().kind == ErrorKind::kCancelled);
  // If the rank itself reported a timeout, the cancellation is superfluous and harmless.
  if (waited_in_vain)
    (void)send(encode_frame({FrameKind::kCancel, id, ""}), until + std::chrono::seconds(1), {});
  return answer;
}

}  // namespace railbed::fleet
