// Keeps what each rank of a PyTorch job printed, and judges from it where the ranks were when a watchdog gave up.
//
// A watchdog names the operation, not the guilty rank: the ranks that report a timeout waited, and the rank that does
// not is the one to look at. Its own lines may show why it did not come: an exception before the timeout, a progress
// bar that goes on after it, or the number of a batch that the others have not reached. If all ranks are in the same
// operation, none is missing and the data did not arrive. If they are in different operations under one number, the
// program's ranks have diverged. A rank that the log does not show at all is no suspect: its output is elsewhere.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "base/phrases.h"
#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace {

constexpr std::size_t kMostSpeakers = 1 << 12;
constexpr std::size_t kMostWaits = 1 << 11;
constexpr std::size_t kMostGroups = 1024;
constexpr int kMostWorld = 1 << 20;
constexpr std::size_t kLongestGroup = 64;
constexpr std::string_view kWatchdog = "Watchdog caught collective operation timeout";

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(
      words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

// Returns the number in "[rank3]" or "[default3]", which end with a bracket.
std::optional<int> bracketed_number(std::string_view line, std::string_view begin) {
  Scan scan(line);
  if (!scan.skip_past(begin)) return std::nullopt;
  const auto number = scan.number();
  return number && *number >= 0 && scan.take("]") ? number : std::nullopt;
}

// Returns the rank in a file's name: "rank3.log", "job_rank_12.txt".
std::optional<int> rank_of_file(std::string_view name) {
  for (const std::string_view words : {"rank-", "rank_", "rank"})
    if (const auto number = number_after(name, words); number && *number >= 0) return number;
  return std::nullopt;
}

// Returns the number of a batch or step: "batch number 2249", "step: 12", "iter 40/100".
std::optional<std::int64_t> batch_of(std::string_view line) {
  const std::string small = lower(line);
  for (const std::string_view word : {"batch", "step", "iteration", "iter"}) {
    for (std::size_t at = small.find(word); at != std::string::npos; at = small.find(word, at + 1)) {
      if (at > 0 && std::isalnum(static_cast<unsigned char>(small[at - 1]))) continue;
      std::string_view rest = std::string_view(small).substr(at + word.size());
      if (rest.starts_with("_size") || rest.starts_with(" size")) continue;
      for (const std::string_view filler : {" number", " index", " idx", " no."})
        if (rest.starts_with(filler)) rest.remove_prefix(filler.size());
      rest.remove_prefix(std::min(rest.find_first_not_of(" :=#[("), rest.size()));
      Scan scan(rest);
      if (const auto number = scan.number<std::int64_t>(); number && *number >= 0) return number;
    }
  }
  return std::nullopt;
}

std::string torch_ranks_text(const std::vector<int>& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", rank_list(ranks));
}

// Returns whether an operation takes one tensor of the same size on all ranks: all_gather_into_tensor and
// reduce_scatter_tensor, whose names differ from those of the uneven forms.
bool is_of_equal_parts(std::string_view operation) {
  return has_any(operation, {"_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE"});
}

// Returns whether ranks may rightly give different sizes, or different names, to one operation.
bool may_differ(std::string_view operation) {
  if (is_of_equal_parts(operation)) return false;
  return has_any(operation, {"ALLTOALL", "SEND", "RECV", "COALESCED", "GATHER", "SCATTER", "UNKNOWN"});
}

// Returns the group of an operation: the only one of the job, if its own line does not name it.
std::string group_of(const TorchLines& lines, const TorchWait& wait) {
  return wait.group.empty() && lines.groups.size() == 1 ? *lines.groups.begin() : wait.group;
}

// Returns which ranks called what under one number of one process group, if they called different operations.
std::string different_operations(const TorchLines& lines) {
  std::map<std::pair<std::string, std::int64_t>, std::map<std::string, std::vector<int>>> calls;
  for (const TorchWait& wait : lines.waits) {
    if (wait.number < 0 || wait.operation.empty()) continue;
    if (has_any(wait.operation, {"SEND", "RECV", "COALESCED", "UNKNOWN"})) continue;
    // Without the group's name two groups may use one number, if the job has several.
    const std::string group = group_of(lines, wait);
    if (group.empty() && !lines.groups.empty()) continue;
    std::string call = wait.operation;
    // Jobs with sharded parameters have such operations in many groups at once: their sizes count in a named one.
    const bool sized = !may_differ(wait.operation) && (!group.empty() || !is_of_equal_parts(wait.operation));
    if (sized && !wait.sizes.empty()) call += " of " + wait.sizes + " elements";
    std::vector<int>& ranks = calls[{group, wait.number}][call];
    if (std::ranges::find(ranks, wait.rank) == ranks.end()) ranks.push_back(wait.rank);
  }
  for (const auto& [place, by_call] : calls) {
    if (by_call.size() < 2) continue;
    std::vector<std::string> parts;
    for (const auto& [call, ranks] : by_call)
      parts.push_back(fmt::format("{} in {}", torch_ranks_text(ranks), call));
    return fmt::format("under number {}: {}", place.second, fmt::join(parts, ", "));
  }
  return "";
}

bool is_whole_world(std::string_view group) { return group.empty() || group == "0"; }

// Returns the rank whose lines are preparation of data that no prefix names: the one rank that is missing, or rank 0,
// which prepares for the others.
int preparing_rank(const std::vector<int>& waiting, const std::vector<int>& missing) {
  if (missing.size() == 1) return missing.front();
  return std::ranges::find(waiting, 0) == waiting.end() ? 0 : -1;
}

}  // namespace

