#include "bench/verbs/verbs_lanes.h"

#include <thread>

namespace railbed {
namespace {

void add(const RdmaTransferred& part, RdmaTransferred& sum) {
  sum.cpu_seconds += part.cpu_seconds;
  for (std::size_t qp = 0; qp < sum.messages.size(); ++qp) sum.messages[qp] += part.messages[qp];
  sum.checked_bytes += part.checked_bytes;
  sum.wrong_bytes += part.wrong_bytes;
  if (!sum.failure) sum.failure = part.failure;
}

}  // namespace

RdmaTransferred run_lanes(const RdmaSession::State& state,
                          const std::function<RdmaTransferred(std::size_t lane)>& work) {
  std::vector<RdmaTransferred> parts(state.lanes.size());
  {
    std::vector<std::jthread> others;
    for (std::size_t lane = 1; lane < parts.size(); ++lane)
      others.emplace_back([&, lane] {
        pin_to(state.set_up.cpus);
        parts[lane] = work(lane);
      });
    pin_to(state.set_up.cpus);
    parts.front() = work(0);
  }
  RdmaTransferred sum = std::move(parts.front());
  for (std::size_t lane = 1; lane < parts.size(); ++lane) add(parts[lane], sum);
  return sum;
}

}  // namespace railbed
