#include "bench/verbs/rdma_engine.h"

#include <fmt/format.h>

#include "bench/core/ceiling_end.h"
#include "bench/verbs/measure_rdma.h"
#include "facts/facts.h"
#include "hardware/latency_floor.h"

namespace railbed {
namespace {

constexpr std::uint64_t kDefaultDatagram = 1024;  // fits every path MTU except the two smallest

// Keeps a connected pair for all numbers for which it can be used.
class RdmaEngine : public PairEngine {
 public:
  RdmaEngine(const PairEnd& a, const PairEnd& b, const BenchPlan& plan, std::stop_token stop)
      : a_(a), b_(b), plan_(plan), stop_(std::move(stop)) {}

  int operations() const override { return static_cast<int>(plan_.operations.size()); }

  std::string operation_text(int operation, Metric metric) const override {
    const bool bandwidth = metric == Metric::kBandwidth;
    std::string text(enum_names(at(operation))[static_cast<std::size_t>(at(operation))]);
    if (bandwidth && plan_.duplex) text += " duplex";
    if (bandwidth && plan_.threads > 1) text += fmt::format(", {} threads", plan_.threads);
    return plan_.memory == "host" ? text : text + ", GPU memory";
  }

  // Latency needs host memory: only the GPU itself could see a message's last byte arrive in its memory, and
  // reply to it.
  bool can_measure(int /*operation*/, Metric metric) const override {
    return metric == Metric::kBandwidth || plan_.memory == "host";
  }

  std::vector<std::uint64_t> sizes(int operation, std::vector<std::uint64_t> usual) const override {
    if (at(operation) == RdmaOperation::kDatagram) return {kDefaultDatagram};
    return usual;
  }

  // A datagram is at most as large as the MTU, which is known once a pair is connected.
  std::uint64_t largest_message(int /*operation*/) const override {
    if (!pair_ || !datagrams_ || pair_->failure()) return UINT64_MAX;
    return static_cast<std::uint64_t>(pair_->mtu());
  }

  void get_ready() override { open_for(at(0)); }

  // A pair that failed is replaced before the next number, and so is one that has posted its receives. A pair
  // that could not be prepared is replaced once for the same number.
  void measure(int operation, bool from_a, Measurement& measurement) override {
    Measurement again = measurement;
    try_once(at(operation), from_a, measurement);
    if (!pair_->unprepared() || stop_.stop_requested()) return;
    try_once(at(operation), from_a, again);
    measurement = std::move(again);
  }

  std::optional<OwnTraffic> own_traffic() const override {
    return pair_ ? pair_->own_traffic() : std::nullopt;
  }

  Ceiling ceiling(bool from_a, const Measurement& measurement) const override {
    const PairEnd& from = from_a ? a_ : b_;
    const PairEnd& to = from_a ? b_ : a_;
    CeilingEnd ends[] = {ceiling_end(from), ceiling_end(to)};
    ends[0].gpu = pair_->gpu_of(from);
    ends[1].gpu = pair_->gpu_of(to);
    return path_ceiling(ends[0], ends[1], pair_->wire(), measurement.mtu,
                        traffic_of(measurement).value_or(Traffic{}));
  }

  Floor floor(bool from_a, const Measurement& measurement) const override {
    const bool to_the_answer = measurement.operation == "read";
    return latency_floor(
        ceiling_end(from_a ? a_ : b_), ceiling_end(from_a ? b_ : a_),
        {pair_->wire(), measurement.mtu, measurement.message_bytes, a_.switched, to_the_answer});
  }

 private:
  RdmaOperation at(int operation) const { return plan_.operations[static_cast<std::size_t>(operation)]; }

  void try_once(RdmaOperation operation, bool from_a, Measurement& measurement) {
    open_for(operation);
    used_up_ = has_receiver(operation);
    if (measurement.metric == Metric::kBandwidth)
      pair_->measure_bandwidth(operation, from_a, plan_, measurement, stop_);
    else
      pair_->measure_latency(operation, from_a, plan_, measurement, stop_);
  }

  void open_for(RdmaOperation operation) {
    const bool datagrams = operation == RdmaOperation::kDatagram;
    if (pair_ && (pair_->failure() || used_up_ || datagrams_ != datagrams)) pair_.reset();
    datagrams_ = datagrams;
    if (!pair_) pair_ = std::make_unique<RdmaPair>(a_, b_, plan_, datagrams, stop_);
  }

  const PairEnd& a_;
  const PairEnd& b_;
  const BenchPlan& plan_;
  std::stop_token stop_;
  std::unique_ptr<RdmaPair> pair_;
  bool datagrams_ = false;
  bool used_up_ = false;
};

std::unique_ptr<PairEngine> open_rdma(const PairEnd& a, const PairEnd& b, const BenchPlan& plan,
                                      const std::stop_token& stop) {
  return std::make_unique<RdmaEngine>(a, b, plan, stop);
}

}  // namespace

EngineRegistration rdma_engine() {
  return {Engine::kRdma, rdma_handlers,
          PairMeasuring{"RDMA between two nodes: bandwidth and latency",
                        {kUsualRdmaSizes.begin(), kUsualRdmaSizes.end()},
                        2,
                        kUsualQueuePairs,
                        open_rdma}};
}

}  // namespace railbed
