// The text of RAS is written for people, block by block: see rasClientRunInit() and rasClientRunComms() in NVIDIA/nccl,
// src/ras/client_support.cc.
//
//   Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
//       #  in group  per comm  per node  per comm  in group
//       0         1         4         8        32        32   RUNNING  MISMATCH
//   …
//   #0-0 (27a079b828ff1a75) MISMATCH
//     Communicator ranks have different AllReduce operation counts
//     31 ranks have launched up to operation 6650
//     Rank 7 has launched up to operation 6649 -- GPU 7 managed by process 483079 on node 172.16.64.210
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/ras/ras_answer.h"

namespace railbed::diagnose {
namespace {

RasState state_named(std::string_view name) {
  if (name == "INIT") return RasState::kInit;
  if (name == "RUNNING") return RasState::kRunning;
  if (name == "FINALIZE") return RasState::kFinalize;
  if (name == "ABORT") return RasState::kAbort;
  if (name == "NOCOMM" || name == "UNKNOWN") return RasState::kNotMember;  // UNKNOWN before 2.26
  return RasState::kUnknown;
}

// "Process 3487984 on node 172.16.64.213 managing GPU 5"
std::optional<RasProcess> process_on(std::string_view line) {
  Scan scan(line);
  if (!scan.take("Process ")) return std::nullopt;
  const auto pid = scan.number();
  if (!pid || !scan.take(" on node ")) return std::nullopt;
  RasProcess process{.pid = *pid, .node = printable(scan.until(" "))};
  if (!scan.take(" managing GPU")) return std::nullopt;
  (void)scan.take("s");
  process.gpus = printable(trim(scan.rest()));
  return process;
}

// "GPU 5 managed by process 1234 on node 10.0.0.4", "GPU 0 (NVML 5) managed by …", "[process information not found]"
void add_place(Scan scan, RasRank& rank) {
  if (!scan.take(" -- GPU ")) return;
  rank.gpu = scan.number();
  if (scan.take(" (NVML ")) {
    rank.gpu = scan.number();
    (void)scan.take(")");
  }
  if (!scan.take(" managed by process ")) return;
  rank.pid = scan.number();
  if (scan.take(" on node ")) rank.node = printable(scan.rest());
}

// The ranks of one block that are alike in one respect: "26 ranks have status RUNNING" and the lines below it.
struct AlikeRanks {
  RasState state = RasState::kUnknown;
  std::uint64_t launched = 0;
  std::string error = {};
  int count = 0;
  std::vector<int> ranks = {};
};

enum class RasSubject { kNone, kMissing, kStatus, kCount, kError };

struct ReadSubject {
  RasSubject about = RasSubject::kNone;
  std::string function = {};
  int missing = 0;
  std::vector<AlikeRanks> alike = {};
};

struct ReadCommunicator {
  int group = 0;
  std::string id = {};
  std::map<int, RasRank> named = {};
  std::vector<ReadSubject> subjects = {};
};

class RasTextReader {
 public:
  Result<RasAnswer> read(std::string_view text);

 private:
  enum class Section { kNone, kSummary, kCommunicators, kErrors, kWarnings };
  enum class Block { kNone, kMissing, kDead, kTimeout, kCommunicator };

  void take(std::string_view line);
  bool take_heading(std::string_view line);
  void take_summary(std::string_view line);
  void take_group(std::string_view line);
  void take_block(std::string_view line);
  bool open_block(std::string_view line);
  void take_process(std::string_view line, std::vector<RasProcess>& named, int& count);
  bool open_subject(ReadCommunicator& into, std::string_view line);
  void take_of_communicator(ReadCommunicator& into, std::string_view line);
  void take_many(ReadSubject& subject, Scan scan);
  void take_rank(ReadCommunicator& into, ReadSubject& subject, Scan scan);
  void finish();
  std::optional<RasCommunicator> finished(ReadCommunicator& read);
  void add_count(RasCommunicator& into, ReadSubject& subject, int reporting);
  void name_the_rest(const RasCommunicator& of, RasCount& count);

