// The commands that start a job on all nodes of a cluster, with the network settings of each program. Pure
// functions; nothing is run.
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

// The program that starts the ranks.
enum class Launcher { kTorchrun, kAccelerate, kDeepspeed, kVllm, kSglang, kRay, kMpirun, kSrun, kNcclTests };
constexpr auto enum_names(Launcher) {
  return std::array<std::string_view, 9>{"torchrun", "accelerate", "deepspeed", "vllm",      "sglang",
                                         "ray",      "mpirun",     "srun",      "nccl-tests"};
}

// The kind of container that a command runs in.
enum class ContainerForm { kDocker, kPodman, kCompose, kKubernetes };
constexpr auto enum_names(ContainerForm) {
  return std::array<std::string_view, 4>{"docker", "podman", "compose", "kubernetes"};
}

// The job to start.
struct LaunchRequest {
  Launcher launcher = Launcher::kTorchrun;
  std::vector<std::string> arguments = {};  // the program and its own arguments
  std::vector<std::string> nodes = {};      // in the order of ranks; empty: all of cluster.yaml
  int port = 29500;                         // rendezvous port: PyTorch's default
  std::optional<ContainerForm> container = {};
  std::string image = {};  // empty: expect.container
  // resource name that the RDMA device plugin of a Kubernetes cluster offers
  std::string rdma_resource = "rdma/hca_shared_devices_a";
};

struct EnvironmentVariable {
  std::string name;
  std::string value;
  FIELDS(EnvironmentVariable, name, value);
  bool operator==(const EnvironmentVariable&) const = default;
};

// A command for one node.
struct NodeCommand {
  std::string node;  // where it is started; empty: on Slurm's login node
  std::vector<EnvironmentVariable> environment = {};
  std::vector<std::string> words = {};  // not yet quoted for a shell
  std::string file = {};                // text for compose or Kubernetes, with both; empty: none
  FIELDS(NodeCommand, node, environment, words, file);
};

// The commands of a job.
struct Launch {
  std::string contact;  // network on which ranks meet: "management", "rail link1"; empty for one node
  std::vector<NodeCommand> commands = {};  // one per node, or one for all
  std::vector<std::string> notes = {};
  FIELDS(Launch, contact, commands, notes);
};

// Fails if no look at the nodes can make a launch of this: nothing to start, a container without an image.
// plan_launch() checks it, too; who looks at nodes first calls this before.
Result<void> check_launch(const LaunchRequest& request, const Cluster& cluster);

// Returns the commands. Fails if the number of a node's GPUs is unknown, no network joins the nodes, or the
// launcher does not support the request.
Result<Launch> plan_launch(const Survey& survey, const LaunchRequest& request);

// Returns text for a POSIX shell, one command per node; the rest is comments, and files are printed as they
// are.
std::string to_text(const Launch& launch);

}  // namespace railbed
