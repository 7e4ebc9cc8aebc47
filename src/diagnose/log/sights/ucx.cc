// UCX.
#include <fmt/format.h>

#include <array>
#include <cstdint>

#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace {

// More than UCX needs for its queues and buffers.
constexpr std::uint64_t kAmpleKibibytes = 1 << 20;

// "… Please set max locked memory (ulimit -l) to 'unlimited' (current: 64 kbytes)"
std::optional<std::uint64_t> ucx_limit_in(const LogProblem& problem) {
  return number_after<std::uint64_t>(problem.message, "(current: ");
}

Evidence ucx_may_lock_little(const LogState& state, const LogProblem& problem) {
  if (const auto limit = ucx_limit_in(problem)) {
    if (*limit > kAmpleKibibytes) return std::nullopt;
    return fmt::format("{}: the process may lock {} KiB", place_text(problem.file, problem.line), *limit);
  }
  if (state.memlock_limited.line == 0) return std::nullopt;
  return at_line(state.memlock_limited);
}

Evidence ucx_may_lock_all(const LogState& state, const LogProblem& problem) {
  if (ucx_limit_in(problem) || state.memlock_unlimited.line == 0 || state.memlock_limited.line != 0)
    return std::nullopt;
  return at_line(state.memlock_unlimited);
}

Evidence ucx_is_not_selected(const LogState& state, const LogProblem&) {
  return first_seen(state, {"pml-ob1", "pml-ob1-variable", "pml-not-ucx", "pml-cm"});
}

Evidence ucx_was_needed(const LogState& state, const LogProblem&) {
  return first_seen(state, {"pml-ucx-failed", "ucx-no-worker", "mpi-no-pml"});
}

Evidence first_request_was_lost(const LogState& state, const LogProblem&) {
  if (first_seen(state, {"ucx-late-request"})) return std::nullopt;
  if (const auto line = state.seen.find("ucx-request-0"); line != state.seen.end())
    return fmt::format("{}: it is the first request of its queue (wqe[0])",
                       place_text(line->second.file, line->second.line));
  return first_seen(state, {"perftest-nothing-done"});
}

// A single process that ended does not explain that two nodes lose their first messages to two others.
Evidence both_ends_report(const LogState& state, const LogProblem& problem) {
  const auto& hosts = state.rdma.retry_hosts;
  const auto first = first_request_was_lost(state, problem);
  if (hosts.size() < 2 || state.rdma.retry_targets.size() < 2 || !first) return std::nullopt;
  return fmt::format("{} and {} both lost their first message, to different peers", *hosts.begin(),
                     *std::next(hosts.begin()));
}

Evidence a_process_was_killed(const LogState& state, const LogProblem&) {
  return first_seen(state, {"killed-oom", "killed-oom-old", "killed-oom-task", "killed-node", "killed-fault",
                            "killed-signal"});
}

Evidence subnet_change_is_reported(const LogState& state, const LogProblem&) {
  return first_seen(state, {"subnet-event", "subnet-event-again"});
}

Evidence port_4791_is_blocked(const LogState& state, const LogProblem&) {
  return first_seen(state, {"udp-4791-blocked", "udp-4791-drop"});
}

Evidence link_layers_are_mixed(const LogState& state, const LogProblem&) {
  const auto infiniband = first_seen(state, {"link-infiniband"});
  const auto ethernet = first_seen(state, {"link-ethernet"});
  if (!infiniband || !ethernet) return std::nullopt;
  return *infiniband + "; " + *ethernet;
}

Evidence link_layers_are_equal(const LogState& state, const LogProblem& problem) {
  if (link_layers_are_mixed(state, problem)) return std::nullopt;
  return first_seen(state, {"link-infiniband", "link-ethernet"});
}

// Returns whether the GID index that a variable forces is that of the RoCE v2 entry in show_gids.
Evidence gid_index_fits(const LogState& state, const LogProblem&) {
  const auto entry = state.seen.find("gid-roce-v2");
  if (entry == state.seen.end()) return std::nullopt;
  const auto index = number_after(entry->second.text, "GID index ");
  for (const std::string_view id : {"nvshmem-gid-set", "ucx-gid-set"})
    if (const auto line = state.seen.find(id); line != state.seen.end())
      if (index && number_after(line->second.text, "IB_GID_INDEX=") == index) return at_line(entry->second);
  return std::nullopt;
}

Evidence rank_is_in_a_namespace(const LogState& state, const LogProblem&) {
  return first_seen(state, {"namespace-apptainer", "namespace-apptainer-run", "namespace-singularity",
                            "namespace-podman", "namespace-charliecloud"});
}

// "network device 'mlx5_9:1' is not available, please use one or more of: 'eno1'(tcp), 'mlx5_0:1'(ib)"
Evidence ucx_lists_rdma(const LogState&, const LogProblem& problem) {
  if (!has_text(problem.message, "'(ib)")) return std::nullopt;
  return "UCX lists other RDMA devices, so it can use RDMA";
}

Evidence ucx_lists_no_rdma(const LogState&, const LogProblem& problem) {
  if (!has_text(problem.message, "'(") || has_text(problem.message, "'(ib)")) return std::nullopt;
  return "UCX lists no RDMA device at all";
}

Evidence ucx_is_of_1_19(const LogState& state, const LogProblem&) {
  return first_seen(state, {"ucx-1-19", "ucx-1-19-library"});
}

