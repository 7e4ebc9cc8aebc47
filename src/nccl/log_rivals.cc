// The table of rivals: observations elsewhere in a log that contradict the usual cause of a symptom, and the
// cause that takes its place.
//
// A row of log_symptoms.cc knows one message. What refutes it stands on other lines: the limit that the row
// blames is unlimited, the two addresses are of one subnet, the device is a slice of a GPU. weigh_rivals() looks
// for such observations after the whole log was read. The first rival whose observation is there replaces the
// problem's cause and remedy, and the observation becomes its evidence.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/ip.h"
#include "base/text.h"
#include "nccl/log_state.h"
#include "nccl/log_symptoms.h"
#include "nccl/scan.h"

namespace railbed::nccl {
namespace {

using Evidence = std::optional<std::string>;

std::string at_line(const LogSight& sight) { return fmt::format("line {}: {}", sight.line, sight.text); }

Evidence memlock_is_unlimited(const LogState& state, const LogProblem&) {
  if (state.memlock_unlimited.line == 0 || state.memlock_limited.line != 0) return std::nullopt;
  return at_line(state.memlock_unlimited);
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

Evidence all_ranks_use_device_0(const LogState& state, const LogProblem&) {
  if (state.log.communicators.empty()) return std::nullopt;
  const auto& ranks = state.log.communicators.front().ranks;
  const bool all =
      ranks.size() > 1 && std::ranges::all_of(ranks, [](const LogRank& rank) { return rank.device == 0; });
  if (!all) return std::nullopt;
  return fmt::format("all {} ranks of the log report cudaDev 0", ranks.size());
}

// Returns how many GPUs each process of nccl-tests asks for, if more than one.
Evidence asks_for_several(const LogState& state) {
  if (state.tests_gpus <= 1) return std::nullopt;
  return fmt::format("{}, so each process asks for {} GPUs", at_line(state.tests_shape), state.tests_gpus);
}

Evidence several_ranks_ask_for_several_gpus(const LogState& state, const LogProblem&) {
  const auto asks = asks_for_several(state);
  const auto shared =
      std::ranges::find_if(state.tests_failed, [](const auto& one) { return one.second.size() > 1; });
  if (!asks || shared == state.tests_failed.end()) return std::nullopt;
  return fmt::format("{}; {} processes failed on {}", *asks, shared->second.size(), shared->first);
}

Evidence one_process_asks_for_several_gpus(const LogState& state, const LogProblem&) {
  return asks_for_several(state);
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

constexpr std::string_view kMig =
    "NCCL knows ranks by the PCI address of the whole GPU, so two slices of one GPU (MIG) are one GPU to it. Releases "
    "that take MIG are new and say so.";
constexpr std::string_view kWholeGpus =
    "Give each rank a whole GPU: nvidia-smi -mig 0 (drains the GPU), or one rank for each GPU. With an NCCL that "
    "takes MIG, NCCL_MULTI_RANK_GPU_ENABLE=1 allows ranks to share one.";
constexpr std::string_view kMigSource = "github.com/NVIDIA/nccl/issues/1716";
constexpr std::string_view kFirewall =
    "The caller chose the right interface: the peer is in its own subnet. A firewall there that rejects answers like this "
    "(firewalld: icmp-host-prohibited); else the neighbour does not answer ARP: its host or link is down, or a VLAN parts them.";
constexpr std::string_view kOpenPorts =
    "ping the peer from that address. If it answers, open NCCL's ports on the peer, which are any TCP ports: "
    "firewall-cmd --permanent --zone=trusted --add-source=SUBNET && firewall-cmd --reload, or ufw allow from SUBNET, or the "
    "same by nft. If not, look at its link and VLAN.";

// clang-format off
constexpr Rival kRivals[] = {
    // symptom, id, observation, source
    //  title
    //  cause
    //  remedy
    {"memlock", "registration-unlimited", memlock_is_unlimited, "ib_umem_get, drivers/infiniband/core/umem.c; github.com/openucx/ucx/issues/6264",
     "RDMA memory could not be registered, although locked memory is unlimited",
     "One of these: the adapter has no room for more regions (dmesg: \"async reg mr failed\"), the cgroup's rdma.max is reached, "
     "the GPU's BAR1 is full, or the kernel cannot pin this memory (Linux 7.0.0-1019-nvidia on GB10 cannot, 6.17 can).",
     "dmesg | grep -e mlx5 -e 'reg mr' tells the first; cat /sys/fs/cgroup/rdma.max of the job the second; nvidia-smi -q -d MEMORY "
     "(BAR1) the third; NCCL_NET_GDR_LEVEL=LOC goes around GPU memory, uname -r names the kernel."},
    {"duplicate-gpu", "duplicate-host", ranks_are_on_two_hosts, "NCCL src/misc/utils.cc, getHostHash",
     "NCCL takes two nodes for one, and their GPUs for the same",
     "NCCL tells nodes apart by host name and boot id, or by NCCL_HOSTID. These two nodes have the same one.",
     "Unset NCCL_HOSTID, or give each node its own; cloned machines and containers need different host names."},
    {"duplicate-gpu", "mig-slices", device_is_a_slice, kMigSource,
     "Two ranks are on MIG slices of one GPU", kMig, kWholeGpus},
    {"shared-gpu", "mig-slices-shared", device_is_a_slice, kMigSource,
     "Two ranks are on MIG slices of one GPU", kMig, kWholeGpus},
    {"cuda-ordinal", "peer-unseen", all_ranks_use_device_0, "github.com/NVIDIA/nccl/issues/1948",
     "A rank cannot see the GPU of its peer",
     "Each rank already uses device 0 of the one GPU that its process sees. The number that CUDA refuses is the peer's GPU, which "
     "the launcher hides (Slurm's --gpus-per-task and --gpu-bind, a container for each rank).",
     "Show every rank all GPUs of the job on its node: srun --gpus-per-node=N --gpu-bind=none, one CUDA_VISIBLE_DEVICES with all of them, "
     "and the local rank as device. NCCL_P2P_DISABLE=1 confirms it."},
    {"test-ordinal", "test-gpus-each", several_ranks_ask_for_several_gpus, "github.com/NVIDIA/nccl-tests/issues/263",
     "Several ranks run on a node, and each asks for several GPUs: device ordinals run out",
     "nccl-tests takes -g (and -t) for each process. With one process for each GPU that is -g 1.",
     "Start the test with -g 1 -t 1 and as many ranks on a node as nvidia-smi -L lists there; or one rank on a node with all its GPUs."},
    {"test-ordinal", "test-gpus", one_process_asks_for_several_gpus, "github.com/NVIDIA/nccl-tests, README",
     "A process of nccl-tests asks for more GPUs than it sees",
     "-g times -t is more than the process sees: the launcher or CUDA_VISIBLE_DEVICES leaves it fewer, or several processes share the node.",
     "Start it with -g 1 and one rank for each GPU; or with -g no larger than what nvidia-smi -L lists where it runs."},
    {"shm", "shm-cumem", segment_has_no_size, "github.com/NVIDIA/nccl/issues/2190",
     "Ranks share host memory in two ways: one by cuMem, the other by a file (size 0)",
     "NCCL 2.24 and newer allocate host memory by cuMem where they can. One rank could and its peer could not, so the peer reads a "
     "descriptor as a file's name. A GPU near a NUMA node without memory or without processors does this.",
     "Set NCCL_CUMEM_HOST_ENABLE=0 for all ranks. For good: fill the memory channels of each NUMA node (numactl -H), or set one NUMA "
     "node a socket in the BIOS."},
    {"shm", "shm-apart", segment_is_not_there, "NCCL user guide, Troubleshooting",
     "Ranks of one node do not share /dev/shm",
     "One rank made a segment and its peer does not see it: they run in separate containers that share a host name, or something cleans "
     "/dev/shm (systemd's RemoveIPC at the end of a login).",
     "Share it: --ipc=host, or one container for all ranks of a node. NCCL_SHM_DISABLE=1 goes around it, slowly."},
    {"unreachable", "neighbour-rejects", peer_is_a_neighbour, "icmp(7); firewalld.zone(5); github.com/NVIDIA/nccl-tests/issues/162",
     "A neighbour rejects the connection: a firewall, most likely", kFirewall, kOpenPorts},
    {"connect-timeout", "neighbour-silent", peer_is_a_neighbour, "tcp(7), tcp_syn_retries; firewalld.zone(5)",
     "A neighbour does not answer: a firewall that drops, most likely",
     "The caller chose the right interface: the peer is in its own subnet. A neighbour that is down gives \"No route to host\" "
     "instead; silence is a firewall that drops.",
     kOpenPorts},
    {"qp-timeout", "qp-other-subnet", gids_are_of_two_subnets, "NCCL 2.30.7, NCCL_IB_SUBNET_AWARE_ROUTING; github.com/NVIDIA/nccl/issues/2013",
     "NCCL paired two NICs that cannot reach each other: they are in different subnets",
     "Nodes that are joined cable by cable, or rails of which each has its own subnet and switch: only NICs of one subnet reach each "
     "other, and NCCL took others. Where routers join the subnets, the gateway of this NIC does not answer.",
     "Cables without a switch: NCCL_IB_SUBNET_AWARE_ROUTING=1 (2.30.7 and newer) pairs NICs by subnet; each cable needs a subnet of its own. "
     "Rails with switches: the same order of NCCL_IB_HCA on every node, and NCCL_CROSS_NIC=0. "
     "Routed rails: ip route get the remote address from the local one, and ping the gateway."},
    {"qp-timeout", "qp-no-answer", gids_are_of_one_subnet, "drivers/infiniband/core/addr.c, rdma_addr_find_l2_eth_by_grh",
     "A neighbour on the RDMA network does not answer ARP",
     "Both addresses are of one subnet, so no route and no other rail is the cause: the link is dead, the two ports are in different "
     "VLANs, or the cable goes elsewhere.",
     "ping -I with the two addresses of the message, then ip neigh and the ports' link on both ends; railbed verify on both nodes names a "
     "port without a link."},
    {"qp-unreachable", "qp-no-interface", gids_are_of_one_subnet, "drivers/infiniband/core/addr.c, addr_resolve",
     "The local RDMA address has no working interface, so its own subnet is unreachable",
     "Both addresses are of one subnet, so no route is missing: the interface lost its address or its link, or is in another "
     "network namespace than the process.",
     "ip -brief address where the process runs: the local address of the message has to be there and UP. A container needs --network host "
     "or the interface itself."},
    {"gloo-refused", "gloo-peer-ended", all_are_on_one_node, "PyTorch ProcessGroupGloo.cpp",
     "Gloo: a rank on this node did not take the connection",
     "The loopback address is right on one node. The peer's process ended or did not start.",
     "Look at the first error of the other ranks."},
};
// clang-format on

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

void keep_first(LogSight& sight, std::uint64_t number, std::string_view line) {
  if (sight.line == 0) sight = {number, std::string(trim(line).substr(0, kLongestSight))};
}

}  // namespace

std::span<const Rival> all_rivals() { return kRivals; }

void LogState::read_sights(std::string_view line) {
  const auto has = [&](std::string_view words) { return line.find(words) != std::string_view::npos; };
  if (has("MIG") && names_slice(line)) keep_first(mig, log.lines, line);
  if ((has("lock") || has("LOCK")) && !advises(line)) {
    const Memlock limit = memlock_in(line);
    if (limit == Memlock::kUnlimited) keep_first(memlock_unlimited, log.lines, line);
    if (limit == Memlock::kLimited) keep_first(memlock_limited, log.lines, line);
  }
  // "# nThread 1 nGpus 8 minBytes …", then of each process that fails " .. g0010 pid 8386: Test failure common.cu:891".
  if (const auto gpus = number_after(line, " nGpus "); gpus && has("nThread ")) {
    const int threads = number_after(line, "nThread ").value_or(1);
    tests_gpus = std::clamp(*gpus, 0, 1024) * std::clamp(threads, 0, 1024);
    keep_first(tests_shape, log.lines, line);
  }
  if (!has(": Test failure ")) return;
  Scan scan(line);
  if (!scan.skip_past(".. ")) return;
  const std::string host(scan.until(" "));
  const auto process = number_after(scan.rest(), "pid ");
  if (!process || (tests_failed.size() >= kMostHosts && !tests_failed.contains(host))) return;
  if (auto& known = tests_failed[host]; known.size() < kMostOnOneHost) known.insert(*process);
}

void weigh_rivals(LogState& state) {
  for (LogProblem& problem : state.log.problems) {
    for (const Rival& rival : kRivals) {
      if (rival.symptom != problem.id) continue;
      const auto evidence = rival.refutes(state, problem);
      if (!evidence) continue;
      problem.id = rival.id;
      problem.title = rival.title;
      problem.cause = rival.cause;
      problem.remedy = rival.remedy;
      problem.source = rival.source;
      problem.evidence.push_back(*evidence);
      break;
    }
  }
}

}  // namespace railbed::nccl
