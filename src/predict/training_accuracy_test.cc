// The forecast of a training step against published speeds: docs/reference/predict-train-accuracy.md is this
// test's output (UPDATE_GOLDEN=1 writes it).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "base/fields.h"
#include "predict/testing/json_file.h"
#include "predict/training.h"
#include "predict/training_memory.h"

namespace railbed {
namespace {

const char* const kTrainingPage = RAILBED_SOURCE_DIR "/docs/reference/predict-train-accuracy.md";

struct PublishedRun {
  std::string id;
  std::string source;
  std::string model;
  std::vector<double> size;  // parameters, blocks, hidden, tokens; instead of `model`
  std::string gpu;
  int gpus = 8;
  int nodes = 1;
  int nvlink_nodes = 0;
  std::string nic;
  double batch = 1;
  int micro_batches = 1;
  int tensor = 1;
  int pipeline = 1;
  int interleave = 1;
  bool sequence_parallel = false;
  Sharding sharding = Sharding::kNone;
  Recompute recompute = Recompute::kNone;
  MatrixType dtype = MatrixType::kBf16;
  double tokens = 0;
  double samples = 0;
  double mfu = 0;
  double gib = 0;
  bool apart = false;  // its speed alone says nothing: it is the smaller or the larger run of a pair
  std::string base;
  std::string assumed;
  FIELDS(PublishedRun, id, source, model, size, gpu, gpus, nodes, nvlink_nodes, nic, batch, micro_batches,
         tensor, pipeline, interleave, sequence_parallel, sharding, recompute, dtype, tokens, samples, mfu,
         gib, apart, base, assumed);

