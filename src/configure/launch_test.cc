#include "configure/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/base64.h"
#include "base/shell.h"
#include "settings/testing/sample.h"
#include "settings/words.h"

namespace railbed {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Launch launched(const ConfiguredCluster& sample, const LaunchRequest& request) {
  auto launch = plan_launch(*sample.survey, request);
  EXPECT_TRUE(launch) << (launch ? "" : launch.error().text);
  return launch.value_or(Launch{});
}

// Returns the text without notes.
std::string commands(const Launch& launch) {
  Launch silent = launch;
  silent.notes.clear();
  silent.contact.clear();
  return to_text(silent);
}

std::string refusal(const ConfiguredCluster& sample, const LaunchRequest& request) {
  const auto launch = plan_launch(*sample.survey, request);
  return launch ? "" : launch.error().text;
}

TEST(Launch, TorchrunFromClusterYamlAlone) {
  const Launch launch =
      launched(sample(example("dgx-spark-pair")),
               {.launcher = Launcher::kTorchrun, .arguments = {"train.py", "--name", "a b"}});
  EXPECT_EQ(launch.contact, "rail mesh");
  EXPECT_EQ(commands(launch),
            "# on spark-01\n"
            "NCCL_SOCKET_IFNAME==enP2p1s0f0np0 GLOO_SOCKET_IFNAME=enP2p1s0f0np0 "
            "TP_SOCKET_IFNAME=enP2p1s0f0np0 torchrun --nnodes=2 --nproc-per-node=1 --node-rank=0 "
            "--master-addr=192.168.100.1 --master-port=29500 train.py --name 'a b'\n"
            "# on spark-02\n"
            "NCCL_SOCKET_IFNAME==enP2p1s0f0np0 GLOO_SOCKET_IFNAME=enP2p1s0f0np0 "
            "TP_SOCKET_IFNAME=enP2p1s0f0np0 torchrun --nnodes=2 --nproc-per-node=1 --node-rank=1 "
            "--master-addr=192.168.100.1 --master-port=29500 train.py --name 'a b'\n");
}

TEST(Launch, MpirunForBothV100Nodes) {
  EXPECT_EQ(commands(launched(captured("v100-cx3pro"), {.launcher = Launcher::kNcclTests})),
            "# on gpuserver1\n"
            "mpirun --map-by slot --bind-to none --mca oob_tcp_if_include 10.0.1.0/24 --mca "
            "btl_tcp_if_include 10.0.1.0/24 --mca pml ob1 --mca btl self,tcp -x "
            "NCCL_IB_HCA==mlx4_0:1,mlx4_0:2 -x UCX_NET_DEVICES=mlx4_0:1,mlx4_0:2 -x "
            "NVSHMEM_HCA_LIST=mlx4_0:1,mlx4_0:2 -x NCCL_SOCKET_IFNAME==ens6 -x "
            "NCCL_IB_ADDR_RANGE=10.0.0.0/23 -x NCCL_CROSS_NIC=0 -np 4 --host 10.0.1.1:2,10.0.1.2:2 "
            "all_reduce_perf -b 8 -e 4G -f 2 -g 1\n");
  EXPECT_EQ(commands(launched(sample(example("v100-pair")),
                              {.launcher = Launcher::kMpirun, .arguments = {"./solve"}})),
            "# on gpuserver1\n"
            "mpirun --map-by slot --bind-to none --mca oob_tcp_if_include 10.0.1.0/24 --mca "
            "btl_tcp_if_include 10.0.1.0/24 -x NCCL_SOCKET_IFNAME==ens6 -x NCCL_CROSS_NIC=0 -x "
            "NCCL_IB_SUBNET_AWARE_ROUTING=1 -np 4 --host 10.0.1.1:2,10.0.1.2:2 ./solve\n");
}

TEST(Launch, EachNodeHasItsOwnNamesInMpirun) {
  constexpr std::string_view kMixed = R"(
railbed: 1
cluster: mixed
fabric: ethernet
expect: {gpus: 1}
nodes: [a, b]
rails:
  - {name: r, subnet: 10.0.0.0/24, ports: {a: {interface: eth0, address: 10.0.0.1}, b: {interface: ens1, address: 10.0.0.2}}}
)";
  EXPECT_EQ(
      commands(launched(sample(kMixed), {.launcher = Launcher::kMpirun, .arguments = {"./solve", "$X"}})),
      "# on a\n"
      "mpirun --map-by slot --bind-to none --mca oob_tcp_if_include 10.0.0.0/24 --mca "
      "btl_tcp_if_include 10.0.0.0/24 -np 1 --host 10.0.0.1:1 env NCCL_SOCKET_IFNAME==eth0 "
      "./solve '$X' : -np 1 --host 10.0.0.2:1 env NCCL_SOCKET_IFNAME==ens1 ./solve '$X'\n");
  const Launch slurm = launched(sample(kMixed), {.launcher = Launcher::kSrun, .arguments = {"./solve"}});
  EXPECT_EQ(commands(slurm),
            "# on the login node\n"
            "MASTER_ADDR=10.0.0.1 MASTER_PORT=29500 srun --export=ALL --nodes=2 --nodelist=a,b "
            "--ntasks-per-node=1 --gpus-per-node=1 --cpu-bind=none ./solve\n");
  EXPECT_EQ(slurm.notes.size(), 3U);
}

