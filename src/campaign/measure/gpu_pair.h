// One GPU of each of two nodes, measured over one rail: RDMA between their memories, and NCCL.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/peer.h"
#include "base/result.h"
#include "bench/collective/collective.h"
#include "bench/core/pair.h"
#include "bench/gpu/node_place.h"
#include "diagnose/log/job_log.h"

namespace railbed {

// Measures the bandwidth of RDMA between the memories of the GPUs nearest to the rail: writes, or sends where an
// adapter does not reach its GPU, since the receiver of a send can copy the data on.
std::vector<Measurement> measure_gpu_memory(const PairEnd& a, const PairEnd& b, std::string_view rail,
                                            BenchPlan plan, const OnMeasuring& on_measuring,
                                            const std::stop_token& stop);

// The size of a collective over a network that is long enough for its start not to matter.
inline constexpr std::uint64_t kNcclPairBytes = std::uint64_t{256} << 20;

struct NcclEnd {
  Peer* peer = nullptr;
  std::string gpu;  // PCI address
  NcclNetwork network = {};
};
struct NcclPairRun {
  CollectiveReport report;
  diagnose::Log log;
};
// Runs a collective whose rank 0 is a's GPU and rank 1 b's. Fails if CUDA shows one of them no such GPU.
Result<NcclPairRun> run_nccl_pair(const NcclEnd& a, const NcclEnd& b, const CollectivePlan& plan,
                                  const OnMeasuring& on_measuring, const std::stop_token& stop);

}  // namespace railbed
