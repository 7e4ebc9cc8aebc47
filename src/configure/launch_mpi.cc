// mpirun and srun: one command, started on the first node or on the login node, that starts every rank.
//
// Ranks are not bound to processors: both programs would bind them by their number, while NCCL places its
// threads near each rank's GPU, among the processors that the rank may use.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "configure/launch_job.h"

namespace railbed {
namespace {

using Environment = std::vector<EnvironmentVariable>;

bool everywhere(const LaunchJob& job, const EnvironmentVariable& variable) {
  return std::ranges::all_of(job.nodes, [&](const LaunchNode& node) {
    return std::ranges::find(node.environment, variable) != node.environment.end();
  });
}

// Splits a node's variables into those that all nodes share and its own.
std::pair<Environment, Environment> parted(const LaunchJob& job, const LaunchNode& node) {
  std::pair<Environment, Environment> parts;
  for (const EnvironmentVariable& variable : node.environment)
    (everywhere(job, variable) ? parts.first : parts.second).push_back(variable);
  return parts;
}

// Returns the host as mpirun's ssh reaches it. The form "address:slots" does not support IPv6.
std::string mpi_host(const LaunchJob& job, std::size_t i) {
  const bool by_address = job.contact && job.contact->ends[i].address->is_v4();
  return fmt::format("{}:{}", by_address ? job.address(i) : job.node(i), job.nodes[i].gpus);
}

// Returns the network for Open MPI: a subnet if interfaces may have different names, else the common
// interface name. Empty if the ends share neither.
std::string mpi_network(const Contact& contact) {
  const auto same = [&](auto member) {
    return std::ranges::all_of(
        contact.ends, [&](const ContactEnd& end) { return end.*member == contact.ends.front().*member; });
  };
  if (contact.ends.front().subnet && same(&ContactEnd::subnet)) return contact.ends.front().subnet->to_text();
  return same(&ContactEnd::interface) ? std::string(contact.ends.front().interface) : "";
}

Words mpi_program(const LaunchRequest& request) {
  Words words = request.arguments;
  if (request.launcher != Launcher::kNcclTests) return words;
  if (words.empty()) words = {"-b", "8", "-e", "4G", "-f", "2", "-g", "1"};
  if (words.front().starts_with('-')) words.insert(words.begin(), "all_reduce_perf");
  return words;
}

void add_own(const Environment& own, Words& words) {
  if (own.empty()) return;
  words.push_back("env");
  for (const EnvironmentVariable& variable : own)
    words.push_back(fmt::format("{}={}", variable.name, variable.value));
}

// Adds one context for all nodes, or one per node if their variables differ; then env precedes the program.
void add_contexts(const LaunchJob& job, Words& words) {
  const bool differ = std::ranges::any_of(
      job.nodes, [&](const LaunchNode& node) { return !parted(job, node).second.empty(); });
  Words hosts;
  for (std::size_t i = 0; i < job.nodes.size(); ++i) hosts.push_back(mpi_host(job, i));
  if (!differ) {
    append(words,
           {"-np", std::to_string(job.all_gpus()), "--host", fmt::format("{}", fmt::join(hosts, ","))});
    return append(words, mpi_program(job.request));
  }
  for (std::size_t i = 0; i < job.nodes.size(); ++i) {
    if (i > 0) words.push_back(":");
    append(words, {"-np", std::to_string(job.nodes[i].gpus), "--host", hosts[i]});
    add_own(parted(job, job.nodes[i]).second, words);
    append(words, mpi_program(job.request));
  }
}

}  // namespace

Result<NodeCommand> mpirun_command(LaunchJob& job) {
  NodeCommand command{job.node(0)};
  command.words = {"mpirun", "--map-by", "slot", "--bind-to", "none"};
  if (job.contact) {
    const std::string network = mpi_network(*job.contact);
    if (network.empty())
      job.notes.push_back(
          "mpirun takes every network: the nodes' ends have neither a subnet nor a name in common");
    else
      append(command.words, {"--mca", "oob_tcp_if_include", network, "--mca", "btl_tcp_if_include", network});
    job.notes.push_back(fmt::format(
        "{} has to reach the others by ssh as the user who starts this; section ssh of `railbed plan` "
        "gives it their host keys, by each name and address that cluster.yaml has",
        job.node(0)));
  }
  // Its own messages are few; over TCP, they cannot fail because of the RDMA that is to be measured.
  if (job.request.launcher == Launcher::kNcclTests)
    append(command.words, {"--mca", "pml", "ob1", "--mca", "btl", "self,tcp"});
  for (const EnvironmentVariable& variable : parted(job, job.nodes.front()).first)
    append(command.words, {"-x", fmt::format("{}={}", variable.name, variable.value)});
  add_contexts(job, command.words);
  return command;
}

Result<NodeCommand> srun_command(LaunchJob& job) {
  NodeCommand command{""};
  Environment own;
  std::tie(command.environment, own) = parted(job, job.nodes.front());
  for (const EnvironmentVariable& variable : own)
    job.notes.push_back(fmt::format("{} differs between nodes and is not said here: {}", variable.name,
                                    variable.name.starts_with("UCX_") || variable.name.starts_with("NVSHMEM_")
                                        ? "the job's program has to set it on each node"
                                        : "/etc/nccl.conf of each has to (railbed plan)"));
  if (job.contact) {
    command.environment.push_back({"MASTER_ADDR", job.master()});
    command.environment.push_back({"MASTER_PORT", std::to_string(job.request.port)});
  }
  Words names;
  for (std::size_t i = 0; i < job.nodes.size(); ++i) names.push_back(job.node(i));
  const int gpus = job.nodes.front().gpus;
  command.words = {"srun",
                   "--export=ALL",
                   fmt::format("--nodes={}", job.nodes.size()),
                   fmt::format("--nodelist={}", fmt::join(names, ",")),
                   fmt::format("--ntasks-per-node={}", gpus),
                   fmt::format("--gpus-per-node={}", gpus),
                   "--cpu-bind=none"};
  append(command.words, job.request.arguments);
  return command;
}

}  // namespace railbed
