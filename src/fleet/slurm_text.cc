#include "fleet/slurm_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "fleet/frame.h"
#include "fleet/marked_line.h"
#include "inventory/hostlist.h"

namespace railbed::fleet {
namespace {

constexpr std::size_t kMostNodes = 100'000;
constexpr std::size_t kMostJobs = 100'000;
constexpr std::size_t kMostPartitions = 64;  // limit for one node
constexpr std::size_t kLongestName = 255;
constexpr std::size_t kLongestHostlist = 1 << 20;

// A state of sinfo(1), "NODE STATE CODES": a word, and a character for additional information.
struct State {
  std::string_view word;
  char mark = 0;
};
State split_state(std::string_view state) {
  const bool marked =
      !state.empty() && std::string_view("*~#%$@^!-+").find(state.back()) != std::string_view::npos;
  return marked ? State{state.substr(0, state.size() - 1), state.back()} : State{state};
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

// Returns why a node in this state cannot be used, whatever the use; empty if it can.
std::string_view trouble_of(const State& state) {
  if (state.mark == '*') return "it does not respond to Slurm";
  if (state.mark == '~' || is_one_of(state.word, {"powered_down", "power_down"}))
    return "Slurm has powered it down";
  if (state.mark == '#' || state.word == "powering_up") return "Slurm is powering it up";
  if (state.mark == '%' || state.mark == '!' || state.word == "powering_down")
    return "Slurm is powering it down";
  if (state.mark == '^' || state.mark == '@' || is_one_of(state.word, {"reboot", "reboot_issued"}))
    return "Slurm is rebooting it";
  if (state.word == "down") return "Slurm holds it for down";
  if (state.word == "drained") return "it is drained";
  if (is_one_of(state.word, {"fail", "failing", "error"})) return "Slurm holds it for failing";
  if (is_one_of(state.word, {"unknown", "future", "no_respond"})) return "Slurm has not heard of it yet";
  return "";
}

// Returns why a node in this state cannot be used now in this way; empty if it can.
std::string_view busy_of(const State& state, SlurmUse use, bool reserved) {
  if (state.word == "draining") return "it is being drained, and a job still runs there";
  if (state.mark == '$' || is_one_of(state.word, {"maint", "reserved", "inval"}))
    return reserved && state.word != "inval" ? "" : "it is reserved (SALLOC_RESERVATION names a reservation)";
  if (is_one_of(state.word, {"idle", "planned", "completing"})) return "";
  if (is_one_of(state.word, {"mixed", "allocated"}) && use == SlurmUse::kOverlap) return "";
  return "another job runs there; wait for its end (squeue -w), or allow that with --overlap";
}

bool is_given(std::string_view reason) { return !reason.empty() && reason != "none" && reason != "(null)"; }

}  // namespace

bool is_slurm_name(std::string_view name) {
  return is_plain_word(name, kLongestName) && !name.starts_with('-') &&
         name.find_first_of(",[]|*") == std::string_view::npos;
}

std::string slurm_node_format(std::string_view nonce) { return fmt::format("{}|%N|%T|%P|%E", nonce); }

SlurmNodes parse_slurm_nodes(std::string_view text, std::string_view nonce) {
  SlurmNodes found;
  std::map<std::string, std::size_t, std::less<>> places;
  for (const std::string_view line : lines(text)) {
    const auto fields = marked_fields(line, nonce, 4);
    if (fields.empty() || !is_slurm_name(fields[0])) continue;
    const bool standard = fields[2].ends_with('*');
    const std::string partition(fields[2].substr(0, fields[2].size() - (standard ? 1 : 0)));
    const auto [place, first] = places.emplace(fields[0], found.nodes.size());
    if (first && found.nodes.size() == kMostNodes) break;
    if (first)
      found.nodes.push_back(
          {std::string(fields[0]), quotable(fields[1]), is_given(fields[3]) ? quotable(fields[3]) : "", {}});
    if (!is_slurm_name(partition)) continue;
    if (standard) found.standard_partition = partition;
    auto& partitions = found.nodes[place->second].partitions;
    if (partitions.size() < kMostPartitions) partitions.push_back(partition);
  }
  return found;
}

std::string slurm_job_format(std::string_view nonce) { return fmt::format("{}|%A|%u|%N", nonce); }

std::vector<SlurmJob> parse_slurm_jobs(std::string_view text, std::string_view nonce) {
  std::vector<SlurmJob> jobs;
  for (const std::string_view line : lines(text)) {
    const auto fields = marked_fields(line, nonce, 3);
    if (fields.empty() || jobs.size() == kMostJobs) continue;
    if (const auto number = parse_number<std::uint64_t>(fields[0]))
      jobs.push_back(
          {*number, quotable(fields[1]), slurm_names(fields[2]).value_or(std::vector<std::string>())});
  }
  return jobs;
}

std::optional<std::string> why_not(const SlurmNodeState& node, SlurmUse use, bool reserved) {
  const State state = split_state(node.state);
  std::string_view why = trouble_of(state);
  if (why.empty() && use != SlurmUse::kJob) why = busy_of(state, use, reserved);
  if (why.empty()) return std::nullopt;
  std::string text = fmt::format("{} (state {}", why, node.state);
  if (!node.reason.empty()) text += fmt::format(", reason: {}", node.reason);
  return text + ")";
}

std::string partition_of_all(const std::vector<SlurmNodeState>& nodes, const std::string& standard) {
  if (nodes.empty()) return "";
  const auto has_all = [&](const std::string& partition) {
    return std::ranges::all_of(nodes, [&](const SlurmNodeState& node) {
      return std::ranges::find(node.partitions, partition) != node.partitions.end();
    });
  };
  if (!standard.empty() && has_all(standard)) return standard;
  const auto& candidates = nodes.front().partitions;
  const auto found = std::ranges::find_if(candidates, has_all);
  return found == candidates.end() ? "" : *found;
}

std::string slurm_hostlist(const std::vector<std::string>& names) {
  std::string list = fold_hostlist(names);
  std::erase(list, ' ');
  return list;
}

Result<std::vector<std::string>> slurm_names(std::string_view hostlist) {
  if (hostlist.size() > kLongestHostlist) return fail(ErrorKind::kBadInput, "a list of more than 1 MiB");
  ASSIGN_OR_RETURN(auto names, named_hosts(hostlist));
  for (const std::string& name : names)
    if (!is_slurm_name(name))
      return fail(ErrorKind::kBadInput, fmt::format("\"{}\" is no name of a node", printable(name)));
  return names;
}

}  // namespace railbed::fleet
