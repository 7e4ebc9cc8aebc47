#include "bench/core/ask_all.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/wording.h"
#include "bench/core/chained_stop.h"

namespace railbed {
namespace {

Failure agent_failure(const std::string& node, const Error& error) {
  Failure failure;
  failure.stage = "run";
  failure.cause = fmt::format("the agent on {}: {}", node, without_node(error));
  failure.remedy = fmt::format("see whether {} is up and its railbed agent was not killed", node);
  return failure;
}

bool is_damaged(const EndSaid& end) { return end.failure != nullptr && end.failure->stage == "verify"; }
// Returns whether the agent of this end failed by itself. kCancelled means that run_all() stopped the end
// after another's failure: such an end did not reply, but it is not a cause.
bool has_ended(const EndSaid& end) {
  return end.error != nullptr && end.error->kind != ErrorKind::kCancelled;
}
bool is_silent(const EndSaid& end) { return end.error != nullptr; }

}  // namespace

std::vector<std::size_t> run_all(std::size_t ends,
                                 const std::function<EndState(std::size_t end, std::stop_token stop)>& ask,
                                 std::stop_token stop, std::chrono::milliseconds grace) {
  ChainedStop inner(std::move(stop));
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::size_t> order;
  bool failed = false;
  bool gone = false;
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < ends; ++i)
    threads.emplace_back([&, i] {
      const EndState outcome = ask(i, inner.token());
      const std::lock_guard lock(mutex);
      failed = failed || outcome == EndState::kFailed;
      gone = gone || outcome == EndState::kGone;
      order.push_back(i);
      changed.notify_all();
    });
  const auto over = [&] { return gone || order.size() == ends; };
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return failed || over(); });
  changed.wait_for(lock, grace, over);
  const bool complete = order.size() == ends;
  lock.unlock();
  if (!complete) inner.request();
  threads.clear();
  return order;
}

std::optional<Failure> cause_of(const std::vector<EndSaid>& ends, const std::vector<std::size_t>& believed) {
  const auto first = [&](auto&& fits) -> const EndSaid* {
    const auto found = std::ranges::find_if(believed, [&](std::size_t i) { return fits(ends[i]); });
    return found == believed.end() ? nullptr : &ends[*found];
  };
  if (const EndSaid* damaged = first(is_damaged)) return *damaged->failure;
  if (const EndSaid* ended = first(has_ended)) return agent_failure(*ended->node, *ended->error);
  const EndSaid* told = first([](const EndSaid& end) { return end.failure != nullptr; });
  if (told == nullptr) return first(is_silent) != nullptr ? std::optional(stopped_failure()) : std::nullopt;
  Failure cause = *told->failure;
  cause.kind = told->kind;
  if (cause.kind == FailureKind::kStopped) return cause;
  const std::string* named = nullptr;  // name a node once: its ends are next to each other
  for (const EndSaid& end : ends) {
    if (!is_silent(end) || (named != nullptr && *end.node == *named)) continue;
    named = end.node;
    cause.cause += fmt::format("; the agent on {} did not answer either", *named);
  }
  return cause;
}

std::optional<Failure> cause_of(const EndSaid& sender, const EndSaid& receiver) {
  if (is_damaged(receiver)) return *receiver.failure;
  return cause_of({sender, receiver}, {0, 1});
}

}  // namespace railbed
