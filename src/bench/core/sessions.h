// State that an agent keeps between two requests of one measurement, under a random name.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/random.h"
#include "base/result.h"

namespace railbed {

// A bounded, thread-safe table of sessions: when it is full, add() drops the oldest. So a controller that
// never closes its sessions does no harm. The usual limit leaves room: sixteen ranks of one machine open two
// each, and a failed run may have left the same number behind.
template <class Session, std::size_t kMost = 128>
class Sessions {
 public:
  std::string add(std::shared_ptr<Session> session) {
    const std::lock_guard lock(mutex_);
    if (sessions_.size() >= kMost) sessions_.pop_front();
    sessions_.emplace_back(random_hex(8), std::move(session));
    return sessions_.back().first;
  }
  Result<std::shared_ptr<Session>> find(std::string_view name) {
    const std::lock_guard lock(mutex_);
    for (const auto& [known, session] : sessions_)
      if (known == name) return session;
    return fail(ErrorKind::kBadInput, "no such session: " + std::string(name));
  }
  void remove(std::string_view name) {
    const std::lock_guard lock(mutex_);
    sessions_.remove_if([&](const auto& entry) { return entry.first == name; });
  }

 private:
  std::mutex mutex_;
  std::list<std::pair<std::string, std::shared_ptr<Session>>> sessions_;
};

}  // namespace railbed
