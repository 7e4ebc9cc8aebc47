// One engine at work on one pair. It measures the numbers of a plan one by one.
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

// The parameters of one number.
struct PairNumber {
  int operation = 0;
  Metric metric = Metric::kBandwidth;
  bool from_a = true;
  std::uint64_t message_bytes = 0;
  int streams = 1;
};

// Runs the engine for one pair. All arguments of the constructor must outlive the object, except `rail`.
class PairRun {
 public:
  PairRun(Engine engine, const PairMeasuring& measuring, const PairEnd& a, const PairEnd& b,
          std::string_view rail, const BenchPlan& plan, PathExplainer& explainer,
          const OnMeasuring& on_measuring, const std::stop_token& stop);

  // Measures the bandwidths and then the latencies of each operation in turn. To be called once.
  std::vector<Measurement> run();

  void get_ready() { work_->get_ready(); }
  int streams() const { return plan_.streams > 0 ? plan_.streams : measuring_.streams; }
  // Measures one number, without watching the other work of the nodes. Explains a failure by the path.
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
