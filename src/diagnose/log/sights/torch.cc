// PyTorch's watchdog, DDP and memory.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace {

// The watchdog

Evidence silent_rank_failed(const LogState& state, const LogProblem&) {
  const TorchStory story = torch_story(state);
  if (story.failed < 0) return std::nullopt;
  return fmt::format("rank {} reports no timeout, it failed before: {}", story.failed, story.why);
}

Evidence silent_rank_is_busy(const LogState& state, const LogProblem&) {
  const TorchStory story = torch_story(state);
  if (story.busy < 0) return std::nullopt;
  return fmt::format("rank {} reports no timeout, it was at work: {}", story.busy, story.why);
}

Evidence silent_rank_is_ahead(const LogState& state, const LogProblem&) {
  const TorchStory story = torch_story(state);
  if (story.ahead < 0) return std::nullopt;
  return fmt::format("rank {} reports no timeout, and is in a later batch than the ranks that wait: {}",
                     story.ahead, story.why);
}

// Returns the limit that a message of the watchdog names: "Timeout(ms)=600000"; nullopt if it names none.
std::optional<std::uint64_t> limit_in(const LogProblem& problem) {
  Scan scan(problem.message);
  if (!scan.skip_past("Timeout(ms)=")) return std::nullopt;
  return scan.number<std::uint64_t>();
}

// PyTorch's own limit for NCCL is ten minutes (torch/distributed/constants.py), so somebody chose a shorter one.
constexpr std::uint64_t kShortLimit = 120'000;  // ms; ours

constexpr std::array<std::string_view, 3> kSaving = {"saves-checkpoint", "saves-model", "joins-shards"};

// Many short limits are cut by something else, so the log has to show work that one rank does longer than others.
Evidence limit_cuts_saving(const LogState& state, const LogProblem& problem) {
  const auto limit = limit_in(problem);
  if (!limit || *limit > kShortLimit) return std::nullopt;
  for (const std::string_view id : kSaving)
    if (const auto saving = state.seen.find(id); saving != state.seen.end())
      return fmt::format("the limit of that operation is {} s; {}", *limit / 1000, at_line(saving->second));
  return std::nullopt;
}

Evidence limit_cuts_nothing(const LogState& state, const LogProblem& problem) {
  if (limit_cuts_saving(state, problem)) return std::nullopt;
  const auto limit = limit_in(problem);
  if (!limit) return std::nullopt;
  return fmt::format("the limit of that operation is {} s{}", *limit / 1000,
                     *limit > kShortLimit ? "" : ", and no line shows that a rank saves");
}

Evidence kernels_are_not_built(const LogState& state, const LogProblem&) {
  for (const auto& [begin, end] :
       {std::pair("kernels-wanted", "kernels-built"), std::pair("extensions-wanted", "extensions-built")})
    if (const auto wanted = state.seen.find(begin); wanted != state.seen.end() && !state.seen.contains(end))
      return fmt::format("{}, and no line shows that it is done", at_line(wanted->second));
  return std::nullopt;
}

Evidence a_build_left_its_lock(const LogState& state, const LogProblem&) {
  for (const std::string_view id : {"build-lock-listed", "build-lock-named", "build-lock-cached"})
    if (const auto line = state.seen.find(id);
        line != state.seen.end() && trim(line->second.text).ends_with("lock"))
      return at_line(line->second);
  return std::nullopt;
}

Evidence ranks_call_different_operations(const LogState& state, const LogProblem&) {
  const TorchStory story = torch_story(state);
  if (story.different.empty()) return std::nullopt;
  return story.different;
}

Evidence all_ranks_waited(const LogState& state, const LogProblem&) {
  const TorchStory story = torch_story(state);
  if (!story.all) return std::nullopt;
  return fmt::format("all {} ranks waited in {} number {}", story.waiting.size(), story.operation,
                     story.number);
}

