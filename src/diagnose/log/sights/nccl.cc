// What NCCL and nccl-tests print of memory, versions, ranks and nodes.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"
#include "nccl/version.h"

namespace railbed::diagnose {
namespace {

constexpr std::string_view kOpenMode = "drwxrwxrwt";  // which /dev/shm has to have

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

// Returns the first of the variables that switch ways between ranks off, if it has that value.
Evidence transport_variable(const Log& log, std::string_view value) {
  for (const LogVariable& variable : log.variables)
    if ((variable.name == "NCCL_P2P_DISABLE" || variable.name == "NCCL_SHM_DISABLE" ||
         variable.name == "NCCL_IB_DISABLE") &&
        variable.value == value)
      return fmt::format("{}={} is set", variable.name, variable.value);
  return std::nullopt;
}

Evidence transports_are_off(const LogState& state, const LogProblem&) {
  return transport_variable(state.log, "1");
}

Evidence transports_are_on(const LogState& state, const LogProblem&) {
  return transport_variable(state.log, "1") ? std::nullopt : transport_variable(state.log, "0");
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

Evidence segment_is_denied(const LogState& state, const LogProblem& problem) {
  if (has_text(problem.message, "Permission denied")) return "the message has EACCES: permission denied";
  return first_seen(state, {"shm-call-denied"});
}

Evidence segment_has_no_room(const LogState& state, const LogProblem& problem) {
  if (has_text(problem.message, "No space left")) return "the message has ENOSPC: no space left on device";
  return first_seen(state, {"shm-call-full"});
}

// The mode of /dev/shm, from `ls -ld /dev/shm`
Evidence shm_is_open_to_all(const LogState& state, const LogProblem&) {
  if (!state.shm_mode.text.starts_with(kOpenMode)) return std::nullopt;
  return at_line(state.shm_mode);
}

Evidence shm_is_closed(const LogState& state, const LogProblem& problem) {
  if (state.shm_mode.line == 0 || shm_is_open_to_all(state, problem)) return std::nullopt;
  return at_line(state.shm_mode);
}

Evidence no_interface_is_up(const LogState& state, const LogProblem&) {
  if (state.interfaces_listed.empty()) return std::nullopt;
  for (const auto& [name, up] : state.interfaces_listed)
    if (up && name != "lo" && !is_bridge(name) && !name.starts_with("veth")) return std::nullopt;
  return fmt::format("none of the {} interfaces that are listed is up, but lo and bridges",
                     state.interfaces_listed.size());
}

Evidence rdma_device_is_used(const LogState& state, const LogProblem&) {
  if (state.log.nics.empty()) return std::nullopt;
  return fmt::format("NCCL found {} on {}", state.log.nics.front().device, state.log.nics.front().host);
}

// Returns the first problem of the log that is a cause, if it stands before this one.
Evidence something_failed_before(const LogState& state, const LogProblem& problem) {
  for (const LogProblem& other : state.log.problems) {
    const bool before = other.file == problem.file ? other.line < problem.line : !other.file.empty();
    if (&other == &problem || !before || other.consequence || other.severity != Severity::kError) continue;
    return at_line(other);
  }
  return std::nullopt;
}

Evidence are_many_ranks(const LogState& state, const LogProblem& problem) {
  constexpr int kMany = 512;
  int most = 0;
  for (const LogCommunicator& communicator : state.log.communicators)
    most = std::max(most, communicator.size);
  for (const int rank : problem.ranks) most = std::max(most, rank + 1);
  if (most < kMany) return std::nullopt;
  return fmt::format("the job has {} ranks or more", most);
}

Evidence scheduler_shares_a_gpu(const LogState& state, const LogProblem&) {
  for (const auto& [gpu, processes] : state.sole_gpu)
    if (processes.size() > 1)
      return fmt::format("processes {} and {} both have CUDA_VISIBLE_DEVICES={}", *processes.begin(),
                         *std::next(processes.begin()), gpu);
  return std::nullopt;
}

Evidence shm_is_small(const LogState& state, const LogProblem&) {
  return state.shm_small.line == 0 ? std::nullopt : Evidence(at_line(state.shm_small));
}

Evidence shm_is_large(const LogState& state, const LogProblem&) {
  return state.shm_large.line == 0 ? std::nullopt : Evidence(at_line(state.shm_large));
}

// Returns two hosts with different numbers of RDMA devices.
Evidence nics_differ(const LogState& state, const LogProblem&) {
  std::map<std::string_view, int> count;
  for (const auto& [key, nic] : state.nics) ++count[std::get<0>(key)];
  for (const auto& [host, number] : count)
    if (number != count.begin()->second)
      return fmt::format("{} uses {} RDMA devices, {} uses {}", count.begin()->first, count.begin()->second,
                         host, number);
  return std::nullopt;
}

Evidence nics_agree(const LogState& state, const LogProblem& problem) {
  std::set<std::string_view> hosts;
  for (const auto& [key, nic] : state.nics) hosts.insert(std::get<0>(key));
  if (hosts.size() < 2 || nics_differ(state, problem)) return std::nullopt;
  return fmt::format("{} hosts use the same number of RDMA devices", hosts.size());
}

// Releases of NCCL before which a GPU's generation is not supported (NCCL's release notes).
struct FirstRelease {
  std::string_view gpu;  // in the names of products
  nccl::Version version;
};

constexpr FirstRelease kFirstReleases[] = {
    {"GB200", {2, 25, 1}},    {"B200", {2, 25, 1}},     {"GB300", {2, 27, 3}},     {"B300", {2, 27, 3}},
    {"RTX 5090", {2, 26, 2}}, {"RTX 5080", {2, 26, 2}}, {"Blackwell", {2, 26, 2}}, {"GB10", {2, 26, 2}},
};

Evidence nccl_is_older_than_gpu(const LogState& state, const LogProblem&) {
  if (state.gpu_model.line == 0) return std::nullopt;
  for (const std::string& text : state.log.versions) {
    const auto version = nccl::Version::parse(text);
    for (const FirstRelease& first : kFirstReleases)
      if (version && *version < first.version && state.gpu_model.text.find(first.gpu) != std::string::npos)
        return fmt::format("NCCL {} is older than {}, the first for {} ({})", text, first.version.to_text(),
                           first.gpu, at_line(state.gpu_model));
  }
  return std::nullopt;
}

Evidence segment_has_a_size(const LogState& state, const LogProblem& problem) {
  if (segment_has_no_size(state, problem)) return std::nullopt;
  if (problem.message.find("(size ") == std::string::npos) return std::nullopt;
  return "the message has the segment's size";
}

Evidence nothing_failed_before(const LogState& state, const LogProblem& problem) {
  if (something_failed_before(state, problem)) return std::nullopt;
  return "no other failure stands before it in this log";
}

Evidence no_rdma_device_is_seen(const LogState& state, const LogProblem&) {
  const auto blind = std::ranges::find_if(state.processes, &LogProcess::no_rdma_device);
  if (blind == state.processes.end()) return std::nullopt;
  return fmt::format("NCCL found no RDMA device on {}", blind->host);
}

constexpr Question kNcclQuestions[] = {
    {"memlock-unlimited", memlock_is_unlimited},
    {"memlock-limited", memlock_is_limited},
    {"mig-slice", device_is_a_slice},
    {"ranks-on-two-hosts", ranks_are_on_two_hosts},
    {"ranks-on-one-host", ranks_are_on_one_host},
    {"segment-without-size", segment_has_no_size},
    {"segment-not-there", segment_is_not_there},
    {"no-interface-up", no_interface_is_up},
    {"rdma-device-used", rdma_device_is_used},
    {"failed-before", something_failed_before},
    {"transports-off", transports_are_off},
    {"transports-default", transports_are_on},
    {"many-ranks", are_many_ranks},
    {"gpu-shared-by-scheduler", scheduler_shares_a_gpu},
    {"nccl-older-than-gpu", nccl_is_older_than_gpu},
    {"shm-small", shm_is_small},
    {"shm-large", shm_is_large},
    {"segment-denied", segment_is_denied},
    {"segment-no-room", segment_has_no_room},
    {"dev-shm-open", shm_is_open_to_all},
    {"dev-shm-closed", shm_is_closed},
    {"nics-differ", nics_differ},
    {"nics-agree", nics_agree},
    {"segment-with-size", segment_has_a_size},
    {"failed-first", nothing_failed_before},
    {"no-rdma-device-seen", no_rdma_device_is_seen},
};

constexpr Opposites kNcclOpposites[] = {
    {"memlock-unlimited", "memlock-limited"},
    {"ranks-on-two-hosts", "ranks-on-one-host"},
    {"nics-differ", "nics-agree"},
    {"shm-small", "shm-large"},
    {"segment-denied", "segment-no-room"},
    {"segment-without-size", "segment-with-size"},
    {"failed-before", "failed-first"},
    {"rdma-device-used", "no-rdma-device-seen"},
};

}  // namespace

std::span<const Question> nccl_questions() { return kNcclQuestions; }

std::span<const Opposites> nccl_opposites() { return kNcclOpposites; }

}  // namespace railbed::diagnose
