// Compares the reader's output with golden files: tests/nccl/NAME.log → NAME.txt. UPDATE_GOLDEN=1 writes the
// latter.
#include "diagnose/log/job_log.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/json.h"
#include "diagnose/symptom.h"

namespace railbed::diagnose {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
namespace fs = std::filesystem;

std::string slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<fs::path> logs() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(RAILBED_SOURCE_DIR "/tests/nccl"))
    if (entry.path().extension() == ".log") found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

class Golden : public testing::TestWithParam<fs::path> {};

TEST_P(Golden, Text) {
  fs::path golden = GetParam();
  golden.replace_extension(".txt");
  const std::string text = to_text(read_log(slurp(GetParam())));
  if (std::getenv("UPDATE_GOLDEN") != nullptr) std::ofstream(golden, std::ios::binary) << text;
  EXPECT_EQ(text, slurp(golden));
}

// The result does not depend on how the input is split.
TEST_P(Golden, InPieces) {
  const std::string text = slurp(GetParam());
  LogReader reader;
  for (std::size_t at = 0, size = 1; at < text.size(); at += size, size = size % 977 + 13)
    reader.feed(std::string_view(text).substr(at, size));
  EXPECT_EQ(json::encode(reader.finish()), json::encode(read_log(text)));
}

TEST_P(Golden, JsonBothWays) {
  const Log log = read_log(slurp(GetParam()));
  const auto value = json::parse(json::dump(json::encode(log)));
  ASSERT_TRUE(value);
  const auto back = json::decode<Log>(*value);
  ASSERT_TRUE(back) << back.error().text;
  EXPECT_EQ(to_text(*back), to_text(log));
}

INSTANTIATE_TEST_SUITE_P(Logs, Golden, testing::ValuesIn(logs()), [](const auto& info) {
  std::string name = info.param.stem().string();
  std::ranges::replace_if(
      name, [](char c) { return !std::isalnum(c); }, '_');
  return name;
});

TEST(Log, OfNothing) {
  EXPECT_THAT(to_text(read_log("")), StartsWith("Nothing in this text reports a failure"));
  EXPECT_EQ(read_log("hello\nworld\n").nccl_lines, 0u);
}

TEST(Log, AnyPrefixOfALogIsRead) {
  const std::string text = slurp(RAILBED_SOURCE_DIR "/tests/nccl/hang-operations.log");
  for (std::size_t size = 0; size < text.size(); size += 61)
    EXPECT_FALSE(read_log(std::string_view(text).substr(0, size)).verdict.text.empty());
}

TEST(Log, KeepsTheFirstMessageAndCountsTheRest) {
  std::string text;
  for (int i = 0; i < 5; ++i)
    text += "a:1:2 [0] misc/socket.cc:72 NCCL WARN Something nobody knows " + std::to_string(i % 1) + "\n";
  const Log log = read_log(text);
  ASSERT_EQ(log.problems.size(), 1u);
  EXPECT_EQ(log.problems[0].count, 5u);
  EXPECT_EQ(log.problems[0].line, 1u);
  EXPECT_EQ(log.problems[0].title, "Something nobody knows 0");
}

TEST(ReadLog, NamesTheBuild) {
  const Log log = read_log(
      "a:1:1 [0] NCCL INFO NCCL version 2.29.7+cuda13.2\n"
      "a:1:1 [0] NCCL INFO NCCL git version dgxspark-3node-ring fab1850\n");
  EXPECT_EQ(log.builds, std::vector<std::string>{"dgxspark-3node-ring fab1850"});
  EXPECT_NE(to_text(log).find("2.29.7+cuda13.2, built from dgxspark-3node-ring fab1850"), std::string::npos);
}

// The format of 2.8 to 2.18 (github.com/NVIDIA/nccl/issues/754), and the blocks since then (…/issues/1154).
TEST(Log, TuningTableOfBothForms) {
  const std::string in = "node0:1214:1263 [0] NCCL INFO ";
  const Log old = read_log(in + "Latency/AlgBw |    Tree/    LL |    Tree/ LL128 |    Ring/Simple |\n" + in +
                           " Max NThreads |            512 |            640 |            256 |\n" + in +
                           "    AllReduce |     6.3/   0.8 |    14.0/   0.0 |    18.0/   3.0 |\n");
  ASSERT_EQ(old.tuning.size(), 2u);
  EXPECT_EQ(old.tuning[1].algorithm, "Ring");
  EXPECT_EQ(old.tuning[1].protocol, "Simple");
  EXPECT_DOUBLE_EQ(old.tuning[1].latency, 18.0);
  EXPECT_DOUBLE_EQ(old.tuning[1].bandwidth, 3.0);
  const Log now = read_log(
      in + "  Algorithm   |                  Tree              |                Ring                |\n" +
      in + "  Protocol    |             LL |  LL128 |   Simple |             LL |  LL128 |   Simple |\n" +
      in +
      "    AllReduce |  10.4/  43.6 |  0.0/ 0.0 | 32.4/ 165.6 |  10.2/  94.0 |  25.4/ 220.8 |  28.8/ 240.0 "
      "|\n");
  ASSERT_EQ(now.tuning.size(), 5u);
  EXPECT_EQ(now.tuning[0].algorithm + now.tuning[0].protocol, "TreeLL");
  EXPECT_EQ(now.tuning[4].algorithm + now.tuning[4].protocol, "RingSimple");
  EXPECT_THAT(to_text(now), HasSubstr("Ring LL128 25.4 µs 220.8 GB/s"));
}

