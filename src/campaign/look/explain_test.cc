// railbed explain: what people paste, recognised by content and diagnosed together.
#include "campaign/look/explain.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/fd.h"
#include "facts/facts.h"

namespace railbed {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
namespace fs = std::filesystem;

class Explain : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, std::string_view text) {
    const fs::path path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  static Explanation read(const std::vector<std::string>& paths) {
    auto explanation = explain(paths, {}, {});
    EXPECT_TRUE(explanation) << (explanation ? "" : explanation.error().text);
    return explanation ? std::move(*explanation) : Explanation();
  }
  static bool is_red(const Explanation& explanation, std::string_view rule) {
    return std::ranges::any_of(explanation.machines.findings, [&](const Finding& finding) {
      return finding.rule == rule && railbed::is_red(finding);
    });
  }

  fs::path folder_;
};

constexpr std::string_view kRegistration =
    "h1:40:9 [0] misc/ibvwrap.cc:1 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory\n";

TEST_F(Explain, AnotherFileRefutesTheUsualCause) {
  const std::string log = write("train.log", kRegistration);
  EXPECT_EQ(read({log}).job->problems.front().id, "memlock");
  const Explanation both =
      read({log, write("limits.txt", "max locked memory           (kbytes, -l) unlimited\n")});
  const diagnose::LogProblem& problem = both.job->problems.front();
  EXPECT_NE(problem.id, "memlock");
  const auto refuted = std::ranges::find(problem.refuted, "memlock", &diagnose::LogCandidate::id);
  ASSERT_NE(refuted, problem.refuted.end());
  EXPECT_THAT(refuted->evidence.front(), StartsWith("limits.txt:1: "));
}

// nvidia-smi topo names GPUs by number: alone nothing of it is read, and it is a machine's output nevertheless.
TEST_F(Explain, AnOutputThatNeedsOthersIsNoJobs) {
  const std::string topology = write(
      "topo.txt",
      "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV18\t0-31\t0\nGPU1\tNV18\t X \t32-63\t1\n");
  const std::string log = write("train.log", kRegistration);
  const Explanation both = read({topology, log});
  ASSERT_EQ(both.inputs.size(), 2U);
  EXPECT_THAT(both.inputs.front().what, StartsWith("the output of `nvidia-smi topo` on a machine"));
  EXPECT_EQ(both.inputs.back().what, "a job's output");
  EXPECT_EQ(both.job->problems.front().id, "memlock");
  EXPECT_TRUE(both.evidence.nodes.empty());
  const std::string gpus = write(
      "gpus.txt",
      "==============NVSMI LOG==============\n\nDriver Version : 550.54.15\nAttached GPUs : 2\n"
      "GPU 00000000:17:00.0\n    Product Name : NVIDIA H100\nGPU 00000000:65:00.0\n    Product Name : NVIDIA H100\n");
  const Explanation joined = read({topology, gpus});
  ASSERT_EQ(joined.evidence.nodes.size(), 1U);
  const Explanation alone = read({topology});
  EXPECT_THAT(alone.inputs.front().what, HasSubstr("of which nothing is read alone"));
}

TEST_F(Explain, LinesOfTheKernelAreJudgedAsTheirMachine) {
  std::string steps;
  for (int i = 0; i < 100; ++i) steps += "epoch 3 loss 1.25\n";
  const Explanation explanation = read(
      {write("slurm-7.out",
             steps + "[ 1234.567890] NVRM: Xid (PCI:0000:65:00): 79, pid=1234, GPU has fallen off the bus.\n"
                     "epoch 4 loss 1.24\n")});
  EXPECT_TRUE(is_red(explanation, "gpu.xid-reboot"));
  EXPECT_THAT(explanation.inputs.front().what, HasSubstr("lines of a kernel log"));
}

