// Ray and vLLM.
#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace launcher_lines {
namespace {

// Ray and vLLM

// Returns the address in a request such as {'GPU': 1.0, 'node:10.0.0.4': 0.001}; empty if it names no node.
std::string_view requested_node(std::string_view message) {
  Scan scan(message);
  while (scan.skip_past("node:")) {
    const std::string_view node = scan.until("'\"");
    if (!node.empty() && !node.starts_with("_")) return node;
  }
  return {};
}

Evidence request_names_a_node(const LogState&, const LogProblem& problem) {
  const std::string_view node = requested_node(problem.message);
  if (node.empty()) return std::nullopt;
  return fmt::format("the request names the node {}", node);
}

Evidence request_names_no_node(const LogState& state, const LogProblem& problem) {
  if (request_names_a_node(state, problem)) return std::nullopt;
  return "the request names no node: any node with enough of it would do";
}

Evidence node_is_unknown_to_ray(const LogState& state, const LogProblem& problem) {
  const std::string node(requested_node(problem.message));
  const LauncherLines& lines = state.launchers;
  if (node.empty() || lines.ray_addresses.empty() || lines.ray_addresses.contains(node)) return std::nullopt;
  return fmt::format("{} is requested, and Ray was started at another address: {}", node,
                     at_line(lines.ray_address));
}

Evidence node_is_known_to_ray(const LogState& state, const LogProblem& problem) {
  const std::string node(requested_node(problem.message));
  if (node.empty() || !state.launchers.ray_addresses.contains(node)) return std::nullopt;
  return fmt::format("Ray was started at {}", node);
}

Evidence request_exceeds_cluster(const LogState& state, const LogProblem& problem) {
  const auto wanted = real_after(problem.message, "'GPU': ");
  const LauncherLines& lines = state.launchers;
  if (!wanted || lines.ray_total < 0 || *wanted <= lines.ray_total) return std::nullopt;
  return fmt::format("{} GPU are requested on one node, and Ray has {} in all ({})", *wanted, lines.ray_total,
                     at_line(lines.ray_gpus));
}

Evidence request_fits_cluster(const LogState& state, const LogProblem& problem) {
  const auto wanted = real_after(problem.message, "'GPU': ");
  const LauncherLines& lines = state.launchers;
  if (!wanted || lines.ray_total < *wanted) return std::nullopt;
  return fmt::format("{} GPU are requested, and Ray has {} ({})", *wanted, lines.ray_total,
                     at_line(lines.ray_gpus));
}

// Returns the GPUs of all parts of "specs=[{'node:10.0.0.4': 0.001, 'GPU': 1.0}, {'GPU': 1.0}]"; nothing if it has
// one part only.
std::optional<double> gpus_of_bundles(std::string_view message) {
  Scan scan(message);
  double sum = 0;
  int bundles = 0;
  for (; scan.skip_past("'GPU': "); ++bundles) sum += scan.real().value_or(0);
  if (bundles < 2) return std::nullopt;
  return sum;
}

Evidence bundles_exceed_cluster(const LogState& state, const LogProblem& problem) {
  const auto wanted = gpus_of_bundles(problem.message);
  const LauncherLines& lines = state.launchers;
  if (!wanted || lines.ray_total < 0 || *wanted <= lines.ray_total) return std::nullopt;
  return fmt::format("{} GPUs are requested, and Ray has {} in all ({})", *wanted, lines.ray_total,
                     at_line(lines.ray_gpus));
}

// A message that was cut may have more parts.
Evidence bundles_fit_cluster(const LogState& state, const LogProblem& problem) {
  const auto wanted = gpus_of_bundles(problem.message);
  const LauncherLines& lines = state.launchers;
  if (!wanted || lines.ray_total < *wanted || !has_text(problem.message, "}]")) return std::nullopt;
  return fmt::format("{} GPUs are requested, and Ray has {} in all ({})", *wanted, lines.ray_total,
                     at_line(lines.ray_gpus));
}

Evidence ray_counts_a_tpu(const LogState& state, const LogProblem&) {
  return first_seen(state, {"ray-tpu-count", "ray-tpu-listed", "ray-tpu-resource"});
}

Evidence gpus_are_taken(const LogState& state, const LogProblem&) {
  const LauncherLines& lines = state.launchers;
  if (lines.ray_total <= 0 || lines.ray_used < lines.ray_total) return std::nullopt;
  return fmt::format("all {} GPUs of Ray are taken ({})", lines.ray_total, at_line(lines.ray_gpus));
}

Evidence gpus_are_free(const LogState& state, const LogProblem&) {
  const LauncherLines& lines = state.launchers;
  if (lines.ray_total <= 0 || lines.ray_used >= lines.ray_total) return std::nullopt;
  return fmt::format("{} of {} GPUs of Ray are free ({})", lines.ray_total - lines.ray_used, lines.ray_total,
                     at_line(lines.ray_gpus));
}

// "current_node_resource={'accelerator_type:H100': 1.0, 'bundle_group_9fa1…': 999.9, 'CPU': 20.0}"
Evidence a_group_holds_the_node(const LogState&, const LogProblem& problem) {
  if (!has_text(problem.message, "'bundle_group_") || has_text(problem.message, "'GPU_group_"))
    return std::nullopt;
  return "the node's resources have bundle_group_… of a placement group and no GPU any more";
}

Evidence a_group_leaves_a_part(const LogState&, const LogProblem& problem) {
  if (!has_text(problem.message, "'GPU_group_")) return std::nullopt;
  return "the node's GPUs stand under GPU_group_…: they belong to a placement group";
}

Evidence node_has_no_gpu_in_ray(const LogState&, const LogProblem& problem) {
  if (!has_text(problem.message, "current_node_resource={") ||
      has_text(problem.message, "accelerator_type:") || has_text(problem.message, "bundle_group_"))
    return std::nullopt;
  return "the node's resources in Ray have neither a GPU nor an accelerator_type";
}

Evidence node_has_a_gpu_in_ray(const LogState&, const LogProblem& problem) {
  if (!has_text(problem.message, "accelerator_type:")) return std::nullopt;
  return "Ray found a GPU on this node: its resources have an accelerator_type";
}

// VLLM_HOST_IP against the addresses under which nodes joined Ray.
Evidence vllm_address_is_unknown(const LogState& state, const LogProblem&) {
  if (const auto seen = state.seen.find("ray-no-local-raylet"); seen != state.seen.end())
    return at_line(seen->second);
  const LauncherLines& lines = state.launchers;
  if (lines.vllm_address.empty() || lines.ray_addresses.empty() ||
      lines.ray_addresses.contains(lines.vllm_address))
    return std::nullopt;
  return fmt::format("VLLM_HOST_IP is {}, and Ray was started at another address: {}", lines.vllm_address,
                     at_line(lines.ray_address));
}

Evidence vllm_address_is_known(const LogState& state, const LogProblem&) {
  const LauncherLines& lines = state.launchers;
  if (lines.vllm_address.empty() || !lines.ray_addresses.contains(lines.vllm_address)) return std::nullopt;
  return fmt::format("VLLM_HOST_IP is {}, which Ray knows", lines.vllm_address);
}

// "Got 4 nodes with node ids [..] and 1 unique IP addresses {..}"
Evidence nodes_share_an_address(const LogState&, const LogProblem& problem) {
  const auto nodes = number_after(problem.message, "Got ");
  const auto addresses = number_after(problem.message, "and ");
  if (!nodes || !addresses || *addresses >= *nodes) return std::nullopt;
  return fmt::format("{} nodes have {} addresses", *nodes, *addresses);
}

Evidence nodes_have_more_addresses(const LogState&, const LogProblem& problem) {
  const auto nodes = number_after(problem.message, "Got ");
  const auto addresses = number_after(problem.message, "and ");
  if (!nodes || !addresses || *addresses <= *nodes) return std::nullopt;
  return fmt::format("{} nodes have {} addresses", *nodes, *addresses);
}

// "Failed to connect to GCS at address 10.0.0.4:6379 within 5 seconds."
std::pair<std::string_view, int> head_address(std::string_view message) {
  Scan scan(message);
  if (!scan.skip_past("GCS at address ")) return {"?", 0};
  const std::string_view address = scan.until(" ");
  const auto colon = address.rfind(':');
  if (colon == std::string_view::npos) return {address, 0};
  Scan port(address.substr(colon + 1));
  return {address.substr(0, colon), port.number().value_or(0)};
}

Evidence head_has_no_host(const LogState&, const LogProblem& problem) {
  if (!head_address(problem.message).first.empty()) return std::nullopt;
  return "the address has a port and no host";
}

Evidence head_has_a_host(const LogState&, const LogProblem& problem) {
  const std::string_view host = head_address(problem.message).first;
  if (host.empty() || host == "?") return std::nullopt;
  return fmt::format("the address has a host: {}", host);
}

Evidence head_is_loopback(const LogState&, const LogProblem& problem) {
  const std::string_view host = head_address(problem.message).first;
  if (!host.starts_with("127.") && host != "localhost" && host != "[::1]") return std::nullopt;
  return fmt::format("{} is this node itself", host);
}

Evidence head_is_elsewhere(const LogState& state, const LogProblem& problem) {
  const std::string_view host = head_address(problem.message).first;
  if (!head_has_a_host(state, problem) || head_is_loopback(state, problem)) return std::nullopt;
  return fmt::format("{} is no loopback address", host);
}

// "nc: connect to head port 6379 (tcp) failed: Connection refused"
Evidence nc_found(const LogState& state, std::string_view sight, int port) {
  const auto seen = state.seen.find(sight);
  if (port == 0 || seen == state.seen.end()) return std::nullopt;
  if (!has_text(seen->second.text, fmt::format(" port {} ", port))) return std::nullopt;
  return at_line(seen->second);
}

Evidence head_step_ended(const LogState& state, const LogProblem&) {
  if (state.seen.contains("ray-blocks")) return std::nullopt;
  return first_seen(state, std::array<std::string_view, 4>{"ray-step-finished", "ray-step-exited",
                                                           "ray-step-completed", "ray-step-over"});
}

Evidence nobody_listens(const LogState& state, const LogProblem& problem) {
  const int port = head_address(problem.message).second;
  const LauncherLines& lines = state.launchers;
  if (auto refused = nc_found(state, "nc-refused", port)) return refused;
  if (!lines.sought_ports.contains(port) || lines.open_ports.contains(port)) return std::nullopt;
  return fmt::format("{} lists no listener", at_line(lines.sought));
}

Evidence head_listens(const LogState& state, const LogProblem& problem) {
  const int port = head_address(problem.message).second;
  if (port == 0 || !state.launchers.open_ports.contains(port)) return std::nullopt;
  return at_line(state.launchers.opened);
}

constexpr Question kRayQuestions[] = {
    {"ray-request-names-node", request_names_a_node},
    {"ray-request-names-no-node", request_names_no_node},
    {"ray-node-unknown", node_is_unknown_to_ray},
    {"ray-node-known", node_is_known_to_ray},
    {"ray-request-exceeds", request_exceeds_cluster},
    {"ray-request-fits", request_fits_cluster},
    {"ray-bundles-exceed", bundles_exceed_cluster},
    {"ray-bundles-fit", bundles_fit_cluster},
    {"ray-counts-tpu", ray_counts_a_tpu},
    {"ray-gpus-taken", gpus_are_taken},
    {"ray-gpus-free", gpus_are_free},
    {"ray-group-holds-node", a_group_holds_the_node},
    {"ray-group-leaves-part", a_group_leaves_a_part},
    {"ray-node-without-gpu", node_has_no_gpu_in_ray},
    {"ray-node-with-gpu", node_has_a_gpu_in_ray},
    {"vllm-address-unknown", vllm_address_is_unknown},
    {"vllm-address-known", vllm_address_is_known},
    {"ray-shared-address", nodes_share_an_address},
    {"ray-more-addresses", nodes_have_more_addresses},
    {"gcs-no-host", head_has_no_host},
    {"gcs-has-host", head_has_a_host},
    {"gcs-loopback", head_is_loopback},
    {"gcs-elsewhere", head_is_elsewhere},
    {"gcs-nobody-listens", nobody_listens},
    {"gcs-listens", head_listens},
    {"ray-step-ended", head_step_ended},
};

constexpr Opposites kRayOpposites[] = {
    {"ray-request-names-node", "ray-request-names-no-node"},
    {"ray-node-unknown", "ray-node-known"},
    {"ray-request-exceeds", "ray-request-fits"},
    {"ray-bundles-exceed", "ray-bundles-fit"},
    {"ray-gpus-taken", "ray-gpus-free"},
    {"ray-node-without-gpu", "ray-node-with-gpu"},
    {"vllm-address-unknown", "vllm-address-known"},
    {"ray-shared-address", "ray-more-addresses"},
    {"gcs-no-host", "gcs-has-host"},
    {"gcs-loopback", "gcs-elsewhere"},
    {"gcs-nobody-listens", "gcs-listens"},
};

}  // namespace
}  // namespace launcher_lines

std::span<const Question> ray_questions() { return launcher_lines::kRayQuestions; }

std::span<const Opposites> ray_opposites() { return launcher_lines::kRayOpposites; }

}  // namespace railbed::diagnose
