// Two resources, the GPU's multiprocessors and its network, each take their work in a fixed order. So the
// times are sums and maxima of durations, and none falls when a duration grows.
#include "predict/step_overlap.h"

#include <algorithm>

namespace railbed {
namespace {

// After so many micro-batches, each further one takes as long as the one before.
constexpr int kSimulated = 4;

class GatheringStep {
 public:
  explicit GatheringStep(const GatheredBlocks& plan) : plan_(plan) {}

  // Computes a micro-batch after the others.
  void run_micro_batch() {
    double ready = gather(gpu_free_);
    for (int block = 0; block < plan_.blocks; ++block) {
      const double start = std::max(gpu_free_, ready);
      // The last block's successor is its own backward pass.
      ready = gather(start);
      gpu_free_ = start + plan_.forward;
    }
    for (int block = plan_.blocks; block > 0; --block) {
      const double start = std::max(gpu_free_, ready);
      if (block > 1) ready = gather(start);
      gpu_free_ = start + plan_.backward;
      network_free_ = std::max(network_free_, gpu_free_) + plan_.scatter;
    }
  }
  // Returns when all is computed and exchanged.
  double end() const { return std::max(gpu_free_, network_free_); }

 private:
  // Returns when a gathering ends that is asked for at `from`.
  double gather(double from) { return network_free_ = std::max(network_free_, from) + plan_.gather; }

  const GatheredBlocks& plan_;
  double gpu_free_ = 0;
  double network_free_ = 0;
};

}  // namespace

double exposed_behind(const std::vector<ReadyExchange>& exchanges, double compute) {
  double free = 0;
  for (const ReadyExchange& exchange : exchanges) free = std::max(free, exchange.ready) + exchange.seconds;
  return std::max(0.0, free - compute);
}

double exposed_by_gathering(const GatheredBlocks& plan) {
  GatheringStep step(plan);
  const double each = plan.blocks * (plan.forward + plan.backward);
  double before = 0;
  double lengthened = 0;
  const int simulated = std::min(plan.micro_batches, kSimulated);
  for (int i = 0; i < simulated; ++i) {
    before = lengthened;
    step.run_micro_batch();
    lengthened = step.end() - (i + 1) * each;
  }
  return std::max(0.0, lengthened + (plan.micro_batches - simulated) * (lengthened - before));
}

}  // namespace railbed
