// Observations in what libibverbs, perftest, UCX, libfabric and NVSHMEM print that confirm or refute causes, and in
// the output of commands that people add to a log: ibv_devinfo, ibstat, lsmod, ls /dev/infiniband, ulimit -l,
// ibqueryerrors, docker inspect, dpkg -l.
//
// A line with a shell's prompt begins the output of a command. Its prompt shows whether the command ran on the host or
// in a container, where people write both.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>

#include "base/phrases.h"
#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"
#include "nccl/version.h"

namespace railbed::diagnose {
namespace {

using Evidence = std::optional<std::string>;
using RdmaCommand = RdmaLines::Command;

constexpr std::size_t kMostRdmaPorts = 512;
constexpr std::size_t kMostRdmaRetryHosts = 64;
constexpr std::size_t kMostEfaZones = 8;
constexpr std::size_t kMostTestVersions = 8;
constexpr std::size_t kLongestShellPrompt = 64;
constexpr std::size_t kLongestRdmaName = 64;
constexpr std::size_t kLongestRdmaLine = 1024;
// Fewer errors on a link may be from the time when it was plugged in.
constexpr int kManyLinkErrors = 10;
// UCX numbers the requests of a queue; one with this number was sent after earlier ones were answered.
constexpr int kLateRequest = 64;
// More than UCX needs for its queues and buffers.
constexpr std::uint64_t kAmpleKibibytes = 1 << 20;

// Returns whether ibv_devinfo printed both for one device of two nodes.
bool asked_on_two_nodes(const RdmaMtu& one, const RdmaMtu& other) {
  return one.port.empty() && other.port.empty() && !one.device.empty() && one.device == other.device &&
         !one.node.empty() && !other.node.empty() && one.node != other.node;
}

// Returns the MTUs of one port on two nodes that differ, or that are equal.
Evidence compare_rdma_mtus(const LogState& state, bool differ) {
  const auto& mtus = state.rdma.mtus;
  const bool single = mtus.size() == 2;  // one port of each node, whatever its name
  Evidence equal;
  for (std::size_t i = 0; i < mtus.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const bool comparable = mtus[i].port.empty() || mtus[i].port != mtus[j].port
                                  ? single && mtus[i].sight.file != mtus[j].sight.file
                                  : true;
      if (!comparable && !asked_on_two_nodes(mtus[i], mtus[j])) continue;
      auto text = fmt::format("{}; {}", at_line(mtus[j].sight), at_line(mtus[i].sight));
      if (mtus[i].bytes != mtus[j].bytes) return differ ? Evidence(text) : std::nullopt;
      equal = std::move(text);
    }
  return differ ? std::nullopt : equal;
}

Evidence mtu_differs(const LogState& state, const LogProblem&) { return compare_rdma_mtus(state, true); }

Evidence mtu_is_equal(const LogState& state, const LogProblem&) { return compare_rdma_mtus(state, false); }

Evidence no_port_is_active(const LogState& state, const LogProblem&) {
  if (first_seen(state, {"port-active"})) return std::nullopt;
  return first_seen(state, {"port-not-active"});
}

Evidence container_has_devices(const LogState& state, const LogProblem&) {
  if (first_seen(state, {"no-dev-infiniband"})) return std::nullopt;
  return first_seen(state, {"uverbs-here"});
}

// The kinds of GID in perftest's decimal bytes: "254:128:00:…" is link-local, "00:…:255:255:10:60:02:18" has an
// IPv4 address.
enum class RdmaGidKind { kNone, kZero, kLinkLocal, kIpv4, kOther };

RdmaGidKind rdma_gid_kind(const LogSight& sight) {
  Scan scan(sight.text);
  if (sight.line == 0 || !scan.skip_past("GID:")) return RdmaGidKind::kNone;
  std::array<int, 16> bytes{};
  std::string_view rest = trim(scan.rest());
  std::size_t count = 0;
  for (const std::string_view part : split(rest, ':')) {
    const auto value = parse_number<int>(part);
    if (!value || count == bytes.size()) return RdmaGidKind::kNone;
    bytes[count++] = *value;
  }
  if (count != bytes.size()) return RdmaGidKind::kNone;
  const auto zeros = std::ranges::find_if(bytes, [](int byte) { return byte != 0; }) - bytes.begin();
  if (zeros == 16) return RdmaGidKind::kZero;
  if (bytes[0] == 254 && bytes[1] == 128) return RdmaGidKind::kLinkLocal;
  return zeros == 10 && bytes[10] == 255 && bytes[11] == 255 ? RdmaGidKind::kIpv4 : RdmaGidKind::kOther;
}

std::string_view gid_kind_name(RdmaGidKind kind) {
  switch (kind) {
    case RdmaGidKind::kZero:
      return "zero";
    case RdmaGidKind::kLinkLocal:
      return "link-local (fe80::)";
    case RdmaGidKind::kIpv4:
      return "an IPv4 address";
    default:
      return "an IPv6 address";
  }
}

struct GidKinds {
  RdmaGidKind local, remote;
  explicit GidKinds(const LogState& state)
      : local(rdma_gid_kind(state.rdma.local_gid)), remote(rdma_gid_kind(state.rdma.remote_gid)) {}
  bool known() const { return local != RdmaGidKind::kNone && remote != RdmaGidKind::kNone; }
};

// Adds the entry of show_gids that the remedy refers to, if the log has it.
std::string with_gid_entry(const LogState& state, std::string evidence) {
  if (const auto entry = first_seen(state, {"gid-roce-v2"})) evidence += "; " + *entry;
  return evidence;
}

Evidence gids_are_of_two_kinds(const LogState& state, const LogProblem&) {
  const GidKinds kinds(state);
  if (!kinds.known() || kinds.local == kinds.remote) return std::nullopt;
  return with_gid_entry(state, fmt::format("{}: the local GID is {}, the remote one {}",
                                           place_text(state.rdma.remote_gid.file, state.rdma.remote_gid.line),
                                           gid_kind_name(kinds.local), gid_kind_name(kinds.remote)));
}

Evidence gids_are_of_one_kind(const LogState& state, const LogProblem&) {
  const GidKinds kinds(state);
  if (!kinds.known() || kinds.local != kinds.remote || kinds.local == RdmaGidKind::kZero) return std::nullopt;
  return fmt::format("{}: both GIDs are {}",
                     place_text(state.rdma.remote_gid.file, state.rdma.remote_gid.line),
                     gid_kind_name(kinds.local));
}

Evidence a_gid_is_zero(const LogState& state, const LogProblem&) {
  const GidKinds kinds(state);
  if (kinds.local == RdmaGidKind::kZero) return at_line(state.rdma.local_gid);
  if (kinds.remote == RdmaGidKind::kZero) return at_line(state.rdma.remote_gid);
  return std::nullopt;
}

Evidence gids_are_set(const LogState& state, const LogProblem& problem) {
  const GidKinds kinds(state);
  if (kinds.local == RdmaGidKind::kNone || a_gid_is_zero(state, problem)) return std::nullopt;
  return at_line(state.rdma.local_gid);
}

Evidence test_uses_dma_buf(const LogState& state, const LogProblem&) {
  return first_seen(state, {"perftest-dmabuf-flag", "perftest-dmabuf-buffer"});
}

Evidence test_lacks_dma_buf(const LogState& state, const LogProblem&) {
  if (first_seen(state, {"perftest-dmabuf-flag", "perftest-dmabuf-buffer"})) return std::nullopt;
  return first_seen(state, {"perftest-cuda-flag", "perftest-gpu-buffer"});
}

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
  return first_seen(state, {"pml-ucx-failed", "ucp-worker-failed", "pml-none"});
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

Evidence ucx_sends_from_link_local(const LogState& state, const LogProblem&) {
  const auto line = first_seen(state, {"ucx-dgid-link-local"});
  if (!line || first_seen(state, {"ucx-routable"})) return std::nullopt;
  return with_gid_entry(state, *line);
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

Evidence buffers_are_on_gpus(const LogState& state, const LogProblem& problem) {
  if (problem.symptom.starts_with("nvshmem-")) return "NVSHMEM's heap is on the GPU";
  return first_seen(state, {"perftest-cuda-flag", "perftest-gpu-buffer"});
}

Evidence verbs_driver_is_missing(const LogState& state, const LogProblem&) {
  return first_seen(state, {"verbs-driver-mlx5", "verbs-driver-efa", "verbs-no-configuration"});
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

Evidence nccl_uses(const LogState& state, std::string_view network) {
  const auto& networks = state.log.networks;
  if (networks.size() != 1 || !networks.front().name.starts_with(network)) return std::nullopt;
  return fmt::format("NCCL uses the network {}", networks.front().name);
}

Evidence nccl_uses_ib(const LogState& state, const LogProblem&) { return nccl_uses(state, "IB"); }

Evidence nccl_uses_sockets(const LogState& state, const LogProblem&) {
  for (const LogProcess& process : state.processes)
    if (process.no_rdma_device) return fmt::format("NCCL found no RDMA device on {}", process.host);
  return nccl_uses(state, "Socket");
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

// show_gids lists the entries of the interfaces that are in the process's network namespace.
Evidence gid_0_is_empty(const LogState& state, const LogProblem&) {
  if (state.rdma.lowest_gid <= 0) return std::nullopt;
  return fmt::format("show_gids lists no GID at index 0, the first is {}",
                     at_line(state.rdma.lowest_gid_line));
}

Evidence gid_0_is_there(const LogState& state, const LogProblem&) {
  if (state.rdma.lowest_gid != 0) return std::nullopt;
  return at_line(state.rdma.lowest_gid_line);
}

// Returns the line with NVSHMEM's version if that is of 3.5 or newer, or if it is older: "NVSHMEM v3.5.19",
// "nvidia-nvshmem-cu12  3.5.19", "nvidia-nvshmem-cu12==3.4.5".
Evidence nvshmem_is(const LogState& state, bool newer) {
  constexpr nccl::Version kNewOrder{3, 5, 0};
  for (const std::string_view id : {"nvshmem-package", "nvshmem-banner"}) {
    const auto line = state.seen.find(id);
    if (line == state.seen.end()) continue;
    Scan scan(line->second.text);
    if (scan.skip_past("nvshmem-cu"))
      scan.until(" =");
    else
      scan.skip_past("NVSHMEM v");
    std::string_view rest = scan.rest();
    rest.remove_prefix(std::min(rest.find_first_not_of(" ="), rest.size()));
    const auto version = nccl::Version::parse(rest);
    if (version && (*version >= kNewOrder) == newer) return at_line(line->second);
  }
  return std::nullopt;
}

Evidence nvshmem_is_new(const LogState& state, const LogProblem&) { return nvshmem_is(state, true); }

Evidence nvshmem_is_old(const LogState& state, const LogProblem&) { return nvshmem_is(state, false); }

// fi_info writes version 1.18.2 as 118.20.
constexpr int kLibfabricOfCumem = 119;

Evidence efa_libfabric_is_old(const LogState& state, const LogProblem&) {
  if (auto refused = first_seen(state, {"sync-memops-refused"})) return refused;
  const auto line = state.seen.find("efa-provider-version");
  if (line == state.seen.end()) return std::nullopt;
  const int version = number_after(line->second.text, "version: ").value_or(0);
  if (version < 100 || version >= kLibfabricOfCumem) return std::nullopt;
  return at_line(line->second);
}

Evidence efa_libfabric_is_new(const LogState& state, const LogProblem& problem) {
  const auto line = state.seen.find("efa-provider-version");
  if (line == state.seen.end() || efa_libfabric_is_old(state, problem)) return std::nullopt;
  if (number_after(line->second.text, "version: ").value_or(0) < kLibfabricOfCumem) return std::nullopt;
  return at_line(line->second);
}

Evidence rank_is_in_a_namespace(const LogState& state, const LogProblem&) {
  return first_seen(state, {"namespace-apptainer", "namespace-apptainer-run", "namespace-singularity",
                            "namespace-podman", "namespace-charliecloud"});
}

Evidence plugin_uses_tcp(const LogState& state, const LogProblem&) {
  return first_seen(state, {"ofi-tcp", "ofi-tcp-old"});
}

Evidence plugin_uses_efa(const LogState& state, const LogProblem&) {
  return first_seen(state, {"efa-provider-chosen", "efa-provider-chosen-old"});
}

Evidence efa_peer_was_known(const LogState& state, const LogProblem& problem) {
  for (const std::string_view words : {"connection previously established", "but handshake failed"})
    if (has_text(problem.message, words)) return "its message has \"" + std::string(words) + "\"";
  return first_seen(state, {"efa-established", "efa-handshake"});
}

Evidence test_versions_differ(const LogState& state, const LogProblem&) {
  const auto& versions = state.rdma.test_versions;
  if (versions.size() < 2) return std::nullopt;
  return fmt::format("perftest {} and {}", *versions.begin(), *std::next(versions.begin()));
}

Evidence test_versions_are_equal(const LogState& state, const LogProblem&) {
  if (state.rdma.test_versions.size() != 1) return std::nullopt;
  return fmt::format("only perftest {} is shown", *state.rdma.test_versions.begin());
}

Evidence efa_zones_differ(const LogState& state, const LogProblem&) {
  const auto& zones = state.rdma.zones;
  if (zones.size() < 2) return std::nullopt;
  return fmt::format("{} and {}", *zones.begin(), *std::next(zones.begin()));
}

Evidence efa_zones_are_equal(const LogState& state, const LogProblem&) {
  if (state.rdma.zones.size() != 1) return std::nullopt;
  return fmt::format("only {} is named", *state.rdma.zones.begin());
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

Evidence reason_is_no_memory(const LogState&, const LogProblem& problem) {
  if (!has_text(problem.message, "Cannot allocate memory")) return std::nullopt;
  return "the reason is \"Cannot allocate memory\"";
}

Evidence reason_is_bad_address(const LogState&, const LogProblem& problem) {
  if (!has_text(problem.message, "Bad address")) return std::nullopt;
  return "the reason is \"Bad address\"";
}

Evidence reason_is_a_timeout(const LogState&, const LogProblem& problem) {
  if (!has_text(problem.message, "Connection timed out")) return std::nullopt;
  return "the reason is \"Connection timed out\"";
}

Evidence rdma_test_passed(const LogState& state, const LogProblem&) {
  if (state.rdma.test_result.line == 0) return std::nullopt;
  return at_line(state.rdma.test_result);
}

// Some adapters answer as many RDMA reads at once as others do on one queue pair: "max_res_rd_atom:   16".
constexpr int kManyResponders = 256;

std::optional<int> responders(const LogState& state) {
  const auto line = state.seen.find("max-res-rd-atom");
  if (line == state.seen.end()) return std::nullopt;
  Scan scan(line->second.text);
  if (!scan.skip_past("max_res_rd_atom:")) return std::nullopt;
  return Scan(trim(scan.rest())).number();
}

Evidence responders_are_few(const LogState& state, const LogProblem&) {
  const auto number = responders(state);
  if (!number) return first_seen(state, {"ionic-device"});
  if (*number >= kManyResponders) return std::nullopt;
  return at_line(state.seen.at("max-res-rd-atom"));
}

Evidence responders_are_many(const LogState& state, const LogProblem&) {
  const auto number = responders(state);
  if (!number || *number < kManyResponders) return std::nullopt;
  return at_line(state.seen.at("max-res-rd-atom"));
}

Evidence mpirun_is_under_slurm(const LogState& state, const LogProblem&) {
  const auto mpirun = first_seen(state, {"mpirun-started", "mpirun-program"});
  const auto slurm = first_seen(state, {"slurm-granted", "slurm-script", "slurm-job-variable"});
  return mpirun && slurm ? Evidence(*slurm + "; " + *mpirun) : std::nullopt;
}

// mpirun may show the srun by which it starts its daemons.
Evidence ranks_are_of_srun(const LogState& state, const LogProblem&) {
  if (first_seen(state, {"mpirun-started", "mpirun-program"})) return std::nullopt;
  return first_seen(state, {"srun-command", "srun-program"});
}

// Returns the line that sets UCX_TLS if the list lets UCX use CUDA, or if it does not: "UCX_TLS=rc,cuda_copy".
Evidence ucx_tls_has_cuda(const LogState& state, bool has) {
  const auto line = state.seen.find("ucx-tls-set");
  if (line == state.seen.end()) return std::nullopt;
  Scan scan(line->second.text);
  scan.skip_past("UCX_TLS=");
  if (!scan.take("\"")) scan.take("'");
  const std::string_view list = scan.until(" ;\t\"'");
  if (list.empty() || list.starts_with('^') || list.starts_with('$')) return std::nullopt;
  const auto parts = split(list, ',');
  const bool found = std::ranges::any_of(
      parts, [](std::string_view part) { return part == "all" || part == "cuda" || part == "cuda_copy"; });
  return found == has ? Evidence(at_line(line->second)) : std::nullopt;
}

Evidence ucx_tls_lacks_cuda(const LogState& state, const LogProblem&) {
  return ucx_tls_has_cuda(state, false);
}

Evidence ucx_tls_names_cuda(const LogState& state, const LogProblem&) {
  return ucx_tls_has_cuda(state, true);
}

// "0: mlx5_0: pd 12 cq 310 qp 20417 cm_id 0 mr 6130 ctx 9 srq 2" of rdma resource. Some functions make 16384.
constexpr int kManyQueues = 10000;
constexpr int kFewQueues = 1000;

Evidence adapter_has_queues(const LogState& state, bool many) {
  const auto line = state.seen.find("rdma-resource");
  if (line == state.seen.end()) return std::nullopt;
  const auto queues = number_after(line->second.text, " qp ");
  if (!queues || (many ? *queues < kManyQueues : *queues >= kFewQueues)) return std::nullopt;
  return at_line(line->second);
}

Evidence queues_are_many(const LogState& state, const LogProblem&) { return adapter_has_queues(state, true); }

Evidence queues_are_few(const LogState& state, const LogProblem&) { return adapter_has_queues(state, false); }

// "ii  ibverbs-providers:amd64   50.0-2build2   amd64  …". From this release on its bnxt_re is known to work.
Evidence provider_is_new(const LogState& state, const LogProblem&) {
  constexpr int kSound = 62;
  const auto line = state.seen.find("verbs-providers");
  if (line == state.seen.end()) return std::nullopt;
  const auto columns = words(line->second.text);
  if (columns.size() < 3 || Scan(columns[2]).number().value_or(0) < kSound) return std::nullopt;
  return at_line(line->second);
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

// Returns the device in "device erdma_0 is not enumerated as an mlx5 device".
std::string_view skipped_device(const LogProblem& problem) {
  Scan scan(problem.message);
  if (!scan.skip_past("device ")) return {};
  const std::string_view name = scan.until(" ");
  return scan.take(" is not enumerated") ? name : std::string_view();
}

Evidence skipped_device_is_mlx5(const LogState&, const LogProblem& problem) {
  const std::string_view name = skipped_device(problem);
  if (!has_text(name, "mlx5")) return std::nullopt;
  return fmt::format("{} is the name of an mlx5 device", name);
}

Evidence skipped_device_is_named_by_slot(const LogState&, const LogProblem& problem) {
  const std::string_view name = skipped_device(problem);
  if (!name.starts_with("ibp") && !name.starts_with("ibs")) return std::nullopt;
  return fmt::format("{} is a name by the slot", name);
}

Evidence skipped_device_is_of_others(const LogState&, const LogProblem& problem) {
  constexpr std::array<std::string_view, 12> kOthers = {"bnxt", "efa",  "rdmap", "erdma", "irdma", "hns",
                                                        "qedr", "cxgb", "ionic", "mana",  "hfi1",  "rxe"};
  const std::string_view name = skipped_device(problem);
  if (std::ranges::none_of(kOthers, [&](std::string_view other) { return name.starts_with(other); }))
    return std::nullopt;
  return fmt::format("{} is the name of a device of another driver", name);
}

// "Couldn't listen to port 18515"
Evidence test_port_is_taken(const LogState& state, const LogProblem& problem) {
  const auto port = number_after(problem.message, "listen to port ");
  const auto& listeners = state.torch_lines.listeners;
  const auto listener = port ? listeners.find(*port) : listeners.end();
  if (listener == listeners.end()) return std::nullopt;
  return at_line(listener->second);
}

Evidence test_port_is_free(const LogState& state, const LogProblem& problem) {
  const auto port = number_after(problem.message, "listen to port ");
  const auto& listeners = state.torch_lines.listeners;
  if (!port || listeners.empty() || listeners.contains(*port)) return std::nullopt;
  return fmt::format("{}, and no line has port {}", at_line(listeners.begin()->second), *port);
}

Evidence guids_are_not_zero(const LogState& state, const LogProblem&) {
  if (first_seen(state, {"guid-zero"})) return std::nullopt;
  return first_seen(state, {"guid-of-device"});
}

// The place of --use_cuda in the command that has --use_cuda_dmabuf.
enum class CudaOption { kAbsent, kBefore, kAfter };
std::optional<CudaOption> cuda_option(const LogState& state) {
  const auto command = state.seen.find("perftest-dmabuf-flag");
  if (command == state.seen.end()) return std::nullopt;
  const std::string_view text = command->second.text;
  const auto cuda = std::min(text.find("--use_cuda="), text.find("--use_cuda "));
  if (cuda == std::string_view::npos) return CudaOption::kAbsent;
  return cuda < text.find("--use_cuda_dmabuf") ? CudaOption::kBefore : CudaOption::kAfter;
}
template <CudaOption option>
Evidence cuda_option_is(const LogState& state, const LogProblem&) {
  if (cuda_option(state) != option) return std::nullopt;
  return at_line(state.seen.at("perftest-dmabuf-flag"));
}

Evidence pages_are_small(const LogState& state, const LogProblem&) {
  return first_seen(state, {"pages-of-4k", "kernel-of-x86"});
}
Evidence pages_are_large(const LogState& state, const LogProblem&) {
  return first_seen(state, {"pages-of-64k", "kernel-of-power", "kernel-64k"});
}

// UCX's own lines about what the adapter sent in vain.
Evidence retries_ended(const LogState& state, const LogProblem& problem) {
  constexpr std::array<std::string_view, 4> kRetries = {"ucx-retry-ib", "ucx-retry-roce", "ucx-retry-verbs",
                                                        "ucx-ud-timeout"};
  return first_seen(state, kRetries, &problem);
}

Evidence test_is_on_infiniband(const LogState& state, const LogProblem&) {
  return first_seen(state, {"perftest-link-ib", "link-infiniband", "ibstat-infiniband"});
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

constexpr Question kRdmaQuestions[] = {
    {"ucx-of-two-copies", ucx_is_of_two_copies},
    {"ucx-of-one-copy", ucx_is_of_one_copy},
    {"ucx-retries-ended", retries_ended},
    {"test-on-infiniband", test_is_on_infiniband},
    {"pages-are-small", pages_are_small},
    {"pages-are-large", pages_are_large},
    {"cuda-after-dmabuf", cuda_option_is<CudaOption::kAfter>},
    {"cuda-before-dmabuf", cuda_option_is<CudaOption::kBefore>},
    {"dmabuf-alone", cuda_option_is<CudaOption::kAbsent>},
    {"guid-set", guids_are_not_zero},
    {"mtu-differs", mtu_differs},
    {"mtu-equal", mtu_is_equal},
    {"port-down", no_port_is_active},
    {"dev-infiniband", container_has_devices},
    {"gids-of-two-kinds", gids_are_of_two_kinds},
    {"gids-of-one-kind", gids_are_of_one_kind},
    {"gid-zero", a_gid_is_zero},
    {"gid-set", gids_are_set},
    {"perftest-dmabuf", test_uses_dma_buf},
    {"perftest-no-dmabuf", test_lacks_dma_buf},
    {"ucx-limit", ucx_may_lock_little},
    {"ucx-unlimited", ucx_may_lock_all},
    {"ucx-not-selected", ucx_is_not_selected},
    {"ucx-needed", ucx_was_needed},
    {"first-request-lost", first_request_was_lost},
    {"both-ends-report", both_ends_report},
    {"ucx-link-local", ucx_sends_from_link_local},
    {"process-killed", a_process_was_killed},
    {"subnet-change-reported", subnet_change_is_reported},
    {"udp-4791", port_4791_is_blocked},
    {"gpu-buffers", buffers_are_on_gpus},
    {"verbs-driver-missing", verbs_driver_is_missing},
    {"link-layers-mixed", link_layers_are_mixed},
    {"link-layers-equal", link_layers_are_equal},
    {"uses-ib", nccl_uses_ib},
    {"uses-sockets", nccl_uses_sockets},
    {"gid-index-fits", gid_index_fits},
    {"gid-0-empty", gid_0_is_empty},
    {"gid-0-there", gid_0_is_there},
    {"nvshmem-new", nvshmem_is_new},
    {"rank-in-namespace", rank_is_in_a_namespace},
    {"ofi-is-tcp", plugin_uses_tcp},
    {"ofi-is-efa", plugin_uses_efa},
    {"efa-peer-known", efa_peer_was_known},
    {"nvshmem-old", nvshmem_is_old},
    {"efa-libfabric-old", efa_libfabric_is_old},
    {"efa-libfabric-new", efa_libfabric_is_new},
    {"test-versions-differ", test_versions_differ},
    {"test-versions-equal", test_versions_are_equal},
    {"zones-differ", efa_zones_differ},
    {"zones-equal", efa_zones_are_equal},
    {"ucx-of-1-19", ucx_is_of_1_19},
    {"ucx-network-unreachable", ucx_calls_network_unreachable},
    {"ucx-lists-rdma", ucx_lists_rdma},
    {"ucx-lists-no-rdma", ucx_lists_no_rdma},
    {"ucx-huge-pages", ucx_wants_huge_pages},
    {"ucx-plain-pages", ucx_wants_plain_pages},
    {"reason-no-memory", reason_is_no_memory},
    {"reason-bad-address", reason_is_bad_address},
    {"reason-timed-out", reason_is_a_timeout},
    {"mpirun-under-slurm", mpirun_is_under_slurm},
    {"ranks-by-srun", ranks_are_of_srun},
    {"ucx-tls-no-cuda", ucx_tls_lacks_cuda},
    {"ucx-tls-with-cuda", ucx_tls_names_cuda},
    {"queues-many", queues_are_many},
    {"queues-few", queues_are_few},
    {"provider-new", provider_is_new},
    {"rdma-test-passed", rdma_test_passed},
    {"responders-few", responders_are_few},
    {"responders-many", responders_are_many},
    {"devx-syndrome", firmware_gave_a_syndrome},
    {"devx-no-syndrome", firmware_gave_no_syndrome},
    {"skipped-named-mlx5", skipped_device_is_mlx5},
    {"skipped-named-by-slot", skipped_device_is_named_by_slot},
    {"skipped-of-others", skipped_device_is_of_others},
    {"test-port-taken", test_port_is_taken},
    {"test-port-free", test_port_is_free},
};

constexpr Opposites kRdmaOpposites[] = {
    {"yama-restricts", "yama-open"},
    {"ofi-is-tcp", "ofi-is-efa"},
    {"test-link-ib", "test-link-ethernet"},
    {"test-lid-zero", "test-lid-set"},
    {"mtu-differs", "mtu-equal"},
    {"port-down", "port-active"},
    {"no-dev-infiniband", "dev-infiniband"},
    {"gids-of-two-kinds", "gids-of-one-kind"},
    {"gid-zero", "gid-set"},
    {"gid-0-empty", "gid-0-there"},
    {"nvshmem-new", "nvshmem-old"},
    {"efa-libfabric-old", "efa-libfabric-new"},
    {"perftest-dmabuf", "perftest-no-dmabuf"},
    {"ucx-limit", "ucx-unlimited"},
    {"ucx-not-selected", "ucx-needed"},
    {"first-request-lost", "ucx-late-request"},
    {"ucx-link-local", "ucx-routable"},
    {"ucx-lists-rdma", "ucx-lists-no-rdma"},
    {"ucx-huge-pages", "ucx-plain-pages"},
    {"reason-no-memory", "reason-bad-address"},
    {"responders-few", "responders-many"},
    {"ucx-tls-no-cuda", "ucx-tls-with-cuda"},
    {"queues-many", "queues-few"},
    {"peermem-loaded", "peermem-absent"},
    {"memory-peers-absent", "memory-peers-present"},
    {"ib-link-errors", "ib-links-clean"},
    {"container-unprivileged", "container-privileged"},
    {"distro-rdma-core", "ofed-rdma-core"},
    {"gpu-geforce", "gpu-data-center"},
    {"link-layers-mixed", "link-layers-equal"},
    {"uses-ib", "uses-sockets"},
    {"zones-differ", "zones-equal"},
    {"test-versions-differ", "test-versions-equal"},
    {"uctx-on", "uctx-off"},
    {"peer-mapping-on", "peer-mapping-off"},
    {"nvshmem-dmabuf-on", "nvshmem-dmabuf-off"},
    {"test-port-refused", "test-port-silent"},
    {"uverbs-on-host", "no-uverbs-on-host"},
    {"guid-zero", "guid-set"},
    {"userspace-only", "driver-installs-modules"},
    {"pages-are-small", "pages-are-large"},
};

// read_rdma() reads only lines with one of these words.
enum RdmaWord : std::size_t {
  kHca,
  kMtu,
  kPortState,
  kIbstatState,
  kModules,
  kNvidiaModule,
  kPeerMem,
  kDevices,
  kMemoryPeers,
  kUlimit,
  kInspect,
  kPrivileged,
  kLinkError,
  kPhysicalError,
  kLinkSummary,
  kAddress,
  kGid,
  kRequest,
  kRetry,
  kVerbsPackage,
  kLinkLayer,
  kZone,
  kGpuName,
  kMappedGid,
  kIbstatusState,
  kLinkState,
  kPort,
  kVersionOption,
  kAdapterName,
  kNodeGuid,
  kNodeGuidField,
  kZeroGuid,
  kLinkLocalGid,
  kGidTable,
  kGetconf,
  kRdmaWordCount
};
constexpr std::string_view kRdmaWords[kRdmaWordCount] = {
    "hca_id:",
    "active_mtu:",
    "PORT_",
    "State: ",
    "lsmod",
    "nvidia",
    "nv_peer_mem",
    "/dev/infiniband",
    "memory_peers",
    "ulimit",
    "inspect",
    "rivileged",
    "Errors == ",
    "Counter == ",
    "nodes checked, ",
    " address: LID",
    "GID:",
    " wqe[",
    "(synd 0x15",
    "libibverbs",
    "link_layer:",
    "AvailabilityZone",
    "NVIDIA ",
    "0000:ffff:",
    "state: ",
    "physical_state ",
    "port:",
    "--version",
    "CA '",
    "Node GUID:",
    "node_guid:",
    "0000000000000000",
    "fe80:0000:",
    "GID[",
    "getconf",
};

using FoundWords = std::bitset<kRdmaWordCount>;

FoundWords rdma_words_of(std::string_view line) {
  static const Phrases phrases{std::span(kRdmaWords)};
  FoundWords found;
  phrases.visit(line, [&](std::size_t index) { found.set(index); });
  return found;
}

// Splits "root@node1:~# lsmod | grep peer" into prompt and command; the command is empty if the line has none.
std::pair<std::string_view, std::string_view> shell_command(std::string_view line) {
  const std::size_t at = line.find_first_of("$#");
  if (at == std::string_view::npos || at > kLongestShellPrompt || at + 1 >= line.size() ||
      line[at + 1] != ' ')
    return {};
  const std::string_view prompt = line.substr(0, at);
  if (!prompt.empty() && prompt.find(' ') != std::string_view::npos && !prompt.starts_with('[')) return {};
  return {prompt, trim(line.substr(at + 1))};
}

std::string first_word_of(std::string_view text) {
  const auto parts = words(text);
  return parts.empty() ? "" : std::string(parts.front().substr(0, kLongestRdmaName));
}

// Returns whether a GPU's name, without "NVIDIA ", is that of one made for data centers, which have GPUDirect RDMA.
bool is_data_center_gpu(std::string_view name) {
  constexpr std::string_view kNames[] = {"H100", "H200", "H800", "H20",   "A100",  "A800",  "A40", "A30",
                                         "B100", "B200", "B300", "GB200", "GB300", "GH200", "L40", "Tesla"};
  return std::ranges::any_of(kNames, [&](std::string_view known) { return name.starts_with(known); });
}

bool is_peer_module(std::string_view name) {
  return name == "nvidia_peermem" || name == "nv_peer_mem" || name == "efa_nv_peermem";
}

// Returns the largest number after "== " in "[PortRcvErrors == 48211] [SymbolErrorCounter == 2]".
int worst_counter(std::string_view line) {
  constexpr std::string_view kCounters[] = {"PortRcvErrors == ",      "PortRcvRemotePhysicalErrors == ",
                                            "SymbolErrorCounter == ", "LinkErrorRecoveryCounter == ",
                                            "LinkDownedCounter == ",  "LocalLinkIntegrityErrors == "};
  int worst = 0;
  for (const std::string_view counter : kCounters)
    worst = std::max(worst, number_after(line, counter).value_or(0));
  return worst;
}

// Returns the value after "privileged" in `"Privileged": false` and "privileged: true".
std::optional<bool> privileged_in(std::string_view line) {
  Scan scan(line);
  if (!scan.skip_past("rivileged")) return std::nullopt;
  std::string_view rest = scan.rest();
  rest.remove_prefix(std::min(rest.find_first_not_of("\"'"), rest.size()));
  if (!rest.starts_with(':') && !rest.starts_with('=')) return std::nullopt;
  rest = trim(rest.substr(1));
  if (rest.starts_with("false")) return false;
  return rest.starts_with("true") ? std::optional(true) : std::nullopt;
}

// Returns the host in the prompt "root@gpu01:~", "gpu01:~" or "[root@gpu01 ucx]"; empty if it names none.
std::string host_of_prompt(std::string_view prompt) {
  if (const auto at = prompt.find('@'); at != std::string_view::npos) prompt.remove_prefix(at + 1);
  const std::string_view host = prompt.substr(0, prompt.find_first_of(": ]"));
  return host.size() < prompt.size() && is_plain_word(host, kLongestRdmaName) ? std::string(host) : "";
}

// Keeps the device in "ibv_devinfo -d mlx5_0 | grep mtu", whose output does not name it, and the host of its prompt.
void read_rdma_question(RdmaLines& rdma, std::string_view prompt, std::string_view command) {
  rdma.asked_node.clear();
  rdma.asked_device.clear();
  const std::string_view device = word_after(command, " -d ");
  if (!command.starts_with("ibv_devinfo ") || !is_plain_word(device, kLongestRdmaName)) return;
  rdma.asked_node = host_of_prompt(prompt);
  rdma.asked_device = device;
}

// Reads the MTUs of ibv_devinfo.
void read_rdma_mtu(LogState& state, std::string_view text, const FoundWords& found) {
  RdmaLines& rdma = state.rdma;
  if (found[kHca]) rdma.device = first_word_of(text.substr(text.find("hca_id:") + 7));
  if (found[kPort] && text.starts_with("port:")) rdma.port = first_word_of(text.substr(5));
  if (found[kPortState] && has_text(text, "state:")) rdma.port_active = has_text(text, "PORT_ACTIVE");
  if (found[kMtu] && rdma.port_active && rdma.mtus.size() < kMostRdmaPorts) {
    const auto bytes = parse_number<int>(first_word_of(text.substr(text.find("active_mtu:") + 11)));
    if (!bytes) return;
    RdmaMtu& mtu = rdma.mtus.emplace_back();
    if (!rdma.device.empty()) {
      mtu.port = fmt::format("{}/{}", rdma.device, rdma.port);
    } else if (!rdma.asked_node.empty()) {
      mtu.node = rdma.asked_node;
      mtu.device = rdma.asked_device;
    }
    mtu.bytes = *bytes;
    std::string shown(text);
    if (!mtu.port.empty()) shown = fmt::format("{} active_mtu {}", mtu.port, *bytes);
    if (!mtu.node.empty()) shown = fmt::format("{} {} active_mtu {}", mtu.node, mtu.device, *bytes);
    state.keep_sight(mtu.sight, shown);
  }
}

// Reads states and link layers of ports: ibv_devinfo, ibstat, ibstatus, rdma link.
void read_rdma_port(LogState& state, std::string_view text, const FoundWords& found) {
  if (found[kHca] && state.rdma.device.starts_with("mlx5")) state.keep_sight(state.seen["hca-mlx5"], text);
  if (found[kLinkLayer])
    state.keep_sight(state.seen[has_text(text, "InfiniBand") ? "link-infiniband" : "link-ethernet"],
                     fmt::format("{} {}", state.rdma.device, text));
  // ibstatus: "state: 4: ACTIVE"; rdma link: "link mlx5_0/1 state ACTIVE physical_state LINK_UP"
  if ((found[kIbstatusState] && text.ends_with("4: ACTIVE")) ||
      (found[kLinkState] && has_text(text, "state ACTIVE")))
    state.keep_sight(state.seen["port-active"], text);
  if ((found[kIbstatusState] && text.starts_with("state:") && text.ends_with("1: DOWN")) ||
      (found[kLinkState] && has_text(text, "state DOWN")))
    state.keep_sight(state.seen["port-not-active"], text);
  if (found[kPortState] && has_text(text, "state:")) {
    if (has_text(text, "PORT_ACTIVE")) state.keep_sight(state.seen["port-active"], text);
    if (has_text(text, "PORT_DOWN") || has_text(text, "PORT_INIT"))
      state.keep_sight(state.seen["port-not-active"], text);
  }
  if (found[kIbstatState] && text.starts_with("State: ")) {
    if (text == "State: Active") state.keep_sight(state.seen["port-active"], text);
    if (text == "State: Down" || text == "State: Initializing")
      state.keep_sight(state.seen["port-not-active"], text);
  }
}

// Returns whether a device of this name has a GUID: EFA's, which udev may call rdmap…, has none.
bool has_guid(std::string_view device) {
  return !device.empty() && !device.starts_with("efa") && !device.starts_with("rdmap");
}

// Reads GUIDs of devices: ibstat, ibv_devinfo, ibv_devices.
void read_rdma_guid(LogState& state, std::string_view text, const FoundWords& found) {
  const auto keep = [&](std::string_view device, bool zero) {
    if (has_guid(device))
      state.keep_sight(state.seen[zero ? "guid-zero" : "guid-of-device"], fmt::format("{} {}", device, text));
  };
  if (found[kAdapterName] && text.starts_with("CA '")) {
    Scan scan(text);
    scan.take("CA '");
    state.rdma.adapter = scan.until("'").substr(0, kLongestRdmaName);
  }
  if (found[kNodeGuid] && text.starts_with("Node GUID:"))
    keep(state.rdma.adapter, text.ends_with("0x0000000000000000"));
  if (found[kNodeGuidField] && text.starts_with("node_guid:"))
    keep(state.rdma.device, text.ends_with("0000:0000:0000:0000"));
  if (found[kZeroGuid]) {
    const auto parts = words(text);
    if (parts.size() == 2 && parts[1] == "0000000000000000") keep(parts[0], true);
  }
}

// Reads modules for peer memory: lsmod, /sys.
void read_peer_modules(LogState& state, std::string_view text, const FoundWords& found, bool is_command) {
  if (found[kNvidiaModule] || found[kPeerMem]) {
    const auto parts = words(text);
    const bool is_row =
        parts.size() >= 3 && is_digits(parts[1]) && parts[1].size() >= 4 && is_digits(parts[2]);
    const bool uses =
        parts.size() >= 4 && (has_text(parts[3], "peermem") || has_text(parts[3], "nv_peer_mem"));
    if (is_row && (is_peer_module(parts[0]) || (parts[0] == "nvidia" && uses))) {
      state.seen.erase("peermem-absent");
      state.keep_sight(state.seen["peermem-loaded"], text);
    } else if (is_row && parts[0] == "nvidia" && !state.seen.contains("peermem-loaded")) {
      state.keep_sight(state.seen["peermem-absent"], fmt::format("{} (without nvidia_peermem)", text));
    }
    const bool no_module = has_text(text, "cannot access") || has_text(text, "No such file");
    if (has_text(text, "/sys/module/nvidia_peermem") && no_module)
      state.keep_sight(state.seen["peermem-absent"], text);
    if (has_text(text, "modprobe: FATAL") && has_text(text, "peermem"))
      state.keep_sight(state.seen["peermem-absent"], text);
  }
  if (found[kMemoryPeers] && !is_command)
    state.keep_sight(
        state.seen[has_text(text, "No such file") ? "memory-peers-absent" : "memory-peers-present"], text);
}

// Reads limits, rights and packages of the process and its container.
void read_surroundings(LogState& state, std::string_view text, const FoundWords& found) {
  if (found[kDevices] && has_text(text, "No such file"))
    state.keep_sight(state.seen[state.rdma.on_host ? "no-uverbs-on-host" : "no-dev-infiniband"], text);
  if (found[kUlimit] && !has_text(text, "login")) {
    // "in the job: ulimit -l -> 64"
    Scan scan(text);
    if (scan.skip_past("ulimit ") && scan.skip_past("-l")) {
      std::string_view value = trim(scan.rest());
      const bool shows = value.starts_with("->") || value.starts_with(':') || value.starts_with('=');
      value.remove_prefix(std::min(value.find_first_not_of("-> :="), value.size()));
      if (shows && value.starts_with("unlimited")) state.keep_sight(state.memlock_unlimited, text);
      if (shows && !value.empty() && is_digit(value.front())) state.keep_sight(state.memlock_limited, text);
    }
  }
  if (found[kPrivileged])
    if (const auto privileged = privileged_in(text))
      state.keep_sight(state.seen[*privileged ? "container-privileged" : "container-unprivileged"], text);
  if (found[kVerbsPackage]) {
    const auto parts = words(text);
    const bool deb = parts.size() >= 3 && parts[0] == "ii" && parts[1].starts_with("libibverbs1");
    const bool rpm =
        parts.size() == 1 && text.starts_with("libibverbs-") && text.size() > 11 && is_digit(text[11]);
    if (deb || rpm)
      state.keep_sight(
          state.seen[has_text(deb ? parts[2] : text, "mlnx") ? "ofed-rdma-core" : "distro-rdma-core"], text);
  }
}

// Keeps the kind of a GID at its index.
void keep_gid(LogState& state, int index, std::string_view gid, std::string_view text) {
  constexpr int kMostGids = 4096;
  if (index < 0 || index >= kMostGids) return;
  if (!gid.starts_with("fe80:"))
    state.rdma.routable_gids.insert(index);
  else
    state.keep_sight(state.rdma.link_local_gids[index], text);
}

// Reads "GID[  1]:		fe80::ac0:ebff:fe12:3456, RoCE v2" of ibv_devinfo -v.
void read_gid_table(LogState& state, std::string_view text) {
  Scan scan(text);
  if (!scan.take("GID[")) return;
  const auto index = parse_number<int>(trim(scan.until("]")));
  if (!index || !scan.skip_past(":")) return;
  keep_gid(state, *index, trim(scan.rest()), text);
}

// Reads addresses of perftest, and GIDs of show_gids.
void read_rdma_test(LogState& state, std::string_view text, const FoundWords& found) {
  if (found[kGidTable]) read_gid_table(state, text);
  if (found[kMappedGid] || found[kLinkLocalGid]) {
    // "mlx5_1  1  0  fe80:0000:0000:0000:0a3b:53ff:fe77:1ce9  v1  ens2"
    constexpr std::size_t kLongGid = 39;
    constexpr int kMostGids = 1 << 16;
    const auto parts = words(text);
    if (parts.size() >= 5 && parts[3].size() == kLongGid && is_digits(parts[1]) && is_digits(parts[2])) {
      const int index = parse_number<int>(parts[2]).value_or(kMostGids);
      keep_gid(state, index, parts[3], text);
      if (index < kMostGids && (state.rdma.lowest_gid < 0 || index < state.rdma.lowest_gid)) {
        state.rdma.lowest_gid = index;
        state.rdma.lowest_gid_line = {};
        state.keep_sight(state.rdma.lowest_gid_line, text);
      }
    }
  }
  if (found[kMappedGid]) {
    // show_gids: "mlx5_1  1  3  0000:0000:0000:0000:0000:ffff:0a01:0102  10.1.1.2  v2  ens2"
    const auto parts = words(text);
    if (parts.size() >= 6 && is_digits(parts[1]) && is_digits(parts[2]) && parts[5] == "v2")
      state.keep_sight(state.seen["gid-roce-v2"], fmt::format("{} port {} has {} (v2) at GID index {}",
                                                              parts[0], parts[1], parts[4], parts[2]));
  }
  if (found[kAddress]) state.rdma.remote = text.starts_with("remote");
  if (found[kGid] && text.starts_with("GID:"))
    state.keep_sight(state.rdma.remote ? state.rdma.remote_gid : state.rdma.local_gid, text);
}

// Reads counters of ibqueryerrors and zones of AWS.
void read_fabric(LogState& state, std::string_view text, const FoundWords& found) {
  if ((found[kLinkError] || found[kPhysicalError]) && worst_counter(text) >= kManyLinkErrors)
    state.keep_sight(state.seen["ib-link-errors"], text);
  if (found[kLinkSummary] && has_text(text, ", 0 bad nodes found"))
    state.keep_sight(state.seen["ib-links-clean"], text);
  if (found[kZone] && state.rdma.zones.size() < kMostEfaZones) {
    // "AvailabilityZone": "eu-west-1a"
    Scan scan(text);
    if (scan.skip_past("AvailabilityZone\": \""))
      if (const std::string_view zone = scan.until("\""); is_plain_word(zone, kLongestRdmaName))
        state.rdma.zones.emplace(zone);
  }
}

// Reads the requests that UCX reports as lost.
void read_ucx_request(LogState& state, std::string_view text, const FoundWords& found) {
  if (found[kRequest] && has_text(text, "QP 0x")) {
    const int request = number_after(text, " wqe[").value_or(-1);
    for (const std::string_view name : {"dgid ", "rlid "}) {
      Scan target(text);
      if (target.skip_past(name) && state.rdma.retry_targets.size() < kMostRdmaRetryHosts)
        state.rdma.retry_targets.emplace(target.until(" ]").substr(0, kLongestRdmaName));
    }
    if (request == 0) state.keep_sight(state.seen["ucx-request-0"], text);
    if (request >= kLateRequest) state.keep_sight(state.seen["ucx-late-request"], text);
    if (has_text(text, "sgix ")) {
      if (has_text(text, "dgid fe80:"))
        state.keep_sight(state.seen["ucx-dgid-link-local"], text);
      else if (has_text(text, "dgid "))
        state.keep_sight(state.seen["ucx-routable"], text);
    }
  }
  if (found[kRetry] && state.rdma.retry_hosts.size() < kMostRdmaRetryHosts) {
    // "[node1:4711:0:4711] ib_mlx5_log.c:171 …", behind a launcher's prefix or not
    const std::size_t end = text.find("] ib_mlx5_log");
    const std::size_t begin = end == std::string_view::npos ? end : text.rfind('[', end);
    if (begin != std::string_view::npos) {
      Scan host(text.substr(begin + 1));
      state.rdma.retry_hosts.emplace(host.until(":]").substr(0, kLongestRdmaName));
    }
  }
}

// "iperf 3.7 (cJSON 1.5.2)"; "[SUM]   0.00-10.01  sec  7.57 GBytes  6.50 Gbits/sec                  receiver"
void read_iperf(LogState& state, std::string_view text) {
  RdmaLines& rdma = state.rdma;
  if (text.starts_with("iperf 3.")) {
    const auto version = number_after(text, "iperf 3.");
    if (version && *version > 0 && (rdma.iperf_version == 0 || *version < rdma.iperf_version))
      rdma.iperf_version = *version;
  } else if (text.starts_with("[SUM]") && text.ends_with("receiver")) {
    const auto end = text.find(" Gbits/sec");
    if (end == std::string_view::npos) return;
    const auto begin = text.find_last_of(' ', end - 1);
    const auto gigabits = parse_real(text.substr(begin + 1, end - begin - 1));
    if (!gigabits || *gigabits <= rdma.iperf_gigabits) return;
    rdma.iperf_gigabits = *gigabits;
    rdma.iperf = {};
    state.keep_sight(rdma.iperf, text);
  }
}

}  // namespace

std::span<const Question> rdma_questions() { return kRdmaQuestions; }

std::span<const Opposites> rdma_opposites() { return kRdmaOpposites; }

// Reads a line with a prompt; an empty one ends the output of the last command.
void LogState::read_command(std::string_view line) {
  const auto [prompt, command] = shell_command(line);
  // "lsmod | grep peer" printed nothing before the next prompt.
  if (rdma.asks_peer) {
    seen.erase("peermem-loaded");
    keep_sight(seen["peermem-absent"], "lsmod lists no nvidia_peermem");
  }
  rdma.asks_peer = false;
  rdma.command = RdmaCommand::kOther;
  rdma.on_host = lower(prompt).find("host") != std::string::npos;
  if (has_text(command, "lsmod")) {
    rdma.command = RdmaCommand::kModules;
    // "# lsmod | grep peer" may be a comment.
    rdma.asks_peer = !line.starts_with('#') && has_text(command, "grep") && has_text(command, "peer") &&
                     !has_text(command, "|^");
  } else if (has_text(command, "ls ") && has_text(command, "/dev/infiniband")) {
    rdma.command = RdmaCommand::kDevices;
  } else if (has_text(command, "ulimit") && command.ends_with("-l")) {
    rdma.command = RdmaCommand::kLimit;
  } else if (command.starts_with("getconf PAGE")) {
    rdma.command = RdmaCommand::kPageSize;
  } else if (command.starts_with("ib_") && has_text(command, "--version")) {
    rdma.command = RdmaCommand::kVersion;
  } else if (has_text(command, "inspect") && has_text(command, "rivileged")) {
    rdma.command = RdmaCommand::kInspect;
  }
}

// Reads a line of the output of the command before it.
void LogState::read_output(std::string_view line) {
  const auto parts = words(line.substr(0, kLongestRdmaLine));
  if (parts.empty()) return;
  const bool is_row = parts.size() >= 3 && is_digits(parts[1]) && is_digits(parts[2]);
  if (rdma.asks_peer) {
    if (!is_row && !has_text(line, "peer")) {
      seen.erase("peermem-loaded");
      keep_sight(seen["peermem-absent"], "lsmod lists no nvidia_peermem");
    }
    rdma.asks_peer = false;
  }
  if (rdma.command == RdmaCommand::kLimit) {
    if (parts.front() == "unlimited")
      keep_sight(memlock_unlimited, "max locked memory unlimited (ulimit -l)");
    if (is_digits(parts.front()))
      keep_sight(memlock_limited, fmt::format("max locked memory {} KiB (ulimit -l)", parts.front()));
    rdma.command = RdmaCommand::kOther;
  } else if (rdma.command == RdmaCommand::kPageSize) {
    if (parts.front() == "4096") keep_sight(seen["pages-of-4k"], "pages of 4096 bytes (getconf PAGESIZE)");
    if (parts.front() == "65536") keep_sight(seen["pages-of-64k"], "pages of 65536 bytes (getconf PAGESIZE)");
    rdma.command = RdmaCommand::kOther;
  } else if (rdma.command == RdmaCommand::kVersion) {
    if (parts.size() == 2 && parts[0] == "Version:" && rdma.test_versions.size() < kMostTestVersions)
      rdma.test_versions.emplace(parts[1].substr(0, kLongestRdmaName));
    rdma.command = RdmaCommand::kOther;
  } else if (rdma.command == RdmaCommand::kInspect) {
    if (parts.front() == "false") keep_sight(seen["container-unprivileged"], line);
    if (parts.front() == "true") keep_sight(seen["container-privileged"], line);
    rdma.command = RdmaCommand::kOther;
  } else if (rdma.command == RdmaCommand::kDevices && has_text(line, "uverbs") && !has_text(line, "cannot")) {
    keep_sight(seen[rdma.on_host ? "uverbs-on-host" : "uverbs-here"], line);
  }
}

namespace {

// Keeps the last row of a table of perftest: " 65536      5000             97.45              97.44  …".
void read_test_result(LogState& state, std::string_view line) {
  const auto has = [&](std::string_view words) { return line.find(words) != line.npos; };
  if (has("#bytes") && has("#iterations")) {
    state.rdma.in_test_table = true;
  } else if (state.rdma.in_test_table) {
    const auto columns = words(line.substr(0, 256));
    state.rdma.in_test_table =
        columns.size() >= 4 &&
        std::ranges::all_of(columns, [](std::string_view column) { return parse_real(column).has_value(); });
    if (!state.rdma.in_test_table) return;
    state.rdma.test_result = {};
    state.keep_sight(state.rdma.test_result, line);
  }
}

}  // namespace

void LogState::read_rate(std::string_view line) {
  constexpr double kLarge = 1 << 16;  // smaller messages do not fill a link
  read_test_result(*this, line);
  read_iperf(*this, trim(line));
  for (const std::string_view test : {"ib_write_bw ", "ib_read_bw ", "ib_send_bw "})
    if (line.find(test) != std::string_view::npos)
      rdma.test_on_gpu = line.find("--use_cuda") != std::string_view::npos ||
                         line.find("--use_rocm") != std::string_view::npos;
  if (line.find("BW average[Gb/sec]") != std::string_view::npos) {
    rdma.in_gigabit_table = true;
  } else if (rdma.in_gigabit_table) {
    // " 1048576    15771            0.00               13.23              0.001577"
    const auto columns = words(line.substr(0, 256));
    const auto size = columns.size() >= 5 ? parse_real(columns[0]) : std::nullopt;
    const auto average = size ? parse_real(columns[3]) : std::nullopt;
    rdma.in_gigabit_table = average.has_value();
    if (!average || *size < kLarge) return;
    double& of_memory = rdma.test_on_gpu ? rdma.gpu_gigabits : rdma.host_gigabits;
    if (rdma.test_on_gpu && *average > of_memory) {
      rdma.measured_gpu = {};
      keep_sight(rdma.measured_gpu, line);
    }
    of_memory = std::max(of_memory, *average);
    if (*average <= rdma.measured_gigabits) return;
    rdma.measured_gigabits = *average;
    rdma.measured = {};
    keep_sight(rdma.measured, line);
  } else if (line.find("Speed: ") != std::string_view::npos) {
    const auto megabits = number_after(line, "Speed: ");
    if (megabits && *megabits > 0 && word_after(line, "Speed: ").ends_with("Mb/s"))
      rdma.link_gigabits = *megabits / 1000.0;
  } else if (line.find("Device         : roce") != std::string_view::npos) {
    rdma.measured_on_spark = line.find("rocep1s0f") != std::string_view::npos ||
                             line.find("roceP2p1s0f") != std::string_view::npos;
  }
}

// The ibv_wc_status of a syndrome in a completion with error of the mlx5 adapters (PRM, CQE with error).
constexpr std::pair<unsigned, int> kMlx5Syndromes[] = {
    {0x01, 1}, {0x02, 2},  {0x04, 4},  {0x05, 5},  {0x06, 6},  {0x10, 7}, {0x11, 8},
    {0x12, 9}, {0x13, 10}, {0x14, 11}, {0x15, 12}, {0x16, 13}, {0x22, 16}};

// Reads "mlx5: gpu01: got completion with error:" and the four rows of four words that libmlx5 prints below it. The
// second word of the last row ends with the vendor's syndrome and the syndrome.
void read_mlx5_completion(LogState& state, std::string_view text) {
  constexpr int kRows = 4;  // of as many words
  if (text.ends_with("got completion with error:") && has_text(text, "mlx5: ")) {
    state.rdma.error_rows = kRows;
    return;
  }
  if (state.rdma.error_rows == 0) return;
  auto parts = words(text);
  if (parts.size() > kRows)
    parts.erase(parts.begin(), parts.end() - kRows);  // Ray's "(Actor pid=7, ip=10.0.0.2)"
  const bool is_row = parts.size() == kRows && std::ranges::all_of(parts, [](std::string_view word) {
                        return word.size() == 8 && word.find_first_not_of("0123456789abcdef") == word.npos;
                      });
  state.rdma.error_rows = is_row ? state.rdma.error_rows - 1 : 0;
  if (!is_row || state.rdma.error_rows > 0) return;
  const unsigned word = Scan(parts[1]).number<unsigned>(16).value_or(0);
  const auto known = std::ranges::find(kMlx5Syndromes, word & 0xffU, &std::pair<unsigned, int>::first);
  if (known == std::end(kMlx5Syndromes)) return;
  state.read_symptom(
      fmt::format("mlx5, completion with error {}: Failed status {}: wr_id not shown, syndrom 0x{:x}",
                  parts[1], known->second, word >> 8 & 0xffU),
      nullptr, nullptr, false);
}

// A list of opensm's processes that is empty: the next line is again a command.
void read_opensm_list(LogState& state, std::string_view text) {
  const std::string_view command = shell_command(text).second;
  if (state.rdma.asked_opensm && !command.empty()) state.keep_sight(state.seen["opensm-none"], text);
  state.rdma.asked_opensm =
      has_text(command, "opens") && (command.starts_with("ps ") || command.starts_with("pgrep "));
}

void LogState::read_rdma(std::string_view line) {
  read_rate(line);
  line = line.substr(0, kLongestRdmaLine);
  const std::string_view text = trim(line);
  if (text.empty()) return;
  read_mlx5_completion(*this, text);
  read_opensm_list(*this, text);
  if (text.starts_with("local address:") && number_after<unsigned>(text, "LID 0x", 16).value_or(0) != 0)
    keep_sight(seen["perftest-link-ib"], text);  // ports of RoCE have no LID
  const FoundWords found = rdma_words_of(text);
  const auto [prompt, command] = shell_command(text);
  const bool is_command = !command.empty();
  if (is_command) read_rdma_question(rdma, prompt, command);
  if (is_command && (rdma.command != RdmaCommand::kOther || rdma.asks_peer || found.any())) {
    read_command(text);
  } else if (rdma.command != RdmaCommand::kOther || rdma.asks_peer) {
    read_output(text);
  }
  if (found.none()) return;
  read_rdma_mtu(*this, text, found);
  read_rdma_port(*this, text, found);
  read_rdma_guid(*this, text, found);
  read_peer_modules(*this, text, found, is_command);
  read_surroundings(*this, text, found);
  read_rdma_test(*this, text, found);
  read_fabric(*this, text, found);
  read_ucx_request(*this, text, found);
  if (found[kGpuName] && is_data_center_gpu(text.substr(text.find("NVIDIA ") + 7)))
    keep_sight(seen["gpu-data-center"], text);
}

}  // namespace railbed::diagnose