TEST(Launch, VllmServesFromTheFirstNode) {
  EXPECT_EQ(
      commands(launched(captured("h100-cx7"), {.launcher = Launcher::kVllm, .arguments = {"/models/llama"}})),
      "# on gpu01\n"
      "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_7:1 "
      "UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_7:1 "
      "NVSHMEM_HCA_LIST=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_7:1 "
      "NVSHMEM_ENABLE_NIC_PE_MAPPING=1 "
      "NCCL_SOCKET_IFNAME==ens11np0 NCCL_IB_TC=104 NCCL_IB_ADDR_RANGE=10.0.0.0/13 "
      "NCCL_CROSS_NIC=0 GLOO_SOCKET_IFNAME=ens11np0 TP_SOCKET_IFNAME=ens11np0 "
      "VLLM_HOST_IP=10.0.0.1 vllm serve /models/llama --tensor-parallel-size=8 "
      "--pipeline-parallel-size=2 --distributed-executor-backend=mp --nnodes=2 --node-rank=0 "
      "--master-addr=10.0.0.1 --master-port=29500\n"
      "# on gpu02\n"
      "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_7:1 "
      "UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_7:1 "
      "NVSHMEM_HCA_LIST=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_7:1 "
      "NVSHMEM_ENABLE_NIC_PE_MAPPING=1 "
      "NCCL_SOCKET_IFNAME==ens11np0 NCCL_IB_TC=104 NCCL_IB_ADDR_RANGE=10.0.0.0/13 "
      "NCCL_CROSS_NIC=0 GLOO_SOCKET_IFNAME=ens11np0 TP_SOCKET_IFNAME=ens11np0 "
      "VLLM_HOST_IP=10.0.0.2 vllm serve /models/llama --tensor-parallel-size=8 "
      "--pipeline-parallel-size=2 --distributed-executor-backend=mp --nnodes=2 --node-rank=1 "
      "--master-addr=10.0.0.1 --master-port=29500 --headless\n");
}

TEST(Launch, ContainersFindTheNodesMps) {
  LaunchRequest request{.launcher = Launcher::kTorchrun, .arguments = {"train.py"}};
  request.image = "nvcr.io/nvidia/pytorch:25.01-py3";
  const auto in = [&](ContainerForm form, const std::string& sharing) {
    request.container = form;
    return commands(launched(
        sample("railbed: 1\ncluster: one\nexpect: {gpus: 2, gpu_model: H100 PCIe, os: ubuntu 24.04}\n"
               "configure: {gpu_sharing: " +
               sharing + "}\nnodes: [gpu1]\n"),
        request));
  };
  for (const ContainerForm form : {ContainerForm::kDocker, ContainerForm::kPodman, ContainerForm::kCompose}) {
    EXPECT_THAT(in(form, "{method: mps}"), HasSubstr("/tmp/nvidia-mps:/tmp/nvidia-mps"));
    EXPECT_THAT(in(form, "{method: mps, replicas: 4}"), Not(HasSubstr("nvidia-mps")));
  }
}