// Formats that no machine here prints, from public reports: SHARP after the link (nccl/issues/1737), PXN's
// rank after the NIC's number, 2.30's "set to" (nccl/issues/2397).
TEST(Log, FormatsOfOtherMachines) {
  const std::string in = "node0:4052:4122 [0] NCCL INFO ";
  const Log log = read_log(
      in + "NCCL_IB_HCA set to mlx5_0,mlx5_1\n" + in +
      "NET/IB : Using [0]mlx5_0:1/IB/SHARP [1]mlx5_1:1/RoCE [RO]; OOB ib0.0065:10.1.32.3<0>\n" + in +
      "Using network IBext_v8\n" + in +
      "ncclCommInitRank comm 0x5 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 60 commId 0x7 - Init START\n" +
      in + "Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IBext_v8/1(3)/GDRDMA\n" + in +
      "Channel 00/0 : 0[0] -> 1[0] [send] via NET/IBext_v8/1\n");
  ASSERT_EQ(log.nics.size(), 2u);
  EXPECT_EQ(log.nics[0].link, "IB");
  EXPECT_EQ(log.nics[1].link, "RoCE");
  ASSERT_EQ(log.networks.size(), 1u);
  EXPECT_EQ(log.networks[0].why, "a plugin brings it");
  const LogRank& rank = log.communicators.at(0).ranks.at(0);
  EXPECT_EQ(rank.nics, std::vector<std::string>{"mlx5_1"});
  EXPECT_TRUE(rank.gpudirect_receive);
  EXPECT_FALSE(rank.gpudirect_send);
  EXPECT_THAT(to_text(log), HasSubstr("GPUDirect for receiving only"));
}

TEST(Log, APeerLostBeforeTheWatchdogIsNoHang) {
  const std::string start = "ncclCommInitRank comm 0x5 rank ";
  std::string text;
  for (int rank = 0; rank < 3; ++rank)
    text += "n" + std::to_string(rank) + ":1" + std::to_string(rank) + ":2 [0] NCCL INFO " + start +
            std::to_string(rank) + " nranks 3 cudaDev 0 nvmlDev 0 busId 60 commId 0x7 - Init COMPLETE\n";
  const std::string closed =
      "n0:10:2 [0] misc/socket.cc:72 NCCL WARN socketProgress: Connection closed by remote peer n2\n";
  const std::string gave_up =
      "[rank1]: [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8, OpType=ALLREDUCE, "
      "x\n";
  const Log lost = read_log(text + closed + gave_up);
  EXPECT_FALSE(lost.hang);
  EXPECT_THAT(lost.verdict.text, StartsWith("Rank 2 on n2 went away"));
  EXPECT_TRUE(read_log(text + gave_up + closed).hang);
}

// Logs as people post them: short, in the forms that collectors and launchers give them. Modeled on public
// threads; hosts and addresses are invented.
struct Post {
  const char* name;
  const char* log;
  const char* verdict;  // the beginning of the text
};

class PostsOfStrangers : public testing::TestWithParam<Post> {};

TEST_P(PostsOfStrangers, AreToldTheCause) {
  const Log log = read_log(GetParam().log);
  EXPECT_THAT(log.verdict.text, StartsWith(GetParam().verdict)) << to_text(log);
}