Evidence a_rank_is_missing(const LogState& state, const LogProblem&) {
  const TorchStory story = torch_story(state);
  if (story.number < 0 || (story.behind.empty() && story.failed < 0 && story.busy < 0 && story.ahead < 0))
    return std::nullopt;
  std::vector<int> missing = story.behind;
  for (const int rank : {story.failed, story.busy, story.ahead})
    if (rank >= 0 && std::ranges::find(missing, rank) == missing.end()) missing.push_back(rank);
  std::ranges::sort(missing);
  return fmt::format("{} {} did not come to {} number {}", missing.size() == 1 ? "rank" : "ranks",
                     rank_list(missing), story.operation, story.number);
}

Evidence ranks_call_one_operation(const LogState& state, const LogProblem&) {
  const TorchStory story = torch_story(state);
  if (story.number < 0 || story.waiting.size() < 2 || !story.different.empty()) return std::nullopt;
  return fmt::format("ranks {} are in {} number {}", rank_list(story.waiting), story.operation, story.number);
}

Evidence gpus_use_p2p(const LogState& state, const LogProblem&) {
  if (state.torch_lines.p2p.line == 0) return std::nullopt;
  return at_line(state.torch_lines.p2p);
}

Evidence job_is_on_one_node(const LogState& state, const LogProblem& problem) {
  if (const Seen seen = look_for("one-node", state, problem); seen.answer != Answer::kUnknown)
    return seen.answer == Answer::kYes ? Evidence(seen.evidence) : std::nullopt;
  const TorchLines& lines = state.torch_lines;
  const int world = torch_world(state);
  if (world < 2 || lines.network.line != 0 || std::ssize(lines.local_ranks) < world) return std::nullopt;
  return fmt::format("the channels of all {} ranks stay inside the node", world);
}

Evidence job_is_on_several_nodes(const LogState& state, const LogProblem& problem) {
  if (const Seen seen = look_for("several-nodes", state, problem); seen.answer == Answer::kYes)
    return seen.evidence;
  if (state.torch_lines.network.line == 0) return std::nullopt;
  return at_line(state.torch_lines.network);
}

Evidence a_gpu_reported_an_error(const LogState& state, const LogProblem& problem) {
  for (const std::string_view id : {"xid-hardware", "nvlink-failed-for-good"})
    if (const Seen seen = look_for(id, state, problem); seen.answer == Answer::kYes) return seen.evidence;
  return std::nullopt;
}

// "Rank 0 is running collective: CollectiveFingerPrint(SequenceNumber=4, OpType=ALLREDUCE, …), but Rank 1 is running
// collective: CollectiveFingerPrint(SequenceNumber=4, OpType=REDUCE, …)"
Evidence calls_differ(const LogProblem& problem, bool differ) {
  Scan scan(problem.message);
  if (!scan.skip_past("OpType=")) return std::nullopt;
  const std::string_view one = scan.until(",)");
  if (!scan.skip_past("OpType=")) return std::nullopt;
  const std::string_view other = scan.until(",)");
  constexpr std::string_view kNumber = "SequenceNumber=";
  const std::string_view message = problem.message;
  const auto last = message.rfind(kNumber);
  const bool apart =
      last != std::string_view::npos && number_after<std::uint64_t>(message, kNumber) !=
                                            number_after<std::uint64_t>(message.substr(last), kNumber);
  if ((one != other || apart) != differ) return std::nullopt;
  return fmt::format("one rank is in {}, another in {}", one, other);
}

Evidence ranks_made_other_calls(const LogState&, const LogProblem& problem) {
  return calls_differ(problem, true);
}

Evidence ranks_gave_other_tensors(const LogState&, const LogProblem& problem) {
  return calls_differ(problem, false);
}

Evidence a_rank_failed(const LogState& state, const LogProblem&) {
  for (const auto& [number, rank] : state.torch_lines.ranks)
    if (rank.failed_at != 0) return fmt::format("rank {}: {}", number, at_line(rank.failure));
  return std::nullopt;
}

Evidence no_rank_failed(const LogState& state, const LogProblem& problem) {
  const auto& ranks = state.torch_lines.ranks;
  if (ranks.size() < 2 || a_rank_failed(state, problem)) return std::nullopt;
  return fmt::format("{} ranks printed lines, and none an error of its own", ranks.size());
}

// DDP

