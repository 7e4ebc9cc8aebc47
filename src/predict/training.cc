// A step takes T = T_compute + the bubble of a pipeline + what of the exchanges no computing hides + the
// slowdown of the computation by hidden exchanges + the optimizer. Exchanges follow a schedule:
//   replicas  Gradients are exchanged in buckets while the last micro-batch's backward pass continues with
//             earlier layers. The last bucket is ready when nothing is left to hide it. ZeRO-1 and ZeRO-2
//             scatter gradients instead and gather weights beneath the next forward pass.
//   fsdp      Weights are gathered block by block, the next while one is computed, forward and again
//             backward, where gradients are scattered, too (step_overlap.h).
//   tensor    Every block sums its activations over the group twice forward and twice backward (Shoeybi et
//             al. 2019), and waits for that.
//   pipeline  Each of p stages waits while the first micro-batch arrives and the last leaves: (p - 1) / (m v)
//             of the time of m micro-batches with v parts of the model on each stage (Narayanan et al. 2021).
//             Activations pass each border.
//   expert    Tokens go to their experts and back, forward and backward: four all_to_alls per block.
// Ranks are placed as in Megatron: tensor groups within nodes, then replicas, then stages.
//
// Hidden exchanges are not free: NCCL's kernels and matrix products compete for the same multiprocessors. On
// two H100 with NVLink the step got longer by as much as the exchange took alone (5.98 ms; bench/peers/train:
// 5.93 ms in the rehearsal, 7 to 8 ms with PyTorch), because products that fill every multiprocessor in waves
// need twice as many waves when a few are taken. So an exchange within a node counts fully. An exchange that
// waits for the network uses about 20 of 130 multiprocessors. Its cost was not measured; their share is
// assumed, and it costs no less than the same exchange within a node.
//
// More nodes never make a GPU faster: exchanges never get shorter (exchange.h), and sharding over more nodes
// is not counted for the optimizer.
//
// Not modeled: the loading of data, stragglers, and the launching of kernels.
#include "predict/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "model/training_step.h"
#include "predict/experts.h"
#include "predict/step_overlap.h"

namespace railbed {
namespace {

constexpr double kActivationBytes = 2;  // 16-bit
// Slowdown of the computation, as a share of a hidden exchange.
constexpr double kDisturbedWithin = 1, kDisturbedBetween = 0.15;
constexpr double kHiddenAtMost = 0.05;  // largest exposed share of the step; ours, as in bench train
constexpr double kBorderlineShare = 0.2;

std::string why_not(const TrainingPlan& plan) {
  const ClusterShape& shape = plan.shape();
  const int split = plan.tensor * plan.pipeline;
  if (shape.nodes < 1 || shape.gpus < 1) return "nodes and GPUs: one or more";
  if (!(plan.rates.matrix > 0) || !(plan.batch > 0)) return "a GPU's speed and a batch must be known";
  if (plan.tensor < 1 || plan.pipeline < 1 || plan.expert < 1 || plan.micro_batches < 1 ||
      plan.interleave < 1)
    return "degrees and micro-batches: one or more";
  if (plan.gpus() % split != 0)
    return fmt::format("{} GPUs are no multiple of tensor × pipeline = {}", plan.gpus(), split);
  if (plan.replicas() % plan.expert != 0)
    return fmt::format("{} replicas are no multiple of {} ranks of experts", plan.replicas(), plan.expert);
  if ((split > 1 || plan.expert > 1) && plan.model.blocks < plan.pipeline)
    return fmt::format("{} has {} blocks to split", plan.model.name, plan.model.blocks);
  if (plan.interleave > 1 && (plan.pipeline < 2 || plan.model.blocks < plan.pipeline * plan.interleave))
    return fmt::format("{} has {} blocks: --interleave {} needs a pipeline, and a block for each part",
                       plan.model.name, plan.model.blocks, plan.interleave);
  if (plan.experts_used > plan.experts) return "a token uses more experts than there are";
  if (shape.nodes > 1 && !(reached_of_adapter(plan.cluster).bits_per_second > 0))
    return "what network adapters a node has must be known (--nic)";
  return "";
}

// Adds up the parts of a step.
class Forecasting {
 public:
  explicit Forecasting(const TrainingPlan& plan) : plan_(plan) {}

