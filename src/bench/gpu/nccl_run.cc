#include "bench/gpu/nccl_run.h"

#include <algorithm>
#include <utility>

#include "bench/core/ask_all.h"

namespace railbed {
NcclRun::NcclRun(const std::vector<GpuNodeEnd>& nodes, std::string library, const OnNcclRun& on,
                 std::stop_token stop)
    : nodes_(nodes),
      wanted_library_(std::move(library)),
      on_(on),
      stop_(std::move(stop)),
      logs_(nodes.size()) {}

void NcclRun::run(const Start& start, const Take& take) {
  std::vector<int> first{0};
  if (nodes_.size() > 1 && !count_ranks(first)) return;
  count_ = first.back();
  const std::shared_future<std::string> made = id_.get_future().share();
  run_all(
      nodes_.size(),
      [&](std::size_t i, const std::stop_token&) {
        const std::string id = i == 0 ? "" : made.get();
        const bool can_join = i == 0 || !id.empty();
        return can_join ? node(i, first[i], id, start, take) : EndState::kWell;
      },
      stop_.token());
  std::ranges::sort(ranks, {}, &CollectiveRank::rank);
}

// Fills in each node's first rank, and the number of ranks after the last. Returns false if a node failed.
bool NcclRun::count_ranks(std::vector<int>& first) {
  std::vector<std::size_t> counts(nodes_.size());
  on_.measuring("asking for GPUs");
  run_all(
      nodes_.size(),
      [&](std::size_t i, std::stop_token stop) {
        counts[i] = nodes_[i].gpus.size();
        if (counts[i] > 0) return EndState::kWell;  // the caller named them
        const auto visible =
            ask<VisibleGpus>(*nodes_[i].peer, kVisibleGpus, VisibleGpus{}, kStartDeadline, std::move(stop));
        if (visible)
          counts[i] = visible->gpus.size();
        else
          give_up(i, "start", visible.error());
        return state_of(visible);
      },
      stop_.token());
  for (const std::size_t count : counts) first.push_back(first.back() + static_cast<int>(count));
  return !failure;
}

EndState NcclRun::node(std::size_t i, int first_rank, const std::string& id, const Start& start,
                       const Take& take) {
  const auto session =
      start(i, {nodes_[i].gpus, wanted_library_, first_rank, count_, id, nodes_[i].network}, stop_.token());
  Result<void> ended;
  if (!session)
    give_up(i, "start", session.error());
  else
    ended = follow_session(
        *nodes_[i].peer, session->session,
        {[&](std::string_view line) { take_line(i, line, take); },
         [&](std::string_view step) { say(i, step); }, [&](std::string_view text) { keep_log(i, text); }},
        stop_.token());
  if (!ended) give_up(i, "run", ended.error());
  if (i == 0 && !has_id_.exchange(true)) id_.set_value("");
  return session && ended ? EndState::kWell : EndState::kGone;
}

// Reports a step of the first node: of "all_reduce of 4 MiB, one by one" only the part before the comma,
// once.
void NcclRun::say(std::size_t i, std::string_view step) {
  if (i != 0 || step.substr(0, step.find(", ")) == said_) return;
  on_.measuring(said_ = step.substr(0, step.find(", ")));
}

// Passes on the log in whole lines. Lines of several nodes may be mixed.
void NcclRun::keep_log(std::size_t i, std::string_view text) {
  const std::lock_guard lock(mutex_);
  logs_[i] += text;
  const auto end = logs_[i].rfind('\n');
  if (end == std::string::npos) return;
  on_.log(std::string_view(logs_[i]).substr(0, end + 1));
  logs_[i].erase(0, end + 1);
}

// Keeps the first failure and stops all nodes. The others would otherwise wait for this node until their
// timeouts.
void NcclRun::give_up(std::size_t i, std::string stage, Error why, FailureKind kind) {
  if (why.kind == ErrorKind::kKilled) kind = FailureKind::kKilled;
  if (nodes_.size() > 1) why = at_node(nodes_[i].peer->node(), std::move(why));
  {
    const std::lock_guard lock(mutex_);
    if (!failure) failure = Failure{std::move(stage), std::move(why.text), "", kind};
  }
  stop_.request();
}

void NcclRun::take_line(std::size_t i, std::string_view line, const Take& take) {
  Result<std::optional<NodeNews>> news = std::nullopt;
  {
    const std::lock_guard lock(mutex_);
    news = take(i, line);
  }
  if (!news) return give_up(i, "run", news.error());
  if (*news) take_news(i, std::move(**news));
}

void NcclRun::take_news(std::size_t i, NodeNews news) {
  if (news.failure) return give_up(i, "run", {ErrorKind::kUnavailable, *news.failure}, news.kind);
  if (news.id && i == 0 && !has_id_.exchange(true)) id_.set_value(*news.id);
  const std::lock_guard lock(mutex_);
  if (news.version) version = *news.version;
  if (news.library) library = *news.library;
  if (!news.ranks) return;
  for (CollectiveRank& rank : *news.ranks) {
    rank.node = nodes_[i].peer->node();
    ranks.push_back(std::move(rank));
  }
  if (nodes_.size() == 1) count_ = static_cast<int>(ranks.size());
}

}  // namespace railbed
