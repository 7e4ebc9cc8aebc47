// Two requests to the two agents of a pair, at once: neither outlives the other's failure for long.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "base/result.h"
#include "bench/core/chained_stop.h"
#include "results/measurement.h"

namespace railbed {

// How long the other side may still take to say what it saw. Longer than the engines' own patience.
inline constexpr std::chrono::milliseconds kGrace{5000};

template <class Answer>
bool went_wrong(const Result<Answer>& answer) {
  return !answer || answer->failure;
}

// Runs both functions, each given a stop token. When one side reports a failure the other has a grace to say
// what it saw; then it is stopped. When an agent is gone that is cause enough: the other is stopped at once.
template <class A, class B>
std::pair<Result<A>, Result<B>> ask_both(const std::function<Result<A>(std::stop_token)>& ask_a,
                                         const std::function<Result<B>(std::stop_token)>& ask_b,
                                         std::stop_token stop, std::chrono::milliseconds grace = kGrace) {
  ChainedStop inner(std::move(stop));
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Result<A>> a;
  std::optional<Result<B>> b;
  const auto put = [&](auto& slot, auto answer) {
    const std::lock_guard lock(mutex);
    slot.emplace(std::move(answer));
    changed.notify_all();
  };
  const std::jthread thread_a([&] { put(a, ask_a(inner.token())); });
  const std::jthread thread_b([&] { put(b, ask_b(inner.token())); });
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return (a && (b || went_wrong(*a))) || (b && went_wrong(*b)); });
  const bool gone = (a && !*a) || (b && !*b);
  if (!changed.wait_for(lock, gone ? std::chrono::milliseconds(0) : grace, [&] { return a && b; })) {
    lock.unlock();
    inner.request();
    lock.lock();
    changed.wait(lock, [&] { return a && b; });
  }
  return {std::move(*a), std::move(*b)};
}

// The cause to show, of what both sides saw. Damaged data first, then an agent that ended, then what the
// sending side saw, then the other. Nothing when both are well.
std::optional<Failure> cause_of(const std::string& sender_node, const Error* sender_error,
                                const std::optional<Failure>& sender_failure,
                                const std::string& receiver_node, const Error* receiver_error,
                                const std::optional<Failure>& receiver_failure);

template <class A, class B>
std::optional<Failure> cause_of(const std::string& sender_node, const Result<A>& sender,
                                const std::string& receiver_node, const Result<B>& receiver) {
  return cause_of(sender_node, sender ? nullptr : &sender.error(),
                  sender ? sender->failure : std::optional<Failure>(), receiver_node,
                  receiver ? nullptr : &receiver.error(),
                  receiver ? receiver->failure : std::optional<Failure>());
}

}  // namespace railbed
