#include "host/process_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using namespace std::string_literals;

TEST(ProcessText, KeepsOnlyVariablesOfCommunication) {
  const auto kept = kept_variables(
      "NCCL_DEBUG=INFO\0AWS_SECRET=x\0UCX_TLS=rc\0NCCL_DEBUG=WARN\0NCCL_X=a\x1b[31m\0GLOO_SOCKET_IFNAME=\0NCCL_A B=1\0"s);
  EXPECT_THAT(kept,
              ElementsAre(Pair("GLOO_SOCKET_IFNAME", ""), Pair("NCCL_DEBUG", "INFO"), Pair("UCX_TLS", "rc")));
}

TEST(ProcessText, ReadsStatWhateverTheNameIs) {
  const auto line = parse_stat("7 (a) R 1 (b)) S 42 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 8123 0 0");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->parent, 42);
  EXPECT_EQ(line->started, 8123U);
  EXPECT_FALSE(parse_stat("7 (a) S"));
  EXPECT_FALSE(parse_stat(""));
}

TEST(ProcessText, ReadsLimits) {
  const std::string limits =
      "Limit                     Soft Limit           Hard Limit           Units     \n"
      "Max locked memory         unlimited            unlimited            bytes     \n"
      "Max open files            1024                 1048576              files     \n";
  EXPECT_EQ(soft_limit(limits, "Max locked memory"), UINT64_MAX);
  EXPECT_EQ(soft_limit(limits, "Max open files"), 1024U);
  EXPECT_FALSE(soft_limit(limits, "Max nothing"));
}

TEST(ProcessText, FindsTheContainerInItsCgroup) {
  const std::string id(64, 'a');
  EXPECT_EQ(container_of("0::/system.slice/docker-" + id + ".scope\n").runtime, "docker");
  EXPECT_EQ(container_of("0::/machine.slice/libpod-" + id + ".scope/container\n").id, id);
  EXPECT_EQ(container_of("0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-" + id + ".scope\n").runtime,
            "kubernetes");
  EXPECT_EQ(container_of("12:devices:/docker/" + id + "\n").id, id);
  EXPECT_EQ(container_of("0::/user.slice/user-0.slice/session-1.scope\n").id, "");
}

TEST(ProcessText, FindsTheJobInItsCgroup) {
  const std::string uid = "0c6a2c1e-8f0e-4f3d-9d35-2f1f7f0a5b11";
  const std::string id(64, 'a');
  EXPECT_EQ(job_of("0::/system.slice/slurmstepd.scope/job_417/step_0/user/task_0\n").slurm_job, "417");
  EXPECT_EQ(job_of("0::/system.slice/gpu01_slurmstepd.scope/job_9/step_batch/user/task_special\n").slurm_job,
            "9");
  EXPECT_EQ(job_of("12:devices:/slurm/uid_1000/job_3385/step_0/task_0\n1:name=systemd:/\n").slurm_job,
            "3385");
  EXPECT_EQ(job_of("12:devices:/slurm_gpu01/uid_1000/job_3385/step_0\n").slurm_job, "3385");
  // A monitor in a container sees the path from its own cgroup.
  EXPECT_EQ(job_of("0::/../../system.slice/slurmstepd.scope/job_5/step_0\n").slurm_job, "5");
  EXPECT_EQ(
      job_of("0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0c6a2c1e_8f0e_4f3d_9d35_"
             "2f1f7f0a5b11.slice/cri-containerd-" +
             id + ".scope\n")
          .pod_uid,
      uid);
  EXPECT_EQ(job_of("0::/kubepods.slice/kubepods-pod0c6a2c1e_8f0e_4f3d_9d35_2f1f7f0a5b11.slice/crio-" + id +
                   ".scope\n")
                .pod_uid,
            uid);
  EXPECT_EQ(job_of("12:devices:/kubepods/besteffort/pod" + uid + "/" + id + "\n").pod_uid, uid);
  EXPECT_EQ(job_of("0::/kubepods/pod" + std::string(32, 'b') + "/" + id + "\n").pod_uid,
            std::string(32, 'b'));
}

