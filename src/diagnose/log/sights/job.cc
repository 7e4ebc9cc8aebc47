// The sizes of a job, its checkpoints, and the node's memory.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace launcher_lines {
namespace {

// The node's memory

constexpr double kMuchMemory = 0.2, kLittleMemory = 0.1;  // of all of it

// Returns the number of "MemTotal:       527993216 kB"; 0 if there is none.
double kibibytes_of(const LogState& state, std::string_view id, std::string_view words) {
  const auto line = state.seen.find(id);
  if (line == state.seen.end()) return 0;
  Scan scan(line->second.text);
  if (!scan.skip_past(words)) return 0;
  while (scan.take(" ")) {
  }
  return scan.real().value_or(0);
}

// Returns how much of the node's memory is available, from 0 to 1; nothing if the log does not show it.
std::optional<double> available_part(const LogState& state) {
  const double all = kibibytes_of(state, "memory-total", "MemTotal:");
  if (all <= 0 || !state.seen.contains("memory-available")) return std::nullopt;
  return kibibytes_of(state, "memory-available", "MemAvailable:") / all;
}

Evidence memory_is_available(const LogState& state, const LogProblem&) {
  const auto part = available_part(state);
  if (!part || *part < kMuchMemory) return std::nullopt;
  return at_line(state.seen.find("memory-available")->second);
}

Evidence memory_is_short(const LogState& state, const LogProblem&) {
  const auto part = available_part(state);
  if (!part || *part > kLittleMemory) return std::nullopt;
  return at_line(state.seen.find("memory-available")->second);
}

// The sizes of a job

// Returns the last factor of "train_batch_size is not equal to … world_size 16 != 1 * 8 * 1"; 0 if there is none.
int ranks_in_batch(const LogProblem& problem) {
  const auto star = problem.message.rfind("* ");
  if (star == std::string::npos) return 0;
  return number_after(std::string_view(problem.message).substr(star), "* ").value_or(0);
}

Evidence batch_is_of_one_rank(const LogState&, const LogProblem& problem) {
  if (ranks_in_batch(problem) != 1) return std::nullopt;
  return "the last factor of its message, the world size, is 1";
}

Evidence batch_is_of_several_ranks(const LogState&, const LogProblem& problem) {
  const int ranks = ranks_in_batch(problem);
  if (ranks < 2) return std::nullopt;
  return fmt::format("the last factor of its message, the world size, is {}", ranks);
}

// Returns the option or line that starts several ranks: "--nproc_per_node=8", "--num_gpus 2", "dist_world_size=2".
Evidence several_ranks_were_launched(const LogState& state, const LogProblem&) {
  constexpr std::array<std::string_view, 7> kCounts = {
      "dist_world_size=",  "--nproc_per_node=", "--nproc_per_node ", "--nproc-per-node=",
      "--nproc-per-node ", "--num_gpus=",       "--num_gpus "};
  for (const std::string_view id : {"ranks-world-size", "ranks-nproc", "ranks-num-gpus"}) {
    const auto line = state.seen.find(id);
    if (line == state.seen.end()) continue;
    for (const std::string_view count : kCounts)
      if (number_after(line->second.text, count).value_or(0) > 1) return at_line(line->second);
  }
  return std::nullopt;
}

Evidence recomputed_tensor_is_whole(const LogState& state, const LogProblem&) {
  if (first_seen(state, {"recomputed-empty"})) return std::nullopt;
  return first_seen(state, {"recomputed-metadata"});
}

// Returns the number in "world_size (1) is not divisible by 2".
int world_in_brackets(const LogProblem& problem) {
  for (const std::string_view words : {"world_size (", "world size ("})
    if (const auto ranks = number_after(problem.message, words)) return *ranks;
  return 0;
}

Evidence world_is_of_one(const LogState&, const LogProblem& problem) {
  if (world_in_brackets(problem) != 1) return std::nullopt;
  return "the world size in its message is 1";
}

Evidence world_is_of_several(const LogState&, const LogProblem& problem) {
  const int ranks = world_in_brackets(problem);
  if (ranks < 2) return std::nullopt;
  return fmt::format("the world size in its message is {}", ranks);
}

// Returns how many ranks an engine of TensorRT-LLM was built for and how many were started, if the log has the
// commands of both.
Evidence compare_engine_ranks(const LogState& state, bool fit) {
  const auto number_of = [&](std::string_view id, std::string_view option) {
    const auto line = state.seen.find(id);
    if (line == state.seen.end()) return 0;
    for (const char separator : {' ', '='})
      if (const auto number = number_after(line->second.text, std::string(option) + separator))
        return *number;
    return 0;
  };
  const int tensor = number_of("trtllm-sizes", "--tp_size");
  int pipeline = number_of("trtllm-sizes", "--pp_size");
  if (pipeline == 0) pipeline = std::max(1, number_of("trtllm-pipeline", "--pp_size"));
  const int started = number_of("trtllm-started", "--world_size");
  constexpr int kMost = 1 << 14;
  if (tensor < 1 || tensor > kMost || pipeline > kMost || started < 1) return std::nullopt;
  if ((tensor * pipeline == started) != fit) return std::nullopt;
  return fmt::format("the engine was built for {} ranks (tp_size {}, pp_size {}), and {} were started",
                     tensor * pipeline, tensor, pipeline, started);
}

Evidence engine_ranks_fit(const LogState& state, const LogProblem&) {
  return compare_engine_ranks(state, true);
}

Evidence engine_ranks_differ(const LogState& state, const LogProblem&) {
  return compare_engine_ranks(state, false);
}

// Returns whether the message is "AssertionError: 25 is not divisible by 4", without names of the numbers.
bool has_two_numbers_alone(const LogProblem& problem) {
  Scan scan(problem.message);
  return scan.skip_past("AssertionError: ") && scan.number<std::int64_t>() &&
         scan.take(" is not divisible by ") && scan.number<std::int64_t>() &&
         trim(scan.rest()).find_first_not_of('.') == std::string_view::npos;
}

Evidence shares_two_numbers(const LogState&, const LogProblem& problem) {
  if (!has_two_numbers_alone(problem)) return std::nullopt;
  return "its message has two numbers alone";
}

Evidence shares_named_sizes(const LogState&, const LogProblem& problem) {
  if (has_two_numbers_alone(problem)) return std::nullopt;
  return "its message names what does not fit";
}

// Compares the ranks that came with the world size in "… (world_size=8, worker_count=1, timeout=0:30:00)".
Evidence compare_barrier(const LogProblem& problem, bool more) {
  const auto world = number_after(problem.message, "world_size=");
  auto came = number_after(problem.message, "worker_count=");
  if (!came) came = number_after(problem.message, "num_workers_joined=");
  if (!world || !came || (more ? *came <= *world : *came >= *world)) return std::nullopt;
  return fmt::format("{} ranks came, and the world size is {}", *came, *world);
}

Evidence barrier_has_fewer(const LogState&, const LogProblem& problem) {
  return compare_barrier(problem, false);
}

Evidence barrier_has_more(const LogState&, const LogProblem& problem) {
  return compare_barrier(problem, true);
}

// "CheckpointException ranks:dict_keys([8, 9, 10, 11])": the ranks that failed, in ascending order.
Evidence checkpoint_failed_from(const LogState& state, bool rank_0) {
  const auto failed = std::ranges::find(state.log.problems, "dcp-failed", &LogProblem::symptom);
  if (failed == state.log.problems.end()) return std::nullopt;
  Scan scan(failed->message);
  if (!scan.skip_past("CheckpointException ranks:") || !scan.skip_past("[")) return std::nullopt;
  const auto first = scan.number();
  if (!first || *first < 0 || (*first == 0) != rank_0) return std::nullopt;
  return at_line(*failed);
}

Evidence rank_0_failed_in_checkpoint(const LogState& state, const LogProblem&) {
  return checkpoint_failed_from(state, true);
}

Evidence rank_0_read_checkpoint(const LogState& state, const LogProblem&) {
  return checkpoint_failed_from(state, false);
}

Evidence shm_is_small(const LogState& state, const LogProblem&) { return seen_at(state.launchers.shm_small); }

Evidence shm_is_roomy(const LogState& state, const LogProblem&) {
  if (state.launchers.shm_small.line != 0) return std::nullopt;
  return seen_at(state.launchers.shm_roomy);
}

// "OSError: [Errno 28] No space left on device: '/dev/shm/torch_1234'"
Evidence space_is_of_shm(const LogState& state, const LogProblem& problem) {
  if (has_text(problem.message, "/dev/shm")) return "the message names /dev/shm";
  if (has_text(problem.message, ": '/")) return std::nullopt;
  return shm_is_small(state, problem);
}

Evidence path_is_given(const LogState&, const LogProblem& problem) {
  if (!has_text(problem.message, ": '/")) return std::nullopt;
  return "the message names a file";
}

constexpr Question kJobQuestions[] = {
    {"memory-is-available", memory_is_available},
    {"memory-is-short", memory_is_short},
    {"space-of-shm", space_is_of_shm},
    {"batch-of-one-rank", batch_is_of_one_rank},
    {"batch-of-several", batch_is_of_several_ranks},
    {"ranks-launched", several_ranks_were_launched},
    {"recomputed-whole", recomputed_tensor_is_whole},
    {"world-of-one", world_is_of_one},
    {"world-of-several", world_is_of_several},
    {"engine-ranks-fit", engine_ranks_fit},
    {"engine-ranks-differ", engine_ranks_differ},
    {"share-two-numbers", shares_two_numbers},
    {"share-has-words", shares_named_sizes},
    {"barrier-fewer", barrier_has_fewer},
    {"barrier-more", barrier_has_more},
    {"dcp-rank-0-failed", rank_0_failed_in_checkpoint},
    {"dcp-rank-0-read", rank_0_read_checkpoint},
    {"space-path-given", path_is_given},
    {"dev-shm-small", shm_is_small},
    {"dev-shm-roomy", shm_is_roomy},
};

constexpr Opposites kJobOpposites[] = {
    {"dcp-rank-0-failed", "dcp-rank-0-read"},
    {"metadata-there", "metadata-absent"},
    {"batch-of-one-rank", "batch-of-several"},
    {"world-of-one", "world-of-several"},
    {"engine-ranks-fit", "engine-ranks-differ"},
    {"rerun-differs", "rerun-same"},
    {"recomputed-empty", "recomputed-whole"},
    {"dev-shm-small", "dev-shm-roomy"},
    {"oom-of-group", "oom-of-node"},
};

}  // namespace
}  // namespace launcher_lines

std::span<const Question> job_questions() { return launcher_lines::kJobQuestions; }

std::span<const Opposites> job_opposites() { return launcher_lines::kJobOpposites; }

}  // namespace railbed::diagnose