// Returns whether the list is "0 1 2 …" without a gap and of more than a layer or two.
bool is_whole_range(std::string_view list) {
  constexpr int kFewest = 8;
  int expected = 0;
  for (const std::string_view word : railbed::words(list)) {
    if (parse_number<int>(word) != expected)
      return expected >= kFewest && word.find("...") != std::string_view::npos;
    ++expected;
  }
  return expected >= kFewest;
}

Evidence no_parameter_has_a_gradient(const LogState& state, const LogProblem&) {
  for (const auto& [rank, list] : state.torch_lines.without_gradient)
    if (is_whole_range(list))
      return fmt::format("rank {} lists every index from 0 up without a gap: {}…", rank, list.substr(0, 40));
  return std::nullopt;
}

Evidence some_parameters_have_no_gradient(const LogState& state, const LogProblem&) {
  const auto& lists = state.torch_lines.without_gradient;
  if (lists.empty()) return std::nullopt;
  if (std::ranges::any_of(lists, [](const auto& one) { return is_whole_range(one.second); }))
    return std::nullopt;
  const auto& [rank, list] = *lists.begin();
  return fmt::format("rank {} lists only some parameters: {}", rank, list.substr(0, 60));
}

Evidence gradients_differ_by_rank(const LogState& state, const LogProblem&) {
  const auto& lists = state.torch_lines.without_gradient;
  if (lists.size() < 2) return std::nullopt;
  for (const auto& [rank, list] : lists)
    if (list != lists.begin()->second)
      return fmt::format("rank {}: {}; rank {}: {}", lists.begin()->first,
                         lists.begin()->second.substr(0, 40), rank, list.substr(0, 40));
  return std::nullopt;
}

Evidence detects_unused(const LogState&, const LogProblem& problem) {
  if (!message_has(problem, "Since `find_unused_parameters=True` is enabled")) return std::nullopt;
  return "the message mentions that find_unused_parameters=True is enabled";
}

Evidence detects_no_unused(const LogState&, const LogProblem& problem) {
  if (!message_has(problem, "You can enable unused parameter detection")) return std::nullopt;
  return "the message offers find_unused_parameters=True, so it is not set";
}

Evidence graph_changed(const LogState&, const LogProblem& problem) {
  if (!message_has(problem, "raining graph has changed in this iteration")) return std::nullopt;
  return "the message mentions that the training graph has changed, so static_graph is set";
}

Evidence graph_is_not_mentioned(const LogState& state, const LogProblem& problem) {
  if (graph_changed(state, problem)) return std::nullopt;
  return "the message does not mention that the training graph has changed";
}

Evidence backward_without_checkpoint(const LogState& state, const LogProblem&) {
  if (state.seen.contains("checkpoint-backward")) return std::nullopt;
  return first_seen(state, {"engine-backward"});
}

Evidence unused_detection_is_mentioned(const LogState&, const LogProblem& problem) {
  if (!message_has(problem, "ncorrect unused parameter detection")) return std::nullopt;
  return "the message names incorrect detection of unused parameters";
}

Evidence unused_detection_is_not_mentioned(const LogState& state, const LogProblem& problem) {
  if (unused_detection_is_mentioned(state, problem)) return std::nullopt;
  return "the message does not name detection of unused parameters";
}

Evidence gradients_are_the_same(const LogState& state, const LogProblem& problem) {
  const auto& lists = state.torch_lines.without_gradient;
  if (lists.size() < 2 || gradients_differ_by_rank(state, problem)) return std::nullopt;
  return fmt::format("{} ranks list the same parameters", lists.size());
}

// Memory

double bytes_after(std::string_view text, std::string_view words) {
  Scan scan(text);
  if (!scan.skip_past(words)) return -1;
  const auto number = scan.real();
  if (!number || !scan.take(" ")) return -1;
  const std::string_view unit = scan.until(" .,;)");
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"bytes", 1}, {"KiB", 1024.}, {"MiB", 1048576.}, {"GiB", 1073741824.}, {"TiB", 1099511627776.}};
  for (const auto& [name, factor] : kUnits)
    if (unit == name) return *number * factor;
  return -1;
}

