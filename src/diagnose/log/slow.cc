// Sound but slow: the fast paths that a run does not take although its hardware has them, and what keeps it from them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace {

// A variable that closes a fast path at one of these values; an empty list: at any value.
struct Brake {
  std::string_view variable;
  std::string_view values;  // separated by spaces
  std::string_view title;
  std::string_view gpus = {};  // words of the products that have the path; empty: all
};

constexpr std::string_view kWithNvswitch = "H100 H200 H800 H20 B200 B300 GB200 GB300";
constexpr std::string_view kWithLinkedNodes = "GB200 GB300";

constexpr Brake kBrakes[] = {
    {"NCCL_ALGO", "", "NCCL may not choose its algorithm by size"},
    {"NCCL_PROTO", "", "NCCL may not choose its protocol by size"},
    {"NCCL_NVLS_ENABLE", "0", "NVLink SHARP (sums in the NVSwitch) is switched off", kWithNvswitch},
    {"NCCL_MNNVL_ENABLE", "0", "NVLink between nodes is switched off", kWithLinkedNodes},
    {"NCCL_CUMEM_ENABLE", "0",
     "memory by cuMem, which NVLink SHARP and NVLink between nodes need, is switched off", kWithNvswitch},
    {"NCCL_SHM_DISABLE", "1", "shared memory between ranks of a node is switched off"},
    {"NCCL_P2P_DISABLE", "1", "NVLink and PCIe peer-to-peer between GPUs of a node are switched off"},
    {"NCCL_IB_PCI_RELAXED_ORDERING", "0", "relaxed ordering of PCIe writes is switched off"},
    {"NCCL_MAX_NCHANNELS", "1 2 3 4", "few channels are allowed, which caps the bandwidth"},
    {"NCCL_MAX_CTAS", "1 2 3 4", "few channels are allowed, which caps the bandwidth"},
    {"NCCL_LAUNCH_MODE", "GROUP", "launches wait for one another"},
};

bool has_gpu_of(const LogState& state, std::string_view gpus) {
  return gpus.empty() || std::ranges::any_of(words(gpus), [&](std::string_view gpu) {
           return state.gpu_model.text.find(gpu) != std::string::npos;
         });
}

void judge_variables(const LogState& state, Log& log) {
  for (const LogVariable& variable : log.variables)
    for (const Brake& brake : kBrakes) {
      if (variable.name != brake.variable || !has_gpu_of(state, brake.gpus)) continue;
      const auto values = words(brake.values);
      if (!values.empty() && std::ranges::find(values, variable.value) == values.end()) continue;
      log.slow.push_back({.title = std::string(brake.title),
                          .why = fmt::format("{}={} is set", variable.name, variable.value),
                          .remedy = fmt::format("Remove {} unless an experiment needs it.", variable.name)});
    }
}

// A port of DGX Spark's adapter is two devices, one for each half of its PCIe lanes: rocep1s0f0 and roceP2p1s0f0.
void judge_halves(Log& log) {
  constexpr std::string_view kHalf = "rocep1s0f", kOther = "roceP2p1s0f";
  std::map<std::string_view, std::set<std::string>> devices;
  for (const LogNic& nic : log.nics) devices[nic.host].insert(nic.device);
  for (const auto& [host, names] : devices)
    for (const std::string& name : names) {
      if (!name.starts_with(kHalf)) continue;
      const std::string twin = std::string(kOther) + name.substr(kHalf.size());
      const bool merged = std::ranges::any_of(
          names, [&](const std::string& other) { return other.find(twin) != std::string::npos; });
      if (merged) continue;
      log.slow.push_back(
          {.title = fmt::format("{} uses one half of a DGX Spark's port: {} without {}", host, name, twin),
           .why = "each half has four of the port's eight PCIe lanes, about 100 of its 200 Gb/s",
           .remedy =
               "Give the other half's interface an address in a subnet of its own, and name both in NCCL_IB_HCA."});
      return;
    }
}

// Adds the hosts whose ports carry no data although there are ranks for them.
void judge_ports(Log& log) {
  if (log.communicators.empty()) return;
  const LogCommunicator& largest = log.communicators.front();
  struct Host {
    std::set<std::string> used;
    std::size_t ranks = 0;
    bool by_name = true;
  };
  std::map<std::string_view, Host> hosts;
  for (const LogRank& rank : largest.ranks) {
    Host& host = hosts[rank.host];
    ++host.ranks;
    for (const std::string& nic : rank.nics) {
      host.used.insert(nic);
      host.by_name = host.by_name && !nic.starts_with("NIC ");
    }
  }
  for (const auto& [name, host] : hosts) {
    const auto ports = static_cast<std::size_t>(std::ranges::count(log.nics, name, &LogNic::host));
    // A rank may use the port of its own GPU alone: fewer ranks than ports leave some idle.
    const std::size_t expected = std::min(ports, host.ranks);
    if (host.used.empty() || !host.by_name || expected < 2 || host.used.size() * 2 > expected) continue;
    log.slow.push_back(
        {.title = fmt::format("{} of {} RDMA ports of {} carry data", host.used.size(), ports, name),
         .why = fmt::format("{} ranks there use {}", host.ranks, fmt::join(host.used, ", ")),
         .remedy =
             "Look at NCCL_IB_HCA and NCCL_CROSS_NIC; each GPU should have its own port near it (nvidia-smi topo -m)."});
    return;
  }
}