TEST_F(Explain, OutputsWithoutANameAreOfOneMachine) {
  const Explanation explanation = read({
      write(
          "a",
          "CA 'mlx5_0'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tFirmware version: 28.39.1002\n\tPort 1:\n"
          "\t\tState: Down\n\t\tPhysical state: Disabled\n\t\tRate: 10\n\t\tBase lid: 65535\n\t\tLMC: 0\n"
          "\t\tSM lid: 0\n\t\tCapability mask: 0xa751e848\n\t\tPort GUID: 0x0\n\t\tLink layer: InfiniBand\n"),
      write("b", "Module                  Size  Used by\nmlx5_core            1000000  1 mlx5_ib\n"),
  });
  EXPECT_EQ(explanation.evidence.nodes.size(), 1u);
  EXPECT_FALSE(explanation.machines.findings.size() == 0);
}

TEST_F(Explain, ATextThatNobodyKnowsShowsItsMostTellingLines) {
  const Explanation explanation = read({write("x.log",
                                              "starting\nwarming up\n"
                                              "Traceback (most recent call last):\n"
                                              "  File \"x.py\", line 3, in <module>\n"
                                              "FrobnicationError: the flux is out of phase\n")});
  EXPECT_THAT(explanation.job->verdict.text, StartsWith("Not known"));
  ASSERT_FALSE(explanation.job->verdict.why.empty());
  EXPECT_THAT(explanation.job->verdict.why.front(), HasSubstr("x.log:5: FrobnicationError"));
}

// A pasted gdscheck is judged without a cluster.yaml. What is cut off at its head is not known, and not missing.
TEST_F(Explain, GdscheckIsJudgedWhoeverSendsIt) {
  constexpr std::string_view kHead = " GDS release version: 1.11.1.6\n";
  const auto printed = [](std::string_view nvme, std::string_view nfs) {
    return fmt::format(
        " ============\n ENVIRONMENT:\n ============\n DRIVER CONFIGURATION:\n NVMe P2PDMA        : Unsupported\n"
        " NVMe               : {}\n NFS                : {}\n Userspace RDMA     : Unsupported\n"
        " CUFILE CONFIGURATION:\n properties.use_compat_mode : true\n properties.force_compat_mode : false\n"
        " GPU INFO:\n GPU index 0 NVIDIA L4 bar:1 bar size (MiB):32768 supports GDS, IOMMU State: Disabled\n"
        " PLATFORM INFO:\n IOMMU: disabled\n Platform verification succeeded\n",
        nvme, nfs);
  };
  const auto finding = [&](const std::string& text) {
    const Explanation explanation = read({write("check.txt", text)});
    EXPECT_FALSE(explanation.job);
    const auto& findings = explanation.machines.findings;
    const auto found = std::ranges::find(findings, "gpu.gds-direct", &Finding::rule);
    return found == findings.end() ? Finding() : *found;
  };
  const Finding none = finding(std::string(kHead) + printed("Unsupported", "Unsupported"));
  EXPECT_EQ(none.status, Status::kWarn);
  EXPECT_THAT(none.message,
              HasSubstr("gdscheck 1.11.1.6 has no direct way to NVMe, and nvidia-fs is not loaded"));
  const Finding cut = finding(printed("Unsupported", "Unsupported"));
  EXPECT_EQ(cut.status, Status::kWarn);
  EXPECT_THAT(cut.message, testing::Not(HasSubstr("loaded")));
  EXPECT_EQ(finding(printed("Supported", "Unsupported")).status, Status::kPass);
  EXPECT_EQ(finding(printed("Unsupported", "Supported")).status, Status::kPass);
  EXPECT_EQ(finding("$ ./gdscheck.py -p\n" + printed("Unsupported", "Unsupported")).status, Status::kWarn);
  EXPECT_EQ(finding("root@n1:~# /usr/local/cuda/gds/tools/gdscheck -p\n" + printed("Supported", "x")).status,
            Status::kPass);
}

TEST_F(Explain, SeveralLogsAreOneJob) {
  const Explanation explanation = read({
      write("rank0.log", "h1:1:1 [0] NCCL INFO NCCL version 2.20.5+cuda12.4\n"),
      write("rank1.log", "h2:1:1 [0] NCCL INFO NCCL version 2.19.3+cuda12.3\n"),
  });
  EXPECT_EQ(explanation.job->versions.size(), 2u);
}