const Post kPosts[] = {
    {"last_error_alone",
     "[rank1]: torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1691, "
     "unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.19.3\n"
     "[rank1]: ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.\n"
     "[rank1]: Last error:\n"
     "[rank1]: socketStartConnect: Connect to 172.31.14.5<47023> failed : Connection refused\n",
     "A rank could not reach its peer: connection refused"},
    {"last_error_of_ray",
     "(Worker pid=7602) ERROR 04-07 00:57:46 utils.py:45] torch.distributed.DistBackendError: NCCL error in: "
     "ProcessGroupNCCL.cpp:1333, internal error - please report this issue to the NCCL developers, NCCL version 2.18.6\n"
     "(Worker pid=7602) ERROR 04-07 00:57:46 utils.py:45] ncclInternalError: Internal check failed.\n"
     "(Worker pid=7602) ERROR 04-07 00:57:46 utils.py:45] Last error:\n"
     "(Worker pid=7602) ERROR 04-07 00:57:46 utils.py:45] Attribute busid of node nic not found\n",
     "NCCL's picture of the machine lacks something it needs"},
    {"last_error_between_other_ranks",
     "[rank1]: Last error:\n[rank0]: Traceback (most recent call last):\n[rank1]: Duplicate GPU detected : rank 1 and rank 0 "
     "both on CUDA device 1b000\n",
     "Two ranks use the same GPU"},
    {"last_error_empty",
     "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2501, unhandled system error (run with "
     "NCCL_DEBUG=INFO for details), NCCL version 2.25.1\nLast error:\n\nException raised from checkForNCCLErrors\n",
     "NCCL failed in a system call"},
    {"unknown_last_error",
     "RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:1, unhandled cuda error (run with NCCL_DEBUG=INFO for details), NCCL "
     "version 2.20.5\nLast error:\nfrobnication of the flux failed\n",
     "NCCL warned: frobnication of the flux failed"},
    {"unknown_warning_before_the_echo",
     "n0:10:11 [0] misc/x.cc:7 NCCL WARN Frobnication failed\n"
     "RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:1970, unhandled system error, NCCL version 2.20.5\n",
     "NCCL warned: Frobnication failed (n0)"},
    {"unknown_warning_and_no_communicator",
     "n0:10:11 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\nn0:10:11 [0] misc/x.cc:7 NCCL WARN Frobnication failed\n",
     "NCCL warned: Frobnication failed (n0)"},
    {"driver_too_old",
     "n0:10:11 [0] init.cc:9 NCCL WARN Cuda failure 'CUDA driver version is insufficient for CUDA runtime version'\n",
     "The NVIDIA driver is older than the CUDA"},
    {"library_of_another_driver",
     "n0:10:11 [0] misc/nvmlwrap.cc:183 NCCL WARN nvmlInit_v2() failed: Driver/library version mismatch\n",
     "The NVIDIA driver's library is of another version"},
    {"reset_by_peer",
     "[rank3]: Last error:\n[rank3]: socketProgressOpt: Call to recv from 10.0.0.2<35000> failed : Connection reset by peer\n",
     "A peer's connection was cut off"},
    {"fabric_manager", "n0:10:11 [0] init.cc:9 NCCL WARN Cuda failure 802 'system not yet initialized'\n",
     "CUDA does not start: the system is not yet initialized (802)"},
    {"ipc_handle",
     "n0:10:11 [0] transport/p2p.cc:275 NCCL WARN Cuda failure 205 'mapping of buffer object failed'\n",
     "A rank could not map the GPU memory of its neighbour"},
    {"ecc", "n0:10:11 [0] enqueue.cc:9 NCCL WARN Cuda failure 'uncorrectable ECC error encountered'\n",
     "A GPU or its NVLink reported an error"},
    {"port_error_then_error_12",
     "n0:10:11 [0] transport/net_ib.cc:93 NCCL WARN NET/IB : Got async event : port error\n"
     "n1:20:21 [4] transport/net_ib.cc:1238 NCCL WARN NET/IB : Got completion from peer n0<37948> with error 12, opcode 2, "
     "len 1, vendor err 129\n",
     "A port of an RDMA adapter lost its link during the run (n0)"},
    {"plugin_on_some_hosts_before_any_communicator",
     "n0:10:11 [0] NCCL INFO Using network AWS Libfabric\nn1:20:21 [0] NCCL INFO Using network Socket\n",
     "Ranks chose different networks: AWS Libfabric (1 processes), Socket (1 processes)"},
    {"fabric_manager_reports_a_fatal_error",
     "[Jul 23 2024 07:53:55] [ERROR] [tid 841] detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci bus id "
     "00000000:86:00.0 physical id 3 port 33\n",
     "An NVSwitch reported a fatal error"},
    {"fabric_manager_reports_another_error",
     "[Feb 27 2025 15:10:02] [ERROR] [tid 127] detected NVSwitch non-fatal error 12028 on fid 0 on NVSwitch pci bus id "
     "00000000:86:00.0 physical id 3 port 61\n",
     "An NVSwitch reported an error that is not fatal"},
    {"nvswitch_error_in_the_kernel_log",
     "[ 5123.1] nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)\n",
     "An NVSwitch reported an error that is not fatal"},
    {"fabric_manager_misses_switches",
     "[Feb 27 2025 15:10:02] [ERROR] [tid 9] detected number of NVSwitches don't match with any supported system topology, "
     "aborting fabric manager\n",
     "Fabric Manager ended: an NVSwitch or GPU is missing"},
    {"peermem_context",
     "[25033.2] nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing\n",
     "nvidia-peermem was told that GPU memory is freed"},
    {"crash_in_a_library",
     "kern  :warn  : 2025-01-21T04:41:44,285060+00:00 pt_main_thread[25364]: segfault at 7f797fe00000 ip 00007f7c7ac69996 sp "
     "00007f7c12fd7c30 error 4 in libnccl.so.2[7f7c7ac00000+d3d3000]\n",
     "A process crashed in a library (SIGSEGV)"},
    {"crash_in_the_program",
     "[99.1] worker[25364]: segfault at 0 ip 0000561000000996 sp 00007ffc12fd7c30 error 4 in worker[561000000000+1000]\n",
     "A process crashed with a segmentation fault"},
    {"no_more_files", "kern  :warn  : 2025-01-21T04:41:44,285060+00:00 VFS: file-max limit 1000000 reached\n",
     "The machine has no more file handles"},
    {"fault_of_the_kernel",
     "<1>[  201.65] BUG: unable to handle kernel NULL pointer dereference at           (null)\n<1>[  201.65] IP: "
     "[<ffffffffa01a2b3c>] some_call+0x1c/0x40 [some_module]\n",
     "The kernel failed: it used memory that is not there"},
    {"docker_bridge",
     "n0:10:11 [0] NCCL INFO Bootstrap : Using docker0:172.17.0.1<0>\n"
     "n1:20:21 [0] NCCL INFO Bootstrap : Using docker0:172.17.0.1<0>\n",
     "Hosts announce one address: 172.17.0.1 of docker0 on n0 and on n1"},
    {"topology_file",
     "n0:10:11 [0] graph/xml.cc:288 NCCL WARN Could not open XML topology file /opt/topo.xml : No such file or directory\n",
     "NCCL could not use the topology file"},
    {"docker_json_lines",
     R"({"log":"n0:10:11 [0] misc/shmutils.cc:72 NCCL WARN Error: failed to extend /dev/shm/nccl-k to 9 bytes, error: No space )"
     R"(left on device (28)\r\n","stream":"stdout","time":"2026-01-05T10:00:00.1Z"})"
     "\n",
     "/dev/shm is too small"},
    {"compose_prefix_and_windows_line_ends",
     "worker-1  | n0:10:11 [0] misc/socket.cc:5 NCCL WARN socketStartConnect: Connect to 10.0.0.9<5000> failed : No route to "
     "host\r\n",
     "A rank could not reach its peer: no route to host"},
    {"cut_at_both_ends",
     "0:11 [0] NCCL INFO Boot\nn0:10:11 [0] NCCL INFO Using network IB\nn0:10:11 [0] NCCL INFO Bootst",
     "NCCL was started"},
};

INSTANTIATE_TEST_SUITE_P(Posts, PostsOfStrangers, testing::ValuesIn(kPosts),
                         [](const auto& info) { return info.param.name; });

TEST(Log, FallingBackFromLibfabricNamesTheReason) {
  const Log log = read_log(
      "n0:10:11 [0] NCCL INFO NET/OFI No eligible providers were found\n"
      "[2026-01-05 10:00:00] n0:10:11 [0] int create_plugin(x**):259 NCCL WARN NET/OFI Unable to find a protocol that worked.\n"
      "n0:10:11 [0] NCCL INFO Using network Socket\n"
      "n0:10:11 [0] NCCL INFO ncclCommInitRank comm 0x5 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 60 commId 0x7 - Init START\n"
      "n1:20:21 [0] NCCL INFO Using network Socket\n"
      "n1:20:21 [0] NCCL INFO ncclCommInitRank comm 0x6 rank 1 nranks 2 cudaDev 0 nvmlDev 0 busId 60 commId 0x7 - Init START\n"
      "n0:10:11 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/Socket/0\n"
      "n0:10:11 [0] NCCL INFO comm 0x5 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 60 commId 0x7 - Init COMPLETE\n"
      "n1:20:21 [0] NCCL INFO comm 0x6 rank 1 nranks 2 cudaDev 0 nvmlDev 0 busId 60 commId 0x7 - Init COMPLETE\n");
  EXPECT_THAT(to_text(log), HasSubstr("libfabric plugin found no network that it can use"));
}