  RasAnswer answer_;
  Section section_ = Section::kNone;
  Block block_ = Block::kNone;
  std::map<int, RasGroup> groups_;
  std::map<std::pair<int, int>, ReadCommunicator> communicators_;  // by "#group-number"
  std::pair<int, int> open_ = {};
  std::set<std::pair<std::string, int>> dead_;  // by node and pid
  int named_ = 0;                               // ranks kept up to now
  bool whole_ = false;
};

bool RasTextReader::take_heading(std::string_view line) {
  const auto enter = [&](Section section) {
    section_ = section;
    block_ = Block::kNone;
    return true;
  };
  if (line == "Job summary") return enter(Section::kSummary);
  if (line.starts_with("Communicators...")) return enter(Section::kCommunicators);
  if (line == "Errors") return enter(Section::kErrors);
  if (line == "Warnings") {
    whole_ = true;
    return enter(Section::kWarnings);
  }
  return line.starts_with("===");
}

// The last line of numbers holds the totals: nodes, processes and GPUs, with two columns between if all nodes are
// alike.
void RasTextReader::take_summary(std::string_view line) {
  std::vector<int> numbers;
  for (const std::string_view word : railbed::words(line)) {
    const auto number = parse_number<int>(word);
    if (!number || *number < 0) return;
    numbers.push_back(*number);
  }
  if (numbers.size() != 3 && numbers.size() != 5) return;
  answer_.nodes = numbers.front();
  answer_.processes = numbers[numbers.size() - 2];
}

void RasTextReader::take_group(std::string_view line) {
  const auto cells = railbed::words(line);
  if (cells.size() != 8) return;
  const auto number = parse_number<int>(cells[0]);
  const auto communicators = parse_number<int>(cells[1]);
  const auto size = parse_number<int>(cells[4]);
  if (!number || !communicators || !size) return;
  if (*communicators <= 0 || *size <= 0 || *size > kMostRasRanks || groups_.size() >= kMostRasCommunicators) {
    ++answer_.unsound;
    return;
  }
  groups_[*number] = {*communicators, *size, printable(cells[6]), printable(cells[7])};
}

bool RasTextReader::open_block(std::string_view line) {
  if (line == "INCOMPLETE")
    block_ = Block::kMissing;
  else if (line == "DEAD")
    block_ = Block::kDead;
  else if (line == "TIMEOUT")
    block_ = Block::kTimeout;
  else if (line.starts_with('#')) {
    Scan scan(line.substr(1));
    const auto group = scan.number();
    if (!group || !scan.take("-")) return false;
    const auto number = scan.number();
    if (!number || !scan.take(" (")) return false;
    const std::string_view id = scan.until(")");
    if (!is_plain_word(id, 16) || communicators_.size() >= kMostRasCommunicators) return false;
    block_ = Block::kCommunicator;
    open_ = {*group, *number};
    ReadCommunicator& read = communicators_[open_];
    read.group = *group;
    read.id = id;
    read.subjects.emplace_back();
  } else {
    return false;
  }
  return true;
}

void RasTextReader::take_process(std::string_view line, std::vector<RasProcess>& named, int& count) {
  if (const auto process = process_on(line)) {
    if (named.size() < static_cast<std::size_t>(kMostRasRanks)) named.push_back(*process);
    return;
  }
  Scan scan(line);
  (void)scan.take("Missing communicator data from ");
  if (const auto number = scan.number(); number && *number > 0 && scan.take(" job process")) count = *number;
}

void RasTextReader::take_block(std::string_view line) {
  if (line.empty()) {
    block_ = Block::kNone;
    return;
  }
  if (open_block(line)) return;
  switch (block_) {
    case Block::kNone:
      return;
    case Block::kMissing:
      return take_process(line, answer_.unresponsive, answer_.unresponsive_count);
    case Block::kDead:
      return take_process(line, answer_.dead, answer_.dead_count);
    case Block::kTimeout:
      answer_.timeouts = number_after(line, "Encountered ").value_or(answer_.timeouts);
      return;
    case Block::kCommunicator:
      return take_of_communicator(communicators_[open_], line);
  }
}

bool RasTextReader::open_subject(ReadCommunicator& into, std::string_view line) {
  Scan scan(line);
  if (scan.take("Missing communicator data from ")) {
    into.subjects.push_back({.about = RasSubject::kMissing, .missing = scan.number().value_or(0)});
    return true;
  }
  if (scan.take("Communicator ranks have different ")) {
    if (scan.rest() == "status") {
      into.subjects.push_back({.about = RasSubject::kStatus});
      return true;
    }
    const std::string_view function = scan.until(" ");
    if (scan.rest() != " operation counts" || !is_plain_word(function, 32)) return false;
    into.subjects.push_back({.about = RasSubject::kCount, .function = std::string(function)});
    return true;
  }
  if (line.starts_with("Initialization error") || line.starts_with("Asynchronous error")) {
    into.subjects.push_back({.about = RasSubject::kError});
    return true;
  }
  return false;
}

// "26 ranks have status RUNNING", "26 ranks have launched up to operation 6650", "2 ranks have not launched any
// operations", "2 ranks reported System error"
void RasTextReader::take_many(ReadSubject& subject, Scan scan) {
  AlikeRanks alike{.count = scan.number().value_or(0)};
  if (alike.count <= 0 || alike.count > kMostRasRanks || !scan.take(" ranks ")) return;
  if (scan.take("have status "))
    alike.state = state_named(scan.rest());
  else if (scan.take("have launched up to operation "))
    alike.launched = scan.number<std::uint64_t>().value_or(0);
  else if (scan.take("reported "))
    alike.error = printable(scan.rest());
  else if (scan.rest() != "have not launched any operations")
    return;
  subject.alike.push_back(std::move(alike));
}

// "Rank 7 -- …" belongs to the ranks above it; "Rank 7 has …" and "Rank 7 reported …" is alone.
void RasTextReader::take_rank(ReadCommunicator& into, ReadSubject& subject, Scan scan) {
  const auto number = scan.number();
  if (!number || *number < 0 || *number >= kMostRasRanks || named_ >= kMostRasRanks) {
    ++answer_.unsound;
    return;
  }
  AlikeRanks alone{.count = 1};
  const bool is_alone = !scan.rest().starts_with(" -- ");
  if (scan.take(" has status "))
    alone.state = state_named(scan.until(" "));
  else if (scan.take(" has launched up to operation "))
    alone.launched = scan.number<std::uint64_t>().value_or(0);
  else if (scan.take(" reported "))
    alone.error = printable(scan.rest().substr(0, scan.rest().find(" -- ")));
  else if (!scan.take(" has not launched any operations") && is_alone)
    return;
  if (const auto place = scan.rest().find(" -- "); place != std::string_view::npos)
    scan = Scan(scan.rest().substr(place));
  ++named_;
  RasRank& rank = into.named[*number];
  rank.rank = *number;
  add_place(scan, rank);
  if (is_alone || subject.alike.empty()) subject.alike.push_back(std::move(alone));
  AlikeRanks& alike = subject.alike.back();
  alike.ranks.push_back(*number);
  if (subject.about == RasSubject::kStatus) rank.state = alike.state;
  if (subject.about == RasSubject::kError) rank.error = alike.error;
  if (subject.about == RasSubject::kMissing) rank.state = RasState::kUnresponsive;
}

void RasTextReader::take_of_communicator(ReadCommunicator& into, std::string_view line) {
  if (open_subject(into, line)) return;
  ReadSubject& subject = into.subjects.back();
  Scan scan(line);
  if (scan.take("Rank ")) return take_rank(into, subject, scan);
  // Before 2.26: "The missing rank: 21", "The missing ranks: 21,22", "The unknown ranks: 1,2"
  if (scan.take("The missing rank") || scan.take("The unknown rank")) {
    (void)scan.take("s");
    if (!scan.take(": ")) return;
    for (const std::string_view number : split(scan.rest(), ',')) {
      const std::string as_line = fmt::format("{} -- ", trim(number));
      take_rank(into, subject, Scan(as_line));
    }
    return;
  }
  take_many(subject, scan);
}

void RasTextReader::take(std::string_view line) {
  if (take_heading(line)) return;
  switch (section_) {
    case Section::kNone:
      if (Scan scan(line); scan.take("NCCL version ")) answer_.version = printable(scan.until(" "));
      return;
    case Section::kSummary:
      return take_summary(line);
    case Section::kCommunicators:
      return take_group(line);
    case Section::kErrors:
    case Section::kWarnings:
      return take_block(line);
  }
}

// If the answer counts the ranks of one party only and names all others, the rest of the communicator is that party.
void RasTextReader::name_the_rest(const RasCommunicator& of, RasCount& count) {
  RasParty* unnamed = nullptr;
  std::vector<bool> taken(static_cast<std::size_t>(of.size), false);
  for (RasParty& party : count.parties) {
    for (const int rank : party.ranks) taken[static_cast<std::size_t>(rank)] = true;
    if (static_cast<int>(party.ranks.size()) == party.count) continue;
    if (unnamed != nullptr || !party.ranks.empty()) return;
    unnamed = &party;
  }
  if (unnamed == nullptr) return;
  for (const RasRank& rank : of.ranks)
    if (rank.state == RasState::kUnresponsive || rank.state == RasState::kDead ||
        rank.state == RasState::kNotMember)
      taken[static_cast<std::size_t>(rank.rank)] = true;
  std::vector<int> rest;
  for (int rank = 0; rank < of.size; ++rank)
    if (!taken[static_cast<std::size_t>(rank)]) rest.push_back(rank);
  if (static_cast<int>(rest.size()) == unnamed->count) unnamed->ranks = std::move(rest);
}

void RasTextReader::add_count(RasCommunicator& into, ReadSubject& subject, int reporting) {
  RasCount count{.function = std::move(subject.function)};
  int sum = 0;
  for (AlikeRanks& alike : subject.alike) {
    std::ranges::sort(alike.ranks);
    sum += std::min(alike.count, kMostRasRanks - std::min(sum, kMostRasRanks));
    count.parties.push_back({alike.launched, alike.count, std::move(alike.ranks)});
  }
  // Ranks that are missing here were lost on the way.
  if (sum != reporting) {
    ++answer_.unsound;
    return;
  }
  std::ranges::sort(count.parties, {}, &RasParty::launched);
  if (named_ < kMostRasRanks) {
    named_ += into.size;
    name_the_rest(into, count);
  }
  into.counts.push_back(std::move(count));
}

std::optional<RasCommunicator> RasTextReader::finished(ReadCommunicator& read) {
  const auto group = groups_.find(read.group);
  if (group == groups_.end()) return std::nullopt;
  RasCommunicator found{.id = std::move(read.id), .size = group->second.size};
  for (auto& [number, rank] : read.named) {
    if (number >= found.size) return std::nullopt;
    const bool dead = rank.pid && dead_.contains({rank.node, *rank.pid});
    if (rank.state == RasState::kUnresponsive && (dead || answer_.unresponsive_count == 0))
      rank.state = RasState::kDead;
    found.ranks.push_back(std::move(rank));
  }
  int missing = 0;
  bool status_is_told = false;
  for (const ReadSubject& subject : read.subjects) {
    if (subject.about == RasSubject::kMissing) missing = std::clamp(subject.missing, 0, found.size);
    if (subject.about != RasSubject::kStatus) continue;
    status_is_told = true;
    for (const AlikeRanks& alike : subject.alike) found.states.push_back({alike.state, alike.count});
  }
  if (missing > 0)
    found.states.push_back(
        {answer_.unresponsive_count == 0 ? RasState::kDead : RasState::kUnresponsive, missing});
  if (!status_is_told && missing < found.size)
    found.states.push_back({state_named(group->second.status), found.size - missing});
  std::ranges::stable_sort(found.states, std::ranges::greater{}, &RasTally::ranks);
  int reporting = found.size - missing;
  for (const RasTally& tally : found.states)
    if (tally.state == RasState::kNotMember) reporting -= std::min(tally.ranks, reporting);
  for (ReadSubject& subject : read.subjects)
    if (subject.about == RasSubject::kCount) add_count(found, subject, reporting);
  return found;
}

void RasTextReader::finish() {
  answer_.unresponsive_count =
      std::max(answer_.unresponsive_count, static_cast<int>(answer_.unresponsive.size()));
  answer_.dead_count = std::max(answer_.dead_count, static_cast<int>(answer_.dead.size()));
  for (const RasProcess& process : answer_.dead) dead_.emplace(process.node, process.pid);
  for (auto& [number, read] : communicators_) {
    if (auto communicator = finished(read))
      answer_.communicators.push_back(std::move(*communicator));
    else
      ++answer_.unsound;
  }
  for (auto& [number, group] : groups_) {
    answer_.communicator_count += std::min(group.communicators, kMostRasRanks - answer_.communicator_count);
    answer_.groups.push_back(std::move(group));
  }
}

Result<RasAnswer> RasTextReader::read(std::string_view text) {
  for (const std::string_view line : lines(text)) take(trim(line));
  if (section_ == Section::kNone) return fail(ErrorKind::kBadInput, "RAS's answer: no job summary is in it");
  // The last thing that RAS writes is an empty line.
  if (!whole_ || !text.ends_with("\n\n"))
    return fail(ErrorKind::kBadInput, fmt::format("RAS's answer ends early, after {} bytes", text.size()));
  finish();
  return std::move(answer_);
}

}  // namespace

Result<RasAnswer> read_ras_text(std::string_view text) { return RasTextReader().read(text); }

}  // namespace railbed::diagnose