  TrainingForecast forecast() {
    begin();
    plan_.sharding == Sharding::kWeights ? add_gathered() : add_replicas();
    if (plan_.tensor > 1) add_tensor();
    if (plan_.pipeline > 1) add_pipeline();
    if (plan_.expert > 1) add_expert();
    end();
    return std::move(result_);
  }

 private:
  double split() const { return plan_.tensor * plan_.pipeline; }
  double used_share() const {
    return (1 - plan_.expert_share) + plan_.expert_share * plan_.experts_used / plan_.experts;
  }
  ExchangeGroup replicas() const {
    const int gpus = plan_.shape().gpus;
    const int per_node = std::max(1, gpus / plan_.tensor);
    return {plan_.replicas(), std::min(per_node, plan_.replicas()), std::min(plan_.tensor, gpus)};
  }
  double seconds(Collective kind, double bytes, const ExchangeGroup& group) {
    const auto found = known_.find({kind, bytes, group.ranks});
    if (found != known_.end()) return found->second;
    return known_[{kind, bytes, group.ranks}] = exchange_seconds(kind, bytes, group, plan_.cluster);
  }
  // Returns the time of the exchange among the ranks of one node.
  double seconds_within(Collective kind, double bytes, ExchangeGroup group) {
    group.ranks = std::min(group.ranks, group.per_node);
    return seconds(kind, bytes, group);
  }
  double adapter_bytes(Collective kind, double bytes, const ExchangeGroup& group) const {
    return bytes_per_adapter(kind, bytes, group, plan_.shape());
  }
  // Returns the bytes of one micro-batch that pass from block to block.
  double activation_bytes() const {
    return plan_.batch / plan_.micro_batches * static_cast<double>(plan_.model.tokens) *
           static_cast<double>(plan_.model.hidden) * kActivationBytes;
  }
  double blocks() const { return std::max(1, plan_.model.blocks) / static_cast<double>(plan_.pipeline); }
  double forward() const { return result_.compute - result_.backward; }
  // Returns the part of the step's computing beneath which the replicas exchange: one micro-batch, or with
  // interleaved stages a group of as many as there are stages, which passes one part of the model after the
  // other.
  double exchanging_part() const {
    const int group = plan_.interleave > 1 ? std::min(plan_.pipeline, plan_.micro_batches) : 1;
    return static_cast<double>(group) / plan_.micro_batches;
  }

  void begin() {
    result_.model = plan_.model.name;
    result_.gpus = plan_.gpus();
    result_.replicas = plan_.replicas();
    result_.parameters = static_cast<double>(plan_.model.parameters());
    const SampleWork work = sample_work(plan_.model, plan_.rates, plan_.recompute);
    const double samples = plan_.batch * used_share() / split();
    result_.compute = (work.forward + work.backward) * samples;
    result_.backward = work.backward * samples;
    result_.gradient_bytes = plan_.own_parameters() * static_cast<double>(plan_.word_bytes);
    result_.rates = plan_.rates.source;
    const int shards = plan_.sharding == Sharding::kNone ? 1 : static_cast<int>(plan_.shape().gpus / split());
    result_.optimizer = optimizer_seconds(plan_.own_parameters() / std::max(1, shards), plan_.rates);
  }

  // `within` is the time of the same exchange among the ranks of a node.
  struct Timed {
    double seconds = 0;
    double exposed = 0;
    double within = 0;
  };
  void add(std::string name, std::string why, double adapter_bytes, const Timed& timed) {
    if (timed.seconds <= 0) return;
    const double hidden = timed.seconds - timed.exposed;
    const double disturbed =
        adapter_bytes > 0 ? std::max(kDisturbedBetween, kDisturbedWithin * timed.within / timed.seconds)
                          : kDisturbedWithin;
    result_.exchanges.push_back({std::move(name), std::move(why), adapter_bytes, timed.seconds, timed.exposed,
                                 std::min(1.0, disturbed) * hidden});
  }
  // Returns what is exposed if only the plan's share may overlap.
  double exposed(double all, double scheduled) const {
    return plan_.overlap * scheduled + (1 - plan_.overlap) * all;
  }