// Returns the start of two ranks of one node over P2P, up to the end of their initialisation.
std::string two_ranks_over_p2p() {
  std::string text;
  for (int rank = 0; rank < 2; ++rank) {
    const std::string in = "n0:1" + std::to_string(rank) + ":2 [" + std::to_string(rank) + "] NCCL INFO ";
    const std::string comm =
        "comm 0x5 rank " + std::to_string(rank) + " nranks 2 cudaDev 0 nvmlDev 0 busId 60 commId 0x7 - ";
    text += in + "ncclCommInitRank " + comm + "Init START\n" + in + "Channel 00/0 : " + std::to_string(rank) +
            "[0] -> " + std::to_string(1 - rank) + "[0] via P2P/IPC\n" + in + comm + "Init COMPLETE\n";
  }
  return text;
}

TEST(Log, AHangAfterAllCameSuspectsThePathBetweenGpus) {
  std::string text = two_ranks_over_p2p();
  text +=
      "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, x\n"
      "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, x\n";
  const Log log = read_log(text);
  EXPECT_THAT(log.verdict.text, StartsWith("Hang: "));
  EXPECT_THAT(log.verdict.remedy, HasSubstr("NCCL_P2P_DISABLE=1"));
  EXPECT_THAT(log.verdict.remedy, HasSubstr("ACS"));
}

// Sharded parameters make such operations in many groups at once, whose sizes differ; within one they may not.
TEST(Log, EqualPartsOfOneGroupHaveOneSize) {
  const auto gave_up = [](int rank, int elements, const std::string& group) {
    const std::string speaker = "[rank" + std::to_string(rank) + "]: ";
    const std::string size = std::to_string(elements);
    return speaker + "[Rank " + std::to_string(rank) +
           "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=_REDUCE_SCATTER_BASE, "
           "NumelIn=" +
           std::to_string(elements * 2) + ", NumelOut=" + size + ", Timeout(ms)=600000) ran\n" +
           (group.empty() ? ""
                          : speaker + "[PG ID 3 PG GUID " + group + "(DP) Rank " + std::to_string(rank) +
                                "]  failure detected by watchdog at work sequence id: 7 PG status: x\n");
  };
  const auto verdict = [&](int elements, const std::string& one, const std::string& other) {
    return read_log(gave_up(0, 64, one) + gave_up(1, elements, other)).verdict.text;
  };
  EXPECT_THAT(verdict(32, "17", "17"), HasSubstr("called different operations"));
  EXPECT_THAT(verdict(64, "17", "17"), Not(HasSubstr("different operations")));
  EXPECT_THAT(verdict(32, "17", "18"), Not(HasSubstr("different operations")));
  EXPECT_THAT(verdict(32, "", ""), Not(HasSubstr("different operations")));
}

TEST(Log, AHeadOfNcclTestsWithoutAResultMayBeAHang) {
  const std::string head =
      two_ranks_over_p2p() +
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n";
  const Log stopped = read_log(head + "           8             2     float     sum      -1\n");
  ASSERT_TRUE(stopped.hang);
  EXPECT_FALSE(stopped.hang->certain);
  EXPECT_EQ(stopped.verdict.certainty, Certainty::kUnknown);
  EXPECT_THAT(stopped.verdict.remedy, HasSubstr("NCCL_P2P_DISABLE=1"));
  const Log ran = read_log(
      head +
      "           8             2     float     sum      -1    13.65    0.00    0.00      0    13.40    0.00    0.00      0\n");
  EXPECT_FALSE(ran.hang);
}

TEST(Log, ALogOfOneNodeDoesNotShowThatTheOthersNeverCame) {
  const auto begun = [](int rank, std::string_view host) {
    return fmt::format(
        "{}:{}:{} [0] NCCL INFO ncclCommInitRank comm 0x5 rank {} nranks 16 cudaDev 0 nvmlDev 0 busId 1b000 "
        "commId 0x8c3a1f17e65a2b1d - Init START\n",
        host, 10 + rank, 10 + rank, rank);
  };
  const Log one = read_log(begun(0, "n1"));
  ASSERT_TRUE(one.hang);
  EXPECT_FALSE(one.hang->certain);
  EXPECT_EQ(one.verdict.certainty, Certainty::kUnknown);
  EXPECT_THAT(one.verdict.text, StartsWith("Ranks 1-15 of 16 have no line in this log"));
  // What the node was warned of says more.
  const Log warned = read_log(
      "libibverbs: Warning: Driver bnxt_re does not support the kernel ABI of 8 (supports 1 to 7) for device "
      "/sys/class/infiniband/bnxt_re0\n" +
      begun(0, "n1"));
  EXPECT_THAT(warned.verdict.text, HasSubstr("does not fit the kernel's"));
  // Ranks of two hosts, or some of a node's: the log has all that was printed.
  const Log two = read_log(begun(0, "n1") + begun(1, "n2"));
  EXPECT_THAT(two.verdict.text, StartsWith("Hang: ranks 2-15 of 16 never came"));
  const Log gap = read_log(begun(0, "n1") + begun(2, "n1"));
  EXPECT_THAT(gap.verdict.text, StartsWith("Hang: "));
}

TEST(Log, ALogThatEndsAtTheStartOfP2pNamesTheTrial) {
  EXPECT_THAT(read_log(two_ranks_over_p2p()).verdict.remedy, HasSubstr("NCCL_P2P_DISABLE=1"));
  EXPECT_EQ(read_log(two_ranks_over_p2p() + "step 1 loss 4.2\n").verdict.remedy, "");
}

