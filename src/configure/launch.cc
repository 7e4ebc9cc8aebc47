#include "configure/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/host_port.h"
#include "base/shell.h"
#include "base/text.h"
#include "configure/launch_job.h"
#include "settings/nccl_wishes.h"

namespace railbed {
namespace {

// ---- the nodes

Result<std::vector<const NodeView*>> nodes_of(const Survey& survey, const std::vector<std::string>& names) {
  std::vector<const NodeView*> nodes;
  if (names.empty())
    for (const Node& node : survey.evidence.cluster.nodes) nodes.push_back(survey.find(node.name));
  for (const std::string& name : names) {
    nodes.push_back(survey.find(name));
    if (nodes.back() == nullptr || nodes.back()->wanted == nullptr)
      return fail(no_such_node(survey.evidence.cluster, name));
    if (std::ranges::count(names, name) > 1)
      return fail(ErrorKind::kBadInput, fmt::format("--nodes names {} twice", name));
  }
  if (nodes.empty() || nodes.front() == nullptr)
    return fail(ErrorKind::kBadInput, "a launch wants a cluster.yaml that names nodes");
  return nodes;
}

constexpr int kMostGpus = 1024;  // of a node; as expect.gpus allows

// Returns how many GPUs the parts list for the node; nullopt if they list none for it.
std::optional<int> gpus_of_parts(const Cluster& cluster, std::string_view node) {
  std::optional<int> gpus;
  for (const ClusterPart& part : cluster.parts)
    if (part.kind == PartKind::kGpu && is_on_node(part, node))
      gpus = std::min(gpus.value_or(0) + std::min(part.quantity, kMostGpus), kMostGpus);
  return gpus;
}

// Returns the number of GPUs, by the facts, else by expect.gpus, else by parts. Adds a note if the facts differ from
// cluster.yaml.
Result<int> gpus_of(const Cluster& cluster, const NodeView& view, std::vector<std::string>& notes) {
  const auto& expected = view.wanted->expect.gpus;
  const auto wanted = expected ? expected : gpus_of_parts(cluster, *view.name);
  const int seen = static_cast<int>(items(view.facts->gpus.devices).size());
  if (seen == 0 && !wanted)
    return fail(
        ErrorKind::kBadInput,
        fmt::format("how many GPUs {} has is not known: say expect.gpus or parts.gpus, or let railbed look",
                    *view.name));
  if (seen != 0 && wanted && seen != *wanted)
    notes.push_back(fmt::format("{} shows {} GPUs and cluster.yaml expects {}: {} are used", *view.name, seen,
                                *wanted, seen));
  const int gpus = seen != 0 ? seen : *wanted;
  if (gpus < 1) return fail(ErrorKind::kBadInput, fmt::format("{} has no GPU", *view.name));
  return gpus;
}

Result<void> find_network(LaunchJob& job) {
  if (job.alone()) return {};
  std::vector<const NodeView*> views;
  for (const LaunchNode& node : job.nodes) views.push_back(node.view);
  job.contact = find_contact(views);
  if (!job.contact)
    return fail(
        ErrorKind::kBadInput,
        "no network is known that joins these nodes: say configure.management_interface, or give each node "
        "an address on one rail");
  for (std::size_t i = 0; i < job.nodes.size(); ++i)
    if (!job.contact->ends[i].address)
      return fail(
          ErrorKind::kBadInput,
          fmt::format("the address of {} on {} is not known: say configure.management_address, or let "
                      "railbed look",
                      job.contact->ends[i].interface, job.node(i)));
  return {};
}

// ---- network settings of programs

bool is_mpi(Launcher launcher) { return launcher == Launcher::kMpirun || launcher == Launcher::kNcclTests; }

// Gloo and TensorPipe expect the name alone, without NCCL's "=" (torch/csrc/distributed/c10d).
void add_networks(const LaunchJob& job, std::size_t i, std::vector<EnvironmentVariable>& environment) {
  if (!job.contact) return;
  const std::string interface(job.contact->ends[i].interface);
  if (!is_mpi(job.request.launcher)) {
    environment.push_back({"GLOO_SOCKET_IFNAME", interface});
    environment.push_back({"TP_SOCKET_IFNAME", interface});
  }
  if (job.request.launcher == Launcher::kVllm) environment.push_back({"VLLM_HOST_IP", job.address(i)});
  if (job.request.launcher == Launcher::kSglang) environment.push_back({"SGLANG_HOST_IP", job.address(i)});
}

// Returns true if the node has an active RDMA port that the list, "mlx5_0:1,mlx5_1:1", does not name.
bool has_other_ports(const Facts& facts, std::string_view list) {
  const auto named = split(list, ',');
  for (const RdmaDevice& device : items(facts.rdma.devices))
    for (const RdmaPort& port : items(device.ports))
      if (port.state.ok() && *port.state == "ACTIVE" &&
          std::ranges::find(named, fmt::format("{}:{}", device.name, port.number)) == named.end())
        return true;
  return false;
}

// The rails for UCX and NVSHMEM, in their syntax: DEVICE:PORT, without NCCL's "=". PyTorch copies NCCL_IB_HCA with its
// "=" into NVSHMEM_HCA_LIST unless that is set, and NVSHMEM finds no device then (c10d's nvshmem_extension.cu).
// NVSHMEM picks the device nearest to each GPU; with NVSHMEM_ENABLE_NIC_PE_MAPPING it obeys the list and deals
// out its devices in turn. So that is set only where it could pick one that is no rail.
void add_rails(const Facts& facts, const std::string& nccl_hca,
               std::vector<EnvironmentVariable>& environment) {
  const std::string list = nccl_hca.substr(nccl_hca.starts_with('=') ? 1 : 0);
  environment.push_back({"UCX_NET_DEVICES", list});
  environment.push_back({"NVSHMEM_HCA_LIST", list});
  if (has_other_ports(facts, list)) environment.push_back({"NVSHMEM_ENABLE_NIC_PE_MAPPING", "1"});
}

// NCCL's variables do not depend on the platform, so a launch does not require it to be known.
void add_environment(const ClusterWide& wide, LaunchJob& job, std::size_t i) {
  LaunchNode& node = job.nodes[i];
  const NcclWishes wishes = nccl_wishes(Target{wide, *node.view, {}});
  for (const NcclWish& wish : wishes.variables) {
    // The contact of this job's nodes, which may be fewer than those that /etc/nccl.conf is for.
    const bool first_contact = wish.name == "NCCL_SOCKET_IFNAME" && job.contact && node.rdma;
    node.environment.push_back(
        {wish.name, first_contact ? fmt::format("={}", job.contact->ends[i].interface) : wish.value});
    if (wish.name == "NCCL_IB_HCA") add_rails(*node.view->facts, wish.value, node.environment);
  }
  for (const std::string& note : wishes.notes) {
    std::string text = fmt::format("{}: {}", job.node(i), note);
    if (std::ranges::find(job.notes, text) == job.notes.end()) job.notes.push_back(std::move(text));
  }
  add_networks(job, i, node.environment);
}

Result<LaunchJob> make_job(const Survey& survey, const LaunchRequest& request) {
  LaunchJob job{request};
  ASSIGN_OR_RETURN(const auto views, nodes_of(survey, request.nodes));
  for (const NodeView* const view : views) {
    ASSIGN_OR_RETURN(const auto gpus, gpus_of(survey.evidence.cluster, *view, job.notes));
    job.nodes.push_back({view, gpus, std::ranges::any_of(view->ends, &RailEnd::rdma_rail)});
  }
  RETURN_IF_ERROR(find_network(job));
  const ClusterWide wide(survey);
  for (std::size_t i = 0; i < job.nodes.size(); ++i) add_environment(wide, job, i);
  return job;
}

// ---- the job

// These give every node the same number of ranks.
bool wants_same_gpus(Launcher launcher) {
  return launcher == Launcher::kSrun || launcher == Launcher::kVllm || launcher == Launcher::kSglang ||
         launcher == Launcher::kAccelerate;
}

Result<void> check_request(const LaunchRequest& request) {
  if (request.arguments.empty() && request.launcher != Launcher::kNcclTests)
    return fail(ErrorKind::kBadInput, "what shall be started? Write it behind --");
  if (request.container && !starts_on_each_node(request.launcher))
    return fail(ErrorKind::kBadInput,
                "--container is for programs that are started on each node; mpirun and srun start the ranks "
                "themselves");
  if (std::ranges::find(request.arguments, ":") != request.arguments.end() && is_mpi(request.launcher))
    return fail(ErrorKind::kBadInput, "mpirun takes a lone : for the beginning of another program");
  return {};
}

Result<void> check_gpus(const LaunchJob& job) {
  const LaunchRequest& request = job.request;
  if (!job.same_gpus() && wants_same_gpus(request.launcher))
    return fail(ErrorKind::kBadInput,
                fmt::format("the nodes have different numbers of GPUs, which {} cannot take",
                            enum_names(Launcher())[static_cast<std::size_t>(request.launcher)]));
  return {};
}

Result<void> add_commands(LaunchJob& job, Launch& launch) {
  const Launcher launcher = job.request.launcher;
  if (!starts_on_each_node(launcher)) {
    ASSIGN_OR_RETURN(auto command, launcher == Launcher::kSrun ? srun_command(job) : mpirun_command(job));
    launch.commands.push_back(std::move(command));
    return {};
  }
  for (std::size_t i = 0; i < job.nodes.size(); ++i) {
    NodeCommand command{job.node(i), job.nodes[i].environment, node_words(job, i)};
    if (auto done = contain(job, job.nodes[i], command); !done) return done;
    launch.commands.push_back(std::move(command));
  }
  return {};
}

}  // namespace

Result<void> check_launch(const LaunchRequest& request, const Cluster& cluster) {
  RETURN_IF_ERROR(check_request(request));
  if (!request.container || !request.image.empty()) return {};
  for (const Node& node : cluster.nodes) {
    const bool chosen =
        request.nodes.empty() || std::ranges::find(request.nodes, node.name) != request.nodes.end();
    if (chosen && !node.expect.container) return no_image();
  }
  return {};
}

bool LaunchJob::same_gpus() const {
  return std::ranges::all_of(nodes, [&](const LaunchNode& node) { return node.gpus == nodes.front().gpus; });
}

int LaunchJob::all_gpus() const {
  int all = 0;
  for (const LaunchNode& node : nodes) all += node.gpus;
  return all;
}

std::string LaunchJob::endpoint() const {
  return host_and_port(contact->ends.front().address->to_text(), request.port);
}

Result<Launch> plan_launch(const Survey& survey, const LaunchRequest& request) {
  RETURN_IF_ERROR(check_request(request));
  ASSIGN_OR_RETURN(auto job, make_job(survey, request));
  RETURN_IF_ERROR(check_gpus(job));
  Launch launch{job.contact ? job.contact->where : ""};
  RETURN_IF_ERROR(add_commands(job, launch));
  launch.notes = std::move(job.notes);
  return launch;
}

std::string to_text(const Launch& launch) {
  std::string text;
  if (!launch.contact.empty()) text += fmt::format("# ranks find each other over {}\n", launch.contact);
  for (const std::string& note : launch.notes) text += fmt::format("# {}\n", printable(note));
  bool first = true;
  for (const NodeCommand& command : launch.commands) {
    const bool documents = !command.file.empty();
    if (documents && !first) text += "---\n";
    first = false;
    text += fmt::format("# on {}{}\n", command.node.empty() ? "the login node" : command.node,
                        documents ? ": " + shell_line(command.words) : "");
    if (documents) {
      text += command.file;
      continue;
    }
    for (const EnvironmentVariable& variable : command.environment)
      text += fmt::format("{}={} ", variable.name, shell_word(variable.value));
    text += shell_line(command.words) + "\n";
  }
  return text;
}

}  // namespace railbed
