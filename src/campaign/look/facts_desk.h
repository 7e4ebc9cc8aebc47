// Parses the facts of many nodes as they arrive, a few at a time, in threads of its own.
//
// A node's reply is half a megabyte of text and takes ten times that while it is parsed; parsed facts take
// less than half of it. So a reply is freed as soon as it is parsed, and the queue is bounded: read() blocks
// while two replies per thread wait.
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

  // Adds the reply of node `index`, or the error instead of it. Blocks while the queue is full. Thread-safe.
  void read(std::size_t index, Result<std::string> answer);
  // Waits for the queue to drain and returns the facts of all nodes, in their order. Call it once, after the
  // last read(). A node without a reply has an error.
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
