// The JSON of RAS is a dump of all ranks: see jsonWriteHeader() and its neighbours in NVIDIA/nccl,
// src/ras/client_support.cc.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "base/json.h"
#include "base/result.h"
#include "diagnose/ras/ras_answer.h"
#include "nccl/version.h"

namespace railbed::diagnose {
namespace {

// The document's own shape, with its names.
struct WrittenStatus {
  int init_state = 0;
  int async_error = 0;
  bool finalize_called = false;
  bool destroy_flag = false;
  bool abort_flag = false;
  bool unresponsive = false;  // of missing ranks, as the next
  bool considered_dead = false;
  FIELDS(WrittenStatus, init_state, async_error, finalize_called, destroy_flag, abort_flag, unresponsive,
         considered_dead);
};

struct WrittenRank {
  int rank = -1;
  std::string host;  // "unknown" if RAS does not know
  int pid = -1;      // -1 if RAS does not know
  int nvml_dev = -1;
  WrittenStatus status;
  std::map<std::string, std::uint64_t> collective_counts;
  FIELDS(WrittenRank, rank, host, pid, nvml_dev, status, collective_counts);
};

struct WrittenCommunicator {
  std::string hash;
  int size = 0;
  std::vector<WrittenRank> ranks;
  std::vector<WrittenRank> missing_ranks;
  FIELDS(WrittenCommunicator, hash, size, ranks, missing_ranks);
};

struct WrittenRas {
  int timeouts_count = 0;
  FIELDS(WrittenRas, timeouts_count);
};

struct WrittenAnswer {
  std::string nccl_version;
  std::vector<WrittenCommunicator> communicators;
  WrittenRas ras;
  FIELDS(WrittenAnswer, nccl_version, communicators, ras);
};

// Values of ncclResult_t (nccl.h) in the words of RAS's text. Empty for success and for work in progress.
std::string error_text(int result) {
  constexpr std::array<std::string_view, 9> kTexts = {
      "",
      "Unhandled CUDA error",
      "System error",
      "Internal error",
      "Invalid argument",
      "Invalid usage",
      "Remote process error",
      "",          // in progress
      "Timeout"};  // since 2.30; the text says "Unexpected error"
  if (result < 0 || result >= static_cast<int>(kTexts.size())) return fmt::format("error {}", result);
  return std::string(kTexts[static_cast<std::size_t>(result)]);
}

// RAS's text chooses in this order, too: src/ras/client_support.cc, rasClientRunComms().
RasState state_of(const WrittenStatus& status) {
  if (status.abort_flag) return RasState::kAbort;
  if (status.finalize_called || status.destroy_flag) return RasState::kFinalize;
  return status.init_state == 0 ? RasState::kRunning : RasState::kInit;
}

RasState missing_state_of(const WrittenStatus& status) {
  if (status.considered_dead) return RasState::kDead;
  return status.unresponsive ? RasState::kUnresponsive : RasState::kNotMember;
}

RasRank rank_of(const WrittenRank& written, RasState state) {
  RasRank rank{.rank = written.rank, .state = state};
  if (written.host != "unknown") rank.node = written.host;
  if (written.pid >= 0) rank.pid = written.pid;
  if (written.nvml_dev >= 0) rank.gpu = written.nvml_dev;
  return rank;
}

// Ranks with the same number of launched collectives are a party.
class CountsByFunction {
 public:
  void add(const WrittenRank& written) {
    for (const auto& [function, launched] : written.collective_counts)
      counts_[function][launched].push_back(written.rank);
  }
  std::vector<RasCount> take() {
    std::vector<RasCount> found;
    for (auto& [function, parties] : counts_) {
      RasCount& count = found.emplace_back(RasCount{.function = function});
      for (auto& [launched, ranks] : parties) {
        std::ranges::sort(ranks);
        count.parties.push_back({launched, static_cast<int>(ranks.size()), std::move(ranks)});
      }
    }
    return found;
  }

