// Observations in what Slurm, MPI's launchers, Ray, vLLM, SGLang and DeepSpeed print that confirm or refute causes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

#include "base/ip.h"
#include "base/phrases.h"
#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace launcher_lines {
namespace {

using Evidence = std::optional<std::string>;

constexpr std::size_t kMostRayAddresses = 1024;
constexpr std::size_t kMostSteps = 1024;
constexpr std::size_t kMostSoughtPorts = 64;
constexpr std::size_t kLongestPath = 256;

Evidence seen_at(const LogSight& sight) {
  if (sight.line == 0) return std::nullopt;
  return at_line(sight);
}

// Returns the real number that follows `words`; nothing if there is none.
std::optional<double> real_after(std::string_view text, std::string_view words) {
  Scan scan(text);
  if (!scan.skip_past(words)) return std::nullopt;
  return scan.real();
}

// The node's memory

constexpr double kMuchMemory = 0.2, kLittleMemory = 0.1;  // of all of it

// Returns the number of "MemTotal:       527993216 kB"; 0 if there is none.
double kibibytes_of(const LogState& state, std::string_view id, std::string_view words) {
  const auto line = state.seen.find(id);
  if (line == state.seen.end()) return 0;
  Scan scan(line->second.text);
  if (!scan.skip_past(words)) return 0;
  while (scan.take(" ")) {
  }
  return scan.real().value_or(0);
}

// Returns how much of the node's memory is available, from 0 to 1; nothing if the log does not show it.
std::optional<double> available_part(const LogState& state) {
  const double all = kibibytes_of(state, "memory-total", "MemTotal:");
  if (all <= 0 || !state.seen.contains("memory-available")) return std::nullopt;
  return kibibytes_of(state, "memory-available", "MemAvailable:") / all;
}

Evidence memory_is_available(const LogState& state, const LogProblem&) {
  const auto part = available_part(state);
  if (!part || *part < kMuchMemory) return std::nullopt;
  return at_line(state.seen.find("memory-available")->second);
}

Evidence memory_is_short(const LogState& state, const LogProblem&) {
  const auto part = available_part(state);
  if (!part || *part > kLittleMemory) return std::nullopt;
  return at_line(state.seen.find("memory-available")->second);
}

// The sizes of a job

// Returns the last factor of "train_batch_size is not equal to … world_size 16 != 1 * 8 * 1"; 0 if there is none.
int ranks_in_batch(const LogProblem& problem) {
  const auto star = problem.message.rfind("* ");
  if (star == std::string::npos) return 0;
  return number_after(std::string_view(problem.message).substr(star), "* ").value_or(0);
}

Evidence batch_is_of_one_rank(const LogState&, const LogProblem& problem) {
  if (ranks_in_batch(problem) != 1) return std::nullopt;
  return "the last factor of its message, the world size, is 1";
}

Evidence batch_is_of_several_ranks(const LogState&, const LogProblem& problem) {
  const int ranks = ranks_in_batch(problem);
  if (ranks < 2) return std::nullopt;
  return fmt::format("the last factor of its message, the world size, is {}", ranks);
}

// Returns the option or line that starts several ranks: "--nproc_per_node=8", "--num_gpus 2", "dist_world_size=2".
Evidence several_ranks_were_launched(const LogState& state, const LogProblem&) {
  constexpr std::array<std::string_view, 7> kCounts = {
      "dist_world_size=",  "--nproc_per_node=", "--nproc_per_node ", "--nproc-per-node=",
      "--nproc-per-node ", "--num_gpus=",       "--num_gpus "};
  for (const std::string_view id : {"ranks-world-size", "ranks-nproc", "ranks-num-gpus"}) {
    const auto line = state.seen.find(id);
    if (line == state.seen.end()) continue;
    for (const std::string_view count : kCounts)
      if (number_after(line->second.text, count).value_or(0) > 1) return at_line(line->second);
  }
  return std::nullopt;
}

Evidence recomputed_tensor_is_whole(const LogState& state, const LogProblem&) {
  if (first_seen(state, {"recomputed-empty"})) return std::nullopt;
  return first_seen(state, {"recomputed-metadata"});
}

// Returns the number in "world_size (1) is not divisible by 2".
int world_in_brackets(const LogProblem& problem) {
  for (const std::string_view words : {"world_size (", "world size ("})
    if (const auto ranks = number_after(problem.message, words)) return *ranks;
  return 0;
}

Evidence world_is_of_one(const LogState&, const LogProblem& problem) {
  if (world_in_brackets(problem) != 1) return std::nullopt;
  return "the world size in its message is 1";
}

Evidence world_is_of_several(const LogState&, const LogProblem& problem) {
  const int ranks = world_in_brackets(problem);
  if (ranks < 2) return std::nullopt;
  return fmt::format("the world size in its message is {}", ranks);
}

// Returns how many ranks an engine of TensorRT-LLM was built for and how many were started, if the log has the
// commands of both.
Evidence compare_engine_ranks(const LogState& state, bool fit) {
  const auto number_of = [&](std::string_view id, std::string_view option) {
    const auto line = state.seen.find(id);
    if (line == state.seen.end()) return 0;
    for (const char separator : {' ', '='})
      if (const auto number = number_after(line->second.text, std::string(option) + separator))
        return *number;
    return 0;
  };
  const int tensor = number_of("trtllm-sizes", "--tp_size");
  int pipeline = number_of("trtllm-sizes", "--pp_size");
  if (pipeline == 0) pipeline = std::max(1, number_of("trtllm-pipeline", "--pp_size"));
  const int started = number_of("trtllm-started", "--world_size");
  constexpr int kMost = 1 << 14;
  if (tensor < 1 || tensor > kMost || pipeline > kMost || started < 1) return std::nullopt;
  if ((tensor * pipeline == started) != fit) return std::nullopt;
  return fmt::format("the engine was built for {} ranks (tp_size {}, pp_size {}), and {} were started",
                     tensor * pipeline, tensor, pipeline, started);
}

Evidence engine_ranks_fit(const LogState& state, const LogProblem&) {
  return compare_engine_ranks(state, true);
}

Evidence engine_ranks_differ(const LogState& state, const LogProblem&) {
  return compare_engine_ranks(state, false);
}

// Returns whether the message is "AssertionError: 25 is not divisible by 4", without names of the numbers.
bool has_two_numbers_alone(const LogProblem& problem) {
  Scan scan(problem.message);
  return scan.skip_past("AssertionError: ") && scan.number<std::int64_t>() &&
         scan.take(" is not divisible by ") && scan.number<std::int64_t>() &&
         trim(scan.rest()).find_first_not_of('.') == std::string_view::npos;
}

Evidence shares_two_numbers(const LogState&, const LogProblem& problem) {
  if (!has_two_numbers_alone(problem)) return std::nullopt;
  return "its message has two numbers alone";
}

Evidence shares_named_sizes(const LogState&, const LogProblem& problem) {
  if (has_two_numbers_alone(problem)) return std::nullopt;
  return "its message names what does not fit";
}

// Compares the ranks that came with the world size in "… (world_size=8, worker_count=1, timeout=0:30:00)".
Evidence compare_barrier(const LogProblem& problem, bool more) {
  const auto world = number_after(problem.message, "world_size=");
  auto came = number_after(problem.message, "worker_count=");
  if (!came) came = number_after(problem.message, "num_workers_joined=");
  if (!world || !came || (more ? *came <= *world : *came >= *world)) return std::nullopt;
  return fmt::format("{} ranks came, and the world size is {}", *came, *world);
}

Evidence barrier_has_fewer(const LogState&, const LogProblem& problem) {
  return compare_barrier(problem, false);
}

Evidence barrier_has_more(const LogState&, const LogProblem& problem) {
  return compare_barrier(problem, true);
}

// Open MPI's and Intel MPI's messages

Evidence openib_limit_is(const LogState& state, bool unlimited) {
  const auto line = state.seen.find("openib-limit");
  if (line == state.seen.end()) return std::nullopt;
  const std::string_view text = line->second.text;
  const bool is_unlimited = has_text(text, "nlimited");
  if (is_unlimited != unlimited || (!is_unlimited && !number_after<std::int64_t>(text, "Memlock limit: ")))
    return std::nullopt;
  return at_line(line->second);
}

Evidence openib_is_limited(const LogState& state, const LogProblem&) { return openib_limit_is(state, false); }

Evidence openib_is_unlimited(const LogState& state, const LogProblem&) {
  return openib_limit_is(state, true);
}

int ranks_on_a_node(const LogState& state) {
  const auto line = state.seen.find("ranks-by-node");
  return line == state.seen.end() ? 0 : number_after(line->second.text, "ppr:").value_or(0);
}

Evidence one_rank_is_on_a_node(const LogState& state, const LogProblem&) {
  if (ranks_on_a_node(state) != 1) return std::nullopt;
  return first_seen(state, {"ranks-by-node"});
}

Evidence several_ranks_are_on_a_node(const LogState& state, const LogProblem&) {
  if (ranks_on_a_node(state) < 2) return std::nullopt;
  return first_seen(state, {"ranks-by-node"});
}

Evidence mpi_starts_python(const LogState& state, const LogProblem&) {
  return first_seen(state, {"python-by-mpirun", "python-by-mpiexec", "python-by-srun"});
}

// Returns the symbol in "…/openmpi/mca_pml_ucx.so: undefined symbol: ucp_tag_send_nbx (ignored)"; empty if there is none.
std::string_view missing_symbol(const LogProblem& problem) {
  return word_after(problem.message, "undefined symbol: ");
}

bool is_of_open_mpi(std::string_view symbol) {
  while (symbol.starts_with('_')) symbol.remove_prefix(1);
  constexpr std::array<std::string_view, 9> kOwn = {"opal_", "orte_", "ompi_", "mca_", "prte_",
                                                    "pmix_", "PMIx_", "OPAL_", "MPI_"};
  return std::ranges::any_of(kOwn, [&](std::string_view own) { return symbol.starts_with(own); });
}

Evidence symbol_is_of_open_mpi(const LogState&, const LogProblem& problem) {
  const std::string_view symbol = missing_symbol(problem);
  if (!is_of_open_mpi(symbol)) return std::nullopt;
  return std::string(symbol) + " is a symbol of Open MPI or PMIx";
}

Evidence symbol_is_of_another(const LogState&, const LogProblem& problem) {
  const std::string_view symbol = missing_symbol(problem);
  if (symbol.empty() || is_of_open_mpi(symbol)) return std::nullopt;
  return std::string(symbol) + " is no symbol of Open MPI or PMIx";
}

// Returns the program in "/usr/bin/python3: symbol lookup error: …"; empty if the loader does not print it.
std::string_view program_of_loader(const LogProblem& problem) {
  const auto end = problem.message.find(": symbol lookup error");
  if (end == std::string::npos) return {};
  return std::string_view(problem.message).substr(0, end);
}

bool is_interpreter(std::string_view program) {
  return program.find("python") != std::string_view::npos || program.find("julia") != std::string_view::npos;
}

Evidence interpreter_loads_mpi(const LogState&, const LogProblem& problem) {
  const std::string_view program = program_of_loader(problem);
  if (!is_interpreter(program)) return std::nullopt;
  return std::string(program) + " loads it";
}

Evidence other_program_loads_mpi(const LogState&, const LogProblem& problem) {
  const std::string_view program = program_of_loader(problem);
  if (program.empty() || is_interpreter(program)) return std::nullopt;
  return std::string(program) + " loads it";
}

Evidence ssh_agent_was_set(const LogState& state, const LogProblem&) {
  return first_seen(state, {"ssh-agent-named", "ssh-agent-option"});
}

Evidence was_started_by_srun(const LogState& state, const LogProblem&) {
  return first_seen(state, {"srun-command", "srun-program"});
}

Evidence slurm_is_around(const LogState& state, const LogProblem&) {
  return first_seen(
      state, {"srun-command", "srun-program", "python-by-srun", "slurm-inside-step", "slurm-job-variable"});
}

Evidence program_spawns(const LogState& state, const LogProblem&) {
  return first_seen(state, {"mpi-spawn-session", "mpi-spawn-python", "mpi-spawn-function"});
}

// "CheckpointException ranks:dict_keys([8, 9, 10, 11])": the ranks that failed, in ascending order.
Evidence checkpoint_failed_from(const LogState& state, bool rank_0) {
  const auto failed = std::ranges::find(state.log.problems, "dcp-failed", &LogProblem::symptom);
  if (failed == state.log.problems.end()) return std::nullopt;
  Scan scan(failed->message);
  if (!scan.skip_past("CheckpointException ranks:") || !scan.skip_past("[")) return std::nullopt;
  const auto first = scan.number();
  if (!first || *first < 0 || (*first == 0) != rank_0) return std::nullopt;
  return at_line(*failed);
}

Evidence rank_0_failed_in_checkpoint(const LogState& state, const LogProblem&) {
  return checkpoint_failed_from(state, true);
}

Evidence rank_0_read_checkpoint(const LogState& state, const LogProblem&) {
  return checkpoint_failed_from(state, false);
}

Evidence several_print_it(const LogState&, const LogProblem& problem) {
  if (problem.count < 2) return std::nullopt;
  return fmt::format("{} processes print it", problem.count);
}

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

// Slurm

double sum_of(const std::vector<SlurmShare>& steps, double SlurmShare::*what) {
  double sum = 0;
  for (const SlurmShare& step : steps) sum += std::max(step.*what, 0.0);
  return sum;
}

const SlurmShare* largest_step(const LauncherLines& lines, double SlurmShare::*what) {
  const auto found =
      std::ranges::max_element(lines.steps, {}, [&](const SlurmShare& step) { return step.*what; });
  return found == lines.steps.end() ? nullptr : &*found;
}

constexpr double kNearlyAll = 0.95;

Evidence step_holds(const LogState& state, double SlurmShare::*what, std::string_view unit) {
  const SlurmShare* const step = largest_step(state.launchers, what);
  const double all = state.launchers.job.*what;
  const double held = sum_of(state.launchers.steps, what);
  if (step == nullptr || held <= 0 || all <= 0 || held < kNearlyAll * all) return std::nullopt;
  return fmt::format("step {} runs and holds {} of the job's {} {} ({})", step->step, step->*what, all, unit,
                     at_line(step->sight));
}

Evidence step_leaves(const LogState& state, double SlurmShare::*what, std::string_view unit) {
  const SlurmShare* const step = largest_step(state.launchers, what);
  const double all = state.launchers.job.*what;
  const double held = sum_of(state.launchers.steps, what);
  if (step == nullptr || step->*what < 0) return std::nullopt;
  if (held > 0 && (all <= 0 || held >= kNearlyAll * all)) return std::nullopt;
  return fmt::format("the running step {} holds {} {} ({})", step->step, step->*what, unit,
                     at_line(step->sight));
}

Evidence step_has_gpus(const LogState& state, const LogProblem&) {
  const SlurmShare* const step = largest_step(state.launchers, &SlurmShare::gpus);
  if (step == nullptr || step->gpus <= 0) return std::nullopt;
  const double all = state.launchers.job.gpus;
  if (all > 0 && sum_of(state.launchers.steps, &SlurmShare::gpus) < all) return std::nullopt;
  return fmt::format("step {} runs and holds {} GPUs ({})", step->step, step->gpus, at_line(step->sight));
}

Evidence step_has_no_gpus(const LogState& state, const LogProblem&) {
  const SlurmShare* const step = largest_step(state.launchers, &SlurmShare::gpus);
  if (step == nullptr || step->gpus < 0 || step_has_gpus(state, {})) return std::nullopt;
  return fmt::format("the running steps leave GPUs free ({})", at_line(step->sight));
}

Evidence step_has_memory(const LogState& state, const LogProblem&) {
  return step_holds(state, &SlurmShare::mebibytes, "MiB");
}

Evidence step_leaves_memory(const LogState& state, const LogProblem&) {
  return step_leaves(state, &SlurmShare::mebibytes, "MiB");
}

Evidence step_has_cpus(const LogState& state, const LogProblem&) {
  return step_holds(state, &SlurmShare::cpus, "CPUs");
}

Evidence step_leaves_cpus(const LogState& state, const LogProblem&) {
  return step_leaves(state, &SlurmShare::cpus, "CPUs");
}

// Returns the problem with this symptom; null if the log has none.
const LogProblem* problem_with(const LogState& state, std::string_view symptom) {
  const auto found = std::ranges::find(state.log.problems, symptom, &LogProblem::symptom);
  return found == state.log.problems.end() ? nullptr : &*found;
}

template <std::size_t kCount>
Evidence any_problem(const LogState& state, const std::array<std::string_view, kCount>& symptoms) {
  for (const std::string_view symptom : symptoms)
    if (const LogProblem* const problem = problem_with(state, symptom)) return at_line(*problem);
  return std::nullopt;
}

Evidence slurm_ended_the_job(const LogState& state, const LogProblem&) {
  return any_problem(
      state, std::array<std::string_view, 3>{"slurm-time-limit", "slurm-preempted", "slurm-requeued"});
}

Evidence remote_start_failed(const LogState& state, const LogProblem&) {
  return any_problem(
      state, std::array<std::string_view, 14>{"ssh-name", "ssh-resolver", "ssh-refused", "ssh-no-answer",
                                              "ssh-key", "ssh-host-key", "mpi-versions", "mpi-no-orted",
                                              "mpi-no-prted", "mpi-prefix-daemon", "remote-library",
                                              "slurm-task-127", "pdsh-127", "pdsh-255"});
}

Evidence srun_has_mpi(const LogState& state, const LogProblem&) {
  return seen_at(state.launchers.srun_with_mpi);
}

Evidence srun_has_no_mpi(const LogState& state, const LogProblem&) {
  if (state.launchers.srun_with_mpi.line != 0) return std::nullopt;
  return seen_at(state.launchers.srun_without_mpi);
}

// "CoreSpec=8" of the job or "CoreSpecCount=8" of the node.
Evidence cores_are_kept(const LogState& state, const LogProblem&) {
  for (const auto& [sight, words] :
       {std::pair{"slurm-core-spec-job", "CoreSpec="}, std::pair{"slurm-core-spec", "CoreSpecCount="}})
    if (const auto seen = state.seen.find(sight);
        seen != state.seen.end() && number_after(seen->second.text, words).value_or(0) > 0)
      return at_line(seen->second);
  return std::nullopt;
}

Evidence no_cores_are_kept(const LogState& state, const LogProblem& problem) {
  const auto seen = state.seen.find("slurm-core-spec-job");
  if (seen == state.seen.end() || cores_are_kept(state, problem)) return std::nullopt;
  return at_line(seen->second);
}

Evidence srun_wants_more_tasks(const LogState& state, const LogProblem&) {
  const LauncherLines& lines = state.launchers;
  if (lines.job_tasks < 0 || lines.srun_tasks <= lines.job_tasks) return std::nullopt;
  return fmt::format("srun requests {} tasks ({}), and the job has {} ({})", lines.srun_tasks,
                     at_line(lines.srun_tasks_line), lines.job_tasks, at_line(lines.job_tasks_line));
}

Evidence srun_tasks_fit(const LogState& state, const LogProblem&) {
  const LauncherLines& lines = state.launchers;
  if (lines.srun_tasks < 0 || lines.srun_tasks > lines.job_tasks) return std::nullopt;
  return fmt::format("srun requests {} tasks, and the job has {} ({})", lines.srun_tasks, lines.job_tasks,
                     at_line(lines.job_tasks_line));
}

// "There are not enough slots available in the system to satisfy the 32"
Evidence compare_slots(const LogProblem& problem, int given, const LogSight& sight, bool more) {
  const auto wanted = number_after(problem.message, "satisfy the ");
  if (!wanted || given < 0 || (*wanted > given) != more) return std::nullopt;
  return fmt::format("{} processes are to start, and {} have a slot ({})", *wanted, given, at_line(sight));
}

Evidence more_slots_than_job(const LogState& state, const LogProblem& problem) {
  return compare_slots(problem, state.launchers.job_tasks, state.launchers.job_tasks_line, true);
}

Evidence slots_fit_job(const LogState& state, const LogProblem& problem) {
  return compare_slots(problem, state.launchers.job_tasks, state.launchers.job_tasks_line, false);
}

Evidence more_slots_than_hostfile(const LogState& state, const LogProblem& problem) {
  return compare_slots(problem, state.launchers.slots, state.launchers.slots_line, true);
}

Evidence slots_fit_hostfile(const LogState& state, const LogProblem& problem) {
  return compare_slots(problem, state.launchers.slots, state.launchers.slots_line, false);
}

// munge: dates of 1970 stand where a credential could not be decrypted.
Evidence munge_keys_are_equal(const LogState& state, const LogProblem&) {
  if (state.launchers.other_key.line != 0) return std::nullopt;
  return seen_at(state.launchers.same_key);
}

Evidence munge_keys_differ(const LogState& state, const LogProblem&) {
  return seen_at(state.launchers.other_key);
}

// Open MPI: "connect() to 172.17.0.1:1024 failed"
Evidence peer_is_a_bridge(const LogState&, const LogProblem& problem) {
  Scan scan(problem.message);
  if (!scan.skip_past("connect() to ")) return std::nullopt;
  const std::string_view address = scan.until(": ");
  for (const std::string_view bridge : {"172.17.", "172.18.", "192.168.122.", "10.88.", "10.42.", "169.254."})
    if (address.starts_with(bridge))
      return fmt::format(
          "{} is an address that Docker, Podman, libvirt or Kubernetes gives a bridge on every host",
          address);
  return std::nullopt;
}

Evidence peer_is_no_bridge(const LogState& state, const LogProblem& problem) {
  Scan scan(problem.message);
  if (!scan.skip_past("connect() to ") || peer_is_a_bridge(state, problem)) return std::nullopt;
  return fmt::format("{} is no usual address of a bridge", scan.until(": "));
}

Evidence shm_is_small(const LogState& state, const LogProblem&) { return seen_at(state.launchers.shm_small); }

Evidence shm_is_roomy(const LogState& state, const LogProblem&) {
  if (state.launchers.shm_small.line != 0) return std::nullopt;
  return seen_at(state.launchers.shm_roomy);
}

// nccl-tests: the MPI that it is linked with, and the one that starts it.
Evidence mpirun_is_of_the_library(const LogState& state, const LogProblem&) {
  const LauncherLines& lines = state.launchers;
  if (lines.mpi_library.empty() || lines.mpi_library != lines.mpi_launcher) return std::nullopt;
  return fmt::format("mpirun and the test's libmpi are both of {}", lines.mpi_library);
}

// ldd lists libnccl and no libmpi.
Evidence tests_are_not_linked(const LogState& state, const LogProblem&) {
  if (state.seen.contains("tests-mpi-linked")) return std::nullopt;
  const auto linked = first_seen(state, {"nccl-linked"});
  if (!linked) return std::nullopt;
  return *linked + ", and no libmpi beside it";
}

Evidence hostfile_has_no_slots(const LogState& state, const LogProblem&) {
  if (state.launchers.slots != 0) return std::nullopt;
  return seen_at(state.launchers.slots_line);
}

Evidence hostfile_has_slots(const LogState& state, const LogProblem&) {
  if (state.launchers.slots <= 0) return std::nullopt;
  return seen_at(state.launchers.slots_line);
}

Evidence launcher_is_of_another_mpi(const LogState& state, const LogProblem&) {
  const LauncherLines& lines = state.launchers;
  if (!lines.mpi_library.empty() && !lines.mpi_launcher.empty() && lines.mpi_library != lines.mpi_launcher)
    return fmt::format("mpirun is of {}, the test's libmpi of {}", lines.mpi_launcher, lines.mpi_library);
  if (lines.srun_with_mpi.line != 0) return std::nullopt;
  return seen_at(lines.srun_without_mpi);
}

// slurmd and its plugins
Evidence slurm_lacks_nvml(const LogState& state, const LogProblem&) {
  if (state.seen.contains("slurm-nvml-plugin")) return std::nullopt;
  const auto plugins = first_seen(state, {"slurm-gpu-plugins"});
  if (!plugins) return std::nullopt;
  return *plugins + ", and no gpu_nvml.so beside it";
}

// "gres/gpu count reported lower than configured (0 < 4)" against the list of nvidia-smi -L
Evidence slurm_gpus_are_listed(const LogState& state, const LogProblem& problem) {
  Scan scan(problem.message);
  if (!scan.skip_past("configured (")) return std::nullopt;
  const auto promised = number_after(scan.rest(), "< ");
  if (!promised || *promised < 1 || state.driver.list_is_cut || std::ssize(state.driver.gpus) < *promised)
    return std::nullopt;
  return fmt::format("nvidia-smi -L lists {} GPUs", state.driver.gpus.size());
}

Evidence cgroups_are_version_2(const LogState& state, const LogProblem&) {
  if (state.seen.contains("cgroup1-mounted")) return std::nullopt;
  return first_seen(state, {"cgroup2-file-system", "cgroup2-mounted"});
}

Evidence cgroup_plugin_is(const LogState& state, bool there) {
  const auto seen = state.seen.find("slurm-cgroup-v2-file");
  if (seen == state.seen.end() || has_text(seen->second.text, "No such file") == there) return std::nullopt;
  return at_line(seen->second);
}

Evidence cgroup_plugin_is_there(const LogState& state, const LogProblem&) {
  return cgroup_plugin_is(state, true);
}

Evidence cgroup_plugin_is_absent(const LogState& state, const LogProblem&) {
  return cgroup_plugin_is(state, false);
}

Evidence prolog_is_missing(const LogState& state, const LogProblem&) {
  return first_seen(state, {"prolog-absent", "epilog-absent"});
}

Evidence prolog_is_not_allowed(const LogState& state, const LogProblem&) {
  return first_seen(state, {"prolog-denied", "epilog-denied"});
}

// "OSError: [Errno 28] No space left on device: '/dev/shm/torch_1234'"
Evidence space_is_of_shm(const LogState& state, const LogProblem& problem) {
  if (has_text(problem.message, "/dev/shm")) return "the message names /dev/shm";
  if (has_text(problem.message, ": '/")) return std::nullopt;
  return shm_is_small(state, problem);
}

Evidence path_is_given(const LogState&, const LogProblem& problem) {
  if (!has_text(problem.message, ": '/")) return std::nullopt;
  return "the message names a file";
}

constexpr Question kLauncherQuestions[] = {
    {"memory-is-available", memory_is_available},
    {"memory-is-short", memory_is_short},
    {"space-of-shm", space_is_of_shm},
    {"batch-of-one-rank", batch_is_of_one_rank},
    {"batch-of-several", batch_is_of_several_ranks},
    {"ranks-launched", several_ranks_were_launched},
    {"recomputed-whole", recomputed_tensor_is_whole},
    {"world-of-one", world_is_of_one},
    {"world-of-several", world_is_of_several},
    {"engine-ranks-fit", engine_ranks_fit},
    {"engine-ranks-differ", engine_ranks_differ},
    {"share-two-numbers", shares_two_numbers},
    {"share-has-words", shares_named_sizes},
    {"barrier-fewer", barrier_has_fewer},
    {"barrier-more", barrier_has_more},
    {"openib-limited", openib_is_limited},
    {"openib-unlimited", openib_is_unlimited},
    {"ranks-one-per-node", one_rank_is_on_a_node},
    {"ranks-several-per-node", several_ranks_are_on_a_node},
    {"python-by-mpi", mpi_starts_python},
    {"mpi-symbol-own", symbol_is_of_open_mpi},
    {"mpi-symbol-of-other", symbol_is_of_another},
    {"mpi-in-interpreter", interpreter_loads_mpi},
    {"mpi-in-program", other_program_loads_mpi},
    {"ssh-agent-set", ssh_agent_was_set},
    {"started-by-srun", was_started_by_srun},
    {"slurm-is-around", slurm_is_around},
    {"mpi-spawns", program_spawns},
    {"dcp-rank-0-failed", rank_0_failed_in_checkpoint},
    {"dcp-rank-0-read", rank_0_read_checkpoint},
    {"intel-several-alone", several_print_it},
    {"space-path-given", path_is_given},
    {"slurm-lacks-nvml", slurm_lacks_nvml},
    {"slurm-gpus-all-listed", slurm_gpus_are_listed},
    {"cgroup2-alone", cgroups_are_version_2},
    {"slurm-cgroup-v2-there", cgroup_plugin_is_there},
    {"slurm-cgroup-v2-absent", cgroup_plugin_is_absent},
    {"prolog-missing", prolog_is_missing},
    {"prolog-not-allowed", prolog_is_not_allowed},
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
    {"slurm-step-has-gpus", step_has_gpus},
    {"slurm-step-has-no-gpus", step_has_no_gpus},
    {"slurm-step-has-memory", step_has_memory},
    {"slurm-step-leaves-memory", step_leaves_memory},
    {"slurm-step-has-cpus", step_has_cpus},
    {"slurm-step-leaves-cpus", step_leaves_cpus},
    {"slurm-ended-it", slurm_ended_the_job},
    {"remote-start-failed", remote_start_failed},
    {"srun-with-mpi", srun_has_mpi},
    {"srun-without-mpi", srun_has_no_mpi},
    {"munge-keys-equal", munge_keys_are_equal},
    {"munge-keys-differ", munge_keys_differ},
    {"mpi-peer-bridge", peer_is_a_bridge},
    {"mpi-peer-no-bridge", peer_is_no_bridge},
    {"dev-shm-small", shm_is_small},
    {"dev-shm-roomy", shm_is_roomy},
    {"tests-own-mpi", mpirun_is_of_the_library},
    {"tests-not-linked", tests_are_not_linked},
    {"hostfile-slots-zero", hostfile_has_no_slots},
    {"hostfile-has-slots", hostfile_has_slots},
    {"launcher-of-other-mpi", launcher_is_of_another_mpi},
    {"ray-step-ended", head_step_ended},
    {"slurm-cores-kept", cores_are_kept},
    {"slurm-no-cores-kept", no_cores_are_kept},
    {"slurm-srun-larger", srun_wants_more_tasks},
    {"slurm-srun-fits", srun_tasks_fit},
    {"mpi-more-than-slurm", more_slots_than_job},
    {"mpi-fits-slurm", slots_fit_job},
    {"mpi-more-than-hostfile", more_slots_than_hostfile},
    {"mpi-fits-hostfile", slots_fit_hostfile},
};

constexpr Opposites kLauncherOpposites[] = {
    {"dcp-rank-0-failed", "dcp-rank-0-read"},
    {"metadata-there", "metadata-absent"},
    {"batch-of-one-rank", "batch-of-several"},
    {"mpi-symbol-own", "mpi-symbol-of-other"},
    {"mpi-in-interpreter", "mpi-in-program"},
    {"world-of-one", "world-of-several"},
    {"engine-ranks-fit", "engine-ranks-differ"},
    {"rerun-differs", "rerun-same"},
    {"recomputed-empty", "recomputed-whole"},
    {"slurm-lacks-nvml", "slurm-nvml-plugin"},
    {"cgroup2-alone", "cgroup1-mounted"},
    {"slurm-cgroup-v2-there", "slurm-cgroup-v2-absent"},
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
    {"slurm-step-has-gpus", "slurm-step-has-no-gpus"},
    {"slurm-step-has-memory", "slurm-step-leaves-memory"},
    {"slurm-step-has-cpus", "slurm-step-leaves-cpus"},
    {"srun-with-mpi", "srun-without-mpi"},
    {"munge-keys-equal", "munge-keys-differ"},
    {"mpi-peer-bridge", "mpi-peer-no-bridge"},
    {"dev-shm-small", "dev-shm-roomy"},
    {"tests-mpi-linked", "tests-not-linked"},
    {"tests-own-mpi", "launcher-of-other-mpi"},
    {"slurm-cores-kept", "slurm-no-cores-kept"},
    {"slurm-srun-larger", "slurm-srun-fits"},
    {"mpi-more-than-slurm", "mpi-fits-slurm"},
    {"mpi-more-than-hostfile", "mpi-fits-hostfile"},
    {"munge-service-down", "munge-service-up"},
    {"slurmctld-down", "slurmctld-up"},
    {"oom-of-group", "oom-of-node"},
    {"host-answers-ping", "host-answers-no-ping"},
};

// The words with which the lines that read_launchers() keeps begin or that stand in them.
enum Trigger {
  kLocalNode,
  kNodeAddress,
  kRayGpus,
  kRayOffer,
  kStepId,
  kJobId,
  kTres,
  kMungeKey,
  kRankZero,
  kRankOne,
  kAverage,
  kSockets,
  kListen,
  kShm,
  kSrun,
  kMpiLibrary,
  kMpirun,
  kJobTasks,
  kScriptTasks,
  kSlots,
  kVllmAddress
};
constexpr std::array<std::string_view, 21> kTriggers = {"Local node IP: ",
                                                        "--node-ip-address",
                                                        " GPU",
                                                        "total resources available",
                                                        "StepId=",
                                                        "JobId=",
                                                        "TRES=",
                                                        "munge.key",
                                                        "Rank  0 ",
                                                        "Rank  1 ",
                                                        "# Avg bus bandwidth",
                                                        "ss -",
                                                        "LISTEN",
                                                        "/dev/shm",
                                                        "srun ",
                                                        "/lib/libmpi.so",
                                                        "/bin/mpirun",
                                                        "SLURM_NTASKS=",
                                                        "#SBATCH -",
                                                        " slots=",
                                                        "VLLM_HOST_IP="};

const Phrases& launcher_triggers() {
  static const Phrases phrases{std::span<const std::string_view>(kTriggers)};
  return phrases;
}

// Returns the MiB in "500G" or "512000M"; Slurm means MiB where no letter stands.
double mebibytes_in(std::string_view text) {
  Scan scan(text);
  const double number = scan.real().value_or(-1);
  if (number < 0) return -1;
  const char unit = scan.empty() ? 'M' : scan.rest().front();
  return unit == 'K'   ? number / 1024
         : unit == 'G' ? number * 1024
         : unit == 'T' ? number * 1024 * 1024
                       : number;
}

// Reads "TRES=cpu=16,mem=500G,node=1,gres/gpu=8". A list without GPUs has none.
void read_resources(std::string_view line, SlurmShare& share) {
  Scan scan(line);
  if (!scan.skip_past("TRES=")) return;
  const std::string list = "," + std::string(scan.until(" "));
  if (const auto cpus = real_after(list, ",cpu=")) share.cpus = *cpus;
  if (const auto at = list.find(",mem="); at != std::string::npos)
    share.mebibytes = mebibytes_in(std::string_view(list).substr(at + 5));
  share.gpus = real_after(list, ",gres/gpu=").value_or(-1);
  if (share.gpus >= 0) return;
  Scan kind(list);
  share.gpus = kind.skip_past(",gres/gpu:") && kind.skip_past("=") ? kind.real().value_or(0) : 0;
}

// Reads " 0.0/2.0 GPU" or " 3.0/3.0 GPU (3.0 used of 3.0 reserved in placement groups)" of ray status.
bool read_ray_status(std::string_view line, LauncherLines& lines) {
  Scan scan(trim(line));
  const auto used = scan.real();
  if (!used || !scan.take("/")) return false;
  const auto total = scan.real();
  if (!total || !scan.take(" GPU")) return false;
  lines.ray_used = *used;
  lines.ray_total = *total;
  return true;
}

// Returns the hash in "6b3f…  /etc/munge/munge.key", also behind a host's name; empty if the line is none.
std::string_view key_hash(std::string_view line) {
  line = trim(line);
  if (!line.ends_with("munge.key")) return {};
  const auto gap = line.find_last_of(" *");
  if (gap == std::string_view::npos) return {};
  std::string_view hash = trim(line.substr(0, gap));
  if (const auto space = hash.rfind(' '); space != std::string_view::npos) hash.remove_prefix(space + 1);
  const auto is_hex = [](unsigned char letter) { return std::isxdigit(letter) != 0 || letter == '.'; };
  return hash.size() >= 8 && std::ranges::all_of(hash, is_hex) ? hash : std::string_view();
}

// Returns "811 on hw15" of "#  Rank  0 Group  0 Pid    811 on       hw15 device  0 [0x0f] NVIDIA H800"; empty if the
// line is none.
std::string rank_zero_of(std::string_view line) {
  Scan scan(line);
  if (!scan.skip_past("#") || !scan.skip_past("Rank  0 ") || !scan.skip_past("Pid ")) return {};
  Scan rest(trim(scan.rest()));
  const auto process = rest.number();
  if (!process || !rest.skip_past(" on ")) return {};
  Scan host(trim(rest.rest()));
  const std::string name(host.until(" "));
  return has_text(host.rest(), "device") ? fmt::format("{} on {}", *process, name) : std::string();
}

// Returns the number of tasks in "srun -n 8", "#SBATCH --ntasks=8" or "--ntasks 8".
std::optional<int> tasks_in(std::string_view line) {
  for (const std::string_view option : {" -n ", " -n", " --ntasks=", " --ntasks "})
    if (const auto tasks = number_after(line, option)) return tasks;
  return std::nullopt;
}

// Returns "/opt/openmpi" of "libmpi.so.40 => /opt/openmpi/lib/libmpi.so.40 (0x…)".
std::string_view prefix_before(std::string_view line, std::string_view end) {
  line = line.substr(0, line.find(end));
  return line.substr(std::min(line.find_last_of(" \t\"'=") + 1, line.size()));
}

// Returns the number behind "grep 6379", "grep :6379" or "sport = :6379".
std::optional<int> sought_port(std::string_view line) {
  for (const std::string_view words : {"grep ", "sport = "}) {
    Scan scan(line);
    while (scan.skip_past(words)) {
      std::string_view rest = scan.rest();
      rest.remove_prefix(std::min(rest.find_first_not_of(":'\"-wEq "), rest.size()));
      Scan port(rest);
      if (const auto number = port.number()) return number;
    }
  }
  return std::nullopt;
}

// Adds the ports of "LISTEN 0 4096 *:6379 *:*".
void read_listener(std::string_view line, std::set<int>& ports) {
  Scan scan(line);
  while (scan.skip_past(":"))
    if (const auto port = scan.number(); port && ports.size() < kMostSoughtPorts) ports.insert(*port);
}

// Returns whether "tmpfs 64M 0 64M 0% /dev/shm" shows too little room; nothing if the line is no df's.
std::optional<bool> shm_lacks_room(std::string_view line) {
  line = trim(line);
  if (!line.ends_with(" /dev/shm")) return std::nullopt;
  const auto percent = line.find("% ");
  if (percent == std::string_view::npos) return std::nullopt;
  const auto digits = line.find_last_not_of("0123456789", percent - 1);
  Scan used(line.substr(digits == std::string_view::npos ? 0 : digits + 1));
  Scan fields(line);
  fields.until(" ");
  const std::string_view size = Scan(trim(fields.rest())).until(" ");
  return used.number().value_or(0) >= 99 || size == "64M" || size == "65536" || size == "64.0M";
}

void read(LogState& state, std::string_view line) {
  unsigned found = 0;
  launcher_triggers().visit(line, [&](std::size_t index) { found |= 1U << index; });
  if (found == 0) return;
  const auto has = [&](Trigger trigger) { return (found & 1U << trigger) != 0; };
  LauncherLines& lines = state.launchers;
  for (const Trigger trigger : {kLocalNode, kNodeAddress}) {
    if (!has(trigger) || lines.ray_addresses.size() >= kMostRayAddresses) continue;
    Scan scan(line);
    scan.skip_past(kTriggers[trigger]);
    const std::string_view rest = trim(scan.rest());
    const std::string_view address = Scan(rest.starts_with('=') ? rest.substr(1) : rest).until(" '\"");
    if (!IpAddress::parse(address)) continue;
    lines.ray_addresses.emplace(address);
    state.keep_sight(lines.ray_address, line);
  }
  if (has(kVllmAddress) && lines.vllm_address.empty()) {
    Scan scan(line);
    scan.skip_past(kTriggers[kVllmAddress]);
    const std::string_view address = scan.until(" '\"");
    if (IpAddress::parse(address)) lines.vllm_address = address;
  }
  if (has(kRayGpus) && read_ray_status(line, lines)) {
    lines.ray_gpus = {};
    state.keep_sight(lines.ray_gpus, line);
  }
  if (has(kRayOffer) && lines.ray_total < 0) {
    Scan scan(line);
    scan.skip_past(kTriggers[kRayOffer]);
    lines.ray_total = real_after(scan.rest(), "\"GPU\": ").value_or(0);
    state.keep_sight(lines.ray_gpus, scan.rest().substr(std::min<std::size_t>(2, scan.rest().size())));
  }
  // A step that has ended holds nothing.
  if (has(kStepId) && trim(line).starts_with("StepId=")) {
    Scan scan(line);
    scan.skip_past("StepId=");
    lines.in_step = true;
    if (lines.steps.size() < kMostSteps) lines.steps.push_back({.step = std::string(scan.until(" "))});
  }
  if (has(kJobId) || has_text(line, "NumCPUs=")) lines.in_step = false;
  if (lines.in_step && has_text(line, "State=") && !has_text(line, "State=RUNNING") && !lines.steps.empty()) {
    lines.steps.pop_back();
    lines.in_step = false;
  } else if (has(kTres)) {
    SlurmShare& share = lines.in_step && !lines.steps.empty() ? lines.steps.back() : lines.job;
    read_resources(line, share);
    state.keep_sight(share.sight, line);
  }
  if (has(kMungeKey))
    if (const std::string_view hash = key_hash(line); !hash.empty()) {
      if (lines.munge_key.empty())
        lines.munge_key = hash;
      else
        state.keep_sight(hash == lines.munge_key ? lines.same_key : lines.other_key, line);
    }
  if (has(kSockets) && lines.sought_ports.size() < kMostSoughtPorts)
    if (const auto port = sought_port(line)) {
      lines.sought_ports.insert(*port);
      state.keep_sight(lines.sought, line);
    }
  if (has(kListen)) {
    read_listener(line, lines.open_ports);
    state.keep_sight(lines.opened, line);
  }
  if (has(kShm))
    if (const auto lacks = shm_lacks_room(line))
      state.keep_sight(*lacks ? lines.shm_small : lines.shm_roomy, line);
  if (has(kSrun) && (has_text(line, "srun -") || has_text(line, "+ srun "))) {
    const bool with = has_text(line, "--mpi=p") || has_text(line, "--mpi p");
    state.keep_sight(with ? lines.srun_with_mpi : lines.srun_without_mpi, line);
  }
  for (const auto& [trigger, prefix] :
       {std::pair(kMpiLibrary, &lines.mpi_library), std::pair(kMpirun, &lines.mpi_launcher)})
    if (has(trigger) && prefix->empty())
      *prefix = prefix_before(line, kTriggers[trigger]).substr(0, kLongestPath);
  if (has(kSrun))
    if (const auto tasks = tasks_in(line); tasks && *tasks > lines.srun_tasks) {
      lines.srun_tasks = *tasks;
      state.keep_sight(lines.srun_tasks_line = {}, line);
    }
  if (lines.job_tasks < 0 && (has(kJobTasks) || has(kScriptTasks)))
    if (const auto tasks = has(kJobTasks) ? number_after(line, "SLURM_NTASKS=") : tasks_in(line)) {
      lines.job_tasks = *tasks;
      state.keep_sight(lines.job_tasks_line, line);
    }
  if (has(kSlots))
    if (const auto slots = number_after(line, " slots="); slots && *slots >= 0 && *slots <= 4096) {
      lines.slots = std::min(std::max(lines.slots, 0) + *slots, 1 << 20);
      state.keep_sight(lines.slots_line, line);
    }
  // One test has one rank 0. A result in between ends a test.
  if (has(kRankOne)) lines.second_rank = true;
  if (has(kAverage)) {
    const auto average = real_after(line, ": ");
    if (average && *average == 0 && !lines.first_rank_zero.empty() && !lines.second_rank)
      state.read_symptom("nccl-tests measured one rank alone, and so a bus bandwidth of 0", nullptr, nullptr,
                         false);
    lines.first_rank_zero.clear();
    lines.second_rank = false;
  }
  if (!has(kRankZero)) return;
  const std::string process = rank_zero_of(line);
  if (process.empty()) return;
  if (lines.first_rank_zero.empty() || lines.first_rank_file != state.file) {
    lines.first_rank_zero = process;
    lines.first_rank_file = state.file;
  } else if (lines.first_rank_zero != process) {
    state.read_symptom(
        fmt::format("Two processes of nccl-tests are rank 0: {} and {}", lines.first_rank_zero, process),
        nullptr, nullptr, false);
  }
}

}  // namespace
}  // namespace launcher_lines

std::span<const Question> launcher_questions() { return launcher_lines::kLauncherQuestions; }

std::span<const Opposites> launcher_opposites() { return launcher_lines::kLauncherOpposites; }

void settle_launch(LogState& state) {
  const auto is_up = [](const LogCommunicator& communicator) { return communicator.completed > 0; };
  if (std::ranges::none_of(state.log.communicators, is_up)) return;
  constexpr std::array<std::string_view, 12> kBefore = {
      "ssh-name",       "ssh-resolver",     "ssh-refused", "ssh-no-answer", "ssh-no-route", "slurm-busy",
      "slurm-busy-now", "slurm-still-busy", "vllm-waits",  "ray-no-node",   "ray-gcs",      "ray-gcs-id"};
  for (LogProblem& problem : state.log.problems)
    if (std::ranges::find(kBefore, problem.symptom) != kBefore.end()) problem.severity = Severity::kNote;
}

void LogState::read_launchers(std::string_view line) { launcher_lines::read(*this, line); }

}  // namespace railbed::diagnose