TEST(ProcessText, TakesNoFolderOfAUserForAJob) {
  for (const char* cgroup :
       {"0::/user.slice/user-1000.slice/user@1000.service/system.slice/slurmstepd.scope/job_1/step_0\n",
        "0::/user.slice/slurm/uid_0/job_1\n", "0::/system.slice/mine.service/slurmstepd.scope/job_1\n",
        "0::/system.slice/slurmstepd.scope/job_12345678901/step_0\n",
        "0::/system.slice/slurmstepd.scope/job_\n", "0::/system.slice/slurmstepd.scope/job_1x/step_0\n",
        "0::/system.slice/slurmstepd.scope/system\n",
        "0::/user.slice/kubepods/pod0c6a2c1e-8f0e-4f3d-9d35-2f1f7f0a5b11\n", "0::/kubepods/podcast\n",
        "0::/kubepods/pod0c6a2c1e-8f0e-4f3d-9d35-2f1f7f0a5bxx\n",
        "0::/pod0c6a2c1e-8f0e-4f3d-9d35-2f1f7f0a5b11\n", "", "/", "0::/"}) {
    EXPECT_EQ(job_of(cgroup).slurm_job, "") << cgroup;
    EXPECT_EQ(job_of(cgroup).pod_uid, "") << cgroup;
  }
}

TEST(ProcessText, FindsMappedLibraries) {
  const auto found = mapped_libraries(
      "7f00-7f01 r--p 00000000 08:01 12 /opt/a b/libnccl.so.2.28.9\n"
      "7f01-7f02 r-xp 00001000 08:01 12 /opt/a b/libnccl.so.2.28.9\n"
      "7f03-7f04 r-xp 00001000 08:01 13 /opt/libncclient.so.2\n"
      "7f05-7f06 r-xp 00001000 08:01 14 /opt/libcudart.so.12 (deleted)\n"
      "7f07-7f08 rw-p 00000000 00:00 0 \n");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].library.path, "/opt/a b/libnccl.so.2.28.9");
  EXPECT_EQ(found[0].library.version, "2.28.9");
  EXPECT_EQ(found[0].address, "7f00");
  EXPECT_EQ(found[1].library.name, "libcudart");
}

TEST(ProcessText, ReadsAnotherNetwork) {
  const NetFiles files{
      .dev = "Inter-|   Receive\n face |bytes\n    lo: 0 0\n  eth0: 1 2\n",
      .route =
          "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\n"
          "eth0\t00000000\t0102A8C0\t0003\t0\t0\t0\t00000000\n"
          "eth0\t0002A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\n",
      .fib_trie =
          "     |-- 127.0.0.1\n        /32 host LOCAL\n     |-- 192.168.2.5\n        /32 host LOCAL\n"
          "     |-- 192.168.2.255\n        /32 link BROADCAST\n",
      .if_inet6 = "fe800000000000000000000000000001 02 40 20 80     eth0\n"};
  EXPECT_THAT(interfaces_of(files), ElementsAre(SeenInterface{"lo", {"127.0.0.1/8"}},
                                                SeenInterface{"eth0", {"192.168.2.5/24", "fe80::1/64"}}));
}

TEST(ProcessText, CountsConnectionsOfItsOwnSockets) {
  const std::string tcp =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
      "   0: 0502A8C0:0016 0602A8C0:C001 01 00000000:00000000 00:00000000 00000000     0        0 11 1\n"
      "   1: 0502A8C0:0016 0602A8C0:C002 01 00000000:00000000 00:00000000 00000000     0        0 12 1\n"
      "   2: 0502A8C0:0016 0702A8C0:C002 01 00000000:00000000 00:00000000 00000000     0        0 99 1\n"
      "   3: 0502A8C0:0017 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 13 1\n";
  auto flows = flows_of(tcp, {11, 12, 13});
  name_interfaces(flows, {{"eth0", {"192.168.2.5/24"}}});
  EXPECT_THAT(flows, ElementsAre(TcpFlow{"192.168.2.5", "192.168.2.6", "eth0", 2, {11, 12}}));
  EXPECT_THAT(flows_of("garbage\n0: zz zz 01\n", {1}), IsEmpty());
}

TEST(ProcessText, ReadsNamesInHosts) {
  EXPECT_THAT(
      addresses_of("127.0.0.1 localhost\n127.0.1.1 gpu01.lab gpu01 # own\n10.0.0.1 gpu011\n", "gpu01"),
      ElementsAre("127.0.1.1"));
}

}  // namespace
}  // namespace railbed
