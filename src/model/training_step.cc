// The model of a step. A layer's forward pass costs the operations of its matrix products; its backward pass
// costs twice as many, for the gradients of the inputs and of the weights. Divided by the operations that a
// GPU computes per second, this gives the time at which each layer's gradients are ready, the last layer's
// first.
//
// Gradients fill buckets in that order, as in DistributedDataParallel, and a full bucket is exchanged while
// the backward pass continues with earlier layers. Exchanges run one after the other: each starts when its
// bucket is ready and the previous exchange has ended, and takes ring_factor × bytes / rate. The time beyond
// the end of the backward pass is exposed: it lengthens the step. The last bucket is ready at the very end,
// so some time is always exposed; hiding_rate() finds by bisection the rate at which it is a given share.
// Latency, and the slowdown of computation and exchange by each other, are left out: a measurement shows
// them.
#include "model/training_step.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "results/collective.h"

namespace railbed {
namespace {

double layer_flops(const Layer& layer) {
  return std::accumulate(layer.gemms.begin(), layer.gemms.end(), 0.0,
                         [](double sum, const Gemm& gemm) { return sum + gemm.flops(); });
}

// Fills buckets in the order of the backward pass.
class Buckets {
 public:
  Buckets(const StepPlan& plan, std::vector<Bucket>& buckets) : plan_(plan), buckets_(buckets) {}

  void add(std::uint64_t bytes, double now, std::size_t layer) {
    ready_ = now;
    layer_ = layer;
    while (bytes > 0) {
      const std::uint64_t taken = std::min(bytes, room() - filled_);
      filled_ += taken;
      bytes -= taken;
      if (filled_ == room()) close();
    }
  }
  void close() {
    if (filled_ > 0) buckets_.push_back({ready_, filled_, layer_});
    filled_ = 0;
  }

 private:
  std::uint64_t room() const { return buckets_.empty() ? plan_.first_bucket_bytes : plan_.bucket_bytes; }
  const StepPlan& plan_;
  std::vector<Bucket>& buckets_;
  std::uint64_t filled_ = 0;
  double ready_ = 0;
  std::size_t layer_ = 0;
};

}  // namespace

std::uint64_t Step::bytes() const {
  return std::accumulate(buckets.begin(), buckets.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Bucket& bucket) { return sum + bucket.bytes; });
}

double step_flops(const Model& model, std::uint64_t batch) {
  return 3 * model.forward_flops() * static_cast<double>(batch);
}

Step make_step(const Model& model, const StepPlan& plan) {
  Step step;
  Buckets buckets(plan, step.buckets);
  const double batch = static_cast<double>(plan.batch);
  double done = model.forward_flops() * batch;
  for (auto layer = model.layers.rbegin(); layer != model.layers.rend(); ++layer) {
    done += 2 * layer_flops(*layer) * batch;
    buckets.add(layer->parameters * plan.word_bytes, done / plan.flops_per_second,
                static_cast<std::size_t>(std::distance(layer, model.layers.rend())) - 1);
  }
  buckets.close();
  step.compute = done / plan.flops_per_second;
  return step;
}

double ring_factor(int ranks) { return ranks < 2 ? 0 : bus_factor(Collective::kAllReduce, ranks); }

double exposed_seconds(const Step& step, int ranks, BitRate rate) {
  if (ranks < 2 || rate.bits_per_second <= 0) return 0;
  double free = 0;
  for (const Bucket& bucket : step.buckets)
    free = std::max(free, bucket.ready) +
           static_cast<double>(bucket.bytes) * 8 * ring_factor(ranks) / rate.bits_per_second;
  return std::max(0.0, free - step.compute);
}

BitRate hiding_rate(const Step& step, int ranks, double share) {
  if (ranks < 2 || step.buckets.empty() || step.compute <= 0 || share <= 0) return {};
  // Too much is exposed at `low`, not too much at `high`. The interval is halved on a logarithmic scale 64
  // times, once for each bit of a double.
  double low = 1;
  double high = 1e20;
  for (int i = 0; i < 64; ++i) {
    const double middle = std::sqrt(low * high);
    (exposed_seconds(step, ranks, {middle}) > share * step.compute ? low : high) = middle;
  }
  return {high};
}

}  // namespace railbed