// An all-gather puts out the data of all ranks.
int torch_world(const LogState& state) {
  if (!state.log.communicators.empty()) return state.log.communicators.front().size;
  if (state.torch_lines.world > 0) return state.torch_lines.world;
  for (const TorchWait& wait : state.torch_lines.waits) {
    const auto in = number_after<std::int64_t>(wait.sizes, "");
    const auto out = number_after<std::int64_t>(wait.sizes, "→");
    if (!in || !out || *in <= 0 || *out <= 0) continue;
    const bool gathers = wait.operation.find("ALLGATHER") != std::string::npos;
    if (gathers && *out % *in == 0 && *out / *in < kMostWorld) return static_cast<int>(*out / *in);
  }
  return 0;
}

int speaking_rank(std::string_view line, bool* local) {
  if (local != nullptr) *local = false;
  for (const std::string_view begin : {"[rank", "[Rank ", "[rank ", "[RANK "})
    if (const auto number = bracketed_number(line, begin)) return *number;
  // Open MPI's --tag-output: "[1,3]<stderr>:"
  Scan scan(line);
  if (scan.take("[1,")) {
    const auto number = scan.number();
    if (number && *number >= 0 && scan.take("]<std")) return *number;
  }
  if (const auto number = bracketed_number(line, "[default")) {
    if (local != nullptr) *local = true;
    return *number;
  }
  return -1;
}

bool reports_failure(std::string_view line) {
  static const Phrases failures({"Error: ", "Exception: ", "CUDA error", "Segmentation fault", "Bus error",
                                 "out of memory", "AssertionError", "Killed", "Aborted",
                                 "exception: CUDA out"});
  if (!failures.any_in(line)) return false;
  if (has_any(line, {"terminated with exception: CUDA error", "terminated with exception: CUDA out"}))
    return true;
  // What follows from another rank's end, and what programs print as a warning.
  return !has_any(line, {kWatchdog,
                         "DistBackendError",
                         "DistNetworkError",
                         "DistStoreError",
                         "ncclRemoteError",
                         "ncclSystemError",
                         "ncclInternalError",
                         "Connection closed",
                         "Connection reset",
                         "Broken pipe",
                         "[c10d]",
                         "SIGTERM",
                         "SignalException",
                         "ChildFailedError",
                         "imed out",
                         "imeout",
                         "1EB",
                         "Warning",
                         "WARNING",
                         "retry",
                         "Traceback",
                         "File \"",
                         "CUDA errors",
                         "For debugging",
                         "CUDA kernel errors"});
}

bool reports_preparation(std::string_view line) {
  static const Phrases words({"tokeniz",
                              "grouping texts",
                              "preprocess",
                              "pre-process",
                              "map (num_proc",
                              "map:",
                              "filter:",
                              "filter (num_proc",
                              "packing",
                              "building index",
                              "shuffle index",
                              "sample index",
                              "train split",
                              "downloading",
                              "converting",
                              "extracting features",
                              "encoding",
                              "building dataset",
                              "caching",
                              "saving",
                              "writing checkpoint",
                              "loading checkpoint",
                              "evaluating",
                              "generating",
                              "preparing",
                              "processing",
                              "indexing",
                              "scanning"});
  return words.any_in(lower(line));
}

bool reports_progress(std::string_view line) {
  if (line.find("%|") != std::string_view::npos &&
      has_any(line, {"it/s", "s/it", "/s]", "/s,", "B/s", "<", "?it"}))
    return true;
  return reports_preparation(line) && line.find("rror") == std::string_view::npos;
}

