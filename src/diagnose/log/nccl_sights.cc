// Observations in what NCCL and nccl-tests print that confirm or refute causes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <utility>

#include "base/ip.h"
#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace {

using Evidence = std::optional<std::string>;

Evidence memlock_is_unlimited(const LogState& state, const LogProblem&) {
  if (state.memlock_unlimited.line == 0 || state.memlock_limited.line != 0) return std::nullopt;
  return at_line(state.memlock_unlimited);
}

Evidence memlock_is_limited(const LogState& state, const LogProblem&) {
  if (state.memlock_limited.line == 0) return std::nullopt;
  return at_line(state.memlock_limited);
}

Evidence device_is_a_slice(const LogState& state, const LogProblem&) {
  if (state.mig.line == 0) return std::nullopt;
  return at_line(state.mig);
}

const LogRank* find_rank(const Log& log, std::optional<int> number) {
  if (!number || log.communicators.empty()) return nullptr;
  const auto& ranks = log.communicators.front().ranks;
  const auto found = std::ranges::find(ranks, *number, &LogRank::rank);
  return found == ranks.end() ? nullptr : &*found;
}

// "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 17000"
Evidence ranks_are_on_two_hosts(const LogState& state, const LogProblem& problem) {
  const LogRank* const one = find_rank(state.log, number_after(problem.message, ": rank "));
  const LogRank* const other = find_rank(state.log, number_after(problem.message, "and rank "));
  if (one == nullptr || other == nullptr || one->host == other->host) return std::nullopt;
  return fmt::format("rank {} is on {}, rank {} on {}", one->rank, one->host, other->rank, other->host);
}

Evidence ranks_are_on_one_host(const LogState& state, const LogProblem& problem) {
  const LogRank* const one = find_rank(state.log, number_after(problem.message, ": rank "));
  const LogRank* const other = find_rank(state.log, number_after(problem.message, "and rank "));
  if (one == nullptr || other == nullptr || one->host != other->host) return std::nullopt;
  return fmt::format("rank {} and rank {} are on {}", one->rank, other->rank, one->host);
}

Evidence segment_has_no_size(const LogState&, const LogProblem& problem) {
  if (problem.message.find("(size 0)") == std::string::npos) return std::nullopt;
  return "the segment's size is 0 and its name is no name of NCCL's: a reader took something else for it";
}

Evidence segment_is_not_there(const LogState&, const LogProblem& problem) {
  if (problem.message.find("No such file") == std::string::npos) return std::nullopt;
  return "the segment that the other rank made is not there; a full /dev/shm says \"No space left on device\"";
}

// Returns the first three bytes' network of IPv4, the usual /64 of IPv6: logs have no prefix lengths.
std::optional<Subnet> usual_subnet(std::string_view text) {
  if (text.starts_with("::ffff:")) text.remove_prefix(7);
  const auto address = IpAddress::parse(text);
  if (!address || address->is_link_local()) return std::nullopt;
  return Subnet::of(*address, address->is_v4() ? 24 : 64);
}

// "Connect to 10.0.0.4<56849> returned 113(No route to host)"
Evidence peer_is_a_neighbour(const LogState& state, const LogProblem& problem) {
  Scan scan(problem.message);
  if (!scan.skip_past("onnect to ")) return std::nullopt;
  const std::string_view peer = scan.until("< ");
  const auto subnet = usual_subnet(peer);
  for (const LogInterface& own : state.log.interfaces) {
    const bool concerned = std::ranges::find(problem.hosts, own.host) != problem.hosts.end();
    if (!subnet || !concerned || is_bridge(own.name) || usual_subnet(own.address) != subnet) continue;
    return fmt::format("{} calls from {} ({}), and {} is its neighbour there", own.host, own.address,
                       own.name, peer);
  }
  return std::nullopt;
}

// Returns the word after the last of these words: "local GID index 3, local GID ::1" has them twice.
std::string_view word_after_last(std::string_view text, std::string_view words) {
  const auto at = text.rfind(words);
  return at == std::string_view::npos ? std::string_view() : word_after(text.substr(at), words);
}

// "… local GID ::ffff:192.168.12.1, remote GID ::ffff:192.168.31.3"
struct Gids {
  std::string_view local, remote;
  std::optional<Subnet> ours, theirs;
  explicit Gids(const LogProblem& problem)
      : local(word_after_last(problem.message, "local GID ")),
        remote(word_after_last(problem.message, "remote GID ")),
        ours(usual_subnet(local)),
        theirs(usual_subnet(remote)) {}
};

Evidence gids_are_of_two_subnets(const LogState&, const LogProblem& problem) {
  const Gids gids(problem);
  if (!gids.ours || !gids.theirs || gids.ours == gids.theirs) return std::nullopt;
  return fmt::format("{} and {} look like two subnets", gids.local, gids.remote);
}

Evidence gids_are_of_one_subnet(const LogState&, const LogProblem& problem) {
  const Gids gids(problem);
  if (!gids.ours || gids.ours != gids.theirs) return std::nullopt;
  return fmt::format("{} and {} look like one subnet", gids.local, gids.remote);
}

Evidence all_are_on_one_node(const LogState& state, const LogProblem&) {
  if (state.log.communicators.empty() || state.log.communicators.front().nodes != 1) return std::nullopt;
  return "all ranks are on one node, where 127.0.0.1 reaches every one of them";
}