  void least_adapter(double bytes, double hidden_by) {
    if (bytes <= 0 || hidden_by <= 0 || plan_.overlap <= 0) return;
    const double reached = reached_of_adapter(plan_.cluster) / plan_.shape().nic_rate;
    result_.least_adapter = BitRate::gigabytes(bytes / (plan_.overlap * hidden_by * reached) / 1e9);
  }

  void add_replicas() {
    // The size of a bucket does not depend on the part of the model that a GPU has, so it covers more of the
    // whole then.
    const double part = plan_.own_parameters() / result_.parameters;
    const auto whole = [&](std::uint64_t bytes) {
      return static_cast<std::uint64_t>(static_cast<double>(bytes) / part);
    };
    StepPlan buckets;
    buckets.batch = 1;
    buckets.word_bytes = plan_.word_bytes;
    buckets.bucket_bytes = whole(plan_.bucket_bytes);
    buckets.first_bucket_bytes = whole(std::min(buckets.first_bucket_bytes, plan_.bucket_bytes));
    buckets.flops_per_second = 1;
    const Step step = make_step(plan_.model, buckets);
    if (step.buckets.empty()) return;
    const double part_of_step = exchanging_part();
    const bool sharded = plan_.sharding != Sharding::kNone;
    const Collective kind = sharded ? Collective::kReduceScatter : Collective::kAllReduce;
    std::vector<ReadyExchange> exchanges;
    Timed timed;
    for (const Bucket& bucket : step.buckets) {
      const double bytes = part * static_cast<double>(bucket.bytes);
      // A third of that step's operations are its forward pass.
      const double backward = (bucket.ready / step.compute - 1.0 / 3) * 1.5;
      exchanges.push_back(
          {(forward() + backward * result_.backward) * part_of_step, seconds(kind, bytes, replicas())});
      timed.seconds += exchanges.back().seconds;
      timed.within += seconds_within(kind, bytes, replicas());
    }
    timed.exposed = exposed(timed.seconds, exposed_behind(exchanges, result_.compute * part_of_step));
    const double bytes = adapter_bytes(kind, result_.gradient_bytes, replicas());
    add("data: gradients",
        fmt::format("{} in {} buckets beneath the {}backward pass", sharded ? "reduce_scatter" : "all_reduce",
                    step.buckets.size(), part_of_step < 1 ? "last " : ""),
        bytes, timed);
    least_adapter(bytes, result_.backward * part_of_step);
    if (sharded) add_weights();
  }

  // The weights that ZeRO-1 and ZeRO-2 gather beneath the next forward pass.
  void add_weights() {
    const double weights = plan_.own_parameters() * kActivationBytes;
    const double once = seconds(Collective::kAllGather, weights / blocks(), replicas());
    const double computing = forward() * exchanging_part() / blocks();
    const double scheduled = once + (blocks() - 1) * std::max(0.0, once - computing);
    const double all = blocks() * once;
    add("data: weights", fmt::format("{:.0f} blocks gathered beneath the next forward pass", blocks()),
        adapter_bytes(Collective::kAllGather, weights, replicas()),
        {all, exposed(all, scheduled),
         blocks() * seconds_within(Collective::kAllGather, weights / blocks(), replicas())});
  }

  void add_gathered() {
    const double units = std::max(1.0, blocks());
    const double weights = plan_.own_parameters() * kActivationBytes;
    const Collective scatter = Collective::kReduceScatter;
    // A pipeline keeps its gathered weights over all micro-batches.
    const int times = plan_.pipeline > 1 ? 1 : plan_.micro_batches;
    GatheredBlocks blocks;
    blocks.blocks = std::max(1, static_cast<int>(units));
    blocks.micro_batches = times;
    blocks.forward = forward() / times / units;
    blocks.backward = result_.backward / times / units;
    blocks.gather = seconds(Collective::kAllGather, weights / units, replicas());
    blocks.scatter = seconds(scatter, result_.gradient_bytes / units, replicas());
    const double gathered = adapter_bytes(Collective::kAllGather, weights, replicas());
    const double scattered = adapter_bytes(scatter, result_.gradient_bytes, replicas());
    const double all = times * units * (2 * blocks.gather + blocks.scatter);
    const double within = times * units *
                          (2 * seconds_within(Collective::kAllGather, weights / units, replicas()) +
                           seconds_within(scatter, result_.gradient_bytes / units, replicas()));
    add("data: sharded", fmt::format("{:.0f} blocks gathered twice, their gradients scattered", units),
        times * (2 * gathered + scattered), {all, exposed(all, exposed_by_gathering(blocks)), within});
    least_adapter(std::max(2 * gathered, gathered + scattered), result_.backward / times);
  }