void LogState::read_torch_ranks(std::string_view line) {
  TorchLines& kept = torch_lines;
  const std::uint64_t here = log.lines;
  static const Phrases worlds({"world_size", "WORLD_SIZE", "world size"});
  if (worlds.any_in(line))
    for (const std::string_view words : {"world_size=", "WORLD_SIZE=", "world_size: ", "world size "})
      if (const auto number = number_after(line, words); number && *number > 0 && *number <= kMostWorld)
        kept.world = std::max(kept.world, *number);

  bool local = false;
  int rank = speaking_rank(line, &local);
  if (rank < 0 || local) {
    if (const auto number = rank_of_file(file)) {
      rank = *number;
      local = false;
    }
  }
  // "[default3]:… [Rank 11] …": the launcher's number is the rank on its node.
  if (const auto prefix = bracketed_number(line, "[default");
      prefix && !local && rank >= 0 && *prefix != rank)
    kept.local_differs = true;

  const bool watchdog = line.find(kWatchdog) != std::string_view::npos;
  if (watchdog && kept.timed_out_at == 0) {
    kept.timed_out_at = here;
    kept.timed_out_in = file;
  }
  if (watchdog && rank >= 0 && kept.waits.size() < kMostWaits) {
    TorchWait wait{.rank = rank,
                   .number = number_after<std::int64_t>(line, "SeqNum=").value_or(-1),
                   .operation = std::string(word_after(line, "OpType=").substr(0, 64))};
    const auto in = number_after<std::int64_t>(line, "NumelIn=");
    const auto out = number_after<std::int64_t>(line, "NumelOut=");
    if (in && out) wait.sizes = *in == *out ? fmt::format("{}", *in) : fmt::format("{}→{}", *in, *out);
    const auto same = [&](const TorchWait& one) {
      return one.rank == wait.rank && one.number == wait.number && one.operation == wait.operation;
    };
    if (std::ranges::none_of(kept.waits, same)) {
      keep_sight(wait.sight, line);
      kept.waits.push_back(std::move(wait));
    }
  }
  // "[PG ID 0 PG GUID 0(default_pg) Rank 1]  failure detected by watchdog at work sequence id: 5 …",
  // "[PG 0 (default_pg) Rank 7] Exception (either …) detected by watchdog at work: 80078, …",
  // "[PG 0 Rank 2] Timeout at NCCL work: 19, …"
  const bool of_group = line.find("[PG ") != std::string_view::npos;
  for (const std::string_view words :
       {"watchdog at work sequence id: ", "watchdog at work: ", "at NCCL work: "}) {
    if (!of_group) break;
    const auto number = number_after<std::int64_t>(line, words);
    Scan scan(line);
    if (!number || rank < 0 || !scan.skip_past("[PG ")) continue;
    // The ID counts the groups of one process; the GUID is the same on all ranks.
    scan.skip_past("PG GUID ");
    const std::string group(trim(scan.until(" (]")).substr(0, kLongestGroup));
    if (kept.groups.size() < kMostGroups) kept.groups.insert(group);
    for (TorchWait& wait : kept.waits)
      if (wait.rank == rank && wait.number == *number && wait.group.empty()) wait.group = group;
    break;
  }

  if (rank < 0) {
    if (line.find("%|") != std::string_view::npos && reports_preparation(line)) {
      kept.preparation = {};
      keep_sight(kept.preparation, line.substr(line.rfind('\r') + 1));
      kept.preparation_at = here;
    }
    return;
  }
  if (rank > kMostWorld || (kept.ranks.size() >= kMostSpeakers && !kept.ranks.contains(rank))) return;
  const auto [at, added] = kept.ranks.try_emplace(rank);
  RankLines& speaker = at->second;
  speaker.local = local && (added || speaker.local);
  const auto keep_newest = [&](LogSight& sight) {
    sight = {};
    keep_sight(sight, line);
    speaker.newest_at = here;
  };
  if (speaker.error.line == 0 && has_any(line, {"Error: ", "Exception: ", "Traceback ("}))
    keep_sight(speaker.error, line);
  if (reports_failure(line)) {
    if (speaker.failed_at == 0) {
      speaker.failed_at = here;
      keep_sight(speaker.failure, line);
    }
    keep_newest(speaker.newest);
    return;
  }
  if (line.find("ProcessGroupNCCL") != std::string_view::npos || trim(line).empty()) return;
  keep_newest(speaker.newest);
  if (reports_progress(line)) {
    keep_newest(speaker.progress);
    speaker.progress_at = here;
  }
  if (const auto number = batch_of(line); number && *number >= speaker.batch_number) {
    speaker.batch_number = *number;
    keep_newest(speaker.batch);
  }
}

