// railbed bench: one subcommand for each thing that can be measured.
#include <CLI/CLI.hpp>
#include <memory>

#include "bench/engines/engines.h"
#include "cli/measure/bench_commands.h"

namespace railbed {

std::string words_of(const Failure& failure) {
  return failure.remedy.empty() ? failure.cause : failure.cause + ": " + failure.remedy;
}

Action declare_bench(CLI::App& app) {
  auto chosen = std::make_shared<Action>();
  const auto add = [&](std::string_view name, std::string_view summary) {
    return app.add_subcommand(std::string(name), std::string(summary));
  };
  const auto run_with = [chosen](CLI::App* command, Action action) {
    command->callback([chosen, action = std::move(action)] { *chosen = action; });
  };
  for (const EngineRegistration& registration : engines()) {
    if (!registration.pair) continue;
    CLI::App* pair = add(registration.engine.id(), registration.pair->summary);
    run_with(pair, declare_bench_pair(*pair, registration.engine.id()));
  }
  CLI::App* ladder =
      add("ladder", "TCP, RDMA-CM, RDMA and NCCL on one pair: where bandwidth is lost, and why");
  run_with(ladder, declare_bench_ladder(*ladder));
  CLI::App* pairs = add("pairs", "find the slow node or link among many");
  run_with(pairs, declare_bench_pairs(*pairs));
  CLI::App* storage = add("storage", "drives and file servers, by fio");
  run_with(storage, declare_bench_storage(*storage));
  CLI::App* train = add("train", "a data-parallel training step, rehearsed on GPUs or without them");
  run_with(train, declare_bench_train(*train));
  CLI::App* gpu = add("gpu", "the copy engines of a node's GPUs");
  run_with(gpu, declare_bench_gpu(*gpu));
  CLI::App* collectives = add("collectives", "NCCL over the GPUs of one node or of several");
  run_with(collectives, declare_bench_collectives(*collectives));
  app.require_subcommand(1);
  app.footer(
      "\nrailbed bench rdma gpu01 gpu02\nrailbed bench pairs cluster.yaml\n\n"
      "railbed bench tcp --help shows the options of one of them.");
  return [chosen] { return (*chosen)(); };
}

}  // namespace railbed
