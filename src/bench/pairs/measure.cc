#include "bench/pairs/measure.h"

#include <fmt/format.h>

#include <memory>

#include "base/units.h"
#include "bench/core/typed.h"
#include "bench/tcp/measure_tcp.h"
#include "bench/tcp/protocol.h"
#include "bench/verbs/measure_rdma.h"
#include "facts/facts.h"
#include "hardware/ceilings.h"

namespace railbed {
namespace {

constexpr std::chrono::milliseconds kLinkDeadline{3000};
constexpr std::uint64_t kLargestOfAll = 4 << 20;
constexpr std::uint64_t kDefaultDatagram = 1024;  // fits every path MTU but the two smallest

Endpoint endpoint(const PairEnd& end) {
  return {end.peer->node(), end.interface, "", end.address ? end.address->to_text() : "", -1};
}

class PairRun {
 public:
  PairRun(std::string_view rail, const BenchPlan& plan, const OnMeasuring& on_measuring, std::stop_token stop)
      : rail_(rail), plan_(plan), on_measuring_(on_measuring), stop_(std::move(stop)) {}

  void run(Engine engine, const PairEnd& a, const PairEnd& b) {
    a_ = &a;
    b_ = &b;
    if (engine == Engine::kTcp) return run_operation(engine);
    for (const RdmaOperation operation : plan_.operations) {
      operation_ = operation;
      run_operation(engine);
    }
  }
  std::vector<Measurement> take() { return std::move(measurements_); }

 private:
  void run_operation(Engine engine) {
    const int streams = plan_.streams > 0 ? plan_.streams : default_streams(engine);
    const bool datagrams = engine == Engine::kRdma && operation_ == RdmaOperation::kDatagram;
    const auto sizes = !plan_.sizes.empty() ? plan_.sizes
                       : datagrams          ? std::vector{kDefaultDatagram}
                                            : default_sizes(engine);
    if (plan_.bandwidth) run_sizes(engine, Metric::kBandwidth, *a_, *b_, sizes, streams);
    if (plan_.bandwidth && plan_.both_ways) run_sizes(engine, Metric::kBandwidth, *b_, *a_, sizes, streams);
    // Nobody could see a message's last byte arrive in GPU memory, or answer it, but the GPU.
    const bool in_gpu = engine == Engine::kRdma && plan_.memory != "host";
    if (plan_.latency && !in_gpu) run_sizes(engine, Metric::kLatency, *a_, *b_, plan_.latency_sizes, 1);
  }

  void run_sizes(Engine engine, Metric metric, const PairEnd& from, const PairEnd& to,
                 const std::vector<std::uint64_t>& sizes, int streams) {
    for (const std::uint64_t size : sizes) {
      // Datagrams end at the MTU, which is known once a pair is connected.
      if (rdma_ && rdma_datagrams_ && !rdma_->failure() && size > static_cast<std::uint64_t>(rdma_->mtu()))
        return;
      if (stop_.stop_requested() || !run_one(engine, metric, from, to, size, streams)) return;
    }
  }

  std::string operation_text(Engine engine, Metric metric) const {
    const bool bandwidth = metric == Metric::kBandwidth;
    if (engine == Engine::kTcp && bandwidth) return plan_.zero_copy ? "zero-copy" : "";
    if (engine == Engine::kTcp) return plan_.busy_poll ? "busy-poll" : "";
    std::string text(enum_names(operation_)[static_cast<std::size_t>(operation_)]);
    if (bandwidth && plan_.duplex) text += " duplex";
    if (bandwidth && plan_.threads > 1) text += fmt::format(", {} threads", plan_.threads);
    return plan_.memory == "host" ? text : text + ", GPU memory";
  }

  // False when it failed.
  bool run_one(Engine engine, Metric metric, const PairEnd& from, const PairEnd& to, std::uint64_t size,
               int streams) {
    Measurement measurement;
    measurement.engine = engine;
    measurement.metric = metric;
    measurement.operation = operation_text(engine, metric);
    measurement.rail = rail_;
    measurement.from = endpoint(from);
    measurement.to = endpoint(to);
    measurement.message_bytes = size;
    measurement.streams = streams;
    if (on_measuring_)
      on_measuring_(fmt::format("{} {} {} → {}, {}", enum_names(engine)[static_cast<std::size_t>(engine)],
                                enum_names(metric)[static_cast<std::size_t>(metric)], from.peer->node(),
                                to.peer->node(), to_text(ByteCount{size})));
    const Wire wire = engine == Engine::kTcp ? measure_tcp(metric, from, to, measurement)
                                             : measure_rdma(metric, from, measurement);
    if (metric == Metric::kBandwidth && measurement.mtu > 0)
      measurement.ceiling =
          path_ceiling({from.peer->node(), from.interface, from.facts},
                       {to.peer->node(), to.interface, to.facts}, wire, measurement.mtu, size);
    if (engine == Engine::kRdma) add_gpu_paths(from, to, measurement.ceiling);
    if (plan_.duplex)
      for (Limit& limit : measurement.ceiling.limits) {
        limit.name += ", both ways";
        limit.rate.bits_per_second *= 2;
      }
    if (measurement.failure) blame_links({from, to}, *measurement.failure, stop_);
    measurements_.push_back(std::move(measurement));
    return !measurements_.back().failure;
  }