TorchStory torch_story(const LogState& state) {
  const TorchLines& lines = state.torch_lines;
  TorchStory story;
  // The first group that gave up; of its operations the first.
  const std::string group = lines.waits.empty() ? "" : group_of(lines, lines.waits.front());
  for (const TorchWait& wait : lines.waits) {
    if (wait.number < 0 || group_of(lines, wait) != group) continue;
    if (story.number >= 0 && wait.number >= story.number) continue;
    story.number = wait.number;
    story.operation = wait.operation;
  }
  if (story.number < 0) return story;
  const bool whole = is_whole_world(group);
  std::set<int> waiting;
  std::set<int> behind;
  for (const TorchRank& rank : state.log.torch) {
    if (whole && rank.enqueued >= 0 && rank.enqueued < story.number && rank.timed_out != story.number)
      behind.insert(rank.rank);
    else if (rank.timed_out == story.number || (rank.enqueued >= story.number && rank.timed_out < 0))
      waiting.insert(rank.rank);
  }
  // Without PyTorch's counters, those of NCCL_DEBUG_SUBSYS=COLL show which ranks had called fewer operations
  // by then.
  if (behind.empty() && !state.called_at_timeout.empty()) {
    const auto most =
        std::ranges::max_element(state.called_at_timeout, {}, [](const auto& one) { return one.second; });
    for (const auto& [rank, called] : state.called_at_timeout)
      if (called < most->second) behind.insert(rank);
  }
  std::set<int> timed_out;
  for (const TorchWait& wait : lines.waits) {
    timed_out.insert(wait.rank);
    if (wait.number == story.number && group_of(lines, wait) == group) waiting.insert(wait.rank);
  }
  for (const int rank : behind) waiting.erase(rank);
  for (const auto& [rank, speaker] : lines.ranks) {
    if (speaker.local && lines.local_differs) continue;
    if (!waiting.contains(rank) && !behind.contains(rank) && !timed_out.contains(rank))
      story.silent.push_back(rank);
  }
  story.waiting.assign(waiting.begin(), waiting.end());
  story.behind.assign(behind.begin(), behind.end());
  story.different = different_operations(lines);
  const int world = torch_world(state);
  story.all = whole && world > 1 && std::ssize(story.waiting) == world && story.behind.empty() &&
              story.different.empty();
  if (story.all || !story.different.empty()) return story;

  std::vector<int> missing = story.behind;
  missing.insert(missing.end(), story.silent.begin(), story.silent.end());
  const auto speaker_of = [&](int rank) -> const RankLines* {
    const auto found = lines.ranks.find(rank);
    return found == lines.ranks.end() ? nullptr : &found->second;
  };
  for (const int rank : missing) {
    const RankLines* const speaker = speaker_of(rank);
    if (speaker == nullptr || speaker->failed_at == 0 || speaker->progress_at > speaker->failed_at) continue;
    if (speaker->failure.file == lines.timed_out_in && speaker->failed_at > lines.timed_out_at) continue;
    story.failed = rank;
    story.why = at_line(speaker->failure);
    return story;
  }
  for (const int rank : missing) {
    const RankLines* const speaker = speaker_of(rank);
    if (!whole || speaker == nullptr || speaker->batch_number < 0) continue;
    for (const int other : story.waiting) {
      const RankLines* const waits = speaker_of(other);
      if (waits == nullptr || waits->batch_number < 0 || waits->batch_number >= speaker->batch_number)
        continue;
      story.ahead = rank;
      story.why = fmt::format("{}; rank {}: {}", at_line(speaker->batch), other, at_line(waits->batch));
      return story;
    }
  }
  for (const int rank : missing) {
    const RankLines* const speaker = speaker_of(rank);
    if (!whole || speaker == nullptr || speaker->progress.line == 0) continue;
    const bool goes_on =
        speaker->progress.file == lines.timed_out_in && speaker->progress_at > lines.timed_out_at;
    // In another file the order is not known, but the rank's log ends in the middle of a progress bar.
    const bool prepares = reports_preparation(speaker->progress.text) &&
                          speaker->progress.text.find("%|") != std::string::npos &&
                          speaker->newest.line == speaker->progress.line;
    if (!goes_on && !prepares) continue;
    story.busy = rank;
    story.why = at_line(speaker->progress);
    return story;
  }
  // A progress bar without a rank: the launcher's main process prints it.
  if (whole && lines.preparation.line != 0 && lines.preparation.file == lines.timed_out_in &&
      lines.preparation_at > lines.timed_out_at) {
    std::vector<int> absent = missing;
    for (int rank = 0; rank < world && absent.size() < 2; ++rank)
      if (!waiting.contains(rank) && std::ranges::find(absent, rank) == absent.end()) absent.push_back(rank);
    story.busy = preparing_rank(story.waiting, absent);
    if (story.busy >= 0) story.why = at_line(lines.preparation);
  }
  return story;
}

}  // namespace railbed::diagnose
