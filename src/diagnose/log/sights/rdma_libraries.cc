// libfabric, NVSHMEM, Mooncake and other libraries that send by RDMA.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"
#include "nccl/version.h"

namespace railbed::diagnose {
namespace {

Evidence no_port_is_active(const LogState& state, const LogProblem&) {
  if (first_seen(state, {"port-active"})) return std::nullopt;
  return first_seen(state, {"port-not-active"});
}

Evidence container_has_devices(const LogState& state, const LogProblem&) {
  if (first_seen(state, {"no-dev-infiniband"})) return std::nullopt;
  return first_seen(state, {"uverbs-here"});
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

Evidence efa_zones_differ(const LogState& state, const LogProblem&) {
  const auto& zones = state.rdma.zones;
  if (zones.size() < 2) return std::nullopt;
  return fmt::format("{} and {}", *zones.begin(), *std::next(zones.begin()));
}

Evidence efa_zones_are_equal(const LogState& state, const LogProblem&) {
  if (state.rdma.zones.size() != 1) return std::nullopt;
  return fmt::format("only {} is named", *state.rdma.zones.begin());
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

constexpr Question kRdmaLibraryQuestions[] = {
    {"port-down", no_port_is_active},
    {"dev-infiniband", container_has_devices},
    {"uses-ib", nccl_uses_ib},
    {"uses-sockets", nccl_uses_sockets},
    {"nvshmem-new", nvshmem_is_new},
    {"ofi-is-tcp", plugin_uses_tcp},
    {"ofi-is-efa", plugin_uses_efa},
    {"efa-peer-known", efa_peer_was_known},
    {"nvshmem-old", nvshmem_is_old},
    {"efa-libfabric-old", efa_libfabric_is_old},
    {"efa-libfabric-new", efa_libfabric_is_new},
    {"zones-differ", efa_zones_differ},
    {"zones-equal", efa_zones_are_equal},
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
    {"skipped-named-mlx5", skipped_device_is_mlx5},
    {"skipped-named-by-slot", skipped_device_is_named_by_slot},
    {"skipped-of-others", skipped_device_is_of_others},
};

constexpr Opposites kRdmaLibraryOpposites[] = {
    {"ofi-is-tcp", "ofi-is-efa"},
    {"port-down", "port-active"},
    {"no-dev-infiniband", "dev-infiniband"},
    {"nvshmem-new", "nvshmem-old"},
    {"efa-libfabric-old", "efa-libfabric-new"},
    {"reason-no-memory", "reason-bad-address"},
    {"responders-few", "responders-many"},
    {"ucx-tls-no-cuda", "ucx-tls-with-cuda"},
    {"queues-many", "queues-few"},
    {"peermem-loaded", "peermem-absent"},
    {"memory-peers-absent", "memory-peers-present"},
    {"container-unprivileged", "container-privileged"},
    {"distro-rdma-core", "ofed-rdma-core"},
    {"uses-ib", "uses-sockets"},
    {"zones-differ", "zones-equal"},
    {"uctx-on", "uctx-off"},
    {"peer-mapping-on", "peer-mapping-off"},
    {"nvshmem-dmabuf-on", "nvshmem-dmabuf-off"},
    {"uverbs-on-host", "no-uverbs-on-host"},
};

}  // namespace

std::span<const Question> rdma_library_questions() { return kRdmaLibraryQuestions; }

std::span<const Opposites> rdma_library_opposites() { return kRdmaLibraryOpposites; }

}  // namespace railbed::diagnose
