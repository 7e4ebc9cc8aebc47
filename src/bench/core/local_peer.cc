#include "bench/core/local_peer.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "bench/core/chained_stop.h"

namespace railbed {

Result<std::string> LocalPeer::call(std::string_view method, std::string params,
                                    std::chrono::milliseconds deadline, std::stop_token stop) {
  const auto handler = handlers_.find(method);
  if (handler == handlers_.end()) return fail(ErrorKind::kBadInput, "no method " + std::string(method));
  ChainedStop inner(stop);
  // Handlers return soon after a stop request. So a timer that requests a stop is enough to keep the
  // deadline.
  std::mutex mutex;
  std::condition_variable_any changed;
  bool late = false;
  std::jthread timer([&](const std::stop_token& done) {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, done, deadline, [] { return false; });
    if (done.stop_requested()) return;
    late = true;
    inner.request();
  });
  auto answer = handler->second(params, inner.token());
  timer.request_stop();
  timer.join();
  if (late) return fail(ErrorKind::kTimeout, node_ + " did not answer in time");
  if (stop.stop_requested()) return fail(ErrorKind::kCancelled, "stopped");
  return answer;
}

}  // namespace railbed
