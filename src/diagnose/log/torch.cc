// Reads the lines of PyTorch's process group: the operation that a rank waited for, how far the others were,
// and the last warning of NCCL that it quotes, which is often the only part of a log that people keep
// (torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp prints them).
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace {

constexpr std::size_t kMostTorchRanks = 1 << 20;

TorchRank* torch_rank(std::map<int, TorchRank>& ranks, int rank) {
  if (rank < 0 || (ranks.size() >= kMostTorchRanks && !ranks.contains(rank))) return nullptr;
  TorchRank& found = ranks[rank];
  found.rank = rank;
  return &found;
}

}  // namespace

// Reads "ncclSystemError: … Last error:", and the next line with the same prefix of a launcher, which has
// NCCL's message or none.
bool LogState::read_last_error(std::string_view line) {
  if (last_error_prefix) {
    if (!line.starts_with(*last_error_prefix)) return false;  // a line of another rank in between
    const std::string_view words = trim(line.substr(last_error_prefix->size()));
    last_error_prefix.reset();
    read_quoted(words);
    return true;
  }
  constexpr std::string_view kMark = "Last error:";
  const std::size_t at = line.find(kMark);
  if (at == std::string_view::npos) return false;
  const std::string_view words = trim(line.substr(at + kMark.size()));
  if (words.empty()) last_error_prefix = line.substr(0, at);
  read_quoted(words);
  return true;
}

void LogState::read_torch(std::string_view line) {
  read_torch_ranks(line);
  if (read_last_error(line)) return;
  if (line.find("Watchdog caught collective operation timeout") != std::string_view::npos) {
    // The rank in the message is that in its process group; PyTorch's prefix "[rank3]:" has that in the job.
    if (TorchRank* const found = torch_rank(torch, speaking_rank(line))) {
      found->timed_out = number_after<std::int64_t>(line, "SeqNum=").value_or(-1);
      found->operation = word_after(line, "OpType=");
    }
    if (!std::exchange(timed_out, true) && !log.communicators.empty())
      for (const LogRank& rank : log.communicators.front().ranks)
        if (rank.operations) called_at_timeout[rank.rank] = *rank.operations;
    read_symptom(line, nullptr, nullptr, false);
  } else if (line.find("ast enqueued ") != std::string_view::npos) {
    // "… Rank 1] … Last enqueued NCCL work: 4, last completed NCCL work: 4."
    const int spoken = speaking_rank(line);
    const auto rank = spoken >= 0 ? std::optional(spoken) : number_after(line, " Rank ");
    if (TorchRank* const found = rank ? torch_rank(torch, *rank) : nullptr) {
      for (const std::string_view words : {"ast enqueued NCCL work: ", "last enqueued work: "})
        if (const auto number = number_after<std::int64_t>(line, words)) found->enqueued = *number;
      for (const std::string_view words : {"last completed NCCL work: ", "last completed work: "})
        if (const auto number = number_after<std::int64_t>(line, words)) found->completed = *number;
    }
    read_symptom(line, nullptr, nullptr, false);
  } else if (line.find("] finished collective #") != std::string_view::npos) {
    // "[1] finished collective #4, but didn't join collective #5"
    const auto rank = number_after(line, "[");
    const auto number = number_after<std::int64_t>(line, "finished collective #");
    if (TorchRank* const found = rank && number ? torch_rank(torch, *rank) : nullptr) {
      found->enqueued = found->completed = *number;
    }
  } else {
    const std::size_t before = log.problems.size();
    const bool harmless = read_symptom(line, nullptr, nullptr, false);
    if (log.problems.size() == before && !harmless) read_telling(line);
  }
}

}  // namespace railbed::diagnose
