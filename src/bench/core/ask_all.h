// Concurrent requests to several agents that work on one task together. When one of them fails, the others
// would wait for it until their own timeouts. One rule decides which agents are stopped, and when:
//
//   1. Each end gets its request in a thread of its own, all at the same time. While all go well, none is
//      stopped.
//   2. An end that replies with a Failure is a witness, and the others may be witnesses too: they get a
//      grace period to report what they saw, longer than the engines' own timeouts. Then they are stopped.
//   3. An end that does not reply (its agent ended, the connection broke, the deadline passed) is a
//      sufficient cause: the others are stopped at once.
//   4. The caller's stop stops all of them at once.
//
// The functions return only after every end has replied or has been stopped. cause_of() then separates the
// failure that is the cause from those that only follow from it. Include this only in .cc files: it includes
// the JSON library.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/peer.h"
#include "base/result.h"
#include "bench/core/typed.h"
#include "results/measurement.h"

namespace railbed {

inline constexpr std::chrono::milliseconds kGrace{5000};

// The outcome of a request to one end: a good reply, a reply with a Failure, or no reply.
enum class EndState { kWell, kFailed, kGone };

template <class Answer>
EndState state_of(const Result<Answer>& answer) {
  if (!answer) return EndState::kGone;
  if constexpr (requires { answer->failure; })
    if (answer->failure) return EndState::kFailed;
  return EndState::kWell;
}

// The rule itself: runs ask(0) … ask(ends − 1) at the same time, each in a thread of its own. Returns the
// numbers of the ends in the order in which they ended.
std::vector<std::size_t> run_all(std::size_t ends,
                                 const std::function<EndState(std::size_t end, std::stop_token stop)>& ask,
                                 std::stop_token stop, std::chrono::milliseconds grace = kGrace);

template <class Answer>
struct Answers {
  std::vector<Result<Answer>> ends;  // in the order of the peers
  std::vector<std::size_t> order;    // numbers of the ends, in the order in which they ended
};

// Calls one method of every peer, with a request for each. `requests` must have the size of `peers`.
template <class Answer, class Request>
Answers<Answer> ask_all(const std::vector<Peer*>& peers, std::string_view method,
                        const std::vector<Request>& requests, std::chrono::milliseconds deadline,
                        std::stop_token stop) {
  Answers<Answer> answers;
  answers.ends.resize(peers.size(), Result<Answer>(Answer{}));
  answers.order = run_all(
      peers.size(),
      [&](std::size_t end, std::stop_token inner) {
        answers.ends[end] = ask<Answer>(*peers[end], method, requests[end], deadline, std::move(inner));
        return state_of(answers.ends[end]);
      },
      std::move(stop));
  return answers;
}

// Runs both functions by the same rule, for two ends whose replies differ in type.
template <class A, class B>
std::pair<Result<A>, Result<B>> ask_both(const std::function<Result<A>(std::stop_token)>& ask_a,
                                         const std::function<Result<B>(std::stop_token)>& ask_b,
                                         std::stop_token stop, std::chrono::milliseconds grace = kGrace) {
  std::pair<Result<A>, Result<B>> answers{A{}, B{}};
  run_all(
      2,
      [&](std::size_t end, std::stop_token inner) {
        if (end == 0) return state_of(answers.first = ask_a(std::move(inner)));
        return state_of(answers.second = ask_b(std::move(inner)));
      },
      std::move(stop), grace);
  return answers;
}

// The outcome of one end: an error of its agent, a failure, or neither. Points into the node's name and the
// reply, which must outlive it.
struct EndSaid {
  const std::string* node = nullptr;
  const Error* error = nullptr;
  const Failure* failure = nullptr;
  FailureKind kind = FailureKind::kOther;  // of the failure; kOther if the reply has no kind
};
template <class Answer>
EndSaid end_said(const std::string& node, const Result<Answer>& answer) {
  if (!answer) return {&node, &answer.error(), nullptr};
  EndSaid said{&node, nullptr, answer->failure ? &*answer->failure : nullptr};
  if constexpr (requires { answer->kind; }) said.kind = answer->kind;
  return said;
}

// Returns the cause to show: damaged data first, then an agent that ended, then a failure. Of several the
// first in `believed` is taken, which holds numbers of ends. The text of a failure also names the ends that
// had to be stopped. Empty if all ends are well.
std::optional<Failure> cause_of(const std::vector<EndSaid>& ends, const std::vector<std::size_t>& believed);

// The same for a pair: the sending side's failure goes before the receiving side's, except for damaged data,
// which the receiver sees first.
std::optional<Failure> cause_of(const EndSaid& sender, const EndSaid& receiver);

template <class A, class B>
std::optional<Failure> cause_of(const std::string& sender_node, const Result<A>& sender,
                                const std::string& receiver_node, const Result<B>& receiver) {
  return cause_of(end_said(sender_node, sender), end_said(receiver_node, receiver));
}

}  // namespace railbed
