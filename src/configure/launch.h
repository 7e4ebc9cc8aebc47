// The commands that start a job on all nodes of a cluster, with what each program has to be told of its
// networks. Pure; nothing is run.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "model/survey.h"

namespace railbed {

enum class Launcher { kTorchrun, kVllm, kMpirun, kSrun, kNcclTests };
constexpr auto enum_names(Launcher) {
  return std::array<std::string_view, 5>{"torchrun", "vllm", "mpirun", "srun", "nccl-tests"};
}

enum class ContainerForm { kDocker, kPodman, kCompose, kKubernetes };
constexpr auto enum_names(ContainerForm) {
  return std::array<std::string_view, 4>{"docker", "podman", "compose", "kubernetes"};
}

struct LaunchRequest {
  Launcher launcher = Launcher::kTorchrun;
  std::vector<std::string> arguments = {};  // the program and its own arguments
  std::vector<std::string> nodes = {};      // in the order of ranks; empty: all of cluster.yaml
  int port = 29500;                         // of the rendezvous: PyTorch's default
  std::optional<ContainerForm> container = {};
  std::string image = {};  // empty: expect.container
  std::string rdma_resource =
      "rdma/hca_shared_devices_a";  // what the RDMA device plugin of a Kubernetes cluster calls its devices
};

struct EnvironmentVariable {
  std::string name;
  std::string value;
  FIELDS(EnvironmentVariable, name, value);
  bool operator==(const EnvironmentVariable&) const = default;
};

struct NodeCommand {
  std::string node;  // where it is started; empty: where somebody logs in to Slurm
  std::vector<EnvironmentVariable> environment = {};
  std::vector<std::string> words = {};  // no shell has read them
  std::string file = {};                // of compose or Kubernetes, which holds both; empty: there is none
  FIELDS(NodeCommand, node, environment, words, file);
};

struct Launch {
  std::string contact;  // "management", "rail link1": where ranks find each other; empty: one node needs none
  std::vector<NodeCommand> commands = {};  // of each node, or one for all
  std::vector<std::string> notes = {};
  FIELDS(Launch, contact, commands, notes);
};

// An error where a node's GPUs are not known, or no network joins the nodes.
Result<Launch> plan_launch(const Survey& survey, const LaunchRequest& request);

// For a POSIX shell, a command a node; what is not a command is a comment.
std::string to_text(const Launch& launch);

}  // namespace railbed
