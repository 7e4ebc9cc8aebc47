// Each of NCCL's protocols has a curve of its own, and where NCCL changes from one to the next the measured
// curve has a step:
//
// * LL sends a flag with each four bytes, so a receiver never waits for a whole chunk, and the time of its
//   steps overlaps with that of its bytes. The time is the power mean (L^k + x^k)^(1/k) of NCCL's latency L
//   and the transfer x, with k a little above 1, at slightly more than the rate that NCCL assumes for LL.
// * LL128 starts later than LL and carries 120 of 128 bytes as data.
// * Simple passes chunks, which are larger the more data there is. Filling the first one takes a part of
//   NCCL's latency and a fixed time, which overlap with the transfer as in LL. With the size of the chunks a
//   ramp grows to a multiple of the time of one chunk per channel. Half of it is reached where the transfer
//   takes three times as long as the ramp. LL128 has a quarter of it.
// * The switch that reduces (NVLS) has NCCL's latency for it, and its own ramp.
//
// The shape of these curves and the constants here are fitted to all_reduce, all_gather and reduce_scatter on
// two, three and four H100 (NCCL 2.28.3), each protocol forced in turn and replayed from a CUDA graph: 1 KiB
// to 4 GiB. Differences between machines are factors of them (calibration.h).
#include "predict/nvlink_time.h"

#include <cmath>

#include "predict/time_parts.h"

namespace railbed {
namespace {

constexpr double kLlStart = .92, kLlOverlap = 1.22, kLlRate = 1.06;
constexpr double kLl128Start = .7, kLl128Ramp = .25;
constexpr double kSimpleFirst = 10, kSimpleStart = .8, kSimpleOverlap = 1.35;  // the first in µs
constexpr double kHalfOfRamp = 3, kHalfOfNvlsRamp = 1;
// Factor of the time of LL and of Simple's first chunk for operations that leave only a sum: they copy
// nothing in addition.
constexpr double kOnlySummed = .88;
constexpr double kExchangeFirst = 4, kHalfOfExchangeRamp = 1.4;
constexpr int kChannels = 24;

constexpr double kLaunchFirst = 7, kLaunchEach = 2.9, kLaunchApart = 9.7, kLaunchPartner = .9;  // µs
constexpr double kLaunchSharpness = 6;

double power_mean(double one, double other, double power) {
  return std::pow(std::pow(one, power) + std::pow(other, power), 1 / power);
}

double overlapping_start(double latency, double transfer, double power) {
  return power_mean(latency, transfer, power) - transfer;
}

bool only_sums(Collective operation) {
  return operation == Collective::kReduceScatter || operation == Collective::kReduce;
}
bool is_rooted(Collective operation) {
  return operation == Collective::kBroadcast || operation == Collective::kReduce;
}

}  // namespace

NvlinkTime nvlink_time(Collective operation, int ranks, std::uint64_t bytes, const TuningEstimate& chosen,
                       const PathConstants& constants, const NvlinkRates& rates) {
  const auto size = static_cast<double>(bytes);
  const double transfer = transfer_time(size * bus_factor(operation, ranks), rates.reached);
  // Data of a root never returns, so there is no ramp.
  const double ramp =
      is_rooted(operation) ? 0 : constants.ramp * transfer_time(kChannels * kNcclChunkBytes, rates.link);
  const double latency = constants.start * chosen.latency;
  if (chosen.algorithm == NcclAlgorithm::kNvls)
    return {latency, ramp_time(ramp, transfer, kHalfOfNvlsRamp * ramp), transfer};
  // The rate that is lost to a rank's own part is lost in every protocol.
  const double by_nccl = transfer_time(size, BitRate::gigabytes(chosen.algbw) * (rates.reached / rates.link));
  const double copied = only_sums(operation) ? kOnlySummed : 1;
  switch (chosen.protocol) {
    case NcclProtocol::kLl: {
      const double ll = copied * by_nccl / kLlRate;
      return {overlapping_start(copied * kLlStart * latency, ll, kLlOverlap), 0, ll};
    }
    case NcclProtocol::kLl128: {
      const double whole = kLl128Ramp * ramp;
      return {kLl128Start * latency, ramp_time(whole, by_nccl, kHalfOfRamp * whole), by_nccl};
    }
    case NcclProtocol::kSimple:
      break;
  }
  const bool exchange = !is_tuned(operation);
  const double first =
      copied * (constants.start * (exchange ? kExchangeFirst : kSimpleFirst) + kSimpleStart * latency);
  return {overlapping_start(first, transfer, kSimpleOverlap),
          ramp_time(ramp, transfer, (exchange ? kHalfOfExchangeRamp : kHalfOfRamp) * ramp), transfer};
}

double launch_time(Collective operation, int gpus, bool apart) {
  const double each = apart ? kLaunchApart : kLaunchFirst + kLaunchEach * gpus;
  if (is_tuned(operation)) return each;
  return each + kLaunchPartner * (operation == Collective::kSendReceive ? 1 : gpus);
}

double launched_time(double on_gpus, double launching) {
  return power_mean(on_gpus, launching, kLaunchSharpness);
}

}  // namespace railbed