TEST(Log, AcsIsWhatItsControlSaysAndNotItsCapability) {
  const std::string capability = "ACSCap: SrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+\n";
  const auto verdict = [&](std::string_view control) {
    return read_log(two_ranks_over_p2p() + capability + std::string(control)).verdict.text;
  };
  EXPECT_THAT(verdict("ACSCtl: SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+\n"), HasSubstr("ACS"));
  EXPECT_THAT(verdict("ACSCtl: SrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd-\n"),
              Not(HasSubstr("ACS")));
  EXPECT_THAT(verdict("ACSCtl: SrcValid+ TransBlk- ReqRedir- CmpltRedir- UpstreamFwd-\n"),
              Not(HasSubstr("ACS")));
}

TEST(Log, WhatAConsequenceStatesIsNoCause) {
  const Log log = read_log("srun: error: gpu07: task 0: Aborted (core dumped)\n");
  EXPECT_EQ(log.verdict.certainty, Certainty::kUnknown);
}

TEST(Log, AWarningNobodyKnowsDoesNotHideARankThatWentAway) {
  std::string text = "n0:10:2 [0] misc/x.cc:7 NCCL WARN Something harmless\n";
  for (int rank = 0; rank < 3; ++rank)
    text += "n" + std::to_string(rank) + ":1" + std::to_string(rank) +
            ":2 [0] NCCL INFO ncclCommInitRank comm 0x5 rank " + std::to_string(rank) +
            " nranks 3 cudaDev 0 nvmlDev 0 busId 60 commId 0x7 - Init COMPLETE\n";
  text += "n0:10:2 [0] misc/socket.cc:72 NCCL WARN socketProgress: Connection closed by remote peer n2\n";
  text += "n1:11:2 [0] misc/socket.cc:72 NCCL WARN socketProgress: Connection closed by remote peer n2\n";
  EXPECT_THAT(read_log(text).verdict.text, StartsWith("Rank 2 on n2 went away"));
}

// The log may just not show which rank did not come.
TEST(Log, AHangOfSomeRanksBlamesNoPath) {
  const Log log = read_log(
      "n0:10:2 [0] NCCL INFO ncclCommInitRank comm 0x5 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 60 commId 0x7 - Init COMPLETE\n"
      "n0:11:2 [1] NCCL INFO ncclCommInitRank comm 0x6 rank 1 nranks 2 cudaDev 1 nvmlDev 1 busId 70 commId 0x7 - Init COMPLETE\n"
      "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, x\n");
  EXPECT_THAT(log.verdict.text, StartsWith("Hang: "));
  EXPECT_EQ(log.verdict.certainty, Certainty::kOneOf);
  EXPECT_THAT(log.verdict.cause + log.verdict.remedy, Not(HasSubstr("P2P")));
}

// NCCL before 2.20 prints no nNodes.
std::string lines_of_rank(int rank, const std::string& host, int size, const std::string& via) {
  const std::string number = std::to_string(rank);
  const std::string in = host + ":1" + number + ":2 [0] NCCL INFO ";
  const std::string comm = "comm 0x5 rank " + number + " nranks " + std::to_string(size) +
                           " cudaDev 0 nvmlDev 0 busId 60 commId 0x7 - ";
  return in + "NET/IB : No device found.\n" + in + "NET/Socket : Using [0]eth0:10.8.0.1<0>\n" + in +
         "Using network Socket\n" + in + comm + "Init START\n" + in + "Channel 00/0 : " + number +
         "[0] -> 1[0] [send] via " + via + "\n" + in + comm + "Init COMPLETE\n";
}

TEST(Log, CountsNodesByTheHostsOfTheRanks) {
  const Log two =
      read_log(lines_of_rank(0, "img-1", 2, "NET/Socket/0") + lines_of_rank(1, "img-2", 2, "NET/Socket/0"));
  EXPECT_EQ(two.communicators.front().nodes, 2);
  EXPECT_THAT(two.verdict.text, HasSubstr("2 nodes talk over TCP"));
  const Log log = read_log(lines_of_rank(0, "img-1", 2, "SHM/direct") + lines_of_rank(1, "img-1", 2, "SHM"));
  EXPECT_EQ(log.communicators.front().nodes, 1);
  EXPECT_THAT(log.verdict.text, HasSubstr("on one node"));
  const Log same_name =
      read_log(lines_of_rank(0, "spark", 2, "NET/Socket/0") + lines_of_rank(1, "spark", 2, "NET/Socket/0"));
  EXPECT_EQ(same_name.communicators.front().nodes, 0);
  EXPECT_THAT(same_name.verdict.text, HasSubstr("several nodes talk over TCP"));
}

TEST(Log, KnowsNoNumberOfNodesWhereRanksAreMissing) {
  const Log several = read_log(lines_of_rank(0, "img-1", 4, "NET/Socket/0"));
  EXPECT_EQ(several.communicators.front().nodes, 0);
  EXPECT_THAT(several.verdict.text, HasSubstr("several nodes talk over TCP"));
  const Log two =
      read_log(lines_of_rank(0, "img-1", 4, "NET/Socket/0") + lines_of_rank(1, "img-2", 4, "NET/Socket/0"));
  EXPECT_THAT(two.verdict.text, HasSubstr("at least 2 nodes talk over TCP"));
  const Log unknown = read_log(lines_of_rank(0, "img-1", 4, "SHM/direct"));
  EXPECT_THAT(unknown.verdict.text, HasSubstr("on img-1; where the others are is not in this log"));
  EXPECT_THAT(unknown.verdict.text, Not(HasSubstr("one node")));
}

TEST(Log, RankList) {
  EXPECT_EQ(rank_list({}), "");
  EXPECT_EQ(rank_list({3, 1, 0, 2, 7, 9, 10}), "0-3, 7, 9, 10");
}

