#include "configure/launch.h"

#include <gmock/gmock.h>

#include "settings/testing/sample.h"

namespace railbed {
namespace {

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
            "NCCL_IB_HCA==mlx4_0:1,mlx4_0:2 -x NCCL_SOCKET_IFNAME==ens6 -x "
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
      "NCCL_SOCKET_IFNAME==ens11np0 NCCL_IB_TC=104 NCCL_IB_ADDR_RANGE=10.0.0.0/13 "
      "NCCL_CROSS_NIC=0 GLOO_SOCKET_IFNAME=ens11np0 TP_SOCKET_IFNAME=ens11np0 "
      "VLLM_HOST_IP=10.0.0.1 vllm serve /models/llama --tensor-parallel-size=8 "
      "--pipeline-parallel-size=2 --distributed-executor-backend=mp --nnodes=2 --node-rank=0 "
      "--master-addr=10.0.0.1 --master-port=29500\n"
      "# on gpu02\n"
      "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_7:1 "
      "NCCL_SOCKET_IFNAME==ens11np0 NCCL_IB_TC=104 NCCL_IB_ADDR_RANGE=10.0.0.0/13 "
      "NCCL_CROSS_NIC=0 GLOO_SOCKET_IFNAME=ens11np0 TP_SOCKET_IFNAME=ens11np0 "
      "VLLM_HOST_IP=10.0.0.2 vllm serve /models/llama --tensor-parallel-size=8 "
      "--pipeline-parallel-size=2 --distributed-executor-backend=mp --nnodes=2 --node-rank=1 "
      "--master-addr=10.0.0.1 --master-port=29500 --headless\n");
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
  EXPECT_EQ(in(ContainerForm::kDocker),
            "# on spark-02\n"
            "docker run --rm --network host --ipc host --gpus all --device /dev/infiniband --cap-add "
            "IPC_LOCK --ulimit memlock=-1:-1 --env NCCL_IB_HCA==roceP2p1s0f0:1,rocep1s0f0:1 --env "
            "NCCL_SOCKET_IFNAME==enP2p1s0f0np0 --env NCCL_IB_ADDR_RANGE=192.168.100.0/23 --env "
            "NCCL_CROSS_NIC=0 --entrypoint torchrun nvcr.io/nvidia/pytorch:25.01-py3 --standalone "
            "--nproc-per-node=1 train.py '$(A) $B'\n");
  EXPECT_EQ(in(ContainerForm::kPodman),
            "# on spark-02\n"
            "podman run --rm --network host --ipc host --security-opt label=disable --device "
            "nvidia.com/gpu=all --device /dev/infiniband --cap-add IPC_LOCK --ulimit memlock=-1:-1 "
            "--env NCCL_IB_HCA==roceP2p1s0f0:1,rocep1s0f0:1 --env NCCL_SOCKET_IFNAME==enP2p1s0f0np0 "
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

TEST(Launch, RefusesWhatItCannotKnow) {
  EXPECT_EQ(refusal(sample(example("infiniband-trio")), {.arguments = {"x"}}),
            "how many GPUs r720 has is not known: say expect.gpus, or let railbed look");
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

}  // namespace
}  // namespace railbed
