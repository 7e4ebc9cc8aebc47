// How often the verdict of compare() is wrong, by simulation with fixed seeds. docs/reference/compare-accuracy.md
// is this test's output (UPDATE_GOLDEN=1 writes it).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

#include "base/moment.h"
#include "base/testing/sample.h"
#include "store/compare.h"

namespace railbed {
namespace {

const char* const kPowerPage = RAILBED_SOURCE_DIR "/docs/reference/compare-accuracy.md";

// A system whose sittings differ, each of five repeats, which differ by 0.5 %.
struct Simulated {
  double between = 0.03;  // standard deviation between sittings, of each rail
  bool shared = false;    // all rails of a sitting deviate alike; else each on its own
  double outliers = 0;    // share of the repeats that are a fifth lower
  int rails = 1;
  int sittings = 2;  // a side
  int earlier = 10;
};

class Simulation {
 public:
  explicit Simulation(const Simulated& system) : system_(system) {}

  // Returns the share of comparisons that end in FAIL if side B is slower by `loss`.
  double failures(double loss, int trials) {
    int failed = 0;
    for (int trial = 0; trial < trials; ++trial) {
      day_ = 0;
      const std::vector<BenchRun> earlier = sittings(system_.earlier, 0);
      const std::vector<BenchRun> a = sittings(system_.sittings, 0);
      const std::vector<BenchRun> b = sittings(system_.sittings, loss);
      failed += compare(a, b, earlier).outcome == Outcome::kFail;
    }
    return static_cast<double>(failed) / trials;
  }

 private:
  std::vector<BenchRun> sittings(int count, double loss) {
    std::vector<BenchRun> runs;
    for (int i = 0; i < count; ++i) runs.push_back(sitting(loss));
    return runs;
  }

  BenchRun sitting(double loss) {
    constexpr double kDay = 86400;
    constexpr double kStart = 1767261600;  // 2026-01-01
    BenchRun run;
    run.id = ++day_;
    run.started_at = utc_text(kStart + kDay * day_);
    const double all = normal_(random_);
    for (int rail = 0; rail < system_.rails; ++rail) {
      const double state = system_.between * (system_.shared ? all : normal_(random_));
      for (int repeat = 0; repeat < 5; ++repeat) {
        double value = 400e9 * (1 - loss) * std::exp(state + 0.005 * normal_(random_));
        if (uniform_(random_) < system_.outliers) value *= 0.8;
        Measurement measurement;
        measurement.engine = Engine::kRdma;
        measurement.operation = "write";
        measurement.rail = fmt::format("rail{}", rail);
        measurement.message_bytes = 65536;
        measurement.summary.median = value;
        run.measurements.push_back(std::move(measurement));
      }
    }
    return run;
  }

  Simulated system_;
  std::mt19937_64 random_{20261128};
  std::normal_distribution<double> normal_{0, 1};
  std::uniform_real_distribution<double> uniform_{0, 1};
  int day_ = 0;
};

struct Case {
  Simulated system;
  int trials;
  double most_alarms;  // bounds that the test holds; the page has the results
  double least_found;
};

// 2 % is the bound for false alarms where sittings differ by 3 %. A test of n trials may exceed it by chance:
// the bounds are 2 % of the trials and two standard errors.
const Case kCases[] = {
    {{.earlier = 0}, 400, .034, 0},
    {{.earlier = 10}, 400, .034, .1},
    {{.earlier = 30}, 200, .04, .15},
    {{.between = .013, .earlier = 30}, 200, .04, .8},
    {{.between = .01, .earlier = 10}, 400, .034, .9},
    {{.between = .01, .outliers = .1, .earlier = 10}, 400, .034, .55},
    {{.sittings = 10, .earlier = 10}, 200, .04, .8},
    {{.rails = 12, .earlier = 0}, 100, .048, .2},
    {{.rails = 12, .earlier = 10}, 100, .048, .9},
    {{.outliers = .1, .rails = 12, .earlier = 10}, 100, .048, .8},
    {{.shared = true, .rails = 12, .earlier = 10}, 100, .048, .05},
    {{.between = .01, .shared = true, .rails = 12, .earlier = 10}, 100, .048, .8},
    {{.rails = 1, .sittings = 1, .earlier = 10}, 400, .034, .05},
};

TEST(ComparePower, FalseAlarmsAndPowerAreThoseOfThePage) {
  if (kSampleStride > 1) GTEST_SKIP() << "thousands of simulations of what compare_test compares";
  std::string text =
      "# How often `compare` is wrong\n\n"
      "Written by `store_test` (`UPDATE_GOLDEN=1`), which simulates systems with fixed seeds; [history.md](history.md) explains "
      "the verdict. A sitting has five repeats, which differ by 0.5 %. *Spread* is the standard deviation between "
      "sittings; the rails of one sitting deviate each on its own, or alike. Outliers are repeats that are a fifth lower. "
      "*Earlier* is the number of sittings in the history. *False alarms* are comparisons of an unchanged system that end in FAIL; "
      "*found* are those of a system that lost 5 %.\n\n"
      "| rails | spread | of the rails | outliers | sittings a side | earlier | trials | false alarms | found |\n"
      "|---|---|---|---|---|---|---|---|---|\n";
  for (const Case& one : kCases) {
    const Simulated& system = one.system;
    const double alarms = Simulation(system).failures(0, one.trials);
    const double found = Simulation(system).failures(.05, one.trials);
    const std::string row = fmt::format(
        "| {} | {:.1f} % | {} | {:.0f} % | {} | {} | {} | {:.1f} % | {:.0f} % |\n", system.rails,
        system.between * 100,
        system.rails == 1 ? ""
        : system.shared   ? "alike"
                          : "each",
        system.outliers * 100, system.sittings, system.earlier, one.trials, alarms * 100, found * 100);
    EXPECT_LE(alarms, one.most_alarms) << row;
    EXPECT_GE(found, one.least_found) << row;
    text += row;
  }
  text +=
      "\nTwo sittings a side cannot show a loss of 5 % on one rail whose sittings differ by 3 %: even with the spread "
      "known exactly the difference has a standard error of 3 %, so that a test with 1 % false alarms finds it in 25 of 100. "
      "A power of 90 % needs a spread of 1.3 % or less, ten sittings a side at 3 %, or several rails that deviate "
      "each on its own and lose together.\n";
  if (std::getenv("UPDATE_GOLDEN") != nullptr) std::ofstream(kPowerPage) << text;
  std::ifstream file(kPowerPage);
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_TRUE(page.str() == text) << "UPDATE_GOLDEN=1 store_test writes it anew";
}

}  // namespace
}  // namespace railbed
