#include "bench/burn/burn.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/median.h"
#include "base/text.h"

namespace railbed {
namespace {

constexpr double kLongestRound = 120;               // seconds
constexpr double kLongestRoundOfCollectives = 600;  // likewise
constexpr double kShortestTurnOfCollectives = 10;   // likewise
constexpr int kFewestBurnRounds = 2;  // so that each phase also meets a GPU that is hot from the others
constexpr std::size_t kMostDrills = 16;
constexpr int kMostShare = 1000;

int sum_of_shares(const std::vector<BurnShare>& phases) {
  return std::accumulate(phases.begin(), phases.end(), 0,
                         [](int sum, const BurnShare& one) { return sum + one.share; });
}

Result<void> check_drive_plan(const BurnDrivePlan& plan) {
  constexpr std::size_t kLongestPath = 400;
  constexpr std::uint64_t kFewestWrites = std::uint64_t{128} << 20;
  constexpr std::uint64_t kMostWrites = std::uint64_t{1} << 50;
  if (plan.paths.size() > kMostDrivePaths) return fail(ErrorKind::kBadInput, "drive paths: at most 16");
  for (const std::string& path : plan.paths)
    if (!path.starts_with('/') || path.size() > kLongestPath || printable(path) != path)
      return fail(ErrorKind::kBadInput, "drive paths: absolute, in plain characters");
  if (plan.writes != 0 && (plan.writes < kFewestWrites || plan.writes > kMostWrites))
    return fail(ErrorKind::kBadInput, "drive writes: 128M to 1024T");
  return {};
}

bool loads_what(const BurnPlan& plan, BurnInjection fault) {
  switch (fault) {
    case BurnInjection::kWrongResult:
    case BurnInjection::kSlow:
      return plan.has_gpus();
    case BurnInjection::kWrongCpu:
    case BurnInjection::kWrongHostMemory:
      return plan.has_host();
    case BurnInjection::kWrongDrive:
      return plan.drives.has_value();
    case BurnInjection::kWrongCollective:
      return plan.has(BurnPhase::kCollectives);
  }
  return false;
}

// NCCL must have started, and some operations must have run, before the turn is over.
Result<void> check_collective_turns(const BurnPlan& plan) {
  if (!plan.has(BurnPhase::kCollectives)) return {};
  const auto turn = burn_span(plan, BurnPhase::kCollectives, 0);
  const double length = turn ? turn->end - turn->begin : 0;
  if (length >= kShortestTurnOfCollectives) return {};
  return fail(
      ErrorKind::kBadInput,
      fmt::format("a turn of the collectives would last {:.2g} s, and NCCL needs {:.0f} to start: burn for "
                  "longer, or give them a larger share, as in --phases bf16:25,collectives:50",
                  length, kShortestTurnOfCollectives));
}

}  // namespace

Result<void> check_burn(const BurnPlan& plan) {
  const auto refuse = [](const char* what) { return fail(ErrorKind::kBadInput, what); };
  if (!(plan.seconds >= 1) || plan.seconds > kLongestBurn) return refuse("seconds: 1 to 14 days");
  if (plan.gpus.size() > kMostBurnGpus) return refuse("gpus: at most 64");
  if (plan.phases.empty() || plan.phases.size() > kBurnPhases) return refuse("phases: 1 to 8");
  static_assert(kBurnPhases == 8);
  for (const BurnShare& one : plan.phases)
    if (one.share < 1 || one.share > kMostShare) return refuse("shares: 1 to 1000");
  if (!(plan.watts >= 0) || plan.watts > 1e5) return refuse("watts: up to 100000");
  if (!(plan.patience >= 1) || plan.patience > 86'400) return refuse("patience: a second to a day");
  if (plan.side != 0 && (plan.side < 64 || plan.side > 32'768 || plan.side % 64 != 0))
    return refuse("side: a multiple of 64 up to 32768");
  if (plan.load == BurnLoad::kDrives && !plan.drives) return refuse("drives: missing");
  if (plan.load == BurnLoad::kRails && !plan.rails) return refuse("rails: missing");
  if (plan.drives) RETURN_IF_ERROR(check_drive_plan(*plan.drives));
  if (plan.keep && (!(plan.keep->unseen >= 1) || plan.keep->unseen > kLongestBurn))
    return refuse("unseen: 1 second to 14 days");
  RETURN_IF_ERROR(check_collective_turns(plan));
  if (plan.drills.size() > kMostDrills) return refuse("drills: at most 16");
  for (const BurnDrill& drill : plan.drills) {
    if (!loads_what(plan, drill.kind)) return refuse("drills: of what the burn does not load");
    if (!(drill.amount >= 0) || (drill.kind == BurnInjection::kSlow && drill.amount > 90))
      return refuse("drills: a moment, or 0 to 90 percent");
    if (drill.kind != BurnInjection::kSlow && drill.amount >= plan.seconds)
      return refuse("drills: a moment after the end of the burn-in");
  }
  return {};
}

std::vector<BurnShare> default_burn_phases() {
  return {{BurnPhase::kBf16, 25}, {BurnPhase::kMemory, 15}, {BurnPhase::kFp8, 20}, {BurnPhase::kPcie, 5},
          {BurnPhase::kPeers, 5}, {BurnPhase::kFp64, 15},   {BurnPhase::kFp16, 15}};
}

std::vector<BurnShare> product_phases() {
  return {{BurnPhase::kBf16, 1}, {BurnPhase::kFp16, 1}, {BurnPhase::kFp8, 1}, {BurnPhase::kFp64, 1}};
}

BurnTurn burn_turn(const std::vector<BurnShare>& phases, double seconds, double at) {
  const bool collective =
      std::ranges::find(phases, BurnPhase::kCollectives, &BurnShare::phase) != phases.end();
  const double longest = collective ? kLongestRoundOfCollectives : kLongestRound;
  const double rounds = std::max<double>(kFewestBurnRounds, std::ceil(seconds / longest));
  const double length = seconds / rounds;
  const double whole = std::clamp(std::floor(at / length), 0.0, rounds - 1);
  const double unit = length / sum_of_shares(phases);
  double end = whole * length;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    end += phases[i].share * unit;
    if (at < end) return {i, end};
  }
  return {phases.size() - 1, (whole + 1) * length};
}

std::optional<BurnSpan> burn_span(const BurnPlan& plan, BurnPhase phase, double at) {
  constexpr double kMoment = 1e-6;  // seconds: a turn begins where the one before ends
  while (at < plan.seconds) {
    const BurnTurn turn = burn_turn(plan.phases, plan.seconds, at);
    const double end = std::min(turn.ends, plan.seconds);
    if (plan.phases[turn.phase].phase == phase) return BurnSpan{at, end};
    at = end + kMoment;
  }
  return std::nullopt;
}

BurnPhase burn_phase_at(const BurnPlan& plan, double at) {
  return plan.phases[burn_turn(plan.phases, plan.seconds, at).phase].phase;
}

std::vector<double> drill_moments(const BurnPlan& plan, BurnInjection kind, int which) {
  std::vector<double> moments;
  for (const BurnDrill& drill : plan.drills)
    if (drill.kind == kind && drill.gpu == which) moments.push_back(drill.amount);
  std::ranges::sort(moments);
  return moments;
}

bool take_due(std::vector<double>& moments, double at) {
  if (moments.empty() || at < moments.front()) return false;
  moments.erase(moments.begin());
  return true;
}

void BurnRates::add(double rate) {
  constexpr std::size_t kMostRates = 1024;
  if (count_++ % stride_ != 0) return;
  rates_.push_back(rate);
  if (rates_.size() < kMostRates) return;
  for (std::size_t i = 0; i < rates_.size() / 2; ++i) rates_[i] = rates_[2 * i];
  rates_.resize(rates_.size() / 2);
  stride_ *= 2;
}

double BurnRates::median() const { return rates_.empty() ? 0 : median_of(rates_); }

void BurnCourseKeeper::add(double seconds, int watts, int clock, int temperature) {
  // A gap in the samples leaves a gap of the last values, so that each point has its place.
  while (sum_.count > 0 && seconds >= static_cast<double>(course_.watts.size() + 1) * course_.interval)
    close();
  ++sum_.count;
  sum_.watts += watts;
  sum_.clock += clock;
  sum_.temperature += temperature;
}

void BurnCourseKeeper::close() {
  const auto mean = [&](double sum) { return static_cast<int>(std::lround(sum / sum_.count)); };
  course_.watts.push_back(mean(sum_.watts));
  course_.clock.push_back(mean(sum_.clock));
  course_.temperature.push_back(mean(sum_.temperature));
  // The last values stay as one sample: they fill a gap, and weigh little in an interval with samples.
  sum_ = {1, mean(sum_.watts) * 1.0, mean(sum_.clock) * 1.0, mean(sum_.temperature) * 1.0};
  if (course_.watts.size() < kMostBurnPoints) return;
  for (std::vector<int>* values : {&course_.watts, &course_.clock, &course_.temperature}) {
    for (std::size_t i = 0; i < values->size() / 2; ++i)
      (*values)[i] = ((*values)[2 * i] + (*values)[2 * i + 1]) / 2;
    values->resize(values->size() / 2);
  }
  course_.interval *= 2;
}

}  // namespace railbed
