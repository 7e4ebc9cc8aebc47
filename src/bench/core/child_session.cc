#include "bench/core/child_session.h"

#include <utility>

#include "bench/core/typed.h"

namespace railbed {
namespace {

constexpr std::chrono::seconds kNewsWait{1};
constexpr std::chrono::seconds kAnswer{20};  // for a request that itself waits a second
// Limits on the work of one node. A node that was broken into could otherwise send results without end.
constexpr std::chrono::hours kLongestWork{4};
constexpr std::size_t kMostResults = 64 << 20;

std::string words_of(const Miss& miss) {
  if (miss.missing == Missing::kTimeout) return "hangs in: " + miss.why;
  return miss.why;
}

}  // namespace

ChildSession::ChildSession(std::function<void(const Tell& tell)> work, std::chrono::milliseconds patience)
    : thread_([this, work = std::move(work), patience](const std::stop_token& stop) {
        follow(work, patience, stop);
      }) {}

void ChildSession::follow(const std::function<void(const Tell& tell)>& work,
                          std::chrono::milliseconds patience, const std::stop_token& stop) {
  const auto change = [&](auto&& apply) {
    const std::lock_guard lock(mutex_);
    apply();
    fresh_ = true;
    changed_.notify_all();
  };
  ChildListener listener;
  // Steps follow each other quickly, so a step alone does not wake the waiting request.
  listener.step = [&](std::string_view step) {
    const std::lock_guard lock(mutex_);
    news_.step = step;
  };
  listener.result = [&](std::string_view line) { change([&] { news_.results.emplace_back(line); }); };
  listener.printed = [&](std::string_view text) {
    const std::lock_guard lock(mutex_);
    if (printed_ >= kMaxOutput) return;
    printed_ += text.size();
    news_.printed.text += text;
  };
  const auto miss = follow_child(work, listener, patience, stop);
  change([&] {
    news_.ended = true;
    if (!miss) return;
    news_.trouble = words_of(*miss);
    news_.killed = miss->killed;
  });
}

ChildNews ChildSession::news(std::chrono::milliseconds at_most, std::stop_token stop) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::move(stop), at_most, [&] { return fresh_; });
  ChildNews told = std::exchange(news_, {});
  news_.step = told.step;
  news_.ended = told.ended;
  news_.trouble = told.trouble;
  news_.killed = told.killed;
  fresh_ = told.ended;
  return told;
}

Handlers child_handlers(AgentSide& side) {
  const auto children = side.shared<ChildSessions>();
  Handlers handlers;
  handlers.emplace(kChildNext,
                   typed_handler<ChildName>(
                       [children](const ChildName& request, std::stop_token stop) -> Result<ChildNews> {
                         ASSIGN_OR_RETURN(auto session, children->find(request.session));
                         return session->news(kNewsWait, std::move(stop));
                       }));
  handlers.emplace(kChildEnd, typed_handler<ChildName>(
                                  [children](const ChildName& request, std::stop_token) -> Result<ChildName> {
                                    children->remove(request.session);
                                    return request;
                                  }));
  return handlers;
}

Result<void> follow_session(Peer& peer, const std::string& session, const FollowedChild& listener,
                            const std::stop_token& stop) {
  const auto end = [&] { (void)ask<ChildName>(peer, kChildEnd, ChildName{session}, kAnswer, {}); };
  const auto give_up = [&](Error why) -> Result<void> {
    end();
    return fail(std::move(why));
  };
  const auto last = std::chrono::steady_clock::now() + kLongestWork;
  std::size_t printed = 0;
  std::size_t results = 0;
  for (;;) {
    const auto news = ask<ChildNews>(peer, kChildNext, ChildName{session}, kAnswer, stop);
    if (!news) return give_up(news.error());
    printed += news->printed.text.size();
    for (const std::string& line : news->results) results += line.size() + sizeof(line);
    if (results > kMostResults || printed > 2 * kMaxOutput)
      return give_up(
          {ErrorKind::kBadInput, "its work brought more results, or printed more, than any of ours"});
    if (std::chrono::steady_clock::now() > last)
      return give_up({ErrorKind::kTimeout, "its work did not end within four hours"});
    if (!news->step.empty()) listener.step(news->step);
    if (!news->printed.text.empty()) listener.printed(news->printed.text);
    for (const std::string& line : news->results) listener.result(line);
    if (!news->ended) continue;
    end();
    if (!news->trouble.empty())
      return fail(news->killed ? ErrorKind::kKilled : ErrorKind::kTimeout, news->trouble);
    return {};
  }
}

}  // namespace railbed