// Sound but slow: what the run does not use although its hardware may have it.
TEST(Slow, NamesWhatClosesAFastPath) {
  const Log log = read_log(
      "#  Rank  0 Group  0 Pid 4 on n0 device  0 [0x01] NVIDIA H100 80GB HBM3\n"
      "n0:4:5 [0] NCCL INFO NCCL_NVLS_ENABLE set by environment to 0.\n"
      "n0:4:5 [0] NCCL INFO NCCL_ALGO set by environment to Ring\n" +
      std::string(
          "n0:4:5 [0] NCCL INFO ncclCommInitRank comm 0x7 rank 0 nranks 1 cudaDev 0 nvmlDev 0 busId 17000 commId 0x31 - Init "
          "COMPLETE\n"));
  ASSERT_EQ(log.slow.size(), 2u) << to_text(log);
  EXPECT_THAT(to_text(log), HasSubstr("Slower than it might be"));
}

TEST(Slow, APathThatTheGpuDoesNotHaveIsNotClosed) {
  const Log log = read_log(
      "#  Rank  0 Group  0 Pid 4 on n0 device  0 [0x01] Tesla V100-PCIE-16GB\n"
      "n0:4:5 [0] NCCL INFO NCCL_NVLS_ENABLE set by environment to 0.\n");
  EXPECT_TRUE(log.slow.empty());
}

TEST(Slow, OneHalfOfASparksPort) {
  const std::string one =
      "s1:4:5 [0] NCCL INFO NET/IB : Using [0]rocep1s0f0:1/RoCE [RO]; OOB enP7s7:192.0.2.1<0>\n";
  const std::string both =
      "s1:4:5 [0] NCCL INFO NET/IB : Using [0]rocep1s0f0:1/RoCE [1]roceP2p1s0f0:1/RoCE [RO]; OOB enP7s7:192.0.2.1<0>\n";
  EXPECT_THAT(read_log(one).verdict.text, HasSubstr("one half of a DGX Spark's port"));
  EXPECT_THAT(read_log(both).verdict.text, Not(HasSubstr("half")));
}

TEST(Slow, ARateFarBelowTheLink) {
  const auto text = [](const char* speed, const char* rate) {
    return std::string("\tSpeed: ") + speed +
           "\n #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n 1048576    15771            0.00               " +
           rate + "              0.001577\n";
  };
  EXPECT_THAT(read_log(text("200000Mb/s", "13.23")).verdict.text,
              StartsWith("RDMA carried 13.2 of the link's 200 Gb/s"));
  EXPECT_THAT(read_log(text("200000Mb/s", "96.1")).verdict.text, Not(HasSubstr("carried")));
  EXPECT_FALSE(is_recognised(read_log(text("unknown", "13.23"))));
}

TEST(Slow, AJobThatFailedIsNotCalledSlow) {
  EXPECT_TRUE(read_log("n0:4:5 [0] NCCL INFO NCCL_ALGO set by environment to Ring\n"
                       "n0:4:5 [0] init.cc:9 NCCL WARN Cuda failure 802 'system not yet initialized'\n")
                  .slow.empty());
}

constexpr std::string_view kDriverWarning =
    "libibverbs: Warning: couldn't load driver 'libmana-rdmav34.so': libmana-rdmav34.so: cannot open shared object file: No "
    "such file or directory\n";

// The server of a perftest whose client ended with an error.
TEST(Aside, OfALibraryDoesNotLeadWhereTheOtherEndWentAway) {
  for (const std::string line :
       {"ethernet_read_keys: Couldn't read remote address", " Unable to read to socket/rdma_cm",
        " Failed to exchange data between server and clients"}) {
    const Log log = read_log(std::string(kDriverWarning) +
                             "libibverbs: Warning: no userspace device-specific driver found for "
                             "/sys/class/infiniband_verbs/uverbs4\n* Waiting for client to connect... *\n" +
                             line + "\n");
    EXPECT_EQ(log.verdict.text, "The other end of the RDMA test went away") << line;
    EXPECT_EQ(log.verdict.severity, Severity::kError);
    for (const std::string& why : log.verdict.why) EXPECT_THAT(why, Not(HasSubstr("libibverbs"))) << line;
  }
}

TEST(Aside, DoesNotLeadWhereAnotherWarningOrAnUnknownLineStatesAFailure) {
  for (const Symptom& symptom : all_symptoms()) {
    if (symptom.role != Role::kAside) continue;
    EXPECT_EQ(symptom.severity, Severity::kWarning) << symptom.id;
    std::string text;
    for (const std::string_view word : symptom.words) text += std::string(word) + " ";
    const Log unknown = read_log(text + "\nmyapp: fatal: cannot map shared window 3: Resource busy\n");
    EXPECT_THAT(unknown.verdict.text, StartsWith("Not known")) << text << unknown.verdict.text;
    EXPECT_EQ(unknown.verdict.certainty, Certainty::kUnknown) << text;
    const Log known = read_log(text + "\n12 0 bash: line 1: nvcc: command not found\n");
    EXPECT_NE(known.verdict.text, std::string(symptom.title)) << text;
    // Alone it is all that the log shows.
    EXPECT_EQ(read_log(text + "\n").problems.at(0).symptom, symptom.id);
  }
}

TEST(Aside, LeadsWhereOnlyWarningsStandBesideIt) {
  const Log log =
      read_log(std::string(kDriverWarning) + "myapp: Warning: config file not found, using defaults\n");
  EXPECT_THAT(log.verdict.text, HasSubstr("could not load its driver"));
}

TEST(Aside, DoesNotLeadWhereAWarningStatesAnAbortAFailureALossOrAKill) {
  for (const std::string line :
       {"2024-01-01 WARNING: node gpu03 lost heartbeat, aborting job", "myapp WARN a process was killed",
        "WARNING: model checkpoint could not be written: disk failure",
        "WARNING: connection to gpu03 lost"}) {
    const Log log = read_log(std::string(kDriverWarning) + line + "\n");
    EXPECT_EQ(log.verdict.text, "Not known: no failure of this log is in the tables") << line;
    EXPECT_THAT(log.verdict.why, ElementsAre(HasSubstr(line)));
  }
}

TEST(Aside, HasNoLineOfAnotherProgramAsItsReason) {
  const Log log =
      read_log(std::string(kDriverWarning) + "myapp: Warning: config file not found, using defaults\n");
  for (const std::string& why : log.verdict.why) EXPECT_THAT(why, Not(HasSubstr("myapp")));
}