TEST(Launch, ContainersSeeTheFabric) {
  LaunchRequest request{.launcher = Launcher::kTorchrun, .arguments = {"train.py", "$(A) $B"}};
  request.nodes = {"spark-02"};
  request.image = "nvcr.io/nvidia/pytorch:25.01-py3";
  const ConfiguredCluster sparks = captured("spark-two-rails");
  const auto in = [&](ContainerForm form) {
    request.container = form;
    return commands(launched(sparks, request));
  };
  EXPECT_EQ(
      in(ContainerForm::kDocker),
      "# on spark-02\n"
      "docker run --rm --network host --ipc host --gpus all --device /dev/infiniband --cap-add "
      "IPC_LOCK --ulimit memlock=-1:-1 --env NCCL_IB_HCA==roceP2p1s0f0:1,rocep1s0f0:1 --env "
      "UCX_NET_DEVICES=roceP2p1s0f0:1,rocep1s0f0:1 --env NVSHMEM_HCA_LIST=roceP2p1s0f0:1,rocep1s0f0:1 --env "
      "NCCL_SOCKET_IFNAME==enP2p1s0f0np0 --env NCCL_IB_ADDR_RANGE=192.168.100.0/23 --env "
      "NCCL_CROSS_NIC=0 --entrypoint torchrun nvcr.io/nvidia/pytorch:25.01-py3 --standalone "
      "--nproc-per-node=1 train.py '$(A) $B'\n");
  EXPECT_EQ(
      in(ContainerForm::kPodman),
      "# on spark-02\n"
      "podman run --rm --network host --ipc host --security-opt label=disable --device "
      "nvidia.com/gpu=all --device /dev/infiniband --cap-add IPC_LOCK --ulimit memlock=-1:-1 "
      "--env NCCL_IB_HCA==roceP2p1s0f0:1,rocep1s0f0:1 --env "
      "UCX_NET_DEVICES=roceP2p1s0f0:1,rocep1s0f0:1 --env NVSHMEM_HCA_LIST=roceP2p1s0f0:1,rocep1s0f0:1 --env NCCL_SOCKET_IFNAME==enP2p1s0f0np0 "
      "--env NCCL_IB_ADDR_RANGE=192.168.100.0/23 --env NCCL_CROSS_NIC=0 --entrypoint torchrun "
      "nvcr.io/nvidia/pytorch:25.01-py3 --standalone --nproc-per-node=1 train.py '$(A) $B'\n");
  EXPECT_EQ(in(ContainerForm::kCompose),
            "# on spark-02: docker compose --file job-spark-02.yaml up\n"
            "services:\n"
            "  job:\n"
            "    image: \"nvcr.io/nvidia/pytorch:25.01-py3\"\n"
            "    network_mode: host\n"
            "    ipc: host\n"
            "    devices:\n"
            "      - \"/dev/infiniband:/dev/infiniband\"\n"
            "    cap_add:\n"
            "      - IPC_LOCK\n"
            "    ulimits:\n"
            "      memlock:\n"
            "        soft: -1\n"
            "        hard: -1\n"
            "    deploy:\n"
            "      resources:\n"
            "        reservations:\n"
            "          devices:\n"
            "            - driver: nvidia\n"
            "              count: all\n"
            "              capabilities: [gpu]\n"
            "    environment:\n"
            "      NCCL_IB_HCA: \"=roceP2p1s0f0:1,rocep1s0f0:1\"\n"
            "      UCX_NET_DEVICES: \"roceP2p1s0f0:1,rocep1s0f0:1\"\n"
            "      NVSHMEM_HCA_LIST: \"roceP2p1s0f0:1,rocep1s0f0:1\"\n"
            "      NCCL_SOCKET_IFNAME: \"=enP2p1s0f0np0\"\n"
            "      NCCL_IB_ADDR_RANGE: \"192.168.100.0/23\"\n"
            "      NCCL_CROSS_NIC: \"0\"\n"
            "    entrypoint:\n"
            "      - \"torchrun\"\n"
            "    command:\n"
            "      - \"--standalone\"\n"
            "      - \"--nproc-per-node=1\"\n"
            "      - \"train.py\"\n"
            "      - \"$$(A) $$B\"\n");
  EXPECT_EQ(in(ContainerForm::kKubernetes),
            "# on spark-02: kubectl apply --filename job-spark-02.yaml\n"
            "apiVersion: v1\n"
            "kind: Pod\n"
            "metadata:\n"
            "  name: \"job-spark-02\"\n"
            "spec:\n"
            "  restartPolicy: Never\n"
            "  hostNetwork: true\n"
            "  dnsPolicy: ClusterFirstWithHostNet\n"
            "  nodeSelector:\n"
            "    kubernetes.io/hostname: \"spark-02\"\n"
            "  containers:\n"
            "    - name: job\n"
            "      image: \"nvcr.io/nvidia/pytorch:25.01-py3\"\n"
            "      command:\n"
            "        - \"torchrun\"\n"
            "      args:\n"
            "        - \"--standalone\"\n"
            "        - \"--nproc-per-node=1\"\n"
            "        - \"train.py\"\n"
            "        - \"$$(A) $$B\"\n"
            "      env:\n"
            "        - name: NCCL_IB_HCA\n"
            "          value: \"=roceP2p1s0f0:1,rocep1s0f0:1\"\n"
            "        - name: UCX_NET_DEVICES\n"
            "          value: \"roceP2p1s0f0:1,rocep1s0f0:1\"\n"
            "        - name: NVSHMEM_HCA_LIST\n"
            "          value: \"roceP2p1s0f0:1,rocep1s0f0:1\"\n"
            "        - name: NCCL_SOCKET_IFNAME\n"
            "          value: \"=enP2p1s0f0np0\"\n"
            "        - name: NCCL_IB_ADDR_RANGE\n"
            "          value: \"192.168.100.0/23\"\n"
            "        - name: NCCL_CROSS_NIC\n"
            "          value: \"0\"\n"
            "      resources:\n"
            "        limits:\n"
            "          nvidia.com/gpu: \"1\"\n"
            "          \"rdma/hca_shared_devices_a\": \"1\"\n"
            "      securityContext:\n"
            "        capabilities:\n"
            "          add: [IPC_LOCK]\n"
            "      volumeMounts:\n"
            "        - name: shm\n"
            "          mountPath: /dev/shm\n"
            "  volumes:\n"
            "    - name: shm\n"
            "      emptyDir:\n"
            "        medium: Memory\n");
}

