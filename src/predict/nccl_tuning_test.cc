#include "predict/nccl_tuning.h"

#include <gtest/gtest.h>

#include <cmath>

namespace railbed {
namespace {

struct TuningVector {
  const char* name;
  TunedCommunicator communicator;
  std::uint64_t bytes;
  NcclAlgorithm algorithm;
  NcclProtocol protocol;
  double time, time_step;    // as printed, and the last digit's weight
  double busbw, busbw_step;  //
};

TunedCommunicator a100_pair() { return {GpuArchitecture::kAmpere, 2, 2, 1, 12, 12, false}; }
TunedCommunicator h100(int nodes) { return {GpuArchitecture::kHopper, nodes, nodes * 8, 16, 24, 24, true}; }

constexpr auto kTree = NcclAlgorithm::kTree;
constexpr auto kRing = NcclAlgorithm::kRing;
constexpr auto kLl = NcclProtocol::kLl;
constexpr auto kLl128 = NcclProtocol::kLl128;
constexpr auto kSimple = NcclProtocol::kSimple;

// Printed by NCCL 2.30.7's own function for all_reduce with ring and tree alone.
const TuningVector kVectors[] = {
    {"2 x 1 A100", a100_pair(), 8 << 10, kRing, kLl, 18.0, .1, .46, .01},
    {"2 x 1 A100", a100_pair(), 1 << 20, kRing, kLl128, 126.0, .1, 8.32, .01},
    {"2 x 1 A100", a100_pair(), 64 << 20, kRing, kSimple, 5643, 1, 11.89, .01},
    {"2 x 1 A100", a100_pair(), 1 << 30, kRing, kSimple, 89529, 1, 11.99, .01},
    {"2 x 8 H100", h100(2), 8 << 10, kTree, kLl, 25.8, .1, .60, .01},
    {"2 x 8 H100", h100(2), 1 << 20, kTree, kLl128, 59.1, .1, 33.3, .1},
    {"2 x 8 H100", h100(2), 64 << 20, kRing, kLl128, 431.4, .1, 291.7, .1},
    {"2 x 8 H100", h100(2), 1 << 30, kRing, kSimple, 5427, 1, 371.0, .1},
    {"16 x 8 H100", h100(16), 8 << 10, kTree, kLl, 56.3, .1, .29, .01},
    {"16 x 8 H100", h100(16), 1 << 20, kTree, kLl128, 110.1, .1, 18.9, .1},
    {"16 x 8 H100", h100(16), 64 << 20, kTree, kLl128, 549.8, .1, 242, 1},
    {"16 x 8 H100", h100(16), 1 << 30, kTree, kSimple, 6255, 1, 340.6, .1},
};

double rounded(double value, double step) { return std::round(value / step) * step; }

TEST(NcclTuning, SaysWhatNcclSaysToTheLastPrintedDigit) {
  for (const TuningVector& vector : kVectors) {
    SCOPED_TRACE(testing::Message() << vector.name << ", " << vector.bytes << " B");
    const auto estimates = tuning_estimates(vector.communicator, Collective::kAllReduce, vector.bytes);
    ASSERT_FALSE(estimates.empty());
    const TuningEstimate& best = estimates.front();
    EXPECT_EQ(best.algorithm, vector.algorithm);
    EXPECT_EQ(best.protocol, vector.protocol);
    const double n = vector.communicator.ranks;
    const double busbw = static_cast<double>(vector.bytes) / best.time / 1e3 * 2 * (n - 1) / n;
    EXPECT_NEAR(rounded(best.time, vector.time_step), vector.time, vector.time_step * 1e-6);
    EXPECT_NEAR(rounded(busbw, vector.busbw_step), vector.busbw, vector.busbw_step * 1e-6);
  }
}

TEST(NcclTuning, ConsidersWhatTheHardwareAndTheOperationAllow) {
  const auto has = [](const TunedCommunicator& communicator, Collective operation, NcclAlgorithm algorithm) {
    for (const TuningEstimate& estimate : tuning_estimates(communicator, operation, 1 << 20))
      if (estimate.algorithm == algorithm) return true;
    return false;
  };
  TunedCommunicator communicator = h100(1);
  EXPECT_FALSE(has(communicator, Collective::kAllReduce, NcclAlgorithm::kNvls));
  communicator.nvls = true;
  communicator.nvls_intra = 23;
  EXPECT_TRUE(has(communicator, Collective::kAllReduce, NcclAlgorithm::kNvls));
  EXPECT_FALSE(has(communicator, Collective::kAllGather, NcclAlgorithm::kTree));
  EXPECT_TRUE(has(a100_pair(), Collective::kAllGather, NcclAlgorithm::kPat));
  EXPECT_FALSE(has(h100(2), Collective::kAllGather, NcclAlgorithm::kPat));
  EXPECT_TRUE(tuning_estimates(communicator, Collective::kAllToAll, 1 << 20).empty());
}

TEST(NcclTuning, LeavesOutProtocolsThatTheNetworkForbids) {
  TunedCommunicator communicator = h100(2);
  communicator.ll = communicator.ll128 = false;
  for (const TuningEstimate& estimate : tuning_estimates(communicator, Collective::kAllReduce, 8))
    EXPECT_EQ(estimate.protocol, kSimple);
}

}  // namespace
}  // namespace railbed