// Compares the rate that perftest measured with the link's, if the text has both.
void judge_measured(const LogState& state, Log& log) {
  constexpr double kFarBelow = 0.25;
  const RdmaLines& rdma = state.rdma;
  if (rdma.link_gigabits <= 0 || rdma.measured_gigabits <= 0) return;
  if (rdma.measured_gigabits > kFarBelow * rdma.link_gigabits) return;
  LogSlow slow{
      .title = fmt::format("RDMA carried {:.3g} of the link's {:.3g} Gb/s", rdma.measured_gigabits,
                           rdma.link_gigabits),
      .why = at_line(rdma.measured),
      .remedy =
          "Look at counters, PCIe width and MTU of both ends: railbed bench rdma shows each beside its ceiling."};
  if (rdma.measured_on_spark)
    slow.remedy =
        "On a DGX Spark with a sound link and clean counters the ConnectX-7 may have come up degraded: shut both down, take AC "
        "power off for a minute, and measure again. No state that it reports shows this.";
  log.slow.push_back(std::move(slow));
}

// Compares what perftest measured with a GPU's memory and with the host's.
void judge_gpu_memory(const LogState& state, Log& log) {
  constexpr double kBelow = 0.75;
  const RdmaLines& rdma = state.rdma;
  if (rdma.host_gigabits <= 0 || rdma.gpu_gigabits <= 0) return;
  if (rdma.gpu_gigabits > kBelow * rdma.host_gigabits) return;
  log.slow.push_back(
      {.title = fmt::format("RDMA with GPU memory carries {:.3g} Gb/s, with host memory {:.3g}",
                            rdma.gpu_gigabits, rdma.host_gigabits),
       .why = at_line(rdma.measured_gpu),
       .remedy =
           "The network is sound; the way between GPU and adapter is not the short one. Look for PCIe ACS on the bridges "
           "(lspci -vvv | grep ACSCtl: ReqRedir+; of a virtual machine look on its host, where ATS of the adapter "
           "has to be on), and for an adapter far from the GPU (nvidia-smi topo -m: NODE or SYS)."});
}

// iperf3 has a thread for each stream since 3.16.
void judge_iperf(const LogState& state, Log& log) {
  constexpr int kThreaded = 16;
  constexpr double kBelow = 0.85;
  const RdmaLines& rdma = state.rdma;
  if (rdma.iperf_version == 0 || rdma.iperf_version >= kThreaded || rdma.link_gigabits <= 0) return;
  if (rdma.iperf_gigabits <= 0 || rdma.iperf_gigabits > kBelow * rdma.link_gigabits) return;
  log.slow.push_back(
      {.title = fmt::format(
           "iperf3 3.{} carried {:.3g} of the link's {:.3g} Gb/s, with all its streams in one thread",
           rdma.iperf_version, rdma.iperf_gigabits, rdma.link_gigabits),
       .why = at_line(rdma.iperf),
       .remedy =
           "Measure again with iperf3 3.16 or newer on both ends, or with several processes on ports of their own: before 3.16 "
           "one core bounds the result, so it says little of the network."});
}

}  // namespace

void judge_slow(LogState& state) {
  Log& log = state.log;
  if (log.verdict.severity == Severity::kError) return;  // first it has to run
  judge_measured(state, state.log);
  judge_gpu_memory(state, state.log);
  judge_iperf(state, state.log);
  judge_halves(state.log);
  judge_ports(state.log);
  judge_variables(state, state.log);
  // Where nothing else is known of the run, this is what there is to state.
  const bool says_nothing = log.problems.empty() && (log.nccl_lines == 0 || log.communicators.empty());
  if (log.slow.empty() || !says_nothing) return;
  const LogSlow& first = log.slow.front();
  log.verdict = {.severity = Severity::kWarning,
                 .text = first.title,
                 .why = {first.why},
                 .certainty = Certainty::kLikely,
                 .remedy = first.remedy};
  log.slow.erase(log.slow.begin());
}

}  // namespace railbed::diagnose
