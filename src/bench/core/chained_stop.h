// A stop source that also stops when an outer token does. A stop of the inner source does not reach the
// outer.
#pragma once

#include <functional>
#include <stop_token>

namespace railbed {

class ChainedStop {
 public:
  // Out of line: GCC 12, inlining this under sanitizers, warns of members used before they are set.
  explicit ChainedStop(std::stop_token outer);
  ~ChainedStop();
  ChainedStop(const ChainedStop&) = delete;
  ChainedStop& operator=(const ChainedStop&) = delete;

  std::stop_token token() const { return source_.get_token(); }
  bool requested() const { return source_.stop_requested(); }
  void request() { source_.request_stop(); }

 private:
  std::stop_source source_;
  std::stop_callback<std::function<void()>> relay_;
};

}  // namespace railbed