TEST_F(Explain, DatesOfADaemonAreNoKernelLog) {
  const Explanation explanation = read({write(
      "job.log", "[2026-04-21 11:18:40,233] [INFO] [runner.py:454:main] Using IP address of 10.0.0.1\n")});
  EXPECT_TRUE(explanation.evidence.nodes.empty());
  EXPECT_EQ(explanation.inputs.front().what, "a job's output");
}

// A person pastes what a terminal showed, and gives two lists of one subnet.
TEST_F(Explain, AListOfLinksThatIsNotWholeIsReadAsText) {
  const std::string ca = "CA: n02 HCA-1:\n";
  const std::string link =
      "      0xec0d9a03003d62be      4    1[  ] ==( 4X      25.78125 Gbps Active/  LinkUp)==>       2   17[  ] "
      "\"sw\" ( )\n";
  const std::string other =
      "Switch: 0x506b4b0300820910 sw:\n"
      "           2   17[  ] ==( 4X      25.78125 Gbps Active/  LinkUp)==>       4    1[  ] \"n02 HCA-1\" ( )\n";
  const Explanation part = read({write("links.txt", "$ iblinkinfo\n" + ca + link)});
  EXPECT_THAT(part.fabrics, testing::IsEmpty());
  EXPECT_THAT(part.inputs.front().what, StartsWith("no whole subnet: "));
  EXPECT_EQ(part.inputs.size(), 1U) << "and no job's output";
  const Explanation both = read({write("a.txt", ca + link + other), write("b.txt", ca + link + other)});
  ASSERT_EQ(both.fabrics.size(), 2U) << "each is judged";
  EXPECT_THAT(both.fabrics[0].path, HasSubstr("a.txt"));
  EXPECT_THAT(both.fabrics[1].path, HasSubstr("b.txt"));
  ASSERT_EQ(both.inputs.size(), 2u);
  EXPECT_THAT(both.inputs[1].what, StartsWith("an InfiniBand subnet"));
}

// Subnets of two rails, and counters from before and after: each list belongs to the subnet that has its ports.
TEST_F(Explain, SeveralSubnetsAndListsOfCountersAreJudgedEach) {
  const auto subnet = [](const std::string& guid, const std::string& name, const std::string& state) {
    return "CA: n02 " + name + ":\n      0x" + guid + "      4    1[  ] ==( 4X      25.78125 Gbps " + state +
           "/  LinkUp)==>       2   17[  ] \"sw " + name + "\" ( )\nSwitch: 0x5" + guid.substr(1) + " sw " +
           name + ":\n           2   17[  ] ==( 4X      25.78125 Gbps " + state +
           "/  LinkUp)==>       4    1[  ] \"n02 " + name + "\" ( )\n";
  };
  const auto errors = [](const std::string& guid, int count) {
    return "Errors for \"n02 mlx5\"\n   GUID 0x" + guid +
           " port 1: [SymbolErrorCounter == " + std::to_string(count) + "]\n";
  };
  const auto has = [](const ExplainedFabric& fabric, std::string_view rule) {
    return std::ranges::any_of(fabric.verdict.findings, [&](const Finding& finding) {
      return railbed::is_red(finding) && finding.rule == rule;
    });
  };
  const std::string one = "1c0d9a03003d62be", two = "2c0d9a03003d62be";
  const Explanation all =
      read({write("rail0.txt", subnet(one, "mlx5_0", "Active")),
            write("rail1.txt", subnet(two, "mlx5_1", "Initialize")), write("errors1.txt", errors(two, 9999)),
            write("errors0.txt", errors(one, 1)), write("later0.txt", errors(one, 8888)),
            write("other.txt", errors("3c0d9a03003d62be", 7777))});
  ASSERT_EQ(all.fabrics.size(), 4U);
  EXPECT_THAT(all.fabrics[0].path, HasSubstr("rail0.txt"));
  EXPECT_FALSE(has(all.fabrics[0], "fabric.counters") || has(all.fabrics[0], "fabric.port-state"));
  EXPECT_THAT(all.fabrics[1].path, HasSubstr("rail1.txt"));
  EXPECT_TRUE(has(all.fabrics[1], "fabric.counters") && has(all.fabrics[1], "fabric.port-state"));
  EXPECT_THAT(all.fabrics[2].path, HasSubstr("later0.txt"));
  EXPECT_TRUE(has(all.fabrics[2], "fabric.counters"));
  EXPECT_THAT(all.fabrics[3].path, HasSubstr("other.txt"));
  EXPECT_TRUE(has(all.fabrics[3], "fabric.counters"));
  EXPECT_THAT(all.inputs.back().what, StartsWith("none of its ports"));
  // Without a subnet, too.
  const Explanation lists =
      read({write("before.txt", errors(one, 1)), write("after.txt", errors(one, 8888))});
  ASSERT_EQ(lists.fabrics.size(), 2U);
  EXPECT_FALSE(has(lists.fabrics[0], "fabric.counters"));
  EXPECT_TRUE(has(lists.fabrics[1], "fabric.counters"));
}

