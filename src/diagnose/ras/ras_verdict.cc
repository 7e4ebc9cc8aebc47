// Looks for what stops a job in the order in which one follows from another: a process that is gone or stopped, an
// error that a rank reports, ranks that made different calls, a rank that lags. Ranks that are all alike prove nothing:
// they may all be in one collective that does not end, and RAS does not see what the GPUs do (NVIDIA/nccl issue 1730).
#include "diagnose/ras/ras_verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "diagnose/log/job_log.h"
#include "diagnose/ras/ras_lags.h"

namespace railbed::diagnose {
namespace {

constexpr std::size_t kMostRasReasons = 8;
constexpr std::string_view kAnyCollective = "collective";  // what NCCL before 2.26 counts

std::string place_text(const RasRank& rank) {
  std::string text = rank.node.empty() ? "" : " on " + rank.node;
  std::vector<std::string> parts;
  if (rank.gpu) parts.push_back(fmt::format("GPU {}", *rank.gpu));
  if (rank.pid) parts.push_back(fmt::format("process {}", *rank.pid));
  if (!parts.empty()) text += fmt::format(" ({})", fmt::join(parts, ", "));
  return text;
}

std::vector<int> rank_numbers(const std::vector<RasRank>& ranks) {
  std::vector<int> numbers;
  for (const RasRank& rank : ranks) numbers.push_back(rank.rank);
  std::ranges::sort(numbers);
  return numbers;
}

// "rank 37 on 10.0.0.4 (GPU 5, process 1234)", "ranks 3, 5-7", "2 of the 4 ranks"
std::string behind_text(const RasLag& lag) {
  if (lag.behind.empty()) return fmt::format("{} of the {} ranks", lag.behind_count, lag.size);
  if (lag.behind.size() == 1)
    return fmt::format("rank {}{}", lag.behind.front().rank, place_text(lag.behind.front()));
  return ranks_text(rank_numbers(lag.behind));
}

std::string calls_text(const RasLag& lag) {
  std::vector<std::string> calls;
  for (const RasCall& call : lag.calls) calls.push_back(fmt::format("{} {}", call.function, call.number));
  return fmt::format("{}", fmt::join(calls, " and "));
}

std::string others_text(const RasLag& lag) {
  const bool all = lag.behind_count + lag.waiting_count == lag.size;
  return fmt::format("{}{} other{}", all ? "the " : "", lag.waiting_count, lag.waiting_count == 1 ? "" : "s");
}

std::string of_communicator(const RasPair& pair, const std::string& id) {
  return pair.second.communicator_count > 1 ? fmt::format(" of communicator {}", id) : "";
}

std::string lag_text(const RasPair& pair, const RasLag& lag) {
  if (lag.others_go_on)
    return fmt::format(
        "{} launched no collective within {:.1f} s and {} behind: {}{} is next, which {} launched",
        behind_text(lag), pair.seconds, lag.behind_count == 1 ? "is" : "are", calls_text(lag),
        of_communicator(pair, lag.communicator), others_text(lag));
  return fmt::format("{} {} not entered {}{}, in which {} {}", behind_text(lag),
                     lag.behind_count == 1 ? "has" : "have", calls_text(lag),
                     of_communicator(pair, lag.communicator), others_text(lag),
                     lag.waiting_count == 1 ? "waits" : "wait");
}

std::string stack_of(const RasRank& rank) {
  if (!rank.pid) return fmt::format("the stack of rank {}", rank.rank);
  return fmt::format("py-spy dump --pid {}{}", *rank.pid, rank.node.empty() ? "" : " on " + rank.node);
}

std::string lag_remedy(const RasLag& lag) {
  constexpr std::string_view kInstead =
      "an exception that was caught, a data loader, a checkpoint, a branch that only some ranks take";
  if (lag.behind.empty())
    return fmt::format("NCCL 2.28.7 and newer name the ranks. See what those behind do instead ({}).",
                       kInstead);
  return fmt::format("See what rank {} does instead ({}): its log, and {}", lag.behind.front().rank, kInstead,
                     stack_of(lag.behind.front()));
}

// Adds a line for each rank that is behind, and for each call that the others launched.
void add_lag_reasons(RasVerdict& verdict, const RasLag& lag) {
  if (lag.behind.size() > 1)
    for (const RasRank& rank : lag.behind) {
      if (verdict.why.size() >= kMostRasReasons) break;
      verdict.why.push_back(fmt::format("rank {}{} is behind", rank.rank, place_text(rank)));
    }
  for (const RasCall& call : lag.calls)
    verdict.why.push_back(
        fmt::format("communicator {}: {} {} launched {} {} and no more, {} of {} launched {} {}",
                    lag.communicator, lag.behind_count, lag.behind_count == 1 ? "rank" : "ranks",
                    call.number - 1, call.function, lag.waiting_count, lag.size, call.function, call.number));
}

void conclude_lags(const RasPair& pair, RasVerdict& verdict) {
  const RasLag& root = verdict.lags.front();
  verdict.severity = root.others_go_on ? nccl::Severity::kWarning : nccl::Severity::kError;
  const auto other = std::ranges::find_if(
      verdict.lags, [&](const RasLag& lag) { return !root.others_go_on && ras_ranks_disagree(root, lag); });
  if (other != verdict.lags.end()) {
    verdict.certainty = Certainty::kCause;
    verdict.text = fmt::format("ranks made different calls{}: {} {} not in {}, and {} {} not in {}",
                               of_communicator(pair, root.communicator), behind_text(root),
                               root.behind_count == 1 ? "is" : "are", calls_text(root), behind_text(*other),
                               other->behind_count == 1 ? "is" : "are", calls_text(*other));
    verdict.remedy =
        "Make all ranks of a communicator make the same calls in the same order: look for a branch on a rank's own "
        "number or data.";
  } else if (root.follows) {
    verdict.certainty = Certainty::kCause;
    verdict.text = fmt::format("ranks wait for each other in {} communicators: {}", verdict.lags.size(),
                               lag_text(pair, root));
    verdict.remedy =
        "Call the collectives of different communicators in the same order on all ranks, or let one complete before the "
        "next.";
  } else {
    const bool alone = std::ranges::count_if(verdict.lags, [&](const RasLag& lag) {
                         return !lag.follows && lag.others_go_on == root.others_go_on;
                       }) == 1;
    verdict.certainty = alone ? Certainty::kCause : Certainty::kOneOf;
    verdict.text = lag_text(pair, root);
    verdict.remedy = lag_remedy(root);
  }
  add_lag_reasons(verdict, root);
  if (root.calls.front().function == kAnyCollective) {
    if (verdict.certainty == Certainty::kCause) verdict.certainty = Certainty::kLikely;
    verdict.notes.push_back(
        "NCCL before 2.26 may count collectives in CUDA graphs on some ranks only: if the job replays graphs, counts may "
        "differ so without a fault");
  }
  if (verdict.certainty == Certainty::kOneOf)
    verdict.notes.push_back(
        "ranks lag in several communicators, and RAS does not show which of them came first");
}

// The rank of this process in the largest communicator that names it.
std::string rank_of_process(const RasAnswer& answer, const RasProcess& process) {
  const RasCommunicator* largest = nullptr;
  int rank = 0;
  for (const RasCommunicator& communicator : answer.communicators)
    for (const RasRank& one : communicator.ranks)
      if (one.pid == process.pid && one.node == process.node &&
          (largest == nullptr || communicator.size > largest->size)) {
        largest = &communicator;
        rank = one.rank;
      }
  if (largest == nullptr) return "";
  return fmt::format("rank {} of {}, ", rank, largest->size);
}

std::string process_text(const RasAnswer& answer, const RasProcess& process) {
  return fmt::format("process {} on {} ({}GPU {})", process.pid, process.node,
                     rank_of_process(answer, process), process.gpus);
}

// RAS gives up a process after 60 s. An unresponsive one counts if it was so in both answers.
bool conclude_silent(const RasPair& pair, RasVerdict& verdict) {
  const RasAnswer& now = pair.second;
  verdict.silent = now.dead;
  for (const RasProcess& process : now.unresponsive)
    if (std::ranges::find(pair.first.unresponsive, process) != pair.first.unresponsive.end())
      verdict.silent.push_back(process);
  const int unnamed =
      std::min(now.unresponsive_count - static_cast<int>(now.unresponsive.size()),
               pair.first.unresponsive_count - static_cast<int>(pair.first.unresponsive.size()));
  const int count = std::max(now.dead_count, static_cast<int>(now.dead.size())) +
                    static_cast<int>(verdict.silent.size() - now.dead.size()) + std::max(0, unnamed);
  if (count == 0) {
    if (now.unresponsive_count > 0)
      verdict.notes.push_back(
          fmt::format("{} processes did not answer RAS this time: ask again", now.unresponsive_count));
    return false;
  }
  verdict.severity = nccl::Severity::kError;
  verdict.certainty = Certainty::kLikely;
  const std::string others = now.processes > count + 1
                                 ? fmt::format(", and {} others do", now.processes - count)
                             : now.processes == count + 1 ? std::string(", and 1 other does")
                                                          : std::string();
  const std::string who = count == 1 && verdict.silent.size() == 1
                              ? process_text(now, verdict.silent.front())
                              : fmt::format("{} processes of the job", count);
  verdict.text =
      fmt::format("{} {} not answer: stopped, gone or cut off{}", who, count == 1 ? "does" : "do", others);
  for (const RasProcess& process : verdict.silent) {
    if (verdict.why.size() >= kMostRasReasons) break;
    const bool dead = std::ranges::find(now.dead, process) != now.dead.end();
    verdict.why.push_back(
        fmt::format("{} is {}", process_text(now, process),
                    dead ? "given up by RAS: it was not reachable for 60 s" : "unresponsive"));
  }
  verdict.remedy =
      "Look at its node: ps -o pid,stat,wchan:32,cmd -p PID (T: stopped; D: in the kernel; none: it ended; else: does its "
      "node reach the others?), dmesg (out of memory, Xid), and its log's last lines.";
  if (ras_counts_grew(pair))
    verdict.notes.push_back(
        "other ranks launched more collectives meanwhile: it may have ended in order, or they do not wait yet");
  return true;
}

// An error of a rank itself comes before those that only saw a remote one fail.
bool conclude_errors(const RasPair& pair, RasVerdict& verdict) {
  constexpr std::string_view kRemote = "Remote process error";
  struct Reported {
    const RasCommunicator* communicator;
    const RasRank* rank;
  };
  std::vector<Reported> reported;
  for (const RasCommunicator& communicator : pair.second.communicators)
    for (const RasRank& rank : communicator.ranks)
      if (!rank.error.empty()) reported.push_back({&communicator, &rank});
  if (reported.empty()) return false;
  std::ranges::stable_sort(reported, {}, [&](const Reported& one) { return one.rank->error == kRemote; });
  const Reported& first = reported.front();
  verdict.severity = nccl::Severity::kError;
  verdict.certainty = first.rank->error == kRemote ? Certainty::kUnknown : Certainty::kLikely;
  verdict.text =
      fmt::format("rank {}{}{} reports: {}", first.rank->rank, of_communicator(pair, first.communicator->id),
                  place_text(*first.rank), first.rank->error);
  for (const Reported& one : reported) {
    if (verdict.why.size() >= kMostRasReasons) {
      verdict.why.push_back(fmt::format("and {} more", reported.size() - kMostRasReasons));
      break;
    }
    verdict.why.push_back(fmt::format("communicator {}: rank {}{}: {}", one.communicator->id, one.rank->rank,
                                      place_text(*one.rank), one.rank->error));
  }
  verdict.remedy = "Read NCCL's warning in that rank's log: railbed nccl --log LOG";
  return true;
}

int count_in_state(const RasAnswer& answer, RasState state) {
  int count = 0;
  for (const RasCommunicator& communicator : answer.communicators) count += communicator.has(state) ? 1 : 0;
  if (!answer.names_all)
    for (const RasGroup& group : answer.groups)
      if (group.errors == "OK" && state == RasState::kInit && group.status == "INIT")
        count += group.communicators;
  return count;
}

bool has_different_counts(const RasAnswer& answer) {
  return std::ranges::any_of(answer.communicators, [](const RasCommunicator& communicator) {
    return std::ranges::any_of(communicator.counts,
                               [](const RasCount& count) { return count.parties.size() > 1; });
  });
}

void conclude_alike(const RasPair& pair, RasVerdict& verdict) {
  const RasAnswer& now = pair.second;
  const int initializing = count_in_state(now, RasState::kInit);
  if (now.communicator_count == 0) {
    verdict.text = "RAS knows of no communicator: the job has not made one yet, or has ended them";
  } else if (initializing == now.communicator_count) {
    verdict.text = fmt::format(
        "the job is still initializing {}",
        initializing == 1 ? "its communicator" : fmt::format("its {} communicators", initializing));
  } else if (has_different_counts(now)) {
    verdict.text =
        "no rank lags: ranks differ in what they launched, as in every running job, and no running rank was seen to stand "
        "behind others in both answers";
  } else if (ras_counts_grew(pair)) {
    verdict.text = "no rank lags: all launched the same collectives, and launch more";
  } else {
    verdict.text =
        fmt::format("no rank lags: in each of {} communicators all ranks launched the same collectives",
                    now.communicator_count);
    verdict.notes.push_back(
        now.names_all
            ? fmt::format(
                  "nothing was launched within {:.1f} s. RAS does not see what the GPUs do: the job computes, or "
                  "all ranks are in one collective that does not end",
                  pair.seconds)
            : fmt::format(
                  "NCCL {} gives no counts for ranks that are alike (2.28.7 and newer do), so whether the job "
                  "moves is not known",
                  now.version));
    verdict.notes.push_back("RAS counts no sends and receives, and no collectives in CUDA graphs");
  }
}

void add_notes(const RasPair& pair, RasVerdict& verdict) {
  const RasAnswer& now = pair.second;
  const int initializing = count_in_state(now, RasState::kInit);
  if (initializing > 0 && initializing < now.communicator_count)
    verdict.notes.push_back(
        fmt::format("{} of {} communicators are being initialized", initializing, now.communicator_count));
  if (const int ending = count_in_state(now, RasState::kNotMember) + count_in_state(now, RasState::kFinalize))
    verdict.notes.push_back(
        fmt::format("{} communicators have ranks that left them, are leaving or have not entered", ending));
  if (const int aborted = count_in_state(now, RasState::kAbort))
    verdict.notes.push_back(fmt::format("{} communicators were aborted", aborted));
  if (now.timeouts > 0)
    verdict.notes.push_back(fmt::format("RAS itself met {} timeouts while it gathered this", now.timeouts));
  if (now.unsound > 0)
    verdict.notes.push_back(fmt::format(
        "{} entries of the answer were left out, because their numbers cannot be: NCCL may answer so while "
        "communicators begin and end, and before 2.29.2 if ranks are missing",
        now.unsound));
  for (std::size_t i = 1; i < verdict.lags.size() && i < kMostRasReasons; ++i)
    verdict.notes.push_back("also: " + lag_text(pair, verdict.lags[i]));
  if (verdict.lags.size() > kMostRasReasons)
    verdict.notes.push_back(fmt::format("and {} more that lag", verdict.lags.size() - kMostRasReasons));
}

}  // namespace

RasVerdict judge_ras(const RasPair& pair) {
  RasVerdict verdict;
  verdict.lags = find_ras_lags(pair);
  if (conclude_silent(pair, verdict) || conclude_errors(pair, verdict)) {
    if (!verdict.lags.empty()) add_lag_reasons(verdict, verdict.lags.front());
  } else if (!verdict.lags.empty()) {
    conclude_lags(pair, verdict);
  } else {
    conclude_alike(pair, verdict);
  }
  add_notes(pair, verdict);
  return verdict;
}

namespace {

std::string party_text(const RasParty& party) {
  const std::string who =
      party.ranks.empty() ? fmt::format("{} ranks", party.count) : ranks_text(party.ranks);
  return fmt::format("{} ({})", party.launched, who);
}

std::string states_text(const RasCommunicator& communicator) {
  std::vector<std::string> parts;
  for (const RasTally& tally : communicator.states)
    parts.push_back(
        fmt::format("{} {}", tally.ranks, enum_names(tally.state)[static_cast<std::size_t>(tally.state)]));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string counts_text(const RasCommunicator& communicator) {
  std::vector<std::string> parts;
  for (const RasCount& count : communicator.counts) {
    constexpr std::size_t kMostParties = 4;
    if (count.parties.size() == 1 && count.parties.front().launched == 0) continue;
    std::vector<std::string> parties;
    for (const RasParty& party : count.parties) {
      if (parties.size() == kMostParties) {
        parties.push_back("…");
        break;
      }
      parties.push_back(count.parties.size() == 1 ? fmt::format("{}", party.launched) : party_text(party));
    }
    parts.push_back(fmt::format("{} {}", count.function, fmt::join(parties, ", ")));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

// Communicators whose ranks differ first, then the large ones.
std::vector<const RasCommunicator*> worth_showing(const RasAnswer& answer) {
  std::vector<const RasCommunicator*> shown;
  for (const RasCommunicator& communicator : answer.communicators) shown.push_back(&communicator);
  std::ranges::stable_sort(shown, {}, [](const RasCommunicator* one) {
    const bool differs =
        one->states.size() > 1 ||
        std::ranges::any_of(one->counts, [](const RasCount& count) { return count.parties.size() > 1; });
    return std::pair(!differs, -one->size);
  });
  return shown;
}

}  // namespace

std::string to_text(const RasPair& pair, const RasVerdict& verdict) {
  constexpr std::size_t kMostLines = 16;
  const RasAnswer& now = pair.second;
  std::string text = printable(verdict.text) + "\n";
  const auto line = [&](std::string_view label, const std::string& content) {
    text += fmt::format("  {:<8}{}\n", label, printable(content));
  };
  for (const std::string& why : verdict.why) line("seen", why);
  if (!verdict.remedy.empty()) line("remedy", verdict.remedy);
  for (const std::string& note : verdict.notes) line("note", note);
  text +=
      printable(fmt::format("\nNCCL {}: {} node{}, {} process{}, {} communicator{}", now.version, now.nodes,
                            now.nodes == 1 ? "" : "s", now.processes, now.processes == 1 ? "" : "es",
                            now.communicator_count, now.communicator_count == 1 ? "" : "s")) +
      "\n";
  std::size_t shown = 0;
  for (const RasCommunicator* communicator : worth_showing(now)) {
    if (++shown > kMostLines) {
      text += fmt::format("  and {} more\n", now.communicators.size() - kMostLines);
      break;
    }
    text += printable(fmt::format("  {:<16}  {:>5} ranks  {}  {}", communicator->id, communicator->size,
                                  states_text(*communicator), counts_text(*communicator))) +
            "\n";
  }
  shown = 0;
  for (const RasGroup& group : now.groups)
    if (++shown <= kMostLines)
      text += printable(fmt::format("  {} of {} ranks: {}, {}", group.communicators, group.size, group.status,
                                    group.errors)) +
              "\n";
  return text;
}

}  // namespace railbed::diagnose
