#include "campaign/look/facts_desk.h"

#include <algorithm>

#include "base/reading.h"

namespace railbed {
namespace {

constexpr std::size_t kMostReaders = 8;

Result<Facts> read_facts(const std::string& answer) {
  auto facts = facts_from_json(answer);
  if (!facts) facts.error().text = "its facts make no sense: " + facts.error().text;
  return facts;
}

}  // namespace

FactsDesk::FactsDesk(std::size_t nodes) {
  for (std::size_t i = 0; i < nodes; ++i) facts_.emplace_back(fail(ErrorKind::kInternal, "nobody asked it"));
  const std::size_t processors = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t readers = std::min({kMostReaders, processors, nodes});
  most_waiting_ = 2 * readers;
  for (std::size_t i = 0; i < readers; ++i) readers_.emplace_back([this] { work(); });
}

void FactsDesk::read(std::size_t index, Result<std::string> answer) {
  std::unique_lock lock(mutex_);
  if (!answer) {
    facts_[index] = fail(answer.error());
    return;
  }
  changed_.wait(lock, [&] { return waiting_.size() < most_waiting_; });
  waiting_.emplace_back(index, std::move(*answer));
  changed_.notify_all();
}

std::vector<Result<Facts>> FactsDesk::take() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  readers_.clear();  // joins
  return std::move(facts_);
}

void FactsDesk::work() {
  const OriginPool pool;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return !waiting_.empty() || closed_; });
    if (waiting_.empty()) return;
    const auto next = std::move(waiting_.front());
    waiting_.pop_front();
    changed_.notify_all();
    lock.unlock();
    auto facts = read_facts(next.second);
    lock.lock();
    facts_[next.first] = std::move(facts);
  }
}

}  // namespace railbed
