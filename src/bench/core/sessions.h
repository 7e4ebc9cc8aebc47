// What an agent keeps between two requests of one measurement, found again by name.
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

// Thread-safe. Bounded: a controller that never closes its sessions loses the oldest.
// Sixteen ranks of one machine open two each, and a run that failed may have left as many.
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
