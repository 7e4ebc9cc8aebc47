// Symptoms that operators search the web for, and the output of railbed for a machine in that state: the
// first line names the cause, and the remedy beside it is the one that people found by hand. A row is here
// when a machine in tests/machines is in that state; logs of NCCL have their own (tests/nccl).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "campaign/look/evidence.h"
#include "verify/verify.h"

namespace railbed {
namespace {

struct Symptom {
  const char* people_say;
  const char* machine;  // in tests/machines
  const char* rule;     // of the first finding
  const char* cause;    // in its message
  const char* remedy;   // in its remedy: the sentence or one of the commands
};

constexpr Symptom kSymptoms[] = {
    // consoles that stay blank
    {"SOL shows blank screen, the guide's ttyS1 on a board with ttyS0", "v100-serial-port",
     "host.serial-port", "told to write to ttyS1, which is not there", "console=ttyS0"},
    {"SOL shows the boot and no login prompt", "v100-serial-login", "host.serial-login", "no login prompt",
     "systemctl enable --now serial-getty@ttyS1"},
    {"SOL shows nothing until the kernel starts", "v100-serial-boot-menu", "host.serial-boot-menu",
     "blank from power-on until the kernel starts", "update-grub"},
    {"SOL shows garbage", "v100-bmc-serial-rate", "bmc.serial-console", "shows nothing, or garbage",
     "railbed bmc set-sol-rate 9600"},
    {"Java KVM shows blank", "v100-screen", "host.screen", "a black screen (KVM)", "primary display"},
    // RDMA over Ethernet
    {"Port number 1 state is Down", "v100-cable-out", "net.carrier", "no link", "Reseat the cable"},
    {"Port state is Down, the link is there", "v100-port-down", "rdma.port-state", "is DOWN, expected ACTIVE",
     "ip link show ens6"},
    {"Unable to find GID", "v100-gid-missing", "rdma.gid", "no RoCE v2 GID for 10.0.1.1",
     "ip address add 10.0.1.1/24 dev ens6"},
    {"Another index of the GID on each node", "v100-gid-index-differs", "rdma.gid-index-equal",
     "3 on gpuserver1, 5 on gpuserver2", "choose by address family"},
    {"Low bandwidth, 1139 MB/s instead of 4500", "v100-40g-at-10g", "net.speed",
     "runs at 10.0 Gb/s, expected 40.0", "swap the cable"},
    {"Low bandwidth, nothing says what the cable should do", "v100-below-offers", "net.speed",
     "both ends offer it", "swap the cable"},
    {"No RDMA devices found", "v100-module-missing", "rdma.adapter-modules", "mlx4_ib is not loaded",
     "modprobe -- mlx4_ib"},
    {"ibv_devinfo: no device, a ConnectX-6", "h100-mlx5-ib-missing", "rdma.adapter-modules",
     "mlx5_ib is not loaded", "modprobe -- mlx5_ib"},
    {"rping: cannot open rdma_cm", "v100-core-module-missing", "rdma.core-modules", "rdma_ucm is not loaded",
     "modprobe -- rdma_ucm"},
    {"Only root can use RDMA", "v100-uverbs-root-only", "rdma.device-permissions", "only root has RDMA",
     "Install rdma-core"},
    {"ibv_create_cq: cannot allocate memory", "v100-memlock-low", "rdma.memlock", "may lock only 8 MiB",
     "soft memlock unlimited"},
    {"Network interface does not come up", "v100-interface-off", "net.admin-up", "switched off",
     "netplan apply"},
    {"Ping works, large messages vanish", "v100-mtu-one-sided", "net.mtu-equal", "4500 on gpuserver2",
     "mtu 9000"},
    {"MTU is 1500 again", "v100-mtu-1500", "net.mtu", "1500", "mtu: 9000"},
    {"A bond of two ports is no faster than one", "v100-bond", "net.bond-under-rdma", "one flow",
     "each port a rail of its own"},
    {"Some connections arrive at the other node", "v100-duplicate-address", "net.duplicate-address",
     "10.0.1.1 is used by gpuserver1 (ens6) and gpuserver2 (ens6)", "cluster.yaml"},
    // GPUs
    {"nvidia-smi: no devices were found", "v100-nvidia-missing", "gpu.driver", "NVIDIA driver is not loaded",
     "modprobe nvidia"},
    {"nvidia-smi fails after a kernel upgrade", "h100-module-without-headers", "gpu.module-built",
     "no NVIDIA module for its running kernel", "linux-headers-6.8.0-87-generic"},
    {"nvidia-smi fails with Secure Boot on", "h100-secure-boot", "gpu.module-signature", "under Secure Boot",
     "Enroll the key"},
    {"nouveau has the GPU", "h100-nouveau", "gpu.other-driver", "held by nouveau", "blacklist nouveau"},
    {"A GPU fell off the bus", "h100-xid-79", "gpu.xid-reboot", "fallen off the PCIe bus",
     "Drain the node and restart it"},
    {"torch.cuda.is_available() is False", "h100-pytorch-no-cuda", "pytorch.cuda", "it was built without",
     "build of PyTorch for CUDA"},
    {"could not select device driver \"\" with capabilities: [[gpu]]", "h100-container-no-toolkit",
     "container.starts", "NVIDIA Container Toolkit is missing", "NVIDIA Container Toolkit"},
    {"libcuda.so.1: cannot open shared object file (in a container)", "h100-container-no-libcuda",
     "container.gpus", "no libcuda.so.1", "NVIDIA_DRIVER_CAPABILITIES"},
    {"PyTorch has no NCCL", "h100-pytorch-no-nccl", "pytorch.nccl", "no NCCL", "build of PyTorch for CUDA"},
    // NCCL
    {"Using network Socket", "v100-nccl-ib-disabled", "nccl.rdma-on", "NCCL_IB_DISABLE=1",
     "NCCL_IB_DISABLE=/d"},
    {"NCCL finds no HCA of that name", "v100-nccl-hca-unknown", "nccl.hca", "which is not here",
     "mlx4_0:1,mlx4_0:2"},
    {"NCCL hangs at init, a firewall", "v100-firewall", "host.firewall", "NCCL's connections",
     "Let the rails in"},
    {"The workers connect to 127.0.1.1", "v100-hosts-stale", "host.hosts-file", "/etc/hosts",
     "Correct the lines"},
    {"GPUDirect is asked for on a DGX Spark", "spark-gdr-asked", "gpu.gpudirect-possible",
     "GB10 has no GPUDirect RDMA", "Take the line out"},
    // InfiniBand
    {"The port stays in INIT", "r730-no-subnet-manager", "rdma.subnet-manager", "no subnet manager",
     "opensm"},
    {"ConnectX-3 vanished with RHEL 10", "r730-connectx3-on-rhel10", "rdma.os-supports-adapter",
     "no driver for it", "ConnectX-4 or newer"},
    {"ibstat says Active, ib0 says NO-CARRIER", "r730-ipoib-partition", "rdma.ipoib-link",
     "no carrier on a port that is active", "partitions.conf"},
    {"IPoIB is slow between two nodes only", "r730-ipoib-modes-differ", "rdma.ipoib-mode-equal",
     "connected on r730-c", "echo datagram"},
    {"IPoIB's MTU is 2044", "r730-ipoib-mtu", "rdma.ipoib-mtu", "MTU 2044", "4092"},
    {"FDR adapters run at DDR", "r730-rate-ddr", "rdma.rate", "4X DDR", "swap the cable"},
};

std::string text_of(const Remedy& remedy) {
  std::string text = remedy.text;
  for (const std::string& command : remedy.commands) text += "\n" + command;
  return text;
}

class SymptomTest : public testing::TestWithParam<Symptom> {};

TEST_P(SymptomTest, TheFirstLineIsTheCause) {
  const Symptom& symptom = GetParam();
  Evidence evidence;
  const auto added =
      add_root(std::filesystem::path(RAILBED_SOURCE_DIR) / "tests/machines" / symptom.machine, evidence);
  ASSERT_TRUE(added) << added.error().text;
  const Verdict verdict = verify(evidence);
  ASSERT_FALSE(verdict.findings.empty());
  const Finding& first = verdict.findings.front();
  EXPECT_EQ(first.rule, symptom.rule) << symptom.people_say << ": " << first.message;
  EXPECT_THAT(first.message, testing::HasSubstr(symptom.cause)) << symptom.people_say;
  EXPECT_THAT(text_of(first.remedy), testing::HasSubstr(symptom.remedy)) << symptom.people_say;
}

// The first result for an ordinary user, as in CI: exit code 3, and the remedy.
TEST(OrdinaryUser, IsToldHowToReadTheKernelLog) {
  Evidence evidence;
  ASSERT_TRUE(add_root(std::filesystem::path(RAILBED_SOURCE_DIR) / "tests/machines/h100-cx7", evidence));
  evidence.nodes.begin()->second.kernel_log = {Miss{Missing::kDenied, "Operation not permitted"},
                                               "/dev/kmsg"};
  const Verdict verdict = verify(evidence);
  const auto found = std::ranges::find_if(verdict.findings, [](const Finding& finding) {
    return finding.rule == "host.kernel-log" && finding.status == Status::kUnknown;
  });
  ASSERT_NE(found, verdict.findings.end());
  EXPECT_EQ(found->evidence, "/dev/kmsg");
  EXPECT_THAT(text_of(found->remedy), testing::HasSubstr("systemd-journal"));
}

// TCP finds its rate by losing packets.
TEST(LostPackets, OfTcpAreNoReasonToSwapACable) {
  const auto judged = [](std::uint64_t lost) {
    Evidence evidence;
    EXPECT_TRUE(
        add_root(std::filesystem::path(RAILBED_SOURCE_DIR) / "tests/machines/measured-loss", evidence));
    for (Measurement& measurement : evidence.measurements) {
      measurement.engine = Engine::kTcp;
      measurement.packets = 1'000'000;
      measurement.lost = lost;
    }
    const Verdict verdict = verify(evidence);
    const auto found = std::ranges::find(verdict.findings, "measured.loss", &Finding::rule);
    return found == verdict.findings.end() ? Finding{} : *found;
  };
  EXPECT_EQ(judged(400).status, Status::kPass);  // 0.04 %
  EXPECT_EQ(judged(20'000).status, Status::kWarn);
  EXPECT_THAT(text_of(judged(20'000).remedy), testing::Not(testing::HasSubstr("wap the cable")));
}

INSTANTIATE_TEST_SUITE_P(Operators, SymptomTest, testing::ValuesIn(kSymptoms), [](const auto& info) {
  std::string name = info.param.machine;
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace railbed