  void add_tensor() {
    const int inside = std::min(plan_.tensor, plan_.shape().gpus);
    const ExchangeGroup group{plan_.tensor, inside, plan_.shape().gpus / inside};
    const double each = plan_.recompute == Recompute::kFull ? 6 : 4;
    const double times = each * blocks() * plan_.micro_batches;
    const double bytes = activation_bytes();
    const double once = plan_.sequence_parallel ? seconds(Collective::kAllGather, bytes, group) +
                                                      seconds(Collective::kReduceScatter, bytes, group)
                                                : seconds(Collective::kAllReduce, bytes, group);
    add("tensor: activations",
        fmt::format("{:.0f} {} a block, each waited for", each,
                    plan_.sequence_parallel ? "pairs of all_gather and reduce_scatter" : "all_reduces"),
        times * adapter_bytes(Collective::kAllReduce, bytes, group), {times * once, times * once, 0});
  }

  void add_pipeline() {
    result_.bubble = result_.compute * (plan_.pipeline - 1) /
                     (plan_.micro_batches * static_cast<double>(plan_.interleave));
    const ClusterShape& shape = plan_.shape();
    // Some border lies between two nodes, and the slowest counts. The GPUs of a stage on one node pass their
    // parts at the same time; the node's adapters share it.
    const bool crosses = shape.nodes > 1;
    const double part = activation_bytes() / plan_.tensor;
    const int beside = std::clamp(plan_.gpus() / plan_.pipeline, 1, shape.gpus);
    const double bytes = crosses ? part * beside / std::max(1, shape.nics) : 0;
    const BitRate rate = crosses ? reached_of_adapter(plan_.cluster) : reached_within(plan_.cluster);
    const double once = rate.bits_per_second > 0 ? (crosses ? bytes : part) * 8 / rate.bits_per_second : 0;
    const double parts = plan_.interleave;
    const double all = 2 * plan_.micro_batches * parts * once;
    add("pipeline: activations",
        "across each border, forward and backward; all but the first and last hidden",
        2 * plan_.micro_batches * parts * bytes,
        {all, std::min(all, 2 * (plan_.pipeline * parts - 1) * once), 0});
  }

  void add_expert() {
    const ExchangeGroup all_replicas = replicas();
    const ExchangeGroup group{plan_.expert, std::min(plan_.expert, all_replicas.per_node),
                              all_replicas.beside * std::max(1, all_replicas.per_node / plan_.expert)};
    const double times = 4 * blocks() * plan_.micro_batches;
    const double tokens = plan_.batch / plan_.micro_batches * static_cast<double>(plan_.model.tokens);
    const double bytes =
        copies_bytes(tokens, static_cast<double>(plan_.model.hidden), plan_.experts_used, kActivationBytes) /
        plan_.tensor;
    const double all = times * seconds(Collective::kAllToAll, bytes, group);
    add("expert: tokens", "to their experts and back, forward and backward, each waited for",
        times * adapter_bytes(Collective::kAllToAll, bytes, group), {all, all, 0});
  }

  void end() {
    for (const TrainingExchange& exchange : result_.exchanges) {
      result_.exposed += exchange.exposed;
      result_.disturbed += exchange.disturbed;
    }
    result_.step = result_.compute + result_.bubble + result_.exposed + result_.disturbed + result_.optimizer;
    result_.efficiency = result_.compute / result_.step;
    if (plan_.rates.peak > 0)
      result_.mfu = useful_flops(plan_.model) * plan_.batch * used_share() / split() /
                    (plan_.rates.peak * result_.step);
    result_.samples_per_second = plan_.batch * plan_.replicas() / result_.step;
    result_.tokens_per_second = result_.samples_per_second * static_cast<double>(plan_.model.tokens);
  }