// Two nodes with two GPUs each, by the parts alone, that meet on an IPv6 rail.
constexpr std::string_view kByParts = R"(
railbed: 1
cluster: parts
fabric: ethernet
nodes: [a, b]
parts:
  gpus: [{model: H100, quantity: 2}]
rails:
  - {name: r, subnet: "fd00::/64", ports: {a: {interface: eth0, address: "fd00::1"}, b: {interface: eth0, address: "fd00::2"}}}
)";

// Returns the words of each node's command without its environment.
std::vector<std::string> node_lines(const ConfiguredCluster& sample, const LaunchRequest& request) {
  std::vector<std::string> lines;
  for (const NodeCommand& command : launched(sample, request).commands)
    lines.push_back(shell_line(command.words));
  return lines;
}

TEST(Launch, AccelerateFromParts) {
  EXPECT_THAT(
      node_lines(sample(kByParts), {.launcher = Launcher::kAccelerate, .arguments = {"train.py"}}),
      ElementsAre(
          "accelerate launch --multi_gpu --num_machines=2 --num_processes=4 --machine_rank=0 "
          "--main_process_ip=fd00::1 --main_process_port=29500 --rdzv_backend=static --same_network train.py",
          "accelerate launch --multi_gpu --num_machines=2 --num_processes=4 --machine_rank=1 "
          "--main_process_ip=fd00::1 --main_process_port=29500 --rdzv_backend=static --same_network train.py"));
  EXPECT_THAT(node_lines(sample(kByParts),
                         {.launcher = Launcher::kAccelerate, .arguments = {"train.py"}, .nodes = {"b"}}),
              ElementsAre("accelerate launch --multi_gpu --num_machines=1 --num_processes=2 train.py"));
}