// "…: self/memory - Destination is unreachable, rc_mlx5/mlx5_0:1 - Destination is unreachable"
Evidence ucx_calls_network_unreachable(const LogState&, const LogProblem& problem) {
  for (const std::string_view transport : {" rc_", " dc_", " ud_"}) {
    Scan scan(problem.message);
    if (scan.skip_past(transport) && has_text(scan.until(","), "Destination is unreachable"))
      return "the message has a transport of the RDMA network, and calls the peer unreachable by it";
  }
  return std::nullopt;
}

// "shmget(size=… flags=0xfb0) …": SHM_HUGETLB is 04000.
std::optional<bool> wants_huge_pages(const LogProblem& problem) {
  constexpr int kHugePages = 04000;
  const auto flags = number_after(problem.message, "flags=0x", 16);
  if (!flags) return std::nullopt;
  return (*flags & kHugePages) != 0;
}

Evidence ucx_wants_huge_pages(const LogState&, const LogProblem& problem) {
  if (!wants_huge_pages(problem).value_or(false)) return std::nullopt;
  return "its flags have SHM_HUGETLB (0x800)";
}

Evidence ucx_wants_plain_pages(const LogState&, const LogProblem& problem) {
  if (wants_huge_pages(problem).value_or(true)) return std::nullopt;
  return "its flags have no SHM_HUGETLB (0x800)";
}

// "mlx5dv_devx_obj_create(CQ) failed on mlx5_0, syndrome 0x5: Remote I/O error"
Evidence firmware_gave_a_syndrome(const LogState&, const LogProblem& problem) {
  const auto syndrome = number_after<std::uint64_t>(problem.message, "syndrome 0x", 16);
  if (!syndrome || *syndrome == 0) return std::nullopt;
  return fmt::format("the firmware's syndrome is 0x{:x}", *syndrome);
}

Evidence firmware_gave_no_syndrome(const LogState&, const LogProblem& problem) {
  if (number_after<std::uint64_t>(problem.message, "syndrome 0x", 16) != 0) return std::nullopt;
  return "the syndrome is 0x0";
}

// UCX's own lines about what the adapter sent in vain.
Evidence retries_ended(const LogState& state, const LogProblem& problem) {
  constexpr std::array<std::string_view, 4> kRetries = {"ucx-retry-ib", "ucx-retry-roce", "ucx-retry-verbs",
                                                        "ucx-ud-timeout"};
  return first_seen(state, kRetries, &problem);
}

// A wheel renames the libraries that it brings: ".libs/libucp-e091ed8d.so.0.0.0".
Evidence ucx_is_of_two_copies(const LogState& state, const LogProblem&) {
  const auto system = first_seen(state, {"ucx-of-system-in-stack"});
  const auto wheel = first_seen(state, {"ucx-of-wheel-in-stack"});
  if (!system || !wheel) return std::nullopt;
  return wheel;
}

Evidence ucx_is_of_one_copy(const LogState& state, const LogProblem& problem) {
  if (ucx_is_of_two_copies(state, problem)) return std::nullopt;
  return first_seen(state, {"ucx-of-system-in-stack", "ucx-of-wheel-in-stack", "ucx-backtrace"});
}

constexpr Question kUcxQuestions[] = {
    {"ucx-of-two-copies", ucx_is_of_two_copies},
    {"ucx-of-one-copy", ucx_is_of_one_copy},
    {"ucx-retries-ended", retries_ended},
    {"ucx-limit", ucx_may_lock_little},
    {"ucx-unlimited", ucx_may_lock_all},
    {"ucx-not-selected", ucx_is_not_selected},
    {"ucx-needed", ucx_was_needed},
    {"first-request-lost", first_request_was_lost},
    {"both-ends-report", both_ends_report},
    {"process-killed", a_process_was_killed},
    {"subnet-change-reported", subnet_change_is_reported},
    {"udp-4791", port_4791_is_blocked},
    {"link-layers-mixed", link_layers_are_mixed},
    {"link-layers-equal", link_layers_are_equal},
    {"gid-index-fits", gid_index_fits},
    {"rank-in-namespace", rank_is_in_a_namespace},
    {"ucx-of-1-19", ucx_is_of_1_19},
    {"ucx-network-unreachable", ucx_calls_network_unreachable},
    {"ucx-lists-rdma", ucx_lists_rdma},
    {"ucx-lists-no-rdma", ucx_lists_no_rdma},
    {"ucx-huge-pages", ucx_wants_huge_pages},
    {"ucx-plain-pages", ucx_wants_plain_pages},
    {"devx-syndrome", firmware_gave_a_syndrome},
    {"devx-no-syndrome", firmware_gave_no_syndrome},
};

constexpr Opposites kUcxOpposites[] = {
    {"yama-restricts", "yama-open"},         {"ucx-limit", "ucx-unlimited"},
    {"ucx-not-selected", "ucx-needed"},      {"first-request-lost", "ucx-late-request"},
    {"ucx-lists-rdma", "ucx-lists-no-rdma"}, {"ucx-huge-pages", "ucx-plain-pages"},
    {"ib-link-errors", "ib-links-clean"},    {"link-layers-mixed", "link-layers-equal"},
};

}  // namespace

std::span<const Question> ucx_questions() { return kUcxQuestions; }

std::span<const Opposites> ucx_opposites() { return kUcxOpposites; }

}  // namespace railbed::diagnose
