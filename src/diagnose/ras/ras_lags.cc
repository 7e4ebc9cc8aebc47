// Counts only grow. So if the lowest count of a communicator is the same in both answers, each rank that has it now had
// it before: it launched nothing. If others were ahead in the first answer already, that rank lags. This needs no
// names, and holds for text, which names few ranks.
#include "diagnose/ras/ras_lags.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace railbed::diagnose {
namespace {

using RasById = std::map<std::string, const RasCommunicator*>;

// Communicators of one hash are left out: they cannot be told apart.
RasById by_id(const RasAnswer& answer) {
  RasById found;
  for (const RasCommunicator& communicator : answer.communicators) {
    const auto [at, added] = found.emplace(communicator.id, &communicator);
    if (!added) at->second = nullptr;
  }
  return found;
}

template <class Visit>
void each_common(const RasPair& pair, Visit visit) {
  const RasById first = by_id(pair.first);
  for (const auto& [id, after] : by_id(pair.second)) {
    const auto before = first.find(id);
    if (after != nullptr && before != first.end() && before->second != nullptr &&
        before->second->size == after->size)
      visit(*before->second, *after);
  }
}

const RasCount* find_count(const RasCommunicator& communicator, const std::string& function) {
  const auto found = std::ranges::find(communicator.counts, function, &RasCount::function);
  return found == communicator.counts.end() ? nullptr : &*found;
}

std::vector<std::pair<std::uint64_t, int>> steps_ahead(const RasCount& count) {
  std::vector<std::pair<std::uint64_t, int>> steps;
  for (const RasParty& party : count.parties)
    if (party.launched > count.parties.front().launched) steps.emplace_back(party.launched, party.count);
  return steps;
}

void add_ranks(const RasCommunicator& communicator, const RasParty& party, std::vector<RasRank>& ranks) {
  for (const int rank : party.ranks) {
    const RasRank* known = communicator.find(rank);
    ranks.push_back(known != nullptr ? *known : RasRank{.rank = rank});
  }
}

// A rank that initializes or tears down the communicator is not late.
bool all_run(const std::vector<RasRank>& ranks) {
  return std::ranges::all_of(ranks, [](const RasRank& rank) {
    return rank.state == RasState::kRunning || rank.state == RasState::kUnknown;
  });
}

std::vector<int> numbers_of(const std::vector<RasRank>& ranks) {
  std::vector<int> numbers;
  for (const RasRank& rank : ranks) numbers.push_back(rank.rank);
  return numbers;
}

// Calls of one communicator that the same ranks have not launched are one lag.
void add_lag(std::vector<RasLag>& lags, std::size_t from, RasLag lag) {
  for (std::size_t i = from; i < lags.size(); ++i)
    if (!lag.behind.empty() && numbers_of(lags[i].behind) == numbers_of(lag.behind)) {
      lags[i].calls.push_back(lag.calls.front());
      lags[i].others_go_on = lags[i].others_go_on || lag.others_go_on;
      if (lag.waiting_count > lags[i].waiting_count) {
        lags[i].waiting_count = lag.waiting_count;
        lags[i].waiting = std::move(lag.waiting);
      }
      return;
    }
  lags.push_back(std::move(lag));
}

void add_lags_of(const RasCommunicator& before, const RasCommunicator& after, std::vector<RasLag>& lags) {
  const std::size_t from = lags.size();
  for (const RasCount& count : after.counts) {
    const RasCount* earlier = find_count(before, count.function);
    if (earlier == nullptr || earlier->parties.size() < 2 || count.parties.size() < 2) continue;
    const RasParty& lowest = count.parties.front();
    if (earlier->parties.front().launched != lowest.launched) continue;
    RasLag lag{
        .communicator = after.id, .size = after.size, .calls = {{count.function, lowest.launched + 1}}};
    lag.behind_count = lowest.count;
    add_ranks(after, lowest, lag.behind);
    bool named = true;
    for (std::size_t i = 1; i < count.parties.size(); ++i) {
      lag.waiting_count += count.parties[i].count;
      named = named && !count.parties[i].ranks.empty();
      add_ranks(after, count.parties[i], lag.waiting);
    }
    if (!named) lag.waiting.clear();
    lag.others_go_on = steps_ahead(*earlier) != steps_ahead(count);
    if (all_run(lag.behind)) add_lag(lags, from, std::move(lag));
  }
}

// A rank of the job, whatever its number in a communicator.
using RasPlace = std::tuple<std::string, int, int>;

std::set<RasPlace> places_of(const std::vector<RasRank>& ranks) {
  std::set<RasPlace> places;
  for (const RasRank& rank : ranks)
    if (!rank.node.empty() && rank.pid && rank.gpu) places.emplace(rank.node, *rank.pid, *rank.gpu);
  return places;
}

void find_followers(std::vector<RasLag>& lags) {
  std::map<RasPlace, std::set<std::string>> waits_in;
  for (const RasLag& lag : lags)
    for (const RasPlace& place : places_of(lag.waiting)) waits_in[place].insert(lag.communicator);
  const auto waits_elsewhere = [&](const RasPlace& place, const std::string& communicator) {
    const auto found = waits_in.find(place);
    return found != waits_in.end() && found->second.size() > found->second.count(communicator);
  };
  for (RasLag& lag : lags) {
    const auto places = places_of(lag.behind);
    lag.follows = !places.empty() && places.size() == lag.behind.size() &&
                  std::ranges::all_of(places, [&](const RasPlace& place) {
                    return waits_elsewhere(place, lag.communicator);
                  });
  }
}

}  // namespace

bool ras_ranks_disagree(const RasLag& one, const RasLag& other) {
  if (one.communicator != other.communicator || one.behind.empty() || other.behind.empty()) return false;
  const auto left = numbers_of(one.behind);
  const auto right = numbers_of(other.behind);
  return std::ranges::none_of(left, [&](int rank) { return std::ranges::binary_search(right, rank); });
}

bool ras_counts_grew(const RasPair& pair) {
  bool grew = false;
  each_common(pair, [&](const RasCommunicator& before, const RasCommunicator& after) {
    for (const RasCount& count : after.counts) {
      const RasCount* earlier = find_count(before, count.function);
      if (earlier == nullptr || earlier->parties.empty() || count.parties.empty()) continue;
      grew = grew || count.parties.back().launched > earlier->parties.back().launched ||
             count.parties.front().launched > earlier->parties.front().launched;
    }
  });
  return grew;
}

std::vector<RasLag> find_ras_lags(const RasPair& pair) {
  std::vector<RasLag> lags;
  each_common(pair, [&](const RasCommunicator& before, const RasCommunicator& after) {
    add_lags_of(before, after, lags);
  });
  find_followers(lags);
  // The fewer are behind, the nearer to the cause: those that wait for them are behind elsewhere.
  std::ranges::stable_sort(lags, {}, [](const RasLag& lag) {
    return std::tuple(lag.others_go_on, lag.follows, lag.behind_count, -lag.waiting_count);
  });
  return lags;
}

}  // namespace railbed::diagnose
