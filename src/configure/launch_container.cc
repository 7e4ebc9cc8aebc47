// Containers with access to the fabric. Without the devices, locked memory and the node's own network, NCCL
// silently uses TCP; without shared memory, ranks on the same node do (docs/how-to/running-job.md).
#include <fmt/format.h>

#include "base/yaml.h"
#include "configure/launch_job.h"

namespace railbed {
namespace {

Words arguments_of(const NodeCommand& command) { return {command.words.begin() + 1, command.words.end()}; }

// NVIDIA MPS: a program finds the daemon by its pipes, and the GPUs of such a node turn others away.
constexpr std::string_view kMpsFolder = "/tmp/nvidia-mps";
bool shares_by_mps(const LaunchNode& node) {
  const Node* wanted = node.view->wanted;
  return wanted != nullptr && wanted->configure.gpu_sharing &&
         wanted->configure.gpu_sharing->is_mps_of_node();
}

// podman gets GPUs through CDI; without the label option, SELinux blocks its containers from devices (NVIDIA
// Container Toolkit).
Words run_words(const LaunchNode& node, const NodeCommand& command, const std::string& image, bool podman) {
  Words words = {podman ? "podman" : "docker", "run", "--rm", "--network", "host", "--ipc", "host"};
  if (podman)
    append(words, {"--security-opt", "label=disable", "--device", "nvidia.com/gpu=all"});
  else
    append(words, {"--gpus", "all"});
  if (node.rdma)
    append(words, {"--device", "/dev/infiniband", "--cap-add", "IPC_LOCK", "--ulimit", "memlock=-1:-1"});
  if (shares_by_mps(node)) append(words, {"--volume", fmt::format("{0}:{0}", kMpsFolder)});
  for (const EnvironmentVariable& variable : command.environment)
    append(words, {"--env", fmt::format("{}={}", variable.name, variable.value)});
  append(words, {"--entrypoint", command.words.front(), image});
  append(words, arguments_of(command));
  return words;
}

// compose replaces $NAME by a variable of the shell, Kubernetes replaces $(NAME) by one of the pod: $$ is a
// literal $ in both.
std::string scalar(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped += c == '$' ? "$$" : std::string(1, c);
  return yaml_quoted(escaped);
}

// Returns `name` and its elements, one per line.
std::string yaml_list(std::size_t indent, std::string_view name, const Words& words) {
  const std::string space(indent, ' ');
  std::string text = fmt::format("{}{}:\n", space, name);
  for (const std::string& word : words) text += fmt::format("{}  - {}\n", space, scalar(word));
  return text;
}

std::string compose_file(const LaunchNode& node, const NodeCommand& command, const std::string& image) {
  std::string text =
      fmt::format("services:\n  job:\n    image: {}\n    network_mode: host\n    ipc: host\n", scalar(image));
  if (node.rdma)
    text +=
        "    devices:\n      - \"/dev/infiniband:/dev/infiniband\"\n"
        "    cap_add:\n      - IPC_LOCK\n"
        "    ulimits:\n      memlock:\n        soft: -1\n        hard: -1\n";
  if (shares_by_mps(node)) text += fmt::format("    volumes:\n      - \"{0}:{0}\"\n", kMpsFolder);
  text +=
      "    deploy:\n      resources:\n        reservations:\n          devices:\n"
      "            - driver: nvidia\n              count: all\n              capabilities: [gpu]\n";
  if (!command.environment.empty()) text += "    environment:\n";
  for (const EnvironmentVariable& variable : command.environment)
    text += fmt::format("      {}: {}\n", variable.name, scalar(variable.value));
  text += yaml_list(4, "entrypoint", {command.words.front()});
  text += yaml_list(4, "command", arguments_of(command));
  return text;
}

// In Kubernetes, the container runtime limits locked memory; the unit it ships with has no limit. A pod names
// its node, because its rank and addresses belong to that node.
std::string pod_file(const LaunchJob& job, const LaunchNode& node, const NodeCommand& command,
                     const std::string& image, std::string_view name) {
  std::string text = fmt::format(
      "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {}\nspec:\n  restartPolicy: Never\n  hostNetwork: true\n"
      "  dnsPolicy: ClusterFirstWithHostNet\n  nodeSelector:\n    kubernetes.io/hostname: {}\n  containers:\n"
      "    - name: job\n      image: {}\n",
      yaml_quoted(name), yaml_quoted(command.node), yaml_quoted(image));
  text += yaml_list(6, "command", {command.words.front()});
  text += yaml_list(6, "args", arguments_of(command));
  if (!command.environment.empty()) text += "      env:\n";
  for (const EnvironmentVariable& variable : command.environment)
    text += fmt::format("        - name: {}\n          value: {}\n", variable.name, scalar(variable.value));
  text += fmt::format("      resources:\n        limits:\n          nvidia.com/gpu: \"{}\"\n", node.gpus);
  if (node.rdma)
    text += fmt::format(
        "          {}: \"1\"\n      securityContext:\n        capabilities:\n          add: [IPC_LOCK]\n",
        yaml_quoted(job.request.rdma_resource));
  return text +
         "      volumeMounts:\n        - name: shm\n          mountPath: /dev/shm\n"
         "  volumes:\n    - name: shm\n      emptyDir:\n        medium: Memory\n";
}

// Names of pods and files: RFC 1123 labels are lower case.
std::string job_name(const NodeCommand& command) {
  std::string name = "job-";
  for (const char c : command.node) {
    const bool lower_or_digit = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : lower_or_digit ? c : '-';
  }
  return name;
}

}  // namespace

tl::unexpected<Error> no_image() {
  return fail(ErrorKind::kBadInput, "--container wants --image, or expect.container");
}

Result<void> contain(const LaunchJob& job, const LaunchNode& node, NodeCommand& command) {
  if (!job.request.container) return {};
  const std::string image =
      job.request.image.empty() ? node.view->wanted->expect.container.value_or("") : job.request.image;
  if (image.empty()) return no_image();
  const std::string name = job_name(command);
  switch (*job.request.container) {
    case ContainerForm::kDocker:
    case ContainerForm::kPodman:
      command.words = run_words(node, command, image, *job.request.container == ContainerForm::kPodman);
      break;
    case ContainerForm::kCompose:
      command.file = compose_file(node, command, image);
      command.words = {"docker", "compose", "--file", name + ".yaml", "up"};
      break;
    case ContainerForm::kKubernetes:
      command.file = pod_file(job, node, command, image, name);
      command.words = {"kubectl", "apply", "--filename", name + ".yaml"};
      break;
  }
  command.environment.clear();
  return {};
}

}  // namespace railbed
