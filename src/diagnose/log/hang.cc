// Finds the ranks that the others waited for. A collective ends on all ranks or on none, so the ranks that
// got the least far hold up the others. Three sources show how far each got, the most reliable first:
//
// * PyTorch's watchdog names the operation that it gave up on, and PyTorch's counters, or NCCL's own
//   operation lines up to that moment, show which ranks had not called it.
// * In ncclCommInitRank: ranks without any line, while the others still exchange addresses; later the ranks
//   at the lowest step.
// * After it: with NCCL_DEBUG_SUBSYS=COLL, ranks that called fewer operations than the others.
// * The table of nccl-tests that has a head and no row, though all ranks are up.
//
// After an error, ranks stop wherever they were, so the last two are used only if no error explains the end.
// If a connection was closed before any rank gave up waiting, it is no hang: a rank ended.
#include <fmt/format.h>

#include <algorithm>

#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace {

constexpr int kMostMissing = 1 << 16;

bool failed_otherwise(const Log& log) {
  // Symptoms that follow from a hang and from its end.
  constexpr std::string_view kEchoes[] = {"collective-timeout", "watchdog-stuck", "dump-signal",
                                          "abort-elastic", "term-elastic"};
  return std::ranges::any_of(log.problems, [&](const LogProblem& problem) {
    return problem.severity == Severity::kError &&
           std::ranges::find(kEchoes, problem.symptom) == std::end(kEchoes);
  });
}

// True if a connection was closed before any rank gave up waiting: a rank ended, and that is no hang.
bool peer_lost_first(const Log& log) {
  std::uint64_t lost = UINT64_MAX;
  std::uint64_t gave_up = UINT64_MAX;
  for (const LogProblem& problem : log.problems) {
    if (problem.symptom.starts_with("peer-")) lost = std::min(lost, problem.line);
    if (problem.symptom == "collective-timeout") gave_up = problem.line;
  }
  return lost < gave_up;
}

// Uses the operation in PyTorch's watchdog lines, the counters of each rank, and what the silent ranks printed.
std::optional<Hang> by_watchdog(const LogState& state) {
  const TorchStory story = torch_story(state);
  if (story.number < 0) return std::nullopt;
  Hang hang{.behind = story.behind};
  const std::string operation = fmt::format("{} number {}", story.operation, story.number);
  const std::string waited = fmt::format("{} waited in it", ranks_text(story.waiting));
  const auto suspect = [&](int rank) {
    if (std::ranges::find(hang.behind, rank) == hang.behind.end()) hang.behind.push_back(rank);
    std::ranges::sort(hang.behind);
  };
  if (!story.different.empty()) {
    hang.behind.clear();
    hang.text = fmt::format("ranks called different operations {}", story.different);
  } else if (story.all) {
    hang.text = fmt::format("all {} ranks waited in {}, so none is missing", story.waiting.size(), operation);
  } else if (story.failed >= 0) {
    suspect(story.failed);
    hang.text = fmt::format("rank {} failed before it came to {}; {}", story.failed, operation, waited);
  } else if (story.ahead >= 0) {
    suspect(story.ahead);
    hang.text =
        fmt::format("rank {} did not come to {}, it is a batch ahead; {}", story.ahead, operation, waited);
  } else if (story.busy >= 0) {
    suspect(story.busy);
    hang.text =
        fmt::format("rank {} did not come to {}, it was still busy; {}", story.busy, operation, waited);
  } else if (!hang.behind.empty()) {
    hang.text = fmt::format("{} did not join {}; {}", ranks_text(hang.behind), operation, waited);
  } else {
    hang.text = fmt::format("{} gave up waiting in {}; the log does not say who did not come",
                            ranks_text(story.waiting), operation);
  }
  return hang;
}

// Returns whether the ranks may be all of one node, so that the log may be one node's: they ran on one host, and are a
// block of numbers of which the communicator has several.
bool may_be_one_nodes(const LogCommunicator& communicator, const std::vector<int>& here) {
  const int count = static_cast<int>(here.size());
  const auto elsewhere = [&](const LogRank& rank) { return rank.host != communicator.ranks.front().host; };
  return std::ranges::none_of(communicator.ranks, elsewhere) && here.back() - here.front() == count - 1 &&
         here.front() % count == 0 && communicator.size % count == 0;
}