  // What moves between an adapter and a GPU passes the GPU's own PCIe path.
  void add_gpu_paths(const PairEnd& from, const PairEnd& to, Ceiling& ceiling) const {
    for (const PairEnd* end : {&from, &to})
      if (const std::string& gpu = rdma_->gpu_of(*end);
          !gpu.empty() && end->facts != nullptr && !ceiling.limits.empty())
        add_pcie_limit(ceiling, items(end->facts->pci), gpu, end->peer->node());
  }

  // A pair that failed is opened anew for what comes next, and so is one that has posted its receives.
  Wire measure_rdma(Metric metric, const PairEnd& from, Measurement& measurement) {
    const bool datagrams = operation_ == RdmaOperation::kDatagram;
    if (rdma_ && (rdma_->failure() || used_up_ || rdma_datagrams_ != datagrams)) rdma_.reset();
    rdma_datagrams_ = datagrams;
    if (!rdma_) rdma_ = std::make_unique<RdmaPair>(*a_, *b_, plan_, datagrams, stop_);
    used_up_ = has_receiver(operation_);
    if (metric == Metric::kBandwidth)
      rdma_->measure_bandwidth(operation_, &from == a_, plan_, measurement, stop_);
    else
      rdma_->measure_latency(operation_, &from == a_, plan_, measurement, stop_);
    return rdma_->wire();
  }

  Wire measure_tcp(Metric metric, const PairEnd& from, const PairEnd& to, Measurement& measurement) {
    for (const PairEnd* end : {&from, &to})
      if (!end->address || end->address->is_link_local()) {
        measurement.failure = Failure{
            "connect",
            fmt::format("{} of {} has no IP address that TCP could use", end->interface, end->peer->node()),
            "give the rail's interface an address (on InfiniBand: set up IPoIB)"};
        return Wire::kTcpIpv4;
      }
    const auto run = metric == Metric::kBandwidth ? measure_tcp_bandwidth : measure_tcp_latency;
    run(from, to, plan_, measurement, stop_);
    return from.address->is_v4() ? Wire::kTcpIpv4 : Wire::kTcpIpv6;
  }

  std::string rail_;
  const BenchPlan& plan_;
  const OnMeasuring& on_measuring_;
  std::stop_token stop_;
  const PairEnd* a_ = nullptr;
  const PairEnd* b_ = nullptr;
  RdmaOperation operation_ = RdmaOperation::kWrite;
  std::unique_ptr<RdmaPair> rdma_;
  bool rdma_datagrams_ = false;
  bool used_up_ = false;
  std::vector<Measurement> measurements_;
};

}  // namespace

void blame_links(const std::vector<PairEnd>& ends, Failure& failure, const std::stop_token& stop) {
  if (stop.stop_requested() || failure.stage == "verify") return;
  std::optional<std::pair<std::string, LinkState>> found;
  for (const PairEnd& end : ends) {
    const auto link =
        ask<LinkState>(*end.peer, kLink, LinkQuestion{end.interface, end.address}, kLinkDeadline, stop);
    if (!link || link->trouble.empty()) continue;
    if (!found || (found->second.remote && !link->remote)) found = {end.peer->node(), *link};
  }
  if (!found) return;
  failure.cause = fmt::format("{}: {}; {}", found->first, found->second.trouble, failure.cause);
  failure.remedy = fmt::format("on {}: {}", found->first, found->second.remedy);
}

std::vector<std::uint64_t> default_sizes(Engine engine) {
  if (engine == Engine::kTcp) return {256 << 10};
  return {4 << 10, 64 << 10, 1 << 20};
}

std::vector<std::uint64_t> all_sizes(Engine engine) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = engine == Engine::kTcp ? 64 : 2; size <= kLargestOfAll; size *= 2)
    sizes.push_back(size);
  return sizes;
}

int default_streams(Engine engine) { return engine == Engine::kTcp ? 4 : 2; }

std::vector<Measurement> measure_pair(const PairEnd& a, const PairEnd& b, std::string_view rail,
                                      const BenchPlan& plan, const OnMeasuring& on_measuring,
                                      std::stop_token stop) {
  PairRun run(rail, plan, on_measuring, stop);
  for (const Engine engine : plan.engines)
    if (!stop.stop_requested()) run.run(engine, a, b);
  return run.take();
}

}  // namespace railbed