// A failure of a GPU in the boot before is a warning, and is shown only without a job's own log.
TEST_F(Explain, ABugReportShowsTheBootBefore) {
  const std::string rule(44, '_');
  const std::string report =
      rule +
      "\n\nStart of NVIDIA bug report log file.\n\nuname: Linux gpu01 6.8.0 #1 SMP x86_64 GNU/Linux\n" +
      rule +
      "\n\nScanning kernel log files for NVIDIA kernel messages:\n\n  journalctl -b -0:\n"
      "Jul 07 18:37:01 gpu01 kernel: NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.144.03\n\n";
  const std::string fallen =
      "  journalctl -b -1:\nJul 07 18:36:09 gpu01 kernel: NVRM: Xid (PCI:0000:01:00): 79, pid='<unknown>', "
      "name=<unknown>, GPU has fallen off the bus.\n";
  const Explanation before = read({write("bug-report.log", report + fallen + rule + "\n")});
  ASSERT_TRUE(before.job);
  EXPECT_THAT(before.job->verdict.text, StartsWith("In the boot before: A GPU failed"));
  EXPECT_EQ(before.job->verdict.severity, nccl::Severity::kWarning);
  EXPECT_THAT(before.job->verdict.why.front(), HasSubstr("bug-report.log:14: "));
  EXPECT_FALSE(is_red(before, "gpu.xid-reboot")) << "not of this boot";
  EXPECT_FALSE(read({write("sound.log", report + rule + "\n")}).job);
  const Explanation beside = read({write("bug-report.log", report + fallen + rule + "\n"),
                                   write("job.log", "h1:1:1 [0] NCCL INFO NCCL version 2.20.5+cuda12.4\n")});
  ASSERT_TRUE(beside.job);
  EXPECT_THAT(beside.job->verdict.text, testing::Not(HasSubstr("boot")));
}

// Failures of earlier boots in kern.log may be weeks old: they are a note, after the journal's of the boot before.
TEST_F(Explain, ABugReportShowsOlderBootsAsANote) {
  const std::string rule(44, '_');
  const std::string report =
      rule +
      "\n\nStart of NVIDIA bug report log file.\n\nuname: Linux gpu01 6.8.0 #1 SMP x86_64 GNU/Linux\n" +
      rule +
      "\n\nScanning kernel log files for NVIDIA kernel messages:\n\n  /var/log/kern.log:\n"
      "Nov  8 13:49:49 gpu01 kernel: [  766.456533] NVRM: API mismatch: the client has the version 515.65.01, but\n"
      "Nov  8 13:50:31 gpu01 kernel: [    8.937160] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  515.65.01\n\n" +
      rule + "\n";
  const Explanation old = read({write("bug-report.log", report)});
  ASSERT_TRUE(old.job);
  EXPECT_THAT(old.job->verdict.text, StartsWith("In earlier boots, by /var/log/kern.log: "));
  EXPECT_EQ(old.job->verdict.severity, nccl::Severity::kNote);
  EXPECT_THAT(old.job->verdict.why.front(), HasSubstr("bug-report.log:"));
}