TEST(Launch, AccelerateLeavesTheWayToTrainToItsUser) {
  const auto first = [](Words arguments) {
    return node_lines(sample(kByParts),
                      {.launcher = Launcher::kAccelerate, .arguments = std::move(arguments)})
        .front();
  };
  EXPECT_THAT(first({"--use_fsdp", "train.py"}), Not(HasSubstr("--multi_gpu")));
  EXPECT_THAT(first({"--config_file=fsdp.yaml", "train.py"}), Not(HasSubstr("--multi_gpu")));
  EXPECT_THAT(first({"--use_deepspeed", "train.py"}), HasSubstr("--deepspeed_multinode_launcher=standard"));
  EXPECT_THAT(first({"train.py", "--use_fsdp"}), HasSubstr("--multi_gpu")) << "the script's own option";
  EXPECT_THAT(
      node_lines(sample(example("dgx-spark-pair")),
                 {.launcher = Launcher::kAccelerate, .arguments = {"train.py"}, .nodes = {"spark-01"}}),
      ElementsAre("accelerate launch --num_machines=1 --num_processes=1 train.py"));
}

TEST(Launch, DeepspeedNeedsNoHostfile) {
  const auto lines = node_lines(sample(kByParts),
                                {.launcher = Launcher::kDeepspeed, .arguments = {"train.py", "--deepspeed"}});
  EXPECT_THAT(lines, ElementsAre("python3 -m deepspeed.launcher.launch "
                                 "--world_info=eyJhIjogWzAsIDFdLCAiYiI6IFswLCAxXX0= --node_rank=0 "
                                 "--master_addr=fd00::1 --master_port=29500 train.py --deepspeed",
                                 "python3 -m deepspeed.launcher.launch "
                                 "--world_info=eyJhIjogWzAsIDFdLCAiYiI6IFswLCAxXX0= --node_rank=1 "
                                 "--master_addr=fd00::1 --master_port=29500 train.py --deepspeed"));
  EXPECT_EQ(base64_decoded("eyJhIjogWzAsIDFdLCAiYiI6IFswLCAxXX0="), R"({"a": [0, 1], "b": [0, 1]})");
  EXPECT_THAT(
      node_lines(sample(kByParts),
                 {.launcher = Launcher::kDeepspeed, .arguments = {"train.py"}, .nodes = {"a"}, .port = 5}),
      ElementsAre("python3 -m deepspeed.launcher.launch --world_info=eyJhIjogWzAsIDFdfQ== "
                  "--master_port=5 train.py"));
}

TEST(Launch, SglangSplitsTheModelOverAllGpus) {
  const Launch launch =
      launched(sample(kByParts), {.launcher = Launcher::kSglang, .arguments = {"--model-path", "/m"}});
  EXPECT_EQ(commands(launch),
            "# on a\n"
            "NCCL_SOCKET_IFNAME==eth0 GLOO_SOCKET_IFNAME=eth0 TP_SOCKET_IFNAME=eth0 SGLANG_HOST_IP=fd00::1 "
            "python3 -m sglang.launch_server --model-path /m --tp-size=4 "
            "'--dist-init-addr=[fd00::1]:29500' --nnodes=2 --node-rank=0\n"
            "# on b\n"
            "NCCL_SOCKET_IFNAME==eth0 GLOO_SOCKET_IFNAME=eth0 TP_SOCKET_IFNAME=eth0 SGLANG_HOST_IP=fd00::2 "
            "python3 -m sglang.launch_server --model-path /m --tp-size=4 "
            "'--dist-init-addr=[fd00::1]:29500' --nnodes=2 --node-rank=1\n");
  EXPECT_THAT(node_lines(sample(kByParts),
                         {.launcher = Launcher::kSglang, .arguments = {"--tp", "2"}, .nodes = {"a"}}),
              ElementsAre("python3 -m sglang.launch_server --tp 2"));
}

TEST(Launch, RayStartsTheProgramOnTheHeadAlone) {
  EXPECT_THAT(
      node_lines(sample(kByParts), {.launcher = Launcher::kRay, .arguments = {"python3", "train.py"}}),
      ElementsAre(
          "ray symmetric-run '--address=[fd00::1]:29500' --min-nodes=2 --num-gpus=2 -- python3 train.py",
          "ray symmetric-run '--address=[fd00::1]:29500' --min-nodes=2 --num-gpus=2 -- python3 train.py"));
  EXPECT_THAT(
      node_lines(sample(example("v100-pair")),
                 {.launcher = Launcher::kRay, .arguments = {"x"}, .nodes = {"gpuserver2"}, .port = 6379}),
      ElementsAre("ray symmetric-run --address=127.0.0.1:6379 --min-nodes=1 --num-gpus=2 -- x"));
}