  std::string source_id() const { return id.substr(0, id.find(' ')); }
};
struct PublishedRuns {
  std::string about;
  std::vector<PublishedRun> runs;
  FIELDS(PublishedRuns, about, runs);
};

const std::vector<PublishedRun>& published_runs() {
  static const std::vector<PublishedRun> runs = read_json_file<PublishedRuns>("predict/training.json").runs;
  return runs;
}
const PublishedRun& run_named(const std::string& id) {
  return *std::ranges::find(published_runs(), id, &PublishedRun::id);
}

// Returns a model of MPT's kind: attention to earlier tokens, and MPT's vocabulary.
Model sized_model(const ModelSize& size) {
  Model model = model_of(size);
  model.causal = true;
  model.vocabulary = 50368;
  model.layers.push_back(
      {"attention",
       0,
       {{size.tokens, size.tokens, size.hidden, 2 * static_cast<std::uint64_t>(size.blocks)}}});
  return model;
}

// Returns the run's plan, if products of matrices reach this share of the data sheet.
TrainingPlan plan_for(const PublishedRun& run, double share) {
  TrainingPlan plan;
  if (run.size.empty())
    plan.model = *find_model(run.model);
  else
    plan.model =
        sized_model({run.size.at(0), static_cast<int>(run.size.at(1)),
                     static_cast<std::uint64_t>(run.size.at(2)), static_cast<std::uint64_t>(run.size.at(3))});
  plan.batch = run.batch;
  plan.micro_batches = run.micro_batches;
  plan.tensor = run.tensor;
  plan.pipeline = run.pipeline;
  plan.interleave = run.interleave;
  plan.sequence_parallel = run.sequence_parallel;
  plan.sharding = run.sharding;
  plan.recompute = run.recompute;
  ShapeWords words;
  words.gpu = run.gpu;
  words.gpus = run.gpus;
  words.nodes = run.nodes;
  words.nic = run.nic;
  words.domain_nodes = run.nvlink_nodes;
  const auto shape = shape_from_words(words);
  EXPECT_TRUE(shape) << run.id;
  if (!shape) return plan;
  plan.cluster.shape = *shape;
  const auto rates = rates_with(*shape, run.dtype, share);
  EXPECT_TRUE(rates) << run.id;
  if (rates) plan.rates = *rates;
  return plan;
}

// Returns the speed that the run states, as a share of the forecast's.
double measured_to_forecast(const PublishedRun& run, double share) {
  const auto forecast = forecast_training(plan_for(run, share));
  EXPECT_TRUE(forecast) << run.id << (forecast ? "" : forecast.error().text);
  if (!forecast) return 0;
  if (run.mfu > 0) return run.mfu / forecast->mfu;
  if (run.samples > 0) return run.samples * forecast->gpus / forecast->samples_per_second;
  return run.tokens * forecast->gpus / forecast->tokens_per_second;
}

// Returns the share with which the forecast is what was measured.
double share_of(const PublishedRun& run) {
  double low = 0.01;
  double high = 10;
  for (int i = 0; i < 50; ++i) {
    const double middle = std::sqrt(low * high);
    (measured_to_forecast(run, middle) > 1 ? low : high) = middle;
  }
  return low;
}

GpuArchitecture architecture_of(const PublishedRun& run) { return plan_for(run, 1).shape().architecture; }
bool is_alike(const PublishedRun& a, const PublishedRun& b) {
  return architecture_of(a) == architecture_of(b) && a.dtype == b.dtype;
}
// The runs whose speed counts: a larger run of a pair repeats what its smaller one says.
bool counts(const PublishedRun& run) { return !run.apart && run.base.empty(); }

// Returns the geometric mean over sources of the shares of runs like this, without the given source; 0 if
// there is no other.
struct FittedShare {
  double share = 0;
  int sources = 0;
};
FittedShare fit(const PublishedRun& like, const std::string& without) {
  std::map<std::string, std::vector<double>> logs;
  for (const PublishedRun& run : published_runs())
    if (counts(run) && is_alike(run, like) && run.source_id() != without)
      logs[run.source_id()].push_back(std::log(share_of(run)));
  if (logs.empty()) return {};
  double sum = 0;
  for (const auto& [source, values] : logs) {
    double of_source = 0;
    for (const double value : values) of_source += value;
    sum += of_source / static_cast<double>(values.size());
  }
  return {std::exp(sum / static_cast<double>(logs.size())), static_cast<int>(logs.size())};
}

std::string percent_off(double ratio) { return fmt::format("{:+.0f} %", 100 * (ratio - 1)); }

struct SpeedRow {
  const PublishedRun* run = nullptr;
  double ratio = 0;  // forecast by measured speed, without this source
};
std::vector<SpeedRow> speed_rows() {
  std::vector<SpeedRow> rows;
  for (const PublishedRun& run : published_runs()) {
    if (!counts(run)) continue;
    const FittedShare others = fit(run, run.source_id());
    if (others.sources > 0) rows.push_back({&run, 1 / measured_to_forecast(run, others.share)});
  }
  return rows;
}

struct PairRow {
  const PublishedRun* larger = nullptr;
  double measured = 0, forecast = 0;  // speed of a GPU in the larger run by that in the smaller
};
double speed_of_run(const PublishedRun& run) {
  return run.mfu > 0 ? run.mfu : run.samples > 0 ? run.samples : run.tokens;
}
std::vector<PairRow> pair_rows() {
  std::vector<PairRow> rows;
  for (const PublishedRun& run : published_runs()) {
    if (run.base.empty()) continue;
    const PublishedRun& smaller = run_named(run.base);
    rows.push_back(
        {&run, speed_of_run(run) / speed_of_run(smaller),
         speed_of_run(run) / speed_of_run(smaller) / measured_to_forecast(run, share_of(smaller))});
  }
  return rows;
}

std::string training_page() {
  std::string text =
      "# How far forecasts of training are off\n\n"
      "Written by `predict_test` (`UPDATE_GOLDEN=1`) from `tests/predict/training.json`; "
      "[predict-train.md](predict-train.md) explains the model.\n\n"
      "## The speed of a GPU\n\n"
      "What products of matrices reach of the data sheet was fitted to the other sources of the same "
      "architecture and type, so no row\nwas seen by its own forecast. Software differs as much as hardware: "
      "on eight H100 in FP8, NeMo trains the same model 1.7 times as\nfast as torchtitan.\n\n"
      "| run | source | measured | forecast is off by | left open |\n|---|---|---|---|---|\n";
  std::vector<double> errors;
  for (const SpeedRow& row : speed_rows()) {
    errors.push_back(std::abs(row.ratio - 1));
    const PublishedRun& run = *row.run;
    text += fmt::format("| {} | {} | {} | {} | {} |\n", run.id, run.source,
                        run.mfu > 0 ? fmt::format("{:.0f} % MFU", 100 * run.mfu)
                                    : fmt::format("{:g} tokens/s a GPU", run.tokens),
                        percent_off(row.ratio), run.assumed.empty() ? "–" : run.assumed);
  }
  std::ranges::sort(errors);
  text += fmt::format("\nMedian error {:.0f} %, largest {:.0f} %.\n\n", 100 * errors[errors.size() / 2],
                      100 * errors.back());
  text += "These have no other source of their kind, so nothing judges their forecast: ";
  std::string alone;
  for (const PublishedRun& run : published_runs())
    if (counts(run) && fit(run, run.source_id()).sources == 0) alone += (alone.empty() ? "" : ", ") + run.id;
  text += alone + ".\n\n";
  text +=
      "## What more GPUs cost\n\n"
      "The computing is taken from the smaller run, and the larger one is forecast: the speed of a GPU in it, "
      "as a share of that in\nthe smaller one.\n\n"
      "| run | measured | forecast | off by, points | left open |\n|---|---|---|---|---|\n";
  for (const PairRow& row : pair_rows())
    text +=
        fmt::format("| {} → {} | {:.1f} % | {:.1f} % | {:+.1f} | {} |\n", row.larger->base, row.larger->id,
                    100 * row.measured, 100 * row.forecast, 100 * (row.forecast - row.measured),
                    row.larger->assumed.empty() ? run_named(row.larger->base).assumed : row.larger->assumed);
  text +=
      "\n## Memory\n\nGiB of the fullest GPU. No constant was fitted to these; which parts are counted "
      "was chosen with\nsome of them in sight.\n\n"
      "| run | measured | forecast | off by |\n|---|---|---|---|\n";
  for (const PublishedRun& run : published_runs())
    if (run.gib > 0) {
      const double gib = training_memory(plan_for(run, 1), 0).all / (1ull << 30);
      text +=
          fmt::format("| {} | {:.1f} | {:.1f} | {} |\n", run.id, run.gib, gib, percent_off(gib / run.gib));
    }
  text += "\n## The shares\n\n| architecture | type | share | from |\n|---|---|---|---|\n";
  for (const AchievedShare& share : achieved_shares())
    text += fmt::format("| {} | {} | {:.2f} | {} |\n",
                        enum_names(share.architecture)[static_cast<std::size_t>(share.architecture)],
                        enum_names(share.type)[static_cast<std::size_t>(share.type)], share.share,
                        share.sources > 0 ? fmt::format("fitted, {} sources", share.sources) : "assumed");
  return text;
}

TEST(TrainingAccuracy, ShippedSharesAreTheFit) {
  std::set<std::pair<GpuArchitecture, MatrixType>> seen;
  for (const PublishedRun& run : published_runs()) {
    if (!counts(run) || !seen.insert({architecture_of(run), run.dtype}).second) continue;
    const AchievedShare shipped = achieved_share(architecture_of(run), run.dtype);
    const FittedShare fitted = fit(run, "");
    EXPECT_NEAR(shipped.share, fitted.share, 0.006) << run.id;
    EXPECT_EQ(shipped.sources, fitted.sources) << run.id;
  }
}

TEST(TrainingAccuracy, LargerRunsAreForecastFromSmallerOnes) {
  for (const PairRow& row : pair_rows()) {
    // Schedules of micro-batches are assumed where a pipeline is deep.
    const double allowed = row.larger->pipeline > 1 ? 0.06 : 0.045;
    EXPECT_NEAR(row.forecast, row.measured, allowed) << row.larger->id;
  }
}

TEST(TrainingAccuracy, SpeedsOfOtherSources) {
  std::vector<double> errors;
  for (const SpeedRow& row : speed_rows()) errors.push_back(std::abs(row.ratio - 1));
  ASSERT_GE(errors.size(), 12u);
  std::ranges::sort(errors);
  EXPECT_LT(errors[errors.size() / 2], 0.25);
}

TEST(TrainingAccuracy, PageIsCurrent) {
  const std::string text = training_page();
  if (std::getenv("UPDATE_GOLDEN") != nullptr) std::ofstream(kTrainingPage) << text;
  std::ifstream file(kTrainingPage);
  std::stringstream committed;
  committed << file.rdbuf();
  EXPECT_EQ(committed.str(), text) << "UPDATE_GOLDEN=1 writes it";
}

}  // namespace
}  // namespace railbed
