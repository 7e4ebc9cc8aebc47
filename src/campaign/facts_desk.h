// Reads the facts of many nodes while they come: a few at a time, in threads of its own.
//
// An answer is half a megabyte of text, and ten times that while it is read; facts that are read are less
// than half of it. So an answer is let go as soon as it is read, and who brings one waits while enough of
// them wait already.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "facts/facts.h"

namespace railbed {

class FactsDesk {
 public:
  explicit FactsDesk(std::size_t nodes);
  ~FactsDesk() { (void)take(); }

  // What node `index` answered, or why it did not. Thread-safe.
  void read(std::size_t index, Result<std::string> answer);
  // Of all nodes, in their order, once nobody brings any more. A node that nobody spoke of has an error.
  std::vector<Result<Facts>> take();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<std::size_t, std::string>> waiting_;
  std::vector<Result<Facts>> facts_;
  std::size_t most_waiting_ = 0;
  bool closed_ = false;
  std::vector<std::jthread> readers_;  // last: they use all of the above
};

}  // namespace railbed
