// A sliding window over a transport that loses packets. At most `in_flight` requests are on their way; the
// others wait in a queue. Each request gets a transaction number, by which its response is matched. If none
// comes within `patience`, the request is sent again under a new number, `tries` times in all; then its
// handler gets null. Late responses to an old number are dropped. Timeouts are equal for all requests, so
// leaving_ is in their order without sorting; entries whose response came are skipped at its front.
#include "fabric/questions.h"

#include <algorithm>
#include <utility>

namespace railbed {
namespace {

constexpr std::size_t kTransactionAt = 12;
constexpr std::chrono::milliseconds kSlice{50};  // interval between checks for a stop
// Not zero: libibumad then reads at once, which blocks where a simulator replaces the device.
constexpr std::chrono::milliseconds kLook{1};

}  // namespace

void Questions::ask(Mad question, const MadRoute& route, Heard heard) {
  waiting_.push_back({question, route, std::move(heard), 0});
}

void Questions::send(Question question) {
  const std::uint32_t transaction = next_++;
  for (std::size_t i = 0; i < 4; ++i)
    question.mad[kTransactionAt + i] = static_cast<std::uint8_t>(transaction >> (24 - 8 * i));
  ++question.tries;
  // A packet that could not be sent times out like one that got lost.
  door_.send(question.mad, question.route, limits_.patience);
  leaving_.push_back({transaction, Clock::now() + limits_.patience});
  asked_.emplace(transaction, std::move(question));
}

bool Questions::send_more() {
  while (!waiting_.empty() && asked_.size() < limits_.in_flight) {
    Question next = std::move(waiting_.front());
    waiting_.pop_front();
    send(std::move(next));
  }
  return !asked_.empty();
}

void Questions::hear(const Mad& mad) {
  const auto answer = answer_of(mad);
  if (!answer) return;  // a request that the kernel returned; it times out soon
  const auto found = asked_.find(answer->transaction);
  if (found == asked_.end()) return;
  // A response must match the class and the attribute of the request with its number.
  const auto& asked = found->second.mad;
  const auto same = [&](std::size_t at) { return asked[at] == mad[at]; };
  if (!same(1) || !same(16) || !same(17)) return;
  const Question question = std::move(found->second);
  asked_.erase(found);
  question.heard(answer->status == 0 ? &mad : nullptr);
}

// Receives responses that are waiting already: if this process did not run for a while, they came in time.
// Limited to `in_flight`, so that a flood of packets delays nothing.
void Questions::hear_what_lies_here() {
  for (std::size_t i = 0; i < limits_.in_flight; ++i) {
    const auto mad = door_.receive(kLook);
    if (!mad) return;
    hear(*mad);
  }
}

void Questions::give_up_late(Clock::time_point now) {
  while (!leaving_.empty() &&
         (leaving_.front().due <= now || !asked_.contains(leaving_.front().transaction))) {
    const auto found = asked_.find(leaving_.front().transaction);
    leaving_.pop_front();
    if (found == asked_.end()) continue;
    Question question = std::move(found->second);
    asked_.erase(found);
    if (question.tries < limits_.tries)
      send(std::move(question));
    else
      question.heard(nullptr);
  }
}

Result<void> Questions::run() {
  while (send_more()) {
    if (limits_.stop.stop_requested()) return fail(ErrorKind::kCancelled, "stopped");
    const auto now = Clock::now();
    if (now >= end_)
      return fail(ErrorKind::kTimeout, "the subnet did not answer within the time for all of it");
    if (!leaving_.empty() && leaving_.front().due <= now) hear_what_lies_here();
    give_up_late(now);
    if (leaving_.empty()) continue;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(leaving_.front().due - now);
    if (const auto mad = door_.receive(std::clamp(left, std::chrono::milliseconds(1), kSlice))) hear(*mad);
  }
  return {};
}

}  // namespace railbed