// Outputs about single ports are judged together, beside a subnet by its nodes, and no output of these tools is taken for
// a job's.
TEST_F(Explain, OutputsAboutPortsAreRead) {
  const std::string sound =
      "# Port counters: Lid 6 port 1 (CapMask: 0x5A00)\nPortSelect:......................1\n"
      "SymbolErrorCounter:..............0\nLinkDownedCounter:...............2\n";
  const std::string sick =
      "root@gpu01:~# perfquery -x 9 2\n# Port extended counters: Lid 9 port 2\nPortSelect:......................2\n"
      "SymbolErrorCounter:..............4711\n";
  const auto red = [](const Explanation& explanation) {
    return std::ranges::any_of(explanation.fabrics, [](const ExplainedFabric& fabric) {
      return std::ranges::any_of(fabric.verdict.findings, railbed::is_red);
    });
  };
  const Explanation one = read({write("sound.txt", sound)});
  ASSERT_EQ(one.fabrics.size(), 1U);
  EXPECT_FALSE(red(one));
  EXPECT_FALSE(one.job);
  EXPECT_TRUE(red(read({write("sound.txt", sound), write("sick.txt", sick)})));
  std::string other = sound;  // of another subnet, in which a port has the same LID
  other.replace(other.find("Counter:..............0"), 23, "Counter:..............9999");
  EXPECT_TRUE(red(read({write("other.txt", other), write("sound.txt", sound)})));
  EXPECT_TRUE(red(read({write("sound.txt", sound), write("other.txt", other)})));
  const Explanation beside = read({write("job.txt", std::string(kRegistration) + sound)});
  ASSERT_TRUE(beside.job) << "a job's own lines around such an output are read";
  EXPECT_EQ(beside.job->problems.front().id, "memlock");
  const Explanation manager =
      read({write("sminfo.txt",
                  "sminfo: sm lid 1 sm guid 0x100001, activity count 506 priority 14 state 3 "
                  "SMINFO_MASTER\n")});
  EXPECT_FALSE(manager.job);
  EXPECT_THAT(manager.inputs.front().what, HasSubstr("LID 1, priority 14, MASTER"));
}

TEST_F(Explain, ASwitchsOwnStateIsRead) {
  const std::string table =
      "part number        | MQM8790-HS2F\nuptime (d-h:m:s)   | 67d-04:19:16\nPSU0 status        | OK\n"
      "     DC power      | OK\n     fan status    | OK\n";
  EXPECT_FALSE(read({write("sound.txt", table + "fan status         | OK\n")}).job);
  const Explanation fan = read({write("fan.txt", table + "fan status         | ERROR\n")});
  ASSERT_TRUE(fan.job);
  EXPECT_EQ(fan.job->problems.front().symptom, "switch-fan");
  EXPECT_EQ(fan.job->verdict.severity, nccl::Severity::kWarning);
  const Explanation power =
      read({write("power.txt", table + "PSU1 status        | OK\n     DC power      | ERROR\n"
                                       "     fan status    | ERROR\nfan status         | OK\n")});
  ASSERT_TRUE(power.job);
  EXPECT_EQ(power.job->problems.front().symptom, "switch-power");
  EXPECT_EQ(power.job->problems.size(), 1U) << "the fan of a supply without power has no limit";
  std::string unread =
      table + "PSU1 status        | ERROR\n     DC power      | ERROR\n     fan status    | ERROR\n";
  EXPECT_TRUE(read({write("one.txt", unread)}).job);
  unread.insert(unread.find("uptime"), "firmware version   | 0.0000.0000\n");
  EXPECT_FALSE(read({write("unread.txt", unread)}).job);
}

// A topology that is cut off is no kernel log, though its ports stand in brackets.
TEST_F(Explain, ATopologyThatIsNotWholeIsNoMachine) {
  const Explanation part =
      read({write("ibnetdiscover.txt",
                  "vendid=0x2c9\ndevid=0xd2f0\nsysimgguid=0x1\nswitchguid=0x1(1)\n"
                  "Switch\t41 \"S-0000000000000001\"\t\t# \"leaf\" enhanced port 0 lid 3 lmc 0\n"
                  "[1]\t\"S-0000000000000002\"[21]\t\t# \"other\" lid 226 4xHDR\n")});
  EXPECT_TRUE(part.evidence.nodes.empty());
  EXPECT_THAT(part.inputs.front().what, StartsWith("no whole subnet: "));
}

