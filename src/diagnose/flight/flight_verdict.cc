// In a group, the first number that some rank has called and not completed is where it hangs. The group's other ranks
// have called it, too, or passed it, or stopped before it. Those that stopped are what the others wait for, unless they
// wait in another group themselves: then that one comes first, and so on. If each waits for a rank that waits in
// another group, the ranks called the groups in different orders.
//
// Calls of one number must be the same operation on the same types and, where NCCL requires it, sizes. A difference is
// a cause of its own, and outweighs a rank that is behind, since it may be why that rank never came.
//
// A rank that came may have come too late: the dumps are written after the first rank's time limit, and a late rank is in
// the call by then. Its clock may differ from that of the others, so its delay is counted against that of the last
// collective which both completed.
//
// NCCL numbers sends and receives per rank, so that two ends cannot be matched by number. A pending one is matched with
// any pending counterpart of its peer.
#include "diagnose/flight/flight_verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/text.h"
#include "diagnose/log/job_log.h"

namespace railbed::diagnose {
namespace {

// A group of one name may differ between ranks: then its ranks tell it apart.
struct GroupKey {
  std::string name;
  std::vector<int> ranks;
  auto operator<=>(const GroupKey&) const = default;
};

struct Member {
  const FlightDump* dump = nullptr;
  const FlightGroup* group = nullptr;
};
using Members = std::map<int, Member>;

// The collectives whose sizes NCCL requires to be alike on all ranks. Names as PyTorch gives them.
bool wants_same_sizes(std::string_view operation) {
  constexpr std::array<std::string_view, 6> kSame = {
      "all_reduce", "broadcast", "reduce", "_all_gather_base", "_allgather_base", "_reduce_scatter_base"};
  return std::ranges::find(kSame, operation) != kSame.end();
}

std::string call_text(const FlightCall& call) {
  return fmt::format("{} of {} ({})", call.operation, call.sizes, call.types);
}

// Returns what must be alike on all ranks.
std::string signature_of(const FlightCall& call) {
  return fmt::format("{}|{}|{}", call.operation, call.types,
                     wants_same_sizes(call.operation) ? call.sizes : "");
}

const FlightCall* first_pending(const FlightGroup& group, bool point_to_point) {
  const FlightCall* first = nullptr;
  for (const FlightCall& call : group.calls)
    if (call.state != FlightState::kCompleted && call.point_to_point == point_to_point &&
        (first == nullptr || call.number < first->number))
      first = &call;
  return first;
}

const FlightCall* find_call(const FlightGroup& group, std::int64_t number) {
  const auto found = std::ranges::find_if(
      group.calls, [&](const FlightCall& call) { return !call.point_to_point && call.number == number; });
  return found == group.calls.end() ? nullptr : &*found;
}

const FlightCall* last_call(const FlightGroup& group, bool point_to_point) {
  const FlightCall* last = nullptr;
  for (const FlightCall& call : group.calls)
    if (call.point_to_point == point_to_point && (last == nullptr || call.number >= last->number))
      last = &call;
  return last;
}

// Adds a rank to the party that made the same call.
void join(std::vector<FlightParty>& parties, int rank, std::string call, std::string where) {
  const auto same = std::ranges::find_if(
      parties, [&](const FlightParty& party) { return party.call == call && party.where == where; });
  if (same != parties.end()) {
    same->ranks.push_back(rank);
    return;
  }
  parties.push_back({{rank}, std::move(call), std::move(where)});
}

std::vector<int> waiting_ranks(const FlightWait& wait) {
  std::vector<int> ranks;
  for (const FlightParty& party : wait.waiting)
    ranks.insert(ranks.end(), party.ranks.begin(), party.ranks.end());
  std::ranges::sort(ranks);
  return ranks;
}

// Returns the last collective before this number that the rank has completed; null if its recorder kept none.
const FlightCall* last_completed(const FlightGroup& group, std::int64_t before) {
  const FlightCall* last = nullptr;
  for (const FlightCall& call : group.calls)
    if (!call.point_to_point && call.state == FlightState::kCompleted && call.number < before &&
        (last == nullptr || call.number > last->number))
      last = &call;
  return last;
}

// Finds the ranks that called `wait` too late. Without a common earlier call of two ranks their clocks cannot be
// compared, and neither is called late.
void find_late(FlightWait& wait, const Members& members) {
  struct Arrival {
    int rank = 0;
    double at = 0;  // seconds after the earlier call, by the rank's own clock
    double limit = 0;
    std::int64_t earlier = 0;  // number of that call
  };
  constexpr double kSecond = 1e9;
  std::vector<Arrival> arrivals;
  for (const auto& [rank, member] : members) {
    const FlightCall* call = find_call(*member.group, wait.number);
    const FlightCall* earlier = last_completed(*member.group, wait.number);
    if (call == nullptr || call->state == FlightState::kCompleted || earlier == nullptr) continue;
    if (call->created_ns <= 0 || earlier->created_ns <= 0 || call->timeout_ms <= 0) continue;
    arrivals.push_back({rank, static_cast<double>(call->created_ns - earlier->created_ns) / kSecond,
                        static_cast<double>(call->timeout_ms) / 1000, earlier->number});
  }
  if (arrivals.size() < 2) return;
  const Arrival first = *std::ranges::min_element(arrivals, {}, &Arrival::at);
  for (const Arrival& arrival : arrivals) {
    const double delay = arrival.at - first.at;
    if (arrival.earlier != first.earlier || delay < first.limit) continue;
    wait.late.push_back(arrival.rank);
    wait.late_by = std::max(wait.late_by, delay);
    wait.limit = first.limit;
  }
}

// Returns the wait of a group in its collectives; nullopt if every rank completed what it called.
std::optional<FlightWait> collective_wait(const GroupKey& key, const Members& members) {
  std::optional<std::int64_t> number;
  for (const auto& [rank, member] : members)
    if (const FlightCall* call = first_pending(*member.group, false))
      number = std::min(number.value_or(call->number), call->number);
  if (!number) return std::nullopt;
  FlightWait wait{.group = key.name, .number = *number};
  std::map<std::string, std::vector<FlightParty>> by_signature;
  bool any_started = false;
  for (const auto& [rank, member] : members) {
    if (wait.description.empty()) wait.description = member.group->description;
    const FlightCall* call = find_call(*member.group, *number);
    const FlightCall* last = last_call(*member.group, false);
    if (call != nullptr && call->state == FlightState::kCompleted) {
      wait.passed.push_back(rank);
    } else if (call != nullptr) {
      join(by_signature[signature_of(*call)], rank, call_text(*call), call->where);
      any_started = any_started || call->state == FlightState::kStarted;
      if (call->state == FlightState::kScheduled && member.dump->records_starts)
        wait.not_begun.push_back(rank);
    } else if (last == nullptr || last->number < *number) {
      wait.behind.push_back(rank);
      if (last != nullptr)
        join(wait.last, rank,
             fmt::format("{} number {}, {}", last->operation, last->number,
                         enum_names(last->state)[static_cast<std::size_t>(last->state)]),
             last->where);
    } else {
      wait.passed.push_back(rank);  // its recorder kept only later calls
    }
  }
  if (!any_started) wait.not_begun.clear();
  // Ranks that differ in the line alone made the same call.
  for (auto& [signature, parties] : by_signature) {
    FlightParty merged = std::move(parties.front());
    for (std::size_t i = 1; i < parties.size(); ++i)
      merged.ranks.insert(merged.ranks.end(), parties[i].ranks.begin(), parties[i].ranks.end());
    std::ranges::sort(merged.ranks);
    wait.waiting.push_back(std::move(merged));
  }
  std::ranges::stable_sort(wait.waiting, std::ranges::greater{},
                           [](const FlightParty& party) { return party.ranks.size(); });
  for (const int rank : key.ranks)
    if (!members.contains(rank)) wait.no_dump.push_back(rank);
  find_late(wait, members);
  return wait;
}

struct Transfer {
  bool sends = false;
  int from = 0;  // ranks of the group
  int to = 0;
};

// Parses "send 1->2" and "recv 2<-1".
std::optional<Transfer> transfer_of(const FlightCall& call) {
  const bool sends = call.operation.starts_with("send ");
  if (!sends && !call.operation.starts_with("recv ")) return std::nullopt;
  const std::string_view rest = std::string_view(call.operation).substr(5);
  const auto arrow = rest.find(sends ? "->" : "<-");
  if (arrow == std::string_view::npos) return std::nullopt;
  const auto left = parse_number<int>(rest.substr(0, arrow));
  const auto right = parse_number<int>(rest.substr(arrow + 2));
  if (!left || !right) return std::nullopt;
  return sends ? Transfer{true, *left, *right} : Transfer{false, *right, *left};
}

// Returns the rank of the job for one of the group; the same number if the group's ranks are not known.
int job_rank(const GroupKey& key, int of_group) {
  if (of_group < 0 || static_cast<std::size_t>(of_group) >= key.ranks.size()) return of_group;
  return key.ranks[static_cast<std::size_t>(of_group)];
}

bool has_counterpart(const FlightGroup& group, const Transfer& transfer) {
  return std::ranges::any_of(group.calls, [&](const FlightCall& call) {
    if (!call.point_to_point || call.state == FlightState::kCompleted) return false;
    const auto other = transfer_of(call);
    return other && other->sends != transfer.sends && other->from == transfer.from &&
           other->to == transfer.to;
  });
}

void add_transfer_waits(std::vector<FlightWait>& waits, const GroupKey& key, const Members& members) {
  for (const auto& [rank, member] : members) {
    const FlightCall* call = first_pending(*member.group, true);
    if (call == nullptr) continue;
    const auto transfer = transfer_of(*call);
    if (!transfer) {  // which rank it needs is not recorded
      FlightWait wait{.group = key.name, .description = member.group->description, .number = call->number};
      wait.point_to_point = true;
      wait.waiting.push_back({{rank}, call->operation, call->where});
      waits.push_back(std::move(wait));
      continue;
    }
    const int peer = job_rank(key, transfer->sends ? transfer->to : transfer->from);
    FlightWait wait{.group = key.name, .description = member.group->description, .number = call->number};
    wait.point_to_point = true;
    wait.waiting.push_back({{rank},
                            fmt::format("{} {} rank {}", transfer->sends ? "send" : "recv",
                                        transfer->sends ? "to" : "from", peer),
                            call->where});
    const auto other = members.find(peer);
    if (other == members.end()) {
      wait.no_dump.push_back(peer);
    } else if (has_counterpart(*other->second.group, *transfer)) {
      wait.passed.push_back(peer);  // it is in the transfer, too
    } else {
      wait.behind.push_back(peer);
      if (const FlightCall* last = last_call(*other->second.group, true))
        join(wait.last, peer,
             fmt::format("{}, {}", last->operation,
                         enum_names(last->state)[static_cast<std::size_t>(last->state)]),
             last->where);
    }
    waits.push_back(std::move(wait));
  }
}

std::string group_text(const FlightWait& wait) {
  return wait.description.empty() || wait.description == "undefined"
             ? fmt::format("group {}", wait.group)
             : fmt::format("group {} ({})", wait.group, wait.description);
}

std::string_view have(const std::vector<int>& ranks) { return ranks.size() == 1 ? "has" : "have"; }

std::string what_text(const FlightWait& wait) {
  if (wait.point_to_point) return wait.waiting.front().call;
  const std::string& call = wait.waiting.front().call;
  return fmt::format("{} number {} of {}", call.substr(0, call.find(" of ")), wait.number, group_text(wait));
}

std::string verb_text(const std::vector<int>& ranks) { return ranks.size() == 1 ? "waits" : "wait"; }

// Orders the waits so that the one from which others follow comes first. Returns false if each of them follows from
// another one.
bool put_root_first(std::vector<FlightWait>& waits) {
  const auto waits_elsewhere = [&](const FlightWait& wait, int rank) {
    return std::ranges::any_of(waits, [&](const FlightWait& other) {
      const auto in_other = waiting_ranks(other);
      return &other != &wait && std::ranges::find(in_other, rank) != in_other.end();
    });
  };
  std::vector<std::pair<int, std::size_t>> order;
  bool rooted = false;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const FlightWait& wait = waits[i];
    const bool follows = !wait.behind.empty() && std::ranges::all_of(wait.behind, [&](int rank) {
      return waits_elsewhere(wait, rank);
    });
    rooted = rooted || !follows || wait.waiting.size() > 1;
    const int place = wait.waiting.size() > 1 ? 0
                      : follows               ? 4
                      : !wait.behind.empty()  ? 1
                      : !wait.no_dump.empty() ? 2
                                              : 3;
    order.emplace_back(place, i);
  }
  std::ranges::stable_sort(order, {}, [&](const auto& entry) {
    return std::tuple(entry.first, -static_cast<int>(waiting_ranks(waits[entry.second]).size()));
  });
  std::vector<FlightWait> sorted;
  for (const auto& [place, at] : order) sorted.push_back(std::move(waits[at]));
  waits = std::move(sorted);
  return rooted;
}

void add_parties(FlightVerdict& verdict, const std::vector<FlightParty>& parties, std::string_view verb) {
  constexpr std::size_t kMost = 8;
  for (const FlightParty& party : parties) {
    if (verdict.why.size() >= kMost) return;
    verdict.why.push_back(fmt::format("{} {} {}{}", ranks_text(party.ranks), verb, party.call,
                                      party.where.empty() ? "" : " at " + party.where));
  }
}

constexpr std::string_view kLookAtRank =
    "See what {} does instead: its log after the last call above (an exception that was caught, a data loader, a "
    "checkpoint, a branch that only some ranks take), and its stack while it hangs: py-spy dump --pid PID on its node.";

void conclude(FlightVerdict& verdict, const FlightWait& wait, bool rooted) {
  const auto waiting = waiting_ranks(wait);
  const std::string what = what_text(wait);
  if (wait.waiting.size() > 1) {
    verdict.certainty = Certainty::kCause;
    verdict.text = fmt::format("the ranks disagree in call number {} of {}: {} made another call than {}",
                               wait.number, group_text(wait), ranks_text(wait.waiting.back().ranks),
                               ranks_text(wait.waiting.front().ranks));
    add_parties(verdict, wait.waiting, "called");
    verdict.remedy =
        "Make all ranks of the group make the same calls in the same order with the same shapes and types: compare the "
        "lines above. A batch that is smaller on one rank, a parameter without a gradient, and a branch on a rank's own "
        "data are the usual reasons.";
    return;
  }
  add_parties(verdict, wait.waiting, "in");
  add_parties(verdict, wait.last, "came to");
  if (!wait.behind.empty()) {
    verdict.certainty = Certainty::kCause;
    if (!rooted) {
      verdict.text = fmt::format(
          "ranks wait for each other in two groups, which they called in different orders: {} in {}",
          ranks_text(waiting), what);
      verdict.remedy =
          "Call the collectives of different groups in the same order on all ranks, or let one complete before the next.";
      return;
    }
    verdict.text = fmt::format("{} {} not called {}, in which {} {}", ranks_text(wait.behind),
                               have(wait.behind), what, ranks_text(waiting), verb_text(waiting));
    if (wait.point_to_point)
      verdict.text = fmt::format("{} {} in {}, and that rank has no matching call pending",
                                 ranks_text(waiting), verb_text(waiting), what);
    verdict.remedy = fmt::format(fmt::runtime(kLookAtRank), ranks_text(wait.behind));
    return;
  }
  if (!wait.late.empty()) {
    verdict.certainty = Certainty::kCause;
    verdict.text = fmt::format("{} called {} {:.0f} s after the first, which waits {:.0f} s at most",
                               ranks_text(wait.late), what, wait.late_by, wait.limit);
    verdict.remedy = fmt::format(
        "See what {} did before this call: a process that was stopped or had no processor, a checkpoint, a data loader, a "
        "compilation. If it may take that long, give init_process_group a longer timeout.",
        ranks_text(wait.late));
    return;
  }
  if (!wait.no_dump.empty()) {
    verdict.certainty = Certainty::kLikely;
    verdict.text = fmt::format("{} {} in {}, and no dump of {} was given", ranks_text(waiting),
                               verb_text(waiting), what, ranks_text(wait.no_dump));
    verdict.remedy = fmt::format(
        "See whether {} ended before the others gave up: its log's last lines, and dmesg of its node (out of memory, "
        "Xid). If its dump exists on its node, give it, too.",
        ranks_text(wait.no_dump));
    return;
  }
  if (!wait.not_begun.empty() && wait.not_begun.size() < waiting.size()) {
    verdict.certainty = Certainty::kLikely;
    verdict.text = fmt::format("{} {} called {}, but not begun on the GPU, while others are in it",
                               ranks_text(wait.not_begun), have(wait.not_begun), what);
    verdict.remedy =
        "Work that was queued before it on that GPU's stream does not end: a kernel that hangs, or a collective of "
        "another group. See nvidia-smi and dmesg (Xid) of that rank's node, and the dumps of its other groups.";
    return;
  }
  verdict.text = fmt::format("{} {} in {}, which does not end", ranks_text(waiting),
                             waiting.size() == 1 ? "is" : "are all", what);
  verdict.remedy =
      "All called the same, so the cause lies below PyTorch: a link, a GPU, or NCCL. Give the job's log with "
      "NCCL_DEBUG=INFO and the nodes as well: railbed explain LOG DUMPS cluster.yaml";
}

}  // namespace

