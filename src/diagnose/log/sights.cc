// Answers whether an observation was made that a hypothesis names by its id: a line of the log that the tables
// recognise, another problem of the log, a conclusion from several lines, or what was seen elsewhere.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace {

template <class Item>
std::vector<Item> joined(std::initializer_list<std::span<const Item>> tables) {
  std::vector<Item> items;
  for (const auto table : tables) items.insert(items.end(), table.begin(), table.end());
  return items;
}

const std::vector<Question>& questions() {
  static const auto all =
      joined<Question>({nccl_questions(), nccl_network_questions(), torch_questions(), store_questions(),
                        rdma_questions(), ucx_questions(), rdma_library_questions(), gpu_questions(),
                        container_questions(), kernel_questions(), slurm_questions(), mpi_questions(),
                        ray_questions(), job_questions(), cluster_questions(), operating_questions()});
  return all;
}

const std::vector<Opposites>& opposites() {
  static const auto all = joined<Opposites>(
      {nccl_opposites(), nccl_network_opposites(), torch_opposites(), store_opposites(), rdma_opposites(),
       ucx_opposites(), rdma_library_opposites(), gpu_opposites(), container_opposites(), slurm_opposites(),
       mpi_opposites(), ray_opposites(), job_opposites(), operating_opposites()});
  return all;
}

// Returns whether what was seen on a node concerns the problem: its hosts are not known, it has one of that name, or
// the log calls the node by another name.
bool concerns(const Observation& observation, const Log& log, const LogProblem& problem) {
  const auto has = [&](const std::vector<std::string>& hosts) {
    return std::ranges::find(hosts, observation.node) != hosts.end();
  };
  return problem.hosts.empty() || has(problem.hosts) || !has(log.hosts);
}

// Returns the line or the problem of this id in the log, other than `but`; nothing if it has none.
std::optional<std::string> in_log(std::string_view id, const LogState& state, const LogProblem* but) {
  if (const auto line = state.seen.find(id); line != state.seen.end()) return at_line(line->second);
  for (const LogProblem& problem : state.log.problems)
    if (problem.symptom == id && &problem != but) return at_line(problem);
  return std::nullopt;
}

// Returns how the observation was made; nothing if it was not.
std::optional<std::string> find(std::string_view observation, const LogState& state,
                                const LogProblem& problem) {
  for (const Question& question : questions())
    if (question.id == observation)
      if (auto evidence = question.look(state, problem)) return evidence;
  if (auto evidence = in_log(observation, state, &problem)) return evidence;
  for (const Observation& other : state.others)
    if (other.id == observation && concerns(other, state.log, problem)) return other.evidence;
  return std::nullopt;
}

}  // namespace

std::string place_text(std::string_view file, std::uint64_t line) {
  return file.empty() ? fmt::format("line {}", line) : fmt::format("{}:{}", file, line);
}

std::string at_line(const LogSight& sight) {
  return fmt::format("{}: {}", place_text(sight.file, sight.line), sight.text);
}

std::string at_line(const LogProblem& problem) {
  return fmt::format("{}: {}", place_text(problem.file, problem.line), problem.message);
}

std::optional<std::string> first_seen(const LogState& state, std::span<const std::string_view> ids,
                                      const LogProblem* but) {
  for (const std::string_view id : ids) {
    if (auto evidence = in_log(id, state, but)) return evidence;
    const auto other = std::ranges::find(state.others, id, &Observation::id);
    if (other != state.others.end()) return other->evidence;
  }
  return std::nullopt;
}

Seen look_for(std::string_view observation, const LogState& state, const LogProblem& problem) {
  if (auto evidence = find(observation, state, problem)) return {Answer::kYes, std::move(*evidence)};
  const auto excluded_by = [&](std::string_view opposite) -> Seen {
    auto evidence = find(opposite, state, problem);
    return evidence ? Seen{Answer::kNo, std::move(*evidence)} : Seen{};
  };
  for (const auto& [one, other] : opposites()) {
    Seen seen;
    if (one == observation) seen = excluded_by(other);
    if (other == observation) seen = excluded_by(one);
    if (seen.answer == Answer::kNo) return seen;
  }
  // A rule of verify is red or green.
  if (observation.starts_with("red:")) return excluded_by("green:" + std::string(observation.substr(4)));
  if (observation.starts_with("green:")) return excluded_by("red:" + std::string(observation.substr(6)));
  return {};
}

}  // namespace railbed::diagnose