TEST(Aside, IsANoteWhereATestMeasured) {
  const std::string measured =
      std::string(kDriverWarning) +
      " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
      " 65536      5000             11600.45              11600.44  \t\t   0.185857\n"
      "---------------------------------------------------------------------------------------\n";
  const Log log = read_log(measured);
  EXPECT_EQ(log.verdict.severity, Severity::kNote);
  EXPECT_THAT(log.verdict.text, StartsWith("The RDMA test measured"));
  EXPECT_EQ(log.problems.size(), 1U);
  EXPECT_THAT(read_log(measured + "WARNING: node gpu03 lost heartbeat, aborting job\n").verdict.text,
              StartsWith("Not known"));
  EXPECT_EQ(read_log(measured + " Unable to write to socket/rdma_cm\n").verdict.text,
            "The other end of the RDMA test went away");
  const std::string head =
      " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n";
  EXPECT_EQ(read_log(std::string(kDriverWarning) + head + "no row\n").verdict.severity, Severity::kWarning);
}

TEST(RdmaTest, IsKnownByItsOwnWordsOnly) {
  for (const std::string line :
       {"E1201 memcached client: Unable to write to socket", "OSError: Unable to read to socket",
        "dask: Unable to write to socket: Broken pipe"})
    EXPECT_THAT(read_log(line + "\nKilled\n").verdict.text, Not(HasSubstr("RDMA test"))) << line;
  for (const std::string line : {" Unable to write to socket/rdma_cm", " Unable to write to socket/rdam_cm",
                                 " Unable to read to socket/rdma_cm", " Unable to read to socket/rdam_cm"})
    EXPECT_EQ(read_log(line + "\n").verdict.text, "The other end of the RDMA test went away") << line;
}

TEST(LostGpu, LeadsOverTheKernelThatFailedWithIt) {
  for (const std::string fault : {"unspecified launch failure", "an illegal memory access was encountered"}) {
    const std::string program = "RuntimeError: CUDA error: " + fault + "\n";
    const Log log = read_log(program + "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.\n");
    EXPECT_THAT(log.verdict.text, StartsWith("A GPU fell off the PCIe bus"));
    EXPECT_THAT(read_log(program).verdict.text, StartsWith("A kernel"));
  }
}

// Every symptom is complete, and its own words lead to it.
TEST(Symptoms, EachCanBeSaid) {
  for (const Symptom& symptom : all_symptoms()) {
    EXPECT_FALSE(symptom.title.empty() || symptom.source.empty()) << symptom.id;
    if (symptom.role == Role::kSight) continue;
    std::string text = symptom.said == Said::kAnyone ? "" : "a:1:2 [0] x.cc:1 NCCL WARN ";
    for (const std::string_view word : symptom.words) {
      if (word.starts_with("<status "))
        text += " with status=" + std::string(word.substr(8, word.size() - 9)) + " opcode=0";
      else
        text += std::string(word) + " ";
    }
    const Log log = read_log(text + "\n");
    ASSERT_EQ(log.problems.size(), 1u) << text;
    EXPECT_EQ(log.problems[0].symptom, symptom.id) << text;
    EXPECT_EQ(log.problems[0].severity, symptom.severity) << text;
  }
}

// Open MPI breaks its texts into lines, so the words of a row are on one of them.
TEST(Symptoms, TextsOfOpenMpiHaveSeveralLines) {
  const auto symptom_of = [](std::string_view text) {
    const Log log = read_log(std::string(text));
    return log.problems.empty() ? std::string() : log.problems[0].symptom;
  };
  EXPECT_EQ(symptom_of("A request was made to bind to that would result in binding more\n"
                       "processes than cpus on a resource:\n"),
            "mpi-bind-cpus");
  EXPECT_EQ(symptom_of("mpirun was unable to launch the specified application as it could not access\n"
                       "or execute an executable:\n"),
            "mpi-no-access");
  EXPECT_EQ(symptom_of("WARNING: Linux kernel CMA support was requested via the\n"
                       "btl_vader_single_copy_mechanism MCA variable, but CMA support is\n"
                       "not available due to restrictive ptrace settings.\n"),
            "mpi-cma");
  EXPECT_EQ(symptom_of("Primary job  terminated normally, but 1 process returned\n"
                       "a non-zero exit code. Per user-direction, the job has been aborted.\n"),
            "mpi-exit-code");
}

// libmlx5 prints a completion with error as four rows of hexadecimal words.
TEST(Symptoms, Mlx5PrintsCompletionsAsWords) {
  const std::string rows = "00000000 00000000 00000000 00000000\n";
  const std::string head = "mlx5: gpu01: got completion with error:\n" + rows + rows + rows;
  const Log access = read_log(head + "00000000 00008813 080000ab 0000d2d2\n");
  ASSERT_EQ(access.problems.size(), 1u);
  EXPECT_EQ(access.problems[0].symptom, "perftest-access");
  const Log retry = read_log(head + "00000000 00008115 100001c8 0000dad3\n");
  ASSERT_EQ(retry.problems.size(), 1u);
  EXPECT_EQ(retry.problems[0].symptom, "perftest-retry");
  const std::string ray = "(LLMRayActor pid=90738, ip=10.0.0.2) ";
  const Log prefixed = read_log(ray + "mlx5: gpu01: got completion with error:\n" + ray + rows + ray + rows +
                                ray + rows + ray + "00000000 00008115 100001c8 0000dad3\n");
  ASSERT_EQ(prefixed.problems.size(), 1u);
  EXPECT_EQ(prefixed.problems[0].symptom, "perftest-retry");
  EXPECT_TRUE(read_log("mlx5: gpu01: got completion with error:\n" + rows + "something else\n" + rows + rows)
                  .problems.empty());
}

// A port with a LID is InfiniBand, where no UDP port and no kind of GID comes in.
TEST(Sights, PortsWithLidsAreNoRoce) {
  const auto refuted = [](const std::string& lid) {
    return read_log("  local address:  LID " + lid + ", QPN 0x000063, PSN 0x566748, GID ::\n" +
                    "Failed status transport retry counter exceeded (12) for wr_id 2\n")
        .problems.front()
        .refuted.size();
  };
  EXPECT_EQ(refuted("0x0000"), 0u);
  EXPECT_EQ(refuted("0x0013"), 2u);
}