FlightVerdict judge_flights(const std::vector<FlightDump>& dumps) {
  FlightVerdict verdict;
  std::map<GroupKey, Members> groups;
  std::vector<std::string> nameless, twice;
  std::set<int> known;
  for (const FlightDump& dump : dumps) {
    if (dump.rank < 0) nameless.push_back(dump.file);
    if (dump.rank < 0) continue;
    if (!known.insert(dump.rank).second) {
      twice.push_back(dump.file);
      continue;
    }
    for (const FlightGroup& group : dump.groups) {
      std::vector<int> ranks = group.ranks;
      std::ranges::sort(ranks);
      groups[{group.name, std::move(ranks)}][dump.rank] = {&dump, &group};
    }
  }
  if (!nameless.empty())
    verdict.notes.push_back(fmt::format("left out, because the name does not end in the rank: {}",
                                        printable(fmt::format("{}", fmt::join(nameless, ", ")))));
  if (!twice.empty())
    verdict.notes.push_back(fmt::format("left out, because another file is of the same rank: {}",
                                        printable(fmt::format("{}", fmt::join(twice, ", ")))));
  for (const auto& [key, members] : groups) {
    if (auto wait = collective_wait(key, members)) verdict.waits.push_back(std::move(*wait));
    add_transfer_waits(verdict.waits, key, members);
  }
  verdict.hangs = !verdict.waits.empty();
  if (known.empty()) {
    verdict.text = "no dump names its rank, so that none can be compared";
    return verdict;
  }
  const bool any_call = std::ranges::any_of(groups, [](const auto& entry) {
    return std::ranges::any_of(entry.second,
                               [](const auto& member) { return !member.second.group->calls.empty(); });
  });
  if (!any_call) {
    verdict.text =
        "no dump holds a call: the recorder was off (TORCH_FR_BUFFER_SIZE), or nothing was called yet";
    return verdict;
  }
  if (!verdict.hangs) {
    verdict.text =
        fmt::format("{} of {} completed every collective that was called: nothing hangs in these dumps",
                    known.size() == 1 ? "the dump" : "the dumps", ranks_text({known.begin(), known.end()}));
    return verdict;
  }
  const bool rooted = put_root_first(verdict.waits);
  conclude(verdict, verdict.waits.front(), rooted);
  return verdict;
}

std::string to_text(const FlightVerdict& verdict) {
  constexpr std::size_t kMostWaits = 6;
  std::string text = printable(verdict.text) + "\n";
  const auto line = [&](std::string_view label, const std::string& content) {
    text += fmt::format("  {:<8}{}\n", label, printable(content));
  };
  for (const std::string& why : verdict.why) line("seen", why);
  if (verdict.hangs) line(verdict.certainty == Certainty::kUnknown ? "look" : "remedy", verdict.remedy);
  for (std::size_t i = 1; i < verdict.waits.size(); ++i) {
    if (i == kMostWaits) {
      line("also", fmt::format("{} more calls wait", verdict.waits.size() - i));
      break;
    }
    const FlightWait& wait = verdict.waits[i];
    const auto waiting = waiting_ranks(wait);
    std::string more = fmt::format("{} {} in {}", ranks_text(waiting), verb_text(waiting), what_text(wait));
    if (!wait.behind.empty()) more += fmt::format(", for {}", ranks_text(wait.behind));
    line("also", more);
  }
  for (const std::string& note : verdict.notes) line("note", note);
  return text;
}

}  // namespace railbed::diagnose