// The numbers in PyTorch's message; -1 if absent. Its form changed in 2.1:
// "Tried to allocate 2.00 GiB (GPU 0; 23.65 GiB total capacity; 20.1 GiB already allocated; 1.2 GiB free; …",
// "Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.9 GiB is free. Process 812 has …".
struct GpuMemory {
  double asked, capacity, free, allocated, unallocated;
  double ours = -1;
  double others = 0;  // of all other processes that the message names
  std::string other = {};

  explicit GpuMemory(std::string_view text)
      : asked(bytes_after(text, "Tried to allocate ")),
        capacity(bytes_after(text, "total capacity of ")),
        free(bytes_after(text, "of which ")),
        allocated(bytes_after(text, "Of the allocated memory ")),
        unallocated(bytes_after(text, "is allocated by PyTorch, and ")) {
    // Pools of CUDA graphs stand between: "…, with 50.00 MiB allocated in private pools (…), and 2 GiB is reserved".
    for (const std::string_view words : {"(e.g., CUDA Graphs), and ", "private pools, and "})
      if (unallocated < 0) unallocated = bytes_after(text, words);
    if (capacity < 0) {  // before 2.1
      capacity = bytes_after(text, "; ");
      Scan scan(text);
      if (scan.skip_past("total capacity; ")) allocated = bytes_after(scan.rest(), "");
      if (scan.skip_past("already allocated; ")) free = bytes_after(scan.rest(), "");
      if (scan.skip_past("free; ")) {
        const double reserved = bytes_after(scan.rest(), "");
        if (reserved >= 0 && allocated >= 0) unallocated = reserved - allocated;
      }
    }
    ours = bytes_after(text, "this process has ");
    Scan scan(text);
    while (scan.skip_past("Process ")) {
      const auto number = scan.number();
      if (!number || !scan.take(" has ")) continue;
      const double size = bytes_after(scan.rest(), "");
      if (size < 0) continue;
      others += size;
      if (other.empty()) other = fmt::format("process {}", *number);
    }
    // In a container the message names this process by its number outside.
    if (ours < 0 && allocated >= 0) {
      ours = std::min(others, allocated + std::max(unallocated, 0.) + kContext);
      others -= ours;
    }
    // The old form names no process: what is neither free nor reserved here belongs to others.
    if (other.empty() && capacity > 0 && free >= 0 && allocated >= 0)
      others = std::max(0., capacity - free - allocated - std::max(unallocated, 0.) - kContext);
  }
  static constexpr double kContext = 1.5 * 1073741824.;  // of CUDA, cuBLAS and NCCL
};

std::string gib(double bytes) { return fmt::format("{:.1f} GiB", bytes / 1073741824.); }

Evidence memory_is_held_by_others(const LogState&, const LogProblem& problem) {
  const GpuMemory memory(problem.message);
  if (memory.capacity <= 0 || memory.others < std::max(memory.asked, memory.capacity / 20))
    return std::nullopt;
  return fmt::format("other processes hold {} of the GPU's {}", gib(memory.others), gib(memory.capacity));
}

Evidence memory_is_fragmented(const LogState&, const LogProblem& problem) {
  const GpuMemory memory(problem.message);
  if (memory.asked <= 0 || memory.unallocated < memory.asked) return std::nullopt;
  return fmt::format("PyTorch holds {} that no tensor uses, more than the {} it tried to allocate",
                     gib(memory.unallocated), gib(memory.asked));
}

Evidence memory_is_used_here(const LogState& state, const LogProblem& problem) {
  const GpuMemory memory(problem.message);
  if (memory.capacity <= 0 || memory.allocated < 0) return std::nullopt;
  if (memory_is_held_by_others(state, problem) || memory_is_fragmented(state, problem)) return std::nullopt;
  return fmt::format("tensors of this process take {} of the GPU's {}", gib(memory.allocated),
                     gib(memory.capacity));
}

Evidence killed_for_memory(const LogState& state, const LogProblem&) {
  return first_seen(state, {"kernel-oom", "cgroup-oom", "ray-oom", "ray-oom-task", "step-oom"});
}

Evidence ended_by_the_scheduler(const LogState& state, const LogProblem&) {
  return first_seen(state, {"time-limit", "preempted", "job-cancelled"});
}