  const TrainingPlan& plan_;
  TrainingForecast result_;
  std::map<std::tuple<Collective, double, int>, double> known_;
};

NetworkNeed need_of(TrainingPlan plan) {
  const TrainingForecast forecast = Forecasting(plan).forecast();
  NetworkNeed need{forecast.model,
                   forecast.gradient_bytes,
                   forecast.backward,
                   forecast.least_adapter * plan.shape().nics,
                   (forecast.exposed + forecast.disturbed) / forecast.step,
                   NetworkNeed::Verdict::kHides,
                   ""};
  using enum NetworkNeed::Verdict;
  need.verdict = need.exposed_share <= kHiddenAtMost      ? kHides
                 : need.exposed_share <= kBorderlineShare ? kBorderline
                                                          : kTooSlow;
  const double nodes = plan.shape().nodes;
  need.why = fmt::format(
      "{:.3g} GB of gradients × {:.3g} between {} nodes, while {:.0f} {}s a GPU go backward in {:.3g} s",
      forecast.gradient_bytes / 1e9, 2 * (nodes - 1) / nodes, plan.shape().nodes, plan.batch,
      plan.model.sample, forecast.backward);
  return need;
}

}  // namespace

Result<TrainingForecast> forecast_training(const TrainingPlan& plan) {
  if (const std::string why = why_not(plan); !why.empty()) return fail(ErrorKind::kBadInput, why);
  return Forecasting(plan).forecast();
}

std::vector<NetworkNeed> network_needs(const TrainingPlan& plan) {
  std::vector<NetworkNeed> needs;
  for (const std::string_view word : {"resnet50", "bert-base", "bert-large", "gpt2-xl"}) {
    TrainingPlan training_plan;
    training_plan.model = *find_model(word);
    training_plan.batch = static_cast<double>(training_plan.model.batch);
    training_plan.rates = plan.rates;
    training_plan.word_bytes = plan.word_bytes;
    training_plan.overlap = plan.overlap;
    training_plan.cluster = plan.cluster;
    needs.push_back(need_of(std::move(training_plan)));
  }
  return needs;
}

CheckpointForecast forecast_checkpoint(double parameters, const CheckpointPlan& plan) {
  CheckpointForecast forecast;
  forecast.bytes = parameters * plan.bytes_per_parameter;
  if (plan.share > 0 && plan.share < 1)
    forecast.least = {forecast.bytes * 8 * (1 - plan.share) / (plan.share * plan.interval)};
  if (plan.storage.bits_per_second <= 0) return forecast;
  forecast.seconds = forecast.bytes * 8 / plan.storage.bits_per_second;
  forecast.share = forecast.seconds / (plan.interval + forecast.seconds);
  return forecast;
}

Result<Scaling> forecast_scaling(const TrainingPlan& plan, double least, int most_nodes) {
  if (const std::string why = why_not(plan); !why.empty()) return fail(ErrorKind::kBadInput, why);
  if (reached_of_adapter(plan.cluster).bits_per_second <= 0)
    return fail(ErrorKind::kBadInput, "what network adapters a node has must be known (--nic)");
  const double all = plan.batch * plan.replicas();
  Scaling scaling;
  scaling.least = least;
  TrainingPlan training_plan = plan;
  int& nodes = training_plan.cluster.shape.nodes;
  for (nodes = 1; nodes <= most_nodes && scaling.last == 0; ++nodes) {
    if (training_plan.gpus() % (training_plan.tensor * training_plan.pipeline) != 0 ||
        training_plan.replicas() % training_plan.expert != 0)
      continue;
    training_plan.batch = all / training_plan.replicas();
    if (training_plan.batch < training_plan.micro_batches) break;  // a micro-batch has at least one sample
    ScalingPoint point{nodes, Forecasting(training_plan).forecast().step, 1, 1};
    if (!scaling.points.empty()) {
      const ScalingPoint& first = scaling.points.front();
      const ScalingPoint& before = scaling.points.back();
      point.speed_up = first.step / point.step;
      point.marginal = (point.speed_up - before.speed_up) * first.nodes / (point.nodes - before.nodes);
      if (point.marginal < least) scaling.last = before.nodes;
    }
    scaling.points.push_back(point);
  }
  return scaling;
}

}  // namespace railbed
