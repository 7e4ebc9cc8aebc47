// The subcommands of `railbed bench`, one file each.
#pragma once

#include <string>

#include "cli/command.h"
#include "results/measurement.h"

namespace railbed {

Action declare_bench_pair(CLI::App& app, std::string_view engine);  // bench_pair.cc
Action declare_bench_ladder(CLI::App& app);                         // ladder: bench_ladder.cc
Action declare_bench_pairs(CLI::App& app);                          // pairs: bench_pairs.cc
Action declare_bench_storage(CLI::App& app);                        // storage: bench_storage.cc
Action declare_bench_train(CLI::App& app);                          // train: bench_train.cc
Action declare_bench_gpu(CLI::App& app);                            // gpu: bench_gpu.cc
Action declare_bench_collectives(CLI::App& app);                    // collectives: bench_collectives.cc

// Returns the cause of a failure and its remedy, for outputs that have no place for them.
std::string words_of(const Failure& failure);  // bench.cc

}  // namespace railbed
