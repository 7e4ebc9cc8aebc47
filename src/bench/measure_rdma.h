#pragma once

#include <memory>
#include <optional>
#include <string>

#include "bench/measure.h"
#include "bench/rdma.h"
#include "hardware/ceilings.h"

namespace railbed {

// Two connected ends, kept for all sizes of a rail. Neither end chooses for itself: both offer, one decision.
class RdmaPair {
 public:
  // Opens and connects both ends; `failure()` says what was in the way.
  RdmaPair(const PairEnd& a, const PairEnd& b, const BenchPlan& plan, std::stop_token stop);
  ~RdmaPair();  // closes both
  RdmaPair(const RdmaPair&) = delete;
  RdmaPair& operator=(const RdmaPair&) = delete;

  const std::optional<Failure>& failure() const { return failure_; }
  Wire wire() const { return wire_; }

  // Each fills in one measurement, whose engine, metric, ends, size and streams are set already.
  void measure_bandwidth(bool from_a, const BenchPlan& plan, Measurement& measurement, std::stop_token stop);
  void measure_latency(bool from_a, const BenchPlan& plan, Measurement& measurement, std::stop_token stop);

 private:
  struct Side {
    const PairEnd* end = nullptr;
    RdmaOpened opened;
    GidOffer gid;
  };
  std::optional<Failure> open(const BenchPlan& plan, const std::stop_token& stop);
  std::optional<Failure> choose();
  std::optional<Failure> connect(const BenchPlan& plan, const std::stop_token& stop);
  std::optional<Failure> prepare(const RdmaRun& run, const std::stop_token& stop);
  RdmaRun run_of(const BenchPlan& plan, std::uint64_t message_bytes) const;
  void describe(const Side& from, const Side& to, Measurement& measurement) const;
  std::optional<RdmaCounters> count(const Side& side, const std::stop_token& stop) const;
  void add_counters(const Side& side, bool sender, const std::optional<RdmaCounters>& before,
                    Measurement& measurement, const std::stop_token& stop) const;
  bool run_write(const Side& from, const Side& to, const RdmaRun& run, Measurement& measurement,
                 const std::stop_token& stop);

  Side a_;
  Side b_;
  bool infiniband_ = false;
  int mtu_ = 0;
  Wire wire_ = Wire::kRoceV2Ipv4;
  std::string doubt_;
  std::optional<Failure> failure_;
};

}  // namespace railbed