TEST_F(Explain, WhatCannotBeReadIsAnError) {
  EXPECT_FALSE(explain({(folder_ / "nothing").string()}, {}, {}));
  const std::string one = write("a.yaml", "railbed: 1\nnodes: [");
  EXPECT_FALSE(explain({one}, {}, {}));
}

// A launcher's file lies beside the log; what it states is no description of a cluster.
TEST_F(Explain, AYamlFileOfAnotherProgramIsText) {
  const Explanation explanation =
      read({write("job.yaml", "kind: Job\nnodes: [\n"), write("job.log", "NCCL version 2.20.5+cuda12.4\n")});
  ASSERT_EQ(explanation.inputs.size(), 2U);
  EXPECT_EQ(explanation.inputs[0].what, "a YAML file of another program, read as text");
  EXPECT_TRUE(explanation.evidence.cluster.nodes.empty());
  EXPECT_TRUE(explanation.job);
}

TEST(ExplainText, OneMessage) {
  const auto explanation = explain_text("h1:40:9 [0] x.cc:1 NCCL WARN Bootstrap : no socket interface found");
  ASSERT_TRUE(explanation);
  EXPECT_EQ(explanation->job->problems.front().symptom, "no-interface");
}

// The table that nvidia-smi 580.159.04 prints of an H200, shortened.
constexpr std::string_view kTable =
    R"(+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 580.159.04             Driver Version: 580.159.04     CUDA Version: 13.0     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA H200                    On  |   00000000:00:06.0 Off |                    7 |
| N/A   40C    P0             80W /  700W |       0MiB / 143771MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
)";

TEST(ExplainText, AnOutputIsAMachineAndNoJob) {
  const auto explanation = explain_text(kTable);
  ASSERT_TRUE(explanation);
  EXPECT_FALSE(explanation->job);
  EXPECT_EQ(explanation->evidence.nodes.size(), 1);
  EXPECT_EQ(explanation->inputs.front().what, "outputs of commands");
  EXPECT_TRUE(std::ranges::any_of(explanation->machines.findings, [](const Finding& finding) {
    return finding.rule == "gpu.ecc-uncorrectable" && is_red(finding);
  })) << "7 uncorrected errors";
}

// The number of a descriptor is no rank, as that in a file's name is.
TEST_F(Explain, ADumpFromAPipeHasNoRank) {
  const std::string dump = write("nccl_trace_rank_3", R"({"version": "2.4", "entries": []})");
  const Fd open_dump(open(dump.c_str(), O_RDONLY));
  ASSERT_TRUE(open_dump);
  const Explanation named = read({dump});
  EXPECT_EQ(named.inputs.front().what, "the flight recorder of rank 3");
  const Explanation piped = read({fmt::format("/dev/fd/{}", open_dump.get())});
  EXPECT_THAT(piped.inputs.front().what, HasSubstr("of a rank that its name does not state"));
}

TEST_F(Explain, FactsAreKnownByTheirContent) {
  Facts facts;
  facts.system.os.hostname = {"gpu07", "test"};
  const Explanation whole = read({write("pasted.txt", facts_to_json(facts))});
  EXPECT_EQ(whole.inputs.front().what, "the facts of a machine");
  EXPECT_TRUE(whole.evidence.nodes.contains("gpu07"));
  const Explanation other = read({write("other.json", R"({"version": 1, "runs": []})")});
  EXPECT_EQ(other.inputs.front().what, "a job's output");
  EXPECT_TRUE(other.evidence.nodes.empty());
}

TEST_F(Explain, APipeIsReadAsAFileOfItWouldBe) {
  const std::string pipe = (folder_ / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << kTable; });
  const Explanation explanation = read({pipe});
  writer.join();
  EXPECT_FALSE(explanation.job);
  EXPECT_EQ(explanation.evidence.nodes.size(), 1);
}

}  // namespace
}  // namespace railbed
