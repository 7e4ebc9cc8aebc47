#include "cli/plan/training_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/option_checks.h"
#include "predict/forecast_range.h"

namespace railbed {
namespace {

template <class Enum>
std::vector<std::string> words_of_enum() {
  const auto names = enum_names(Enum{});
  return {names.begin(), names.end()};
}

// The options were checked, so the word is one of the names.
template <class Enum>
Enum value_of(const std::string& word) {
  const auto names = enum_names(Enum{});
  return static_cast<Enum>(std::ranges::find(names, word) - names.begin());
}

// Returns the 16-bit type that the GPU has, if none was asked for.
MatrixType type_of(const TrainingOptions& options, const ClusterShape& shape) {
  if (!options.type.empty()) return value_of<MatrixType>(options.type);
  return shape.architecture >= GpuArchitecture::kAmpere ? MatrixType::kBf16 : MatrixType::kFp16;
}

// With a rate of its own, or a share for the whole computing, memory is not counted apart.
Result<TrainingRates> rates_for(const TrainingOptions& options, const ClusterShape& shape) {
  if (options.teraflops > 0) {
    TrainingRates rates;
    rates.matrix = options.teraflops * 1e12;
    rates.source = fmt::format("{:g} TFLOP/s (--teraflops)", options.teraflops);
    return rates;
  }
  if (options.mfu <= 0) return rates_of(shape, type_of(options, shape));
  ASSIGN_OR_RETURN(TrainingRates rates, rates_with(shape, type_of(options, shape), options.mfu));
  rates.wide = rates.memory = 0;
  rates.source = fmt::format("{:.0f} % of the data sheet (--mfu)", 100 * options.mfu);
  return rates;
}

void add_model_options(CLI::App& app, TrainingOptions& options) {
  const auto models = model_words();
  auto* model =
      app.add_option("--model", options.model,
                     "resnet50, bert-base, bert-large, gpt2, gpt2-xl (default), 7b, llama3-8b, llama3-70b, "
                     "gpt3-175b, llama3-405b")
          ->check(one_of(std::vector<std::string>(models.begin(), models.end())));
  app.add_option("--parameters", options.billions, "parameters of a transformer of your own, in 10^9")
      ->check(between(0.001, 100000.0))
      ->excludes(model);
  app.add_option("--blocks", options.size.blocks, "blocks of it (default 32)")->check(between(1, 1000));
  app.add_option("--hidden", options.size.hidden, "its width (default 4096)")->check(between(64, 1 << 20));
  app.add_option("--tokens", options.size.tokens, "tokens of its sequences (default 2048)")
      ->check(between(1, 1 << 24));
  app.add_option("--batch", options.batch, "samples of each replica and step (default: a usual number)")
      ->check(between(0.001, 1e9));
  app.add_option("--dtype-bytes", options.plan.word_bytes, "bytes of a gradient: 4 (default) or 2")
      ->check(one_of({"2", "4"}));
}

void add_split_options(CLI::App& app, TrainingOptions& options) {
  TrainingPlan& plan = options.plan;
  app.add_option("--sharding", options.sharding,
                 "what replicas share: ddp (default: nothing), zero1, zero2, fsdp (as ZeRO-3)")
      ->check(one_of(words_of_enum<Sharding>()));
  app.add_flag("--sharded", options.sharded, "as --sharding fsdp");
  app.add_option("--recompute", options.recompute, "activations: none (default), selective, full")
      ->check(one_of(words_of_enum<Recompute>()));
  app.add_option("--optimizer", options.optimizer, "adam (default), adam8bit, sgd (with momentum)")
      ->check(one_of(words_of_enum<Optimizer>()));
  app.add_option("--tensor", plan.tensor, "GPUs that share each block's matrices (default 1)")
      ->check(between(1, 4096));
  app.add_flag("--sequence-parallel", plan.sequence_parallel,
               "they share norms and residuals, too: less memory");
  app.add_option("--pipeline", plan.pipeline, "stages of a pipeline (default 1)")->check(between(1, 1000));
  app.add_option("--interleave", plan.interleave, "parts of the model on each stage (default 1)")
      ->check(between(1, 1000));
  app.add_option("--micro-batches", plan.micro_batches, "parts of a replica's batch (default 1)")
      ->check(between(1, 1 << 20));
  app.add_option("--expert", plan.expert, "replicas that share each block's experts (default 1)")
      ->check(between(1, 4096));
  app.add_option("--experts", plan.experts, "experts of a block (default 1)")->check(between(1, 4096));
  app.add_option("--experts-used", plan.experts_used, "experts that each token uses (default 1)")
      ->check(between(1, 64));
  app.add_option("--expert-share", plan.expert_share, "part of the parameters that lies in experts: 0.9")
      ->check(between(0.0, 1.0));
  app.add_option("--overlap", plan.overlap,
                 "part of the exchanges that may run beneath computing (default 1)")
      ->check(between(0.0, 1.0));
}

void add_gpu_options(CLI::App& app, TrainingOptions& options) {
  app.add_option("--dtype", options.type,
                 "of matrix products: bf16 (default), fp16 (before Ampere), fp8, tf32, fp32")
      ->check(one_of(words_of_enum<MatrixType>()));
  auto* mfu =
      app.add_option("--mfu", options.mfu,
                     "part of its data sheet's speed that training reaches, instead of the fitted one")
          ->check(between(0.01, 1.0));
  app.add_option("--teraflops", options.teraflops, "the TFLOP/s that a GPU reaches")
      ->check(between(0.001, 1e5))
      ->excludes(mfu);
  app.add_option("--gpu-memory", options.gpu_memory,
                 "memory of a GPU in GiB, where its name leaves that open")
      ->check(between(1.0, 4096.0));
}

}  // namespace

void declare_training_options(CLI::App& app, TrainingOptions& options) {
  add_model_options(app, options);
  declare_shape_options(app, options.cluster);
  add_gpu_options(app, options);
  add_split_options(app, options);
}

Result<TrainingPlan> training_plan(const TrainingOptions& options) {
  TrainingPlan plan = options.plan;
  ModelSize size = options.size;
  size.parameters = options.billions * 1e9;
  plan.model = options.billions > 0 ? model_of(size) : *find_model(options.model);
  plan.batch = options.batch > 0 ? options.batch : static_cast<double>(plan.model.batch);
  plan.sharding = options.sharded ? Sharding::kWeights : value_of<Sharding>(options.sharding);
  plan.recompute = value_of<Recompute>(options.recompute);
  plan.optimizer = value_of<Optimizer>(options.optimizer);
  ASSIGN_OR_RETURN(auto subject, find_subject(options.cluster));
  drop_idle_questions(subject.shape,
                      {forecast_range(subject.shape, Collective::kAllReduce, kReferenceBytes)});
  ASSIGN_OR_RETURN(const auto calibration, find_calibration(options.cluster));
  plan.cluster = {subject.shape, calibration};
  ASSIGN_OR_RETURN(plan.rates, rates_for(options, subject.shape));
  return plan;
}

double gpu_memory(const TrainingOptions& options, const TrainingPlan& plan) {
  return options.gpu_memory > 0 ? options.gpu_memory * (1ull << 30) : memory_of(plan.shape());
}

}  // namespace railbed
