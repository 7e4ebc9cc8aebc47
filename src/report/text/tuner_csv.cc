// NCCL's example tuner plugin reads lines of
//   collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff
// where -1 leaves a choice to NCCL or matches anything (NVIDIA/nccl, ext-tuner/example/README.md). A line
// prescribes a choice. So each size gets the algorithm with the quickest forecast, with the protocol that
// NCCL's model prefers for it. Neighboring sizes with the same choice become one line.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/text.h"
#include "report/text/forecast_table.h"

namespace railbed {
namespace {

// The README describes this maximum as "Covers all sizes".
constexpr std::uint64_t kTunerMost = 4294967295;
constexpr int kTunerFirst = 10, kTunerLast = 32;  // powers of two

struct TunerChoice {
  NcclAlgorithm algorithm;
  NcclProtocol protocol;
  bool operator==(const TunerChoice&) const = default;
};

std::optional<TunerChoice> tuner_choice(const ClusterShape& shape, Collective operation, std::uint64_t bytes,
                                        const Calibration& calibration) {
  std::optional<TunerChoice> best;
  double least = 0;
  std::set<NcclAlgorithm> seen;
  for (const TuningEstimate& estimate : tuning_estimates(tuned_for(shape), operation, bytes)) {
    if (!seen.insert(estimate.algorithm).second) continue;  // its best protocol came first
    ForecastChoice choice;
    choice.algorithm = estimate.algorithm;
    const double time = forecast_collective(shape, operation, bytes, calibration, choice).time;
    if (best && time >= least) continue;
    best = {estimate.algorithm, estimate.protocol};
    least = time;
  }
  return best;
}

std::string_view tuner_word(Collective operation) {
  constexpr std::string_view kWords[] = {"allreduce", "allgather", "reducescatter", "broadcast", "reduce"};
  return kWords[static_cast<std::size_t>(operation)];
}

std::string tuner_lines(const ClusterShape& shape, Collective operation, const Calibration& calibration) {
  std::string text;
  std::uint64_t from = 0;
  std::optional<TunerChoice> now;
  const auto close = [&](std::uint64_t last) {
    if (now)
      text += fmt::format("{},{},{},{},{},-1,{},{},-1,-1\n", tuner_word(operation), from, last,
                          to_text(now->algorithm), to_text(now->protocol), shape.domains(), shape.ranks());
  };
  for (int power = kTunerFirst; power <= kTunerLast; ++power) {
    const std::uint64_t bytes = std::uint64_t{1} << power;
    const auto next = tuner_choice(shape, operation, bytes, calibration);
    if (power > kTunerFirst && next != now) {
      close(bytes - 1);
      from = bytes;
    }
    now = next;
  }
  close(kTunerMost);
  return text;
}

}  // namespace

std::string tuner_csv(const ClusterShape& shape, const Calibration& calibration) {
  std::string text = fmt::format(
      "# railbed predict, for {}\n# NCCL_TUNER_CONFIG_FILE of NCCL's example tuner plugin (ext-tuner/example)\n"
      "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff\n",
      printable(describe(shape)));
  if (const std::string taken = taken_line(shape); !taken.empty()) text += "# " + taken;
  for (int one = 0; one <= static_cast<int>(Collective::kReduce); ++one)
    text += tuner_lines(shape, static_cast<Collective>(one), calibration);
  return text;
}

}  // namespace railbed