TEST(Launch, ExpectedGpusComeBeforeParts) {
  std::string both(kByParts);
  both.replace(both.find("nodes: [a, b]"), 0, "expect: {gpus: 1}\n");
  EXPECT_THAT(node_lines(sample(both), {.launcher = Launcher::kRay, .arguments = {"x"}}),
              Each(HasSubstr("--num-gpus=1 ")));
}

TEST(Launch, EachProgramNeedsANetworkThatJoinsTheNodes) {
  std::string apart(kByParts);
  const std::string_view end = ", b: {interface: eth0, address: \"fd00::2\"}";
  apart.replace(apart.find(end), end.size(), "");
  for (const Launcher launcher : {Launcher::kTorchrun, Launcher::kAccelerate, Launcher::kDeepspeed,
                                  Launcher::kVllm, Launcher::kSglang, Launcher::kRay})
    EXPECT_THAT(refusal(sample(apart), {.launcher = launcher, .arguments = {"x"}}),
                StartsWith("no network is known that joins these nodes"));
}

TEST(Launch, RefusesUnequalNodesWhereRanksAreDivided) {
  std::string unequal(kByParts);
  const std::string_view all = "{model: H100, quantity: 2}";
  unequal.replace(unequal.find(all), all.size(),
                  "{model: H100, quantity: 2, nodes: a}, {model: H100, quantity: 4, nodes: b}");
  for (const Launcher launcher : {Launcher::kAccelerate, Launcher::kVllm, Launcher::kSglang, Launcher::kSrun})
    EXPECT_THAT(refusal(sample(unequal), {.launcher = launcher, .arguments = {"x"}}),
                StartsWith("the nodes have different numbers of GPUs"));
  EXPECT_THAT(node_lines(sample(unequal), {.launcher = Launcher::kRay, .arguments = {"x"}}),
              ElementsAre(HasSubstr("--num-gpus=2 "), HasSubstr("--num-gpus=4 ")));
}

TEST(Launch, RefusesWhatItCannotKnow) {
  std::string without(kByParts);
  const std::string_view parts = "parts:\n  gpus: [{model: H100, quantity: 2}]\n";
  without.replace(without.find(parts), parts.size(), "");
  EXPECT_EQ(refusal(sample(without), {.arguments = {"x"}}),
            "how many GPUs a has is not known: say expect.gpus or parts.gpus, or let railbed look");
  EXPECT_EQ(refusal(sample(example("v100-pair")), {}), "what shall be started? Write it behind --");
  EXPECT_THAT(refusal(sample(example("v100-pair")), {.arguments = {"x"}, .nodes = {"gpu7"}}),
              testing::EndsWith(" has no node \"gpu7\"; it has gpuserver1, gpuserver2"));
  EXPECT_EQ(
      refusal(sample(example("v100-pair")), {.arguments = {"x"}, .nodes = {"gpuserver1", "gpuserver1"}}),
      "--nodes names gpuserver1 twice");
  EXPECT_EQ(refusal(sample(example("v100-pair")), {.arguments = {"x"}, .container = ContainerForm::kDocker}),
            "--container wants --image, or expect.container");
  EXPECT_NE(refusal(sample(example("v100-pair")),
                    {.launcher = Launcher::kSrun, .arguments = {"x"}, .container = ContainerForm::kDocker}),
            "");
  EXPECT_NE(
      refusal(sample(example("v100-pair")), {.launcher = Launcher::kMpirun, .arguments = {"x", ":", "y"}}),
      "");
}

// Without them ssh refuses the hosts of mpirun's --host: "Host key verification failed".
TEST(Launch, SshKnowsTheHostsOfMpirunByTheirAddresses) {
  const ConfiguredCluster pair = sample(cluster_in("examples/v100-pair.yaml"));
  const Launch launch = launched(pair, {.launcher = Launcher::kNcclTests});
  EXPECT_THAT(commands(launch), HasSubstr("--host 10.0.1.1:2,10.0.1.2:2"));
  EXPECT_THAT(pair.wide->host_key_aliases,
              HasSubstr("Host gpuserver1 gpuserver1-link1 gpuserver1-link2 192.168.1.73 10.0.1.1 10.0.0.1\n"
                        "    HostKeyAlias gpuserver1\n"));
}

}  // namespace
}  // namespace railbed