 private:
  std::map<std::string, std::map<std::uint64_t, std::vector<int>>> counts_;
};

std::vector<RasTally> tally(const std::vector<RasRank>& ranks) {
  std::map<RasState, int> numbers;
  for (const RasRank& rank : ranks) ++numbers[rank.state];
  std::vector<RasTally> tallies;
  for (const auto& [state, number] : numbers) tallies.push_back({state, number});
  std::ranges::stable_sort(tallies, std::ranges::greater{}, &RasTally::ranks);
  return tallies;
}

// A rank that is out of range, or comes twice, is left out: NCCL may answer so while communicators start (NVIDIA/nccl
// issue 2346, 2.29.7).
RasCommunicator communicator_of(const WrittenCommunicator& written, int& unsound) {
  RasCommunicator found{.id = written.hash.starts_with("0x") ? written.hash.substr(2) : written.hash,
                        .size = written.size};
  if (found.id.size() < 16) found.id.insert(0, 16 - found.id.size(), '0');
  std::set<int> seen;
  const auto is_sound = [&](const WrittenRank& rank) {
    const bool sound = rank.rank >= 0 && rank.rank < written.size && seen.insert(rank.rank).second;
    if (!sound) ++unsound;
    return sound;
  };
  CountsByFunction counts;
  for (const WrittenRank& rank : written.ranks) {
    if (!is_sound(rank)) continue;
    RasRank& added = found.ranks.emplace_back(rank_of(rank, state_of(rank.status)));
    added.error = error_text(rank.status.init_state);
    if (added.error.empty()) added.error = error_text(rank.status.async_error);
    counts.add(rank);
  }
  for (const WrittenRank& rank : written.missing_ranks)
    if (is_sound(rank)) found.ranks.push_back(rank_of(rank, missing_state_of(rank.status)));
  std::ranges::sort(found.ranks, {}, &RasRank::rank);
  found.states = tally(found.ranks);
  found.counts = counts.take();
  return found;
}

// A process counts once, whatever number of communicators it is in.
class ProcessesOfRanks {
 public:
  void add(const RasRank& rank) {
    if (rank.node.empty() || !rank.pid) return;
    nodes_.insert(rank.node);
    auto& [state, gpus] = found_[{rank.node, *rank.pid}];
    if (rank.state == RasState::kUnresponsive || rank.state == RasState::kDead) state = rank.state;
    if (rank.gpu) gpus.insert(*rank.gpu);
  }
  void write(RasAnswer& answer) const {
    answer.nodes = static_cast<int>(nodes_.size());
    answer.processes = static_cast<int>(found_.size());
    for (const auto& [process, seen] : found_) {
      const auto& [state, gpus] = seen;
      if (state == RasState::kUnknown) continue;
      std::string numbers;
      for (const int gpu : gpus) numbers += fmt::format("{}{}", numbers.empty() ? "" : ",", gpu);
      (state == RasState::kDead ? answer.dead : answer.unresponsive)
          .push_back({process.second, process.first, numbers});
    }
    answer.dead_count = static_cast<int>(answer.dead.size());
    answer.unresponsive_count = static_cast<int>(answer.unresponsive.size());
  }

 private:
  std::set<std::string> nodes_;
  std::map<std::pair<std::string, int>, std::pair<RasState, std::set<int>>> found_;
};

// NCCL 2.28.7 to 2.28.9 write no comma between the GPU and the status of a missing rank. Returns the text with it.
std::string with_status_commas(std::string_view text) {
  constexpr std::string_view kGpu = "\"nvml_dev\": ";
  std::string mended;
  for (;;) {
    const auto at = text.find(kGpu);
    if (at == std::string_view::npos) return mended += text;
    const auto end = std::min(text.find_first_not_of("-0123456789", at + kGpu.size()), text.size());
    mended += text.substr(0, end);
    text.remove_prefix(end);
    const auto next = text.find_first_not_of(" \n");
    if (next != std::string_view::npos && text.substr(next).starts_with("\"status\"")) mended += ',';
  }
}

}  // namespace

bool may_ask_for_ras_text(std::string_view json) {
  constexpr std::string_view kVersion = "\"nccl_version\": \"";
  const std::string_view head = json.substr(0, 256);
  const auto at = head.find(kVersion);
  if (at == std::string_view::npos) return false;
  const std::string_view rest = head.substr(at + kVersion.size());
  const auto version = nccl::Version::parse(rest.substr(0, rest.find('"')));
  return version && *version >= nccl::Version{2, 29, 2};
}

Result<RasAnswer> read_ras_json(std::string_view text) {
  auto document = json::parse(text);
  if (!document) document = json::parse(with_status_commas(text));
  if (!document) return fail(document.error(), "RAS's answer");
  if (!document->is_object() || !document->contains("communicators"))
    return fail(ErrorKind::kBadInput, "RAS's answer: no list of communicators is in it");
  auto written = json::decode<WrittenAnswer>(*document);
  if (!written) return fail(written.error(), "RAS's answer");
  if (written->communicators.size() > kMostRasCommunicators)
    return fail(ErrorKind::kBadInput, fmt::format("RAS's answer: {} communicators, more than {}",
                                                  written->communicators.size(), kMostRasCommunicators));
  RasAnswer answer{.version = std::move(written->nccl_version), .names_all = true};
  answer.timeouts = written->ras.timeouts_count;
  ProcessesOfRanks processes;
  for (const WrittenCommunicator& one : written->communicators) {
    if (one.size <= 0 || one.size > kMostRasRanks) {
      ++answer.unsound;
      continue;
    }
    const RasCommunicator& added = answer.communicators.emplace_back(communicator_of(one, answer.unsound));
    for (const RasRank& rank : added.ranks) processes.add(rank);
  }
  answer.communicator_count = static_cast<int>(answer.communicators.size());
  processes.write(answer);
  return answer;
}

}  // namespace railbed::diagnose
