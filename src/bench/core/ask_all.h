// Several agents asked at once, who work on one thing together: when one goes wrong, the others would wait
// for it until their patience ends. One rule says who is stopped, and when:
//
//   1. Each end is asked in a thread of its own, all at once. While all goes well nobody is stopped.
//   2. An end that answers with a Failure is a witness, and so may the others be: they have a grace to say
//   what
//      they saw, longer than the engines' own patience. Then they are stopped.
//   3. An end that does not answer (its agent ended, the connection broke, the deadline passed) is cause
//      enough: the others are stopped at once.
//   4. The caller's stop stops all of them at once.
//
// Nothing returns before every end has answered or has been stopped. cause_of() then says which of the
// failures is the cause, and which only follow from it. For .cc files: it brings the JSON library along.
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

enum class EndState { kWell, kFailed, kGone };

template <class Answer>
EndState state_of(const Result<Answer>& answer) {
  if (!answer) return EndState::kGone;
  if constexpr (requires { answer->failure; })
    if (answer->failure) return EndState::kFailed;
  return EndState::kWell;
}

// The rule itself: runs ask(0) … ask(ends − 1) at once. Answers their numbers in the order in which they
// ended.
std::vector<std::size_t> run_all(std::size_t ends,
                                 const std::function<EndState(std::size_t end, std::stop_token stop)>& ask,
                                 std::stop_token stop, std::chrono::milliseconds grace = kGrace);

template <class Answer>
struct Answers {
  std::vector<Result<Answer>> ends;  // as they were asked
  std::vector<std::size_t> order;    // in which they answered
};

// A method of every peer, with a request for each.
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

// Two ends whose answers are of different kinds.
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

// What one end said: an error of its agent, a failure, or neither. Points into the answer.
struct EndSaid {
  const std::string* node = nullptr;
  const Error* error = nullptr;
  const Failure* failure = nullptr;
  FailureKind kind = FailureKind::kOther;  // of the failure, where the answer says it
};
template <class Answer>
EndSaid end_said(const std::string& node, const Result<Answer>& answer) {
  if (!answer) return {&node, &answer.error(), nullptr};
  EndSaid said{&node, nullptr, answer->failure ? &*answer->failure : nullptr};
  if constexpr (requires { answer->kind; }) said.kind = answer->kind;
  return said;
}

// The cause to show, of what all ends said: damaged data first, then an agent that ended, then a failure; of
// several the first in `believed`, numbers of ends. Ends that had to be stopped are named with it. Nothing
// when all are well.
std::optional<Failure> cause_of(const std::vector<EndSaid>& ends, const std::vector<std::size_t>& believed);

// Of a pair: what the sending side saw counts before what the receiving side saw, but for damage, which the
// receiver sees first.
std::optional<Failure> cause_of(const EndSaid& sender, const EndSaid& receiver);

template <class A, class B>
std::optional<Failure> cause_of(const std::string& sender_node, const Result<A>& sender,
                                const std::string& receiver_node, const Result<B>& receiver) {
  return cause_of(end_said(sender_node, sender), end_said(receiver_node, receiver));
}

}  // namespace railbed