// Finds ranks that are still inside ncclCommInitRank.
std::optional<Hang> in_init(const LogCommunicator& communicator) {
  const auto unfinished = [](const LogRank& rank) { return rank.step < Step::kReady; };
  if (std::ranges::none_of(communicator.ranks, unfinished)) return std::nullopt;
  Hang hang{.communicator = communicator.id};
  std::vector<int> here;
  for (const LogRank& rank : communicator.ranks) here.push_back(rank.rank);
  for (int rank = 0; rank < std::min(communicator.size, kMostMissing); ++rank)
    if (!std::ranges::binary_search(here, rank)) hang.never_came.push_back(rank);
  const auto first = std::ranges::min(communicator.ranks, {}, &LogRank::step).step;
  const auto last = std::ranges::max(communicator.ranks, {}, &LogRank::step).step;
  if (!hang.never_came.empty() && first <= Step::kInit) {
    hang.behind = hang.never_came;
    hang.certain = !may_be_one_nodes(communicator, here);
    if (!hang.certain) {
      hang.text = fmt::format(
          "{} of {} {} no line in this log, which ends in the first exchange of addresses (bootstrap) of {}: "
          "not there yet, or the log is of one node or was cut",
          ranks_text(hang.never_came), communicator.size, hang.never_came.size() == 1 ? "has" : "have",
          ranks_text(here));
      hang.text.front() = 'R';
      return hang;
    }
    hang.text =
        fmt::format("{} of {} never came; {} wait{} for {} in the first exchange of addresses (bootstrap)",
                    ranks_text(hang.never_came), communicator.size, ranks_text(here),
                    here.size() == 1 ? "s" : "", hang.never_came.size() == 1 ? "it" : "them");
    return hang;
  }
  for (const LogRank& rank : communicator.ranks)
    if (rank.step == first) hang.behind.push_back(rank.rank);
  if (first == last)
    hang.text = fmt::format("initialisation did not finish: all {} ranks stopped at one step ({})",
                            communicator.ranks.size(), describe(first));
  else
    hang.text = fmt::format("initialisation did not finish: {} stopped after \"{}\", the others after \"{}\"",
                            ranks_text(hang.behind), describe(first), describe(last));
  return hang;
}

// Compares the numbers of operations (NCCL_DEBUG_SUBSYS=COLL) at the log's end.
std::optional<Hang> in_operations(const LogCommunicator& communicator) {
  std::uint64_t least = UINT64_MAX;
  std::uint64_t most = 0;
  std::string operation;
  for (const LogRank& rank : communicator.ranks) {
    if (!rank.operations || rank.step == Step::kDestroyed) return std::nullopt;
    least = std::min(least, *rank.operations);
    if (*rank.operations >= most) {
      most = *rank.operations;
      operation = rank.last_operation;
    }
  }
  if (communicator.ranks.empty() || least == most) return std::nullopt;
  Hang hang{.communicator = communicator.id};
  for (const LogRank& rank : communicator.ranks)
    if (*rank.operations < most) hang.behind.push_back(rank.rank);
  hang.text =
      fmt::format("{} called {} operation{} fewer than the others, whose last is {} number {}",
                  ranks_text(hang.behind), most - least, most - least == 1 ? "" : "s", operation, most);
  return hang;
}

// Finds nccl-tests whose ranks are all up and of whose first collective no result is in the log.
std::optional<Hang> before_first_result(const LogState& state) {
  if (!state.awaits_result || state.log.communicators.empty()) return std::nullopt;
  const LogCommunicator& communicator = state.log.communicators.front();
  const auto is_up = [](const LogRank& rank) {
    return rank.step >= Step::kReady && rank.step != Step::kDestroyed;
  };
  if (std::ssize(communicator.ranks) != communicator.size || !std::ranges::all_of(communicator.ranks, is_up))
    return std::nullopt;
  Hang hang{.communicator = communicator.id, .certain = false};
  for (const LogRank& rank : communicator.ranks) hang.behind.push_back(rank.rank);
  hang.text = fmt::format(
      "All {} ranks are up, and no result of nccl-tests follows: the first collective hangs, or the log was cut there",
      communicator.size);
  return hang;
}

}  // namespace

std::string_view describe(Step step) {
  switch (step) {
    case Step::kStarted:
      return "started";
    case Step::kNetwork:
      return "network chosen";
    case Step::kInit:
      return "ncclCommInitRank begun";
    case Step::kBootstrap:
      return "addresses exchanged";
    case Step::kTopology:
      return "topologies compared";
    case Step::kGraph:
      return "rings and trees computed";
    case Step::kConnecting:
    case Step::kConnectingOn:
      return "opening connections";
    case Step::kConnected:
    case Step::kConnectedOn:
      return "all rings connected";
    case Step::kReady:
      return "initialised";
    case Step::kOperation:
      return "running operations";
    case Step::kDestroyed:
      return "communicator destroyed";
  }
  return "";
}

void judge_hang(LogState& state) {
  Log& log = state.log;
  if (peer_lost_first(log)) return;
  log.hang = by_watchdog(state);
  if (log.hang || failed_otherwise(log)) return;
  for (const LogCommunicator& communicator : log.communicators) {
    log.hang = in_init(communicator);
    if (!log.hang) log.hang = in_operations(communicator);
    if (log.hang) return;
  }
  log.hang = before_first_result(state);
}

}  // namespace railbed::diagnose