Evidence are_on_several_nodes(const LogState& state, const LogProblem&) {
  std::set<std::string_view> hosts;
  for (const LogProcess& process : state.processes) hosts.insert(process.host);
  const int nodes = state.log.communicators.empty() ? 0 : state.log.communicators.front().nodes;
  if (nodes < 2 && hosts.size() < 2) return std::nullopt;
  if (nodes > 1) return fmt::format("the job runs on {} nodes", nodes);
  return fmt::format("the log has lines of {} and {}", *hosts.begin(), *std::next(hosts.begin()));
}

constexpr Question kQuestions[] = {
    {"memlock-unlimited", memlock_is_unlimited},
    {"memlock-limited", memlock_is_limited},
    {"mig-slice", device_is_a_slice},
    {"ranks-on-two-hosts", ranks_are_on_two_hosts},
    {"ranks-on-one-host", ranks_are_on_one_host},
    {"segment-without-size", segment_has_no_size},
    {"segment-not-there", segment_is_not_there},
    {"peer-is-neighbour", peer_is_a_neighbour},
    {"gids-of-two-subnets", gids_are_of_two_subnets},
    {"gids-of-one-subnet", gids_are_of_one_subnet},
    {"one-node", all_are_on_one_node},
    {"several-nodes", are_on_several_nodes},
};

constexpr Opposites kOpposites[] = {
    {"memlock-unlimited", "memlock-limited"},
    {"ranks-on-two-hosts", "ranks-on-one-host"},
    {"gids-of-two-subnets", "gids-of-one-subnet"},
    {"one-node", "several-nodes"},
};

constexpr std::size_t kLongestSight = 200;
constexpr std::size_t kMostHosts = 4096;
constexpr std::size_t kMostOnOneHost = 1024;

// Returns whether the line names a slice: "NVIDIA H100 80GB HBM3 MIG 3g.40gb", "MIG-5c3f…" as a UUID. nvidia-smi's
// heading "MIG M." is none.
bool names_slice(std::string_view line) {
  for (std::size_t at = line.find("MIG"); at != std::string_view::npos; at = line.find("MIG", at + 3)) {
    const std::string_view rest = line.substr(at + 3);
    if (rest.size() < 3) return false;
    if (rest[0] == '-' && (rest.starts_with("-GPU-") || std::isxdigit(static_cast<unsigned char>(rest[1]))))
      return true;
    if (rest[0] == ' ' && is_digit(rest[1]) && (rest[2] == 'g' || rest[2] == 'c')) return true;
  }
  return false;
}

// A limit of locked memory as programs print it: `ulimit -a` and /proc/PID/limits ("max locked memory … unlimited"),
// "memlock unlimited", docker's "--ulimit memlock=-1", libibverbs' "RLIMIT_MEMLOCK is 65536 bytes".
enum class Memlock { kNone, kUnlimited, kLimited };

Memlock memlock_in(std::string_view line) {
  const std::string small = lower(line);
  for (const std::string_view name : {"max locked memory", "rlimit_memlock", "memlock"}) {
    Scan scan(small);
    if (!scan.skip_past(name)) continue;
    std::string_view value = scan.rest();
    if (const auto close = value.find("-l)"); close != std::string_view::npos) value.remove_prefix(close + 3);
    value.remove_prefix(std::min(value.find_first_not_of(" \t:=(\"'"), value.size()));
    for (const std::string_view verb : {"is ", "set to "})
      if (value.starts_with(verb)) value.remove_prefix(verb.size());
    if (value.starts_with("unlimited") || value.starts_with("-1") || value.starts_with("infinity"))
      return Memlock::kUnlimited;
    return !value.empty() && is_digit(value.front()) ? Memlock::kLimited : Memlock::kNone;
  }
  return Memlock::kNone;
}

// Returns whether the line gives advice rather than a fact: "please set memlock unlimited".
bool advises(std::string_view line) {
  const std::string small = lower(line);
  return std::ranges::any_of(
      std::array{"please", "should", "try ", "increase", "raise ", "consider", "recommend"},
      [&](const char* word) { return small.find(word) != std::string::npos; });
}

}  // namespace

std::span<const Question> nccl_questions() { return kQuestions; }

std::span<const Opposites> nccl_opposites() { return kOpposites; }

void LogState::keep_sight(LogSight& sight, std::string_view text) const {
  if (sight.line == 0)
    sight = {file, log.lines - lines_before, std::string(trim(text).substr(0, kLongestSight))};
}

void LogState::read_sights(std::string_view line) {
  const auto has = [&](std::string_view words) { return line.find(words) != std::string_view::npos; };
  if (has("MIG") && names_slice(line)) keep_sight(mig, line);
  if ((has("lock") || has("LOCK")) && !advises(line)) {
    const Memlock limit = memlock_in(line);
    if (limit == Memlock::kUnlimited) keep_sight(memlock_unlimited, line);
    if (limit == Memlock::kLimited) keep_sight(memlock_limited, line);
  }
  // "# nThread 1 nGpus 8 minBytes …", then of each process that fails " .. g0010 pid 8386: Test failure common.cu:891".
  if (const auto gpus = number_after(line, " nGpus "); gpus && has("nThread ")) {
    const int threads = number_after(line, "nThread ").value_or(1);
    tests_gpus = std::clamp(*gpus, 0, 1024) * std::clamp(threads, 0, 1024);
    keep_sight(tests_shape, line);
  }
  if (!has(": Test failure ")) return;
  Scan scan(line);
  if (!scan.skip_past(".. ")) return;
  const std::string host(scan.until(" "));
  const auto process = number_after(scan.rest(), "pid ");
  if (!process || (tests_failed.size() >= kMostHosts && !tests_failed.contains(host))) return;
  if (auto& known = tests_failed[host]; known.size() < kMostOnOneHost) known.insert(*process);
}

}  // namespace railbed::diagnose
