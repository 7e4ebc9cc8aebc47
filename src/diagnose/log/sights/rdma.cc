// RDMA devices, ports and GIDs, and perftest.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"
#include "nccl/version.h"

namespace railbed::diagnose {
namespace {

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

Evidence ucx_sends_from_link_local(const LogState& state, const LogProblem&) {
  const auto line = first_seen(state, {"ucx-dgid-link-local"});
  if (!line || first_seen(state, {"ucx-routable"})) return std::nullopt;
  return with_gid_entry(state, *line);
}

Evidence buffers_are_on_gpus(const LogState& state, const LogProblem& problem) {
  if (problem.symptom.starts_with("nvshmem-")) return "NVSHMEM's heap is on the GPU";
  return first_seen(state, {"perftest-cuda-flag", "perftest-gpu-buffer"});
}

Evidence verbs_driver_is_missing(const LogState& state, const LogProblem&) {
  return first_seen(state, {"verbs-driver-mlx5", "verbs-driver-efa", "verbs-no-configuration"});
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

Evidence test_versions_differ(const LogState& state, const LogProblem&) {
  const auto& versions = state.rdma.test_versions;
  if (versions.size() < 2) return std::nullopt;
  return fmt::format("perftest {} and {}", *versions.begin(), *std::next(versions.begin()));
}

Evidence test_versions_are_equal(const LogState& state, const LogProblem&) {
  if (state.rdma.test_versions.size() != 1) return std::nullopt;
  return fmt::format("only perftest {} is shown", *state.rdma.test_versions.begin());
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

Evidence test_is_on_infiniband(const LogState& state, const LogProblem&) {
  return first_seen(state, {"test-link-ib", "link-infiniband", "ibstat-infiniband"});
}

constexpr Question kRdmaQuestions[] = {
    {"test-on-infiniband", test_is_on_infiniband},
    {"pages-are-small", pages_are_small},
    {"pages-are-large", pages_are_large},
    {"cuda-after-dmabuf", cuda_option_is<CudaOption::kAfter>},
    {"cuda-before-dmabuf", cuda_option_is<CudaOption::kBefore>},
    {"dmabuf-alone", cuda_option_is<CudaOption::kAbsent>},
    {"guid-set", guids_are_not_zero},
    {"mtu-differs", mtu_differs},
    {"mtu-equal", mtu_is_equal},
    {"gids-of-two-kinds", gids_are_of_two_kinds},
    {"gids-of-one-kind", gids_are_of_one_kind},
    {"gid-zero", a_gid_is_zero},
    {"gid-set", gids_are_set},
    {"perftest-dmabuf", test_uses_dma_buf},
    {"perftest-no-dmabuf", test_lacks_dma_buf},
    {"ucx-link-local", ucx_sends_from_link_local},
    {"gpu-buffers", buffers_are_on_gpus},
    {"verbs-driver-missing", verbs_driver_is_missing},
    {"gid-0-empty", gid_0_is_empty},
    {"gid-0-there", gid_0_is_there},
    {"test-versions-differ", test_versions_differ},
    {"test-versions-equal", test_versions_are_equal},
    {"test-port-taken", test_port_is_taken},
    {"test-port-free", test_port_is_free},
};

constexpr Opposites kRdmaOpposites[] = {
    {"test-link-ib", "test-link-ethernet"},
    {"test-lid-zero", "test-lid-set"},
    {"mtu-differs", "mtu-equal"},
    {"gids-of-two-kinds", "gids-of-one-kind"},
    {"gid-zero", "gid-set"},
    {"gid-0-empty", "gid-0-there"},
    {"perftest-dmabuf", "perftest-no-dmabuf"},
    {"ucx-link-local", "ucx-routable"},
    {"gpu-geforce", "gpu-data-center"},
    {"test-versions-differ", "test-versions-equal"},
    {"test-port-refused", "test-port-silent"},
    {"guid-zero", "guid-set"},
    {"userspace-only", "driver-installs-modules"},
    {"pages-are-small", "pages-are-large"},
};

}  // namespace

std::span<const Question> rdma_questions() { return kRdmaQuestions; }

std::span<const Opposites> rdma_opposites() { return kRdmaOpposites; }

}  // namespace railbed::diagnose
