#include "bench/tcp/tcp_engine.h"

#include <fmt/format.h>

#include "bench/core/ceiling_end.h"
#include "bench/tcp/measure_tcp.h"
#include "bench/tcp/tcp_handlers.h"
#include "hardware/latency_floor.h"

namespace railbed {
namespace {

class TcpEngine : public PairEngine {
 public:
  TcpEngine(const PairEnd& a, const PairEnd& b, const BenchPlan& plan, std::stop_token stop)
      : a_(a), b_(b), plan_(plan), stop_(std::move(stop)) {}

  std::string operation_text(int /*operation*/, Metric metric) const override {
    if (metric == Metric::kBandwidth) return plan_.zero_copy ? "zero-copy" : "";
    return plan_.busy_poll ? "busy-poll" : "";
  }

  void measure(int /*operation*/, bool from_a, Measurement& measurement) override {
    own_.reset();
    for (const PairEnd* end : {&from(from_a), &to(from_a)})
      if (!has_ip(*end)) {
        measurement.failure = Failure{
            "connect",
            fmt::format("{} of {} has no IP address that TCP could use", end->interface, end->peer->node()),
            "give the rail's interface an address (on InfiniBand: set up IPoIB)"};
        return;
      }
    const auto run = measurement.metric == Metric::kBandwidth ? measure_tcp_bandwidth : measure_tcp_latency;
    own_ = run(from(from_a), to(from_a), plan_, measurement, stop_);
  }

  std::optional<OwnTraffic> own_traffic() const override { return own_; }

  Ceiling ceiling(bool from_a, const Measurement& measurement) const override {
    Traffic traffic = traffic_of(measurement).value_or(Traffic{});
    traffic.both_ways = plan_.duplex;
    return path_ceiling(ceiling_end(from(from_a)), ceiling_end(to(from_a)), wire(), measurement.mtu, traffic);
  }

  Floor floor(bool from_a, const Measurement& measurement) const override {
    return latency_floor(ceiling_end(from(from_a)), ceiling_end(to(from_a)),
                         {wire(), measurement.mtu, measurement.message_bytes, a_.switched});
  }

 private:
  Wire wire() const { return a_.address && a_.address->is_v4() ? Wire::kTcpIpv4 : Wire::kTcpIpv6; }
  const PairEnd& from(bool from_a) const { return from_a ? a_ : b_; }
  const PairEnd& to(bool from_a) const { return from_a ? b_ : a_; }

  const PairEnd& a_;
  const PairEnd& b_;
  const BenchPlan& plan_;
  std::stop_token stop_;
  std::optional<OwnTraffic> own_;
};

std::unique_ptr<PairEngine> open_tcp(const PairEnd& a, const PairEnd& b, const BenchPlan& plan,
                                     const std::stop_token& stop) {
  return std::make_unique<TcpEngine>(a, b, plan, stop);
}

}  // namespace

EngineRegistration tcp_engine() {
  return {Engine::kTcp, tcp_handlers,
          PairMeasuring{"TCP between two nodes: bandwidth and latency", {256 << 10}, 64, 4, open_tcp}};
}

}  // namespace railbed
