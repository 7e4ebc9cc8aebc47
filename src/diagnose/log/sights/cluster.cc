// Observations in what Kubernetes and programs print that confirm or refute causes.
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace cluster_lines {
namespace {

std::optional<std::string> driver_pod_is_not_up(const LogState& state, const LogProblem&) {
  return first_seen(state, {"plugin-pods-down", "plugin-pods-init"});
}

// An error of CUDA after which every other call of the process fails.
std::optional<std::string> cuda_failed_before(const LogState& state, const LogProblem& problem) {
  constexpr std::string_view kErrors[] = {"cuda-program",  "cuda-assert",      "cuda-launch",
                                          "cuda-hardware", "cuda-instruction", "cuda-misaligned"};
  return first_seen(state, kErrors, &problem);
}

std::optional<std::string> gpu_was_full(const LogState& state, const LogProblem& problem) {
  constexpr std::string_view kErrors[] = {"torch-memory", "gpu-memory", "run-memory", "test-memory"};
  return first_seen(state, kErrors, &problem);
}

std::optional<std::string> containerd_names_two_programs(const LogState& state, const LogProblem&) {
  const auto nvidia = first_seen(state, {"binary-name-nvidia"});
  const auto runc = first_seen(state, {"binary-name-runc"});
  if (!nvidia || !runc) return std::nullopt;
  return *nvidia + "; " + *runc;
}

std::optional<std::string> containerd_names_one_program(const LogState& state, const LogProblem& problem) {
  if (containerd_names_two_programs(state, problem)) return std::nullopt;
  return first_seen(state, {"binary-name-nvidia"});
}

// Returns whether the message gives a reason of nodes that does not have these words: "0/3 nodes are available: 1
// node(s) had untolerated taint {…}, 2 Insufficient memory. preemption: …".
bool has_other_reason(std::string_view message, std::string_view words) {
  constexpr std::string_view kBegin = "nodes are available: ";
  message.remove_prefix(std::min(message.find(kBegin), message.size()));
  message.remove_prefix(std::min(kBegin.size(), message.size()));
  message = message.substr(0, message.find(". "));
  while (!message.empty()) {
    const std::size_t end = std::min(message.find(", "), message.size());
    if (!has_text(message.substr(0, end), words)) return true;
    message.remove_prefix(std::min(end + 2, message.size()));
  }
  return false;
}

std::optional<std::string> pod_has_other_reasons(const LogState&, const LogProblem& problem) {
  const std::string_view words = problem.symptom == "pod-taint" ? " taint" : " affinity/selector";
  if (!has_other_reason(problem.message, words)) return std::nullopt;
  return "the message has more than one reason";
}

std::optional<std::string> pod_has_one_reason(const LogState& state, const LogProblem& problem) {
  if (pod_has_other_reasons(state, problem)) return std::nullopt;
  return "the message has one reason for all nodes";
}

std::optional<std::string> taint_is_of_a_condition(const LogState&, const LogProblem& problem) {
  if (!has_text(problem.message, "{node.kubernetes.io/")) return std::nullopt;
  return "a taint in the message is of node.kubernetes.io";
}

std::optional<std::string> no_hugepages(const LogState& state, const LogProblem& problem) {
  return has_text(problem.message, "hugepages-1Gi") ? first_seen(state, {"hugepages-1g-none"})
                                                    : first_seen(state, {"hugepages-2m-none"});
}

// "exec /usr/bin/serve: exec format error", as opposed to "exec /entrypoint.sh: exec format error"
std::optional<std::string> program_is_no_script(const LogState&, const LogProblem& problem) {
  const std::string_view message = problem.message;
  std::string_view path = message.substr(0, message.find(": exec format error"));
  path.remove_prefix(std::min(path.find_last_of(" \"'") + 1, path.size()));
  if (path.size() < 2 || path.front() != '/' || path.ends_with(".sh") || path.ends_with(".py") ||
      has_text(path, "entrypoint"))
    return std::nullopt;
  return "the message names no script";
}

std::optional<std::string> namespace_is_denied(const LogState& state, const LogProblem&) {
  return first_seen(state, {"namespace-forbidden", "namespace-not-permitted"});
}

std::optional<std::string> ldconfig_was_ended(const LogState&, const LogProblem& problem) {
  if (!has_text(problem.message, "terminated with signal 31")) return std::nullopt;
  return "ldconfig was ended by signal 31 (SIGSYS)";
}

std::optional<std::string> ldconfig_was_killed(const LogState&, const LogProblem& problem) {
  if (!problem.message.ends_with("terminated with signal 9") &&
      !has_text(problem.message, "terminated with signal 9:"))
    return std::nullopt;
  return "ldconfig was ended by signal 9 (SIGKILL)";
}

std::optional<std::string> dnf_resolves_no_name(const LogState& state, const LogProblem&) {
  return first_seen(state, {"curl-no-name", "curl-no-name-newer"});
}

std::optional<std::string> rhel_is_not_registered(const LogState& state, const LogProblem&) {
  return first_seen(state, {"rhel-no-identity", "rhel-not-registered"});
}

std::optional<std::string> database_refused(const LogState&, const LogProblem& problem) {
  if (!has_text(problem.message, "Connection refused")) return std::nullopt;
  return "the connection was refused";
}

// squeue writes "(ReqNodeNotAvail, UnavailableNodes:gpu[02-04])", scontrol has _ for each blank.
std::optional<std::string> wait_names_nodes(const LogState&, const LogProblem& problem) {
  const std::size_t at = problem.message.find("UnavailableNodes:");
  if (at == std::string::npos || at + 17 >= problem.message.size()) return std::nullopt;
  const char first = problem.message[at + 17];
  if (first == ' ' || first == ')') return std::nullopt;
  return "the message lists nodes";
}

std::optional<std::string> wait_is_for_maintenance(const LogState&, const LogProblem& problem) {
  if (!has_text(problem.message, "or maintenance") && !has_text(problem.message, "or_maintenance"))
    return std::nullopt;
  return "the message says so";
}

std::optional<std::string> wait_is_for_others(const LogState&, const LogProblem& problem) {
  if (!has_text(problem.message, "or other job") && !has_text(problem.message, "or_other_job"))
    return std::nullopt;
  return "the message says so";
}

std::optional<std::string> ldconfig_gave_a_code(const LogState&, const LogProblem& problem) {
  if (!has_text(problem.message, "failed with error code")) return std::nullopt;
  return "ldconfig ended by itself, with an error code";
}

// "Successfully pulled image "quay.io/acme/train:1.0" in 41.2s"
std::optional<std::string> image_was_pulled(const LogState& state, const LogProblem& problem) {
  const auto pulled = state.seen.find("image-was-pulled");
  Scan scan(problem.message);
  if (pulled == state.seen.end() || !scan.skip_past("pull image \"")) return std::nullopt;
  const std::string_view image = scan.until("\"");
  if (image.empty() || !has_text(pulled->second.text, image)) return std::nullopt;
  return at_line(pulled->second);
}

// Docker Hub, GitLab, ECR
std::optional<std::string> credentials_are_wrong(const LogState&, const LogProblem& problem) {
  for (const std::string_view words :
       {"incorrect username or password", "HTTP Basic: Access denied", "token has expired"})
    if (has_text(problem.message, words)) return "the registry says so";
  return std::nullopt;
}

// "cli-version: 1.11.0"; cgroups version 2 came with 1.8.
std::optional<std::string> container_cli_is(const LogState& state, bool newer) {
  constexpr int kFirstWithVersion2 = 8;
  const auto seen = state.seen.find("container-cli-version");
  if (seen == state.seen.end()) return std::nullopt;
  const auto minor = number_after(seen->second.text, "cli-version: 1.");
  if (!minor || (*minor >= kFirstWithVersion2) != newer) return std::nullopt;
  return at_line(seen->second);
}

std::optional<std::string> container_cli_is_new(const LogState& state, const LogProblem&) {
  return container_cli_is(state, true);
}

std::optional<std::string> container_cli_is_old(const LogState& state, const LogProblem&) {
  return container_cli_is(state, false);
}

// MariaDB's numbers: 2002 no socket, 2003 no answer, 2005 unknown host; 1044, 1045, 1698 access denied.
std::optional<std::string> database_answers_with(const LogProblem& problem,
                                                 std::initializer_list<std::string_view> numbers) {
  for (const std::string_view number : numbers)
    if (has_text(problem.message, number)) return "the message has the number" + std::string(number);
  return std::nullopt;
}

std::optional<std::string> database_is_not_there(const LogState&, const LogProblem& problem) {
  return database_answers_with(problem, {" 2002 ", " 2003 ", " 2005 "});
}

std::optional<std::string> database_denies(const LogState&, const LogProblem& problem) {
  return database_answers_with(problem, {" 1044 ", " 1045 ", " 1698 "});
}

std::optional<std::string> network_names_no_resource(const LogState& state, const LogProblem&) {
  if (first_seen(state, {"nad-resource-name"})) return std::nullopt;
  return first_seen(state, {"nad-one"});
}

// Reads "192.168.3.225" from the front of the text as a number.
std::optional<std::uint32_t> take_ipv4(Scan& scan) {
  std::uint32_t address = 0;
  for (int i = 0; i < 4; ++i) {
    if (i > 0 && !scan.take(".")) return std::nullopt;
    const auto part = scan.number<std::uint32_t>();
    if (!part || *part > 255) return std::nullopt;
    address = address << 8 | *part;
  }
  return address;
}

// "ip: 192.168.3.225 / - 192.168.3.230 / range: …", "in range set: 10.128.0.1-10.128.1.254"
std::optional<std::uint64_t> addresses_of_range(std::string_view message) {
  Scan scan(message);
  if (!scan.skip_past("in range: ip: ") && !scan.skip_past("in range set: ")) return std::nullopt;
  const auto first = take_ipv4(scan);
  if (!first || (!scan.take(" / - ") && !scan.take("-"))) return std::nullopt;
  const auto last = take_ipv4(scan);
  if (!last || *last < *first) return std::nullopt;
  return std::uint64_t{*last} - *first + 1;
}

constexpr std::uint64_t kSmallRange = 64;

std::optional<std::string> range_is_small(const LogState&, const LogProblem& problem) {
  const auto size = addresses_of_range(problem.message);
  if (!size || *size > kSmallRange) return std::nullopt;
  return "the range in the message has " + std::to_string(*size) + " addresses";
}

std::optional<std::string> range_is_large(const LogState&, const LogProblem& problem) {
  const auto size = addresses_of_range(problem.message);
  if (!size || *size <= kSmallRange) return std::nullopt;
  return "the range in the message has " + std::to_string(*size) + " addresses";
}

// "fs.inotify.max_user_instances = 128" (the kernel's default)
std::optional<std::string> inotify_limit_is(const LogState& state, std::int64_t least, std::int64_t most) {
  const auto seen = state.seen.find("inotify-instances-limit");
  if (seen == state.seen.end()) return std::nullopt;
  const auto limit = number_after<std::int64_t>(seen->second.text, "max_user_instances = ");
  if (!limit || *limit < least || *limit > most) return std::nullopt;
  return at_line(seen->second);
}

std::optional<std::string> inotify_instances_are_few(const LogState& state, const LogProblem&) {
  return inotify_limit_is(state, 0, 256);
}

std::optional<std::string> inotify_instances_are_many(const LogState& state, const LogProblem&) {
  return inotify_limit_is(state, 4096, std::numeric_limits<std::int64_t>::max());
}

// unsquashfs -s: "Compression zstd"
std::optional<std::string> squash_is_not_gzip(const LogState& state, const LogProblem&) {
  return first_seen(state, {"squash-zstd", "squash-lz4", "squash-xz", "squash-lzo"});
}

// The kernel's configuration lacks the compression of the image.
std::optional<std::string> squash_is_not_built(const LogState& state, const LogProblem&) {
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {{"squash-zstd", "squash-no-zstd"},
                                                                      {"squash-lz4", "squash-no-lz4"},
                                                                      {"squash-xz", "squash-no-xz"},
                                                                      {"squash-lzo", "squash-no-lzo"}};
  for (const auto& [image, kernel] : kKinds) {
    const auto compressed = first_seen(state, {image});
    const auto lacking = first_seen(state, {kernel});
    if (compressed && lacking) return *compressed + "; " + *lacking;
  }
  return std::nullopt;
}

// "certificate has expired or is not yet valid: current time 2026-… is before 2026-…"
std::optional<std::string> certificate_is_too_new(const LogState&, const LogProblem& problem) {
  if (!has_text(problem.message, "current time ") || !has_text(problem.message, " is before "))
    return std::nullopt;
  return "the certificate begins after the node's time in the message";
}

// "nr_descendants 65207", of cgroup.stat.
constexpr std::int64_t kManyCgroups = 10000;

std::optional<std::int64_t> cgroups_below(const LogState& state) {
  const auto seen = state.seen.find("cgroup-descendants");
  if (seen == state.seen.end()) return std::nullopt;
  return number_after<std::int64_t>(seen->second.text, "nr_descendants ");
}

std::optional<std::string> cgroups_are_many(const LogState& state, const LogProblem&) {
  if (cgroups_below(state).value_or(0) < kManyCgroups) return std::nullopt;
  return at_line(state.seen.at("cgroup-descendants"));
}

std::optional<std::string> cgroups_are_few(const LogState& state, const LogProblem&) {
  if (cgroups_below(state).value_or(kManyCgroups) >= kManyCgroups) return std::nullopt;
  return at_line(state.seen.at("cgroup-descendants"));
}

// "prted has detected an attempt to run as root", "mpirun has detected …": who refuses.
bool daemon_refuses(const LogProblem& problem) {
  return has_text(problem.message, "prted has detected") || has_text(problem.message, "orted has detected");
}

std::optional<std::string> root_is_refused_by_daemon(const LogState&, const LogProblem& problem) {
  if (!daemon_refuses(problem)) return std::nullopt;
  return at_line(problem);
}

std::optional<std::string> root_is_refused_by_launcher(const LogState&, const LogProblem& problem) {
  if (daemon_refuses(problem)) return std::nullopt;
  return at_line(problem);
}

// "rmmod: ERROR: Module ib_uverbs is in use by: nvidia_peermem rdma_ucm"
bool peermem_alone_holds(const LogProblem& problem) {
  Scan users(problem.message);
  if (!users.skip_past(" in use by: ")) return false;
  const std::string_view names = trim(users.rest());
  return names == "nvidia_peermem" || names == "nv_peer_mem";
}

std::optional<std::string> held_by_peermem(const LogState&, const LogProblem& problem) {
  if (!peermem_alone_holds(problem)) return std::nullopt;
  return at_line(problem);
}

std::optional<std::string> held_by_others(const LogState&, const LogProblem& problem) {
  if (peermem_alone_holds(problem)) return std::nullopt;
  return at_line(problem);
}

// A line of lsmod, "nvidia  14368768  4 nvidia_uvm,nvidia_peermem,gdrdrv,nvidia_modeset": as many users as modules,
// so no process holds it; gdrdrv is the one that the driver container passes over.
bool gdrdrv_is_the_rest(std::string_view line) {
  Scan scan(line);
  if (!scan.skip_past("nvidia  ")) return false;
  scan.until("0123456789");
  const auto size = scan.number<std::int64_t>();
  scan.until("0123456789");
  const auto users = scan.number<std::int64_t>();
  if (!size || !users) return false;
  const std::string_view names = trim(scan.rest());
  return has_text(names, "gdrdrv") && *users == 1 + std::ranges::count(names, ',');
}

std::optional<std::string> gdrdrv_holds_driver(const LogState& state, const LogProblem&) {
  const auto line = state.seen.find("driver-users");
  if (line == state.seen.end() || !gdrdrv_is_the_rest(line->second.text)) return std::nullopt;
  return at_line(line->second);
}

std::optional<std::string> gdrdrv_holds_nothing(const LogState& state, const LogProblem&) {
  const auto line = state.seen.find("driver-users");
  if (line == state.seen.end() || gdrdrv_is_the_rest(line->second.text)) return std::nullopt;
  return at_line(line->second);
}

// "_fetch_child: failed to fetch remote configs: Protocol authentication error": the reason is the system's.
bool fetch_was_not_authentic(const LogProblem& problem) {
  return has_text(problem.message, "authentication error") ||
         has_text(problem.message, "nvalid authentication");
}

std::optional<std::string> fetch_is_not_authentic(const LogState&, const LogProblem& problem) {
  if (!fetch_was_not_authentic(problem)) return std::nullopt;
  return at_line(problem);
}

std::optional<std::string> fetch_has_other_reason(const LogState&, const LogProblem& problem) {
  if (fetch_was_not_authentic(problem)) return std::nullopt;
  return at_line(problem);
}

// "NVIDIA Container Toolkit CLI version 1.17.0"
std::string_view toolkit_version(const LogState& state) {
  for (const std::string_view id : {"toolkit-version", "toolkit-hook-version"})
    if (const auto line = state.seen.find(id); line != state.seen.end())
      return word_after(line->second.text, " version ");
  return {};
}

std::optional<std::string> toolkit_is_1_17_0(const LogState& state, const LogProblem&) {
  if (toolkit_version(state) != "1.17.0") return std::nullopt;
  return first_seen(state, {"toolkit-version", "toolkit-hook-version"});
}

std::optional<std::string> toolkit_is_another(const LogState& state, const LogProblem& problem) {
  if (toolkit_is_1_17_0(state, problem)) return std::nullopt;
  return first_seen(state, {"toolkit-version", "toolkit-hook-version"});
}

// Bridges were listed, and no NVSwitch.
std::optional<std::string> group_has_no_nvswitch(const LogState& state, const LogProblem&) {
  if (state.seen.contains("nvswitch-listed")) return std::nullopt;
  return first_seen(state, {"pci-bridge-listed"});
}

// containerd's own log has the error of its CRI plugin.
std::optional<std::string> cri_did_not_load(const LogState& state, const LogProblem& problem) {
  constexpr std::string_view kErrors[] = {"cri-failed-to-load", "cri-no-default-runtime",
                                          "cri-plugin-config"};
  return first_seen(state, kErrors, &problem);
}

constexpr Question kClusterQuestions[] = {
    {"group-without-nvswitch", group_has_no_nvswitch},
    {"cri-load-failed", cri_did_not_load},
    {"toolkit-1-17-0", toolkit_is_1_17_0},
    {"toolkit-not-1-17-0", toolkit_is_another},
    {"fetch-not-authentic", fetch_is_not_authentic},
    {"fetch-other-reason", fetch_has_other_reason},
    {"root-refused-by-daemon", root_is_refused_by_daemon},
    {"root-refused-by-launcher", root_is_refused_by_launcher},
    {"held-by-peermem", held_by_peermem},
    {"held-by-others", held_by_others},
    {"gdrdrv-holds-driver", gdrdrv_holds_driver},
    {"gdrdrv-holds-nothing", gdrdrv_holds_nothing},
    {"cgroups-many", cgroups_are_many},
    {"cgroups-few", cgroups_are_few},
    {"squash-not-built", squash_is_not_built},
    {"certificate-too-new", certificate_is_too_new},
    {"inotify-few-instances", inotify_instances_are_few},
    {"inotify-many-instances", inotify_instances_are_many},
    {"squash-not-gzip", squash_is_not_gzip},
    {"sql-not-there", database_is_not_there},
    {"sql-denied", database_denies},
    {"nad-without-resource", network_names_no_resource},
    {"range-is-small", range_is_small},
    {"range-is-large", range_is_large},
    {"one-binary-name", containerd_names_one_program},
    {"two-binary-names", containerd_names_two_programs},
    {"container-cli-new", container_cli_is_new},
    {"container-cli-old", container_cli_is_old},
    {"ldconfig-by-code", ldconfig_gave_a_code},
    {"pull-credentials-wrong", credentials_are_wrong},
    {"this-image-was-pulled", image_was_pulled},
    {"pod-other-reasons", pod_has_other_reasons},
    {"pod-one-reason", pod_has_one_reason},
    {"taint-of-condition", taint_is_of_a_condition},
    {"hugepages-none", no_hugepages},
    {"exec-of-binary", program_is_no_script},
    {"namespace-denied", namespace_is_denied},
    {"ldconfig-by-sigsys", ldconfig_was_ended},
    {"ldconfig-by-kill", ldconfig_was_killed},
    {"dnf-no-name", dnf_resolves_no_name},
    {"rhel-unregistered", rhel_is_not_registered},
    {"dbd-refused", database_refused},
    {"wait-names-nodes", wait_names_nodes},
    {"wait-for-maintenance", wait_is_for_maintenance},
    {"wait-for-others", wait_is_for_others},
    {"operator-driver-not-up", driver_pod_is_not_up},
    {"cuda-failed-before", cuda_failed_before},
    {"gpu-was-full", gpu_was_full},
};

}  // namespace
}  // namespace cluster_lines

std::span<const Question> cluster_questions() { return cluster_lines::kClusterQuestions; }

}  // namespace railbed::diagnose