Evidence a_timeout_is_seen(const LogState& state, const LogProblem&) {
  for (const LogProblem& other : state.log.problems)
    for (const std::string_view symptom : {"collective-timeout", "dump-signal"})
      if (other.symptom == symptom)
        return fmt::format("{}: {}", place_text(other.file, other.line), other.message.substr(0, 160));
  return std::nullopt;
}

Evidence no_timeout_is_seen(const LogState& state, const LogProblem& problem) {
  if (a_timeout_is_seen(state, problem)) return std::nullopt;
  return "no watchdog reports a timeout in this log";
}

constexpr Question kTorchQuestions[] = {
    {"no-rank-failed", no_rank_failed},
    {"backward-without-checkpoint", backward_without_checkpoint},
    {"unused-detection", unused_detection_is_mentioned},
    {"no-unused-detection", unused_detection_is_not_mentioned},
    {"timeout-seen", a_timeout_is_seen},
    {"no-timeout-seen", no_timeout_is_seen},
    {"silent-rank-failed", silent_rank_failed},
    {"silent-rank-busy", silent_rank_is_busy},
    {"silent-rank-ahead", silent_rank_is_ahead},
    {"limit-cuts-saving", limit_cuts_saving},
    {"limit-cuts-nothing", limit_cuts_nothing},
    {"different-operations", ranks_call_different_operations},
    {"same-operation", ranks_call_one_operation},
    {"all-ranks-waited", all_ranks_waited},
    {"rank-missing", a_rank_is_missing},
    {"gpus-use-p2p", gpus_use_p2p},
    {"job-on-one-node", job_is_on_one_node},
    {"job-on-several-nodes", job_is_on_several_nodes},
    {"gpu-reported-xid", a_gpu_reported_an_error},
    {"mismatch-of-calls", ranks_made_other_calls},
    {"mismatch-of-tensors", ranks_gave_other_tensors},
    {"a-rank-failed", a_rank_failed},
    {"kernels-not-built", kernels_are_not_built},
    {"build-lock-left", a_build_left_its_lock},
    {"no-gradient-at-all", no_parameter_has_a_gradient},
    {"some-without-gradient", some_parameters_have_no_gradient},
    {"gradients-differ-by-rank", gradients_differ_by_rank},
    {"detects-unused", detects_unused},
    {"detects-no-unused", detects_no_unused},
    {"graph-changed", graph_changed},
    {"graph-not-mentioned", graph_is_not_mentioned},
    {"gradients-same", gradients_are_the_same},
    {"memory-of-others", memory_is_held_by_others},
    {"memory-fragmented", memory_is_fragmented},
    {"memory-used-here", memory_is_used_here},
    {"killed-for-memory", killed_for_memory},
    {"ended-by-scheduler", ended_by_the_scheduler},
};

constexpr Opposites kTorchOpposites[] = {
    {"a-rank-failed", "no-rank-failed"},
    {"unused-detection", "no-unused-detection"},
    {"timeout-seen", "no-timeout-seen"},
    {"all-ranks-waited", "rank-missing"},
    {"silent-rank-failed", "silent-rank-busy"},
    {"silent-rank-failed", "silent-rank-ahead"},
    {"silent-rank-busy", "silent-rank-ahead"},
    {"silent-rank-failed", "all-ranks-waited"},
    {"silent-rank-busy", "all-ranks-waited"},
    {"silent-rank-ahead", "all-ranks-waited"},
    {"limit-cuts-saving", "limit-cuts-nothing"},
    {"different-operations", "same-operation"},
    {"job-on-one-node", "job-on-several-nodes"},
    {"graph-changed", "graph-not-mentioned"},
    {"gradients-differ-by-rank", "gradients-same"},
    {"memory-of-others", "memory-used-here"},
    {"memory-fragmented", "memory-used-here"},
    {"no-gradient-at-all", "some-without-gradient"},
    {"detects-unused", "detects-no-unused"},
};

}  // namespace

std::span<const Question> torch_questions() { return kTorchQuestions; }

std::span<const Opposites> torch_opposites() { return kTorchOpposites; }

}  // namespace railbed::diagnose
