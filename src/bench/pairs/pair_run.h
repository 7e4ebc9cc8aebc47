// One engine at work over one pair: its numbers, one by one.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "bench/core/engine.h"
#include "bench/core/pair.h"
#include "bench/path/explain.h"

namespace railbed {

// What is measured as one number.
struct PairNumber {
  int operation = 0;
  Metric metric = Metric::kBandwidth;
  bool from_a = true;
  std::uint64_t message_bytes = 0;
  int streams = 1;
};

// All that is given outlives it.
class PairRun {
 public:
  PairRun(Engine engine, const PairMeasuring& measuring, const PairEnd& a, const PairEnd& b,
          std::string_view rail, const BenchPlan& plan, PathExplainer& explainer,
          const OnMeasuring& on_measuring, const std::stop_token& stop);

  // Each operation's bandwidths and latencies in turn.
  std::vector<Measurement> run();

  void get_ready() { work_->get_ready(); }
  int streams() const { return plan_.streams > 0 ? plan_.streams : measuring_.streams; }
  // Without a look at what else the nodes do.
  Measurement measure(const PairNumber& number);

 private:
  void run_operation(int operation);
  void run_sizes(PairNumber number, const std::vector<std::uint64_t>& sizes);
  Measurement watch(const PairNumber& number);

  Engine engine_;
  const PairMeasuring& measuring_;
  const PairEnd& a_;
  const PairEnd& b_;
  std::string rail_;
  const BenchPlan& plan_;
  PathExplainer& explainer_;
  const OnMeasuring& on_measuring_;
  const std::stop_token& stop_;
  std::unique_ptr<PairEngine> work_;
  std::vector<Measurement> measurements_;
};

}  // namespace railbed