const std::string kReg =
    "h1:40:9 [0] misc/ibvwrap.cc:1 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory\n";

// An echo of the remedy in a program's hint is no observation, and two limits contradict each other.
TEST(Sights, AdviceIsNoObservation) {
  EXPECT_EQ(read_log("Please set memlock unlimited in limits.conf\n" + kReg).problems.front().id, "memlock");
  EXPECT_EQ(read_log("memlock unlimited\nlibibverbs: Warning: RLIMIT_MEMLOCK is 65536 bytes.\n" + kReg)
                .problems.front()
                .id,
            "memlock");
  EXPECT_EQ(read_log("+ docker run --ulimit memlock=-1 image\n" + kReg).problems.front().id, "bar1-full");
}

// A GPU without work lowers its link; one that works on a low link is another matter.
TEST(Notes, IdleGpusHaveSlowLinks) {
  const std::string head = "index, pstate, pcie.link.gen.gpucurrent, pcie.link.gen.gpumax\n";
  EXPECT_THAT(read_log(head + "0, P8, 1, 4\n1, P8, 1, 4\n").verdict.text, HasSubstr("because they are idle"));
  EXPECT_TRUE(read_log(head + "0, P8, 1, 4\n1, P0, 1, 4\n").problems.empty());
  EXPECT_TRUE(read_log(head + "0, P0, 4, 4\n1, P8, 4, 4\n").problems.empty());
}

// ibdiagnet names each check also when it found nothing (its log of version 2.10).
TEST(Notes, ACheckOfIbdiagnetThatFoundNothingIsNoFault) {
  const std::string passed =
      "-I- Duplicated GUIDs detection finished successfully\n-I- Ports counters overflow value Check finished "
      "successfully\n";
  EXPECT_TRUE(read_log(passed).problems.empty());
  EXPECT_TRUE(read_log(passed).verdict.why.empty()) << "nor a line to look at";
  EXPECT_EQ(read_log("-E- Duplicated GUIDs detection finished with errors\n").problems.front().id,
            "sm-duplicate-guid");
}

// Lines that count errors, or could report them, and show none.
TEST(Notes, AReadingWithoutAnErrorIsNotTelling) {
  for (const std::string_view line :
       {"        Correctable Error                 : 0", "    Remapping Failure Occurred            : No",
        "\t\tDevSta:\tCorrErr- UncorrErr- FatalErr- UnsuppReq- AuxPwr- TransPend-",
        "\t\tDevCtl:\tCorrErr+ NonFatalErr+ FatalErr+ UnsupReq+",
        "\t\tAERCap:\tFirst Error Pointer: 00, ECRCGenCap- ECRCGenEn-",
        "\tCapabilities: [420 v2] Advanced Error Reporting",
        "Error Code Response                : ConfigUndefined",
        "            \"Link Error Recovery Counter\" : \"0\","})
    EXPECT_TRUE(read_log(std::string(line) + "\n").verdict.why.empty()) << line;
  EXPECT_FALSE(read_log("worker: Error : disk is full\n").verdict.why.empty());
}

// A rank or a data loader without file descriptors does not show that Ray's head has none left.
TEST(Sights, FileDescriptorsOfRaysHeadAreItsOwn) {
  const auto confirmed = [](std::string_view line) {
    const Log log = read_log(
        "[2026-02-02 08:00:09,100 W 71 71] rpc_client.h:153: Failed to connect to GCS at address 10.3.0.1:6379 "
        "within 5 seconds.\n" +
        std::string(line) + "\n");
    const auto gcs = std::ranges::find(log.problems, "ray-gcs", &LogProblem::symptom);
    return gcs != log.problems.end() && gcs->id == "gcs-overloaded" && !gcs->evidence.empty();
  };
  EXPECT_TRUE(
      confirmed("(pid=gcs_server) E0202 08:00:04.090938599 302 tcp_server_posix.cc:216] Failed accept4: Too "
                "many open files"));
  EXPECT_FALSE(confirmed("OSError: [Errno 24] Too many open files: '/dev/null'"));
  EXPECT_FALSE(
      confirmed("gpu01:71:90 [0] misc/socket.cc:52 NCCL WARN Call to accept failed : Too many open files"));
}

// Only the last boot counts, and only below the command.
TEST(Notes, TheLastBootFollowedACrash) {
  const std::string boot = "reboot   system boot  6.8.0-45-generic Thu Aug 13 02:42   still running\n";
  const std::string crash = "jan      pts/0        10.0.0.2         Wed Aug 12 19:03 - crash  (07:38)\n";
  const std::string shutdown = "shutdown system down  6.8.0-45-generic Wed Aug 12 19:00 - 19:02  (00:02)\n";
  const auto problems = [](const std::string& text) { return read_log(text).problems.size(); };
  EXPECT_EQ(problems("$ last -x | head\n" + boot + crash), 1u);
  EXPECT_EQ(problems("$ last -x | head\n" + boot + shutdown + crash), 0u);
  EXPECT_EQ(problems("$ last -x | head\n" + crash), 0u);
  EXPECT_EQ(problems(boot + crash), 0u);
}

// DKMS has printed its list in two ways, and Ubuntu names its server driver otherwise.
TEST(Notes, DkmsListsModulesInTwoWays) {
  const std::string failed =
      "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n$ uname -r\n6.8.0-60-generic\n";
  for (const std::string_view line : {"nvidia, 525.105.17, 6.8.0-45-generic, x86_64: installed",
                                      "nvidia/525.105.17, 6.8.0-45-generic, x86_64: installed",
                                      "nvidia-srv/525.105.17, 6.8.0-45-generic, x86_64: installed"})
    EXPECT_EQ(read_log(failed + std::string(line) + "\n").problems.front().id, "module-not-built") << line;
}

}  // namespace
}  // namespace railbed::diagnose
