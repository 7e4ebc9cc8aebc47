#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/core/other_traffic.h"
#include "bench/core/pair.h"
#include "bench/verbs/rdma.h"
#include "hardware/ceilings.h"

namespace railbed {

// The message sizes in bytes, and the queue pairs, of bandwidth runs whose plan names none.
inline constexpr std::array<std::uint64_t, 3> kUsualRdmaSizes{4 << 10, 64 << 10, 1 << 20};
inline constexpr int kUsualQueuePairs = 2;

// Two connected ends, kept for all sizes of a rail: the controller's side of an RDMA measurement. Neither end
// chooses for itself: both send their offers, and the controller decides on MTU and GIDs.
class RdmaPair {
 public:
  // Opens and connects both ends. On failure sets failure().
  RdmaPair(const PairEnd& a, const PairEnd& b, const BenchPlan& plan, bool datagrams, std::stop_token stop);
  ~RdmaPair();  // closes both
  RdmaPair(const RdmaPair&) = delete;
  RdmaPair& operator=(const RdmaPair&) = delete;

  const std::optional<Failure>& failure() const { return failure_; }
  // Returns whether the failure happened before the measurement began: a session was lost, or its memory.
  // Then a new pair may succeed.
  bool unprepared() const { return unprepared_; }
  Wire wire() const { return wire_; }
  int mtu() const { return mtu_; }
  // Returns the PCI address of the GPU whose memory an end uses; empty for host memory. `end` must be one of
  // the two ends.
  const std::string& gpu_of(const PairEnd& end) const { return (&end == a_.end ? a_ : b_).gpu; }

  // Each fills in one measurement, whose engine, metric, ends, size and streams are already set. After an
  // operation that has a receiver, a new pair is needed.
  void measure_bandwidth(RdmaOperation operation, bool from_a, const BenchPlan& plan,
                         Measurement& measurement, std::stop_token stop);
  void measure_latency(RdmaOperation operation, bool from_a, const BenchPlan& plan, Measurement& measurement,
                       std::stop_token stop);

  // Returns the most that the last measurement put on the wire; nullopt if it failed.
  std::optional<OwnTraffic> own_traffic() const { return failure_ ? std::nullopt : own_; }

  // For engines of another kind that use the same sessions: prepares both ends. The other two return the
  // names of the sessions.
  std::optional<Failure> prepare(const RdmaRun& run, const std::stop_token& stop);
  const std::string& session_of_a() const { return a_.opened.session; }
  const std::string& session_of_b() const { return b_.opened.session; }

 private:
  struct Side {
    const PairEnd* end = nullptr;
    RdmaOpened opened;
    std::string gpu;  // PCI address; empty: host memory
    GidOffer gid;
  };
  std::optional<Failure> open(const BenchPlan& plan, bool datagrams, const std::stop_token& stop);
  // Returns a failure if an end's GPU memory can only be staged and this operation cannot be staged.
  std::optional<Failure> staged_failure(RdmaOperation operation) const;
  std::optional<Failure> choose();
  std::optional<Failure> connect(const BenchPlan& plan, const std::stop_token& stop);
  static RdmaRun run_of(const BenchPlan& plan, RdmaOperation operation, std::uint64_t message_bytes);
  void describe(const Side& from, const Side& to, Measurement& measurement) const;
  // The counters of both ends; empty if an end did not reply.
  struct Counted {
    std::optional<RdmaCounters> from;
    std::optional<RdmaCounters> to;
  };
  Counted count(const Side& from, const Side& to, const std::stop_token& stop) const;
  static void add_troubles(const Side& side, const RdmaCounters& before, const RdmaCounters& after,
                           Measurement& measurement);
  // Returns the packets sent and received in both directions; empty if the counters of an end are missing.
  static std::vector<PacketWay> packets_between(const Side& from, const Side& to, const Counted& before,
                                                const Counted& after);
  // Adds the events that the ports counted since `before` to the measurement.
  void add_counters(const Side& from, const Side& to, const Counted& before, Measurement& measurement,
                    const std::stop_token& stop) const;
  // Returns the number of messages, with those of the warm-up.
  std::uint64_t move(const Side& from, const Side& to, const RdmaRun& run, Measurement& measurement,
                     const std::stop_token& stop) const;
  OwnTraffic traffic_of_messages(std::uint64_t ahead, std::uint64_t back,
                                 const Measurement& measurement) const;
  Result<RdmaDone> finish(const Side& side, std::vector<std::uint64_t> messages) const;
  std::pair<Result<RdmaTransferred>, Result<RdmaDone>> move_alone(const Side& active, const Side& passive,
                                                                  const RdmaRun& run,
                                                                  const std::stop_token& stop) const;
  std::pair<Result<RdmaTransferred>, Result<RdmaTransferred>> move_to_receiver(
      const Side& from, const Side& to, const RdmaRun& run, const std::stop_token& stop) const;
  void check(const Side& from, const Side& to, const RdmaRun& run, const std::vector<std::uint64_t>& messages,
             Measurement& measurement, const std::stop_token& stop) const;

  Side a_;
  Side b_;
  bool infiniband_ = false;
  int mtu_ = 0;
  Wire wire_ = Wire::kRoceV2Ipv4;
  std::string doubt_;
  std::optional<Failure> failure_;
  bool unprepared_ = false;
  std::optional<OwnTraffic> own_;
};

}  // namespace railbed
