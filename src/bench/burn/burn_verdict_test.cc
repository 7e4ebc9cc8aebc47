#include "bench/burn/burn_verdict.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <random>

#include "base/json.h"

namespace railbed {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Sound GPUs of one product, eight to a node, whose rates are all the same but for `spread`.
struct UsualPhase {
  BurnPhase phase;
  double rate;
  double spread;  // standard deviation as a share
};
constexpr UsualPhase kUsualPhases[] = {{BurnPhase::kBf16, 700e12, 0.015},   {BurnPhase::kFp16, 690e12, 0.015},
                                       {BurnPhase::kFp8, 1250e12, 0.015},   {BurnPhase::kFp64, 58e12, 0.0045},
                                       {BurnPhase::kMemory, 3000e9, 0.003}, {BurnPhase::kPcie, 80e9, 0.01},
                                       {BurnPhase::kPeers, 380e9, 0.005}};

class BurnedCluster {
 public:
  BurnedCluster(int gpus, unsigned seed) : random_(seed) {
    report_.planned = report_.seconds = 3600;
    std::normal_distribution<double> normal;
    for (int i = 0; i < gpus; ++i) {
      if (i % 8 == 0) report_.nodes.push_back({.node = fmt::format("gpu{:03}", i / 8 + 1)});
      BurnGpu gpu;
      gpu.ordinal = i % 8;
      gpu.name = "NVIDIA H100 80GB HBM3";
      gpu.began = gpu.ended = true;
      gpu.samples = 3600;
      gpu.seconds = 3600;
      gpu.watts = 650;
      // A GPU's silicon makes it faster or slower in all that reaches the power cap.
      const double silicon = normal(random_);
      for (const UsualPhase& one : kUsualPhases) {
        const bool capped = one.spread == 0.015;
        const double away = capped ? 0.9 * silicon + 0.436 * normal(random_) : normal(random_);
        gpu.tallies.push_back({.phase = one.phase,
                               .seconds = 600,
                               .work = one.rate * 600,
                               .rate = one.rate * std::exp(away * one.spread),
                               .compared = 1000,
                               .watts = 650,
                               .clock = 1700});
      }
      report_.nodes.back().gpus.push_back(std::move(gpu));
    }
  }
  BurnGpu& gpu(int i) {
    return report_.nodes[static_cast<std::size_t>(i / 8)].gpus[static_cast<std::size_t>(i % 8)];
  }
  void slow_down(int i, double share) {
    for (BurnTally& tally : gpu(i).tallies)
      if (is_product(tally.phase)) tally.rate *= 1 - share;
  }
  BurnReport& judged() {
    judge_burn(report_);
    return report_;
  }
  const BurnFinding* find(const std::string& what) {
    const auto found = std::ranges::find(report_.findings, what, &BurnFinding::what);
    return found == report_.findings.end() ? nullptr : &*found;
  }
  BurnReport report_;

 private:
  std::mt19937 random_;
};

TEST(BurnVerdict, OfSoundGpusIsCleanAndTellsWhatItCouldHaveFound) {
  BurnedCluster cluster(64, 1);
  const BurnReport& report = cluster.judged();
  EXPECT_TRUE(report.findings.empty());
  EXPECT_EQ(burn_exit_code(report), 0);
  ASSERT_EQ(report.families.size(), kGpuPhases);
  EXPECT_EQ(report.families[0].gpus, 64);
  EXPECT_NEAR(report.families[0].median, 700e12, 10e12);
  EXPECT_NEAR(*report.families[0].data_sheet, 989e12, 1);
  EXPECT_NEAR(*report.families[3].data_sheet, 67e12, 1);
  EXPECT_FALSE(report.families[5].data_sheet);  // PCI Express
  EXPECT_LT(*report.families[3].smallest, *report.families[0].smallest);
}

TEST(BurnVerdict, NamesTheSlowGpuAndWhatHoldsItBack) {
  BurnedCluster cluster(128, 2);
  cluster.slow_down(19, 0.06);
  cluster.gpu(19).slowdowns = {{"power cap", 3000}, {"power brake", 144}};
  for (int i = 0; i < 128; ++i)
    if (i != 19) cluster.gpu(i).slowdowns = {{"power cap", 3000}};
  for (BurnTally& tally : cluster.gpu(19).tallies) tally.clock = 1600;
  const BurnReport& report = cluster.judged();
  const BurnFinding* slow = cluster.find("slow");
  ASSERT_NE(slow, nullptr);
  EXPECT_EQ(slow->node, "gpu003");
  EXPECT_EQ(slow->gpu, 3);
  EXPECT_EQ(slow->status, BurnStatus::kWarning);
  EXPECT_THAT(slow->message, AllOf(HasSubstr("GPU 3 of gpu003 is"), HasSubstr("127 siblings"),
                                   HasSubstr("held back by power brake 4 % of the time")));
  EXPECT_EQ(std::ranges::count(report.findings, "slow", &BurnFinding::what), 1);
  for (BurnTally& tally : cluster.gpu(19).tallies) tally.clock = 1700;  // so the brake did not slow it down
  cluster.judged();
  EXPECT_THAT(cluster.find("slow")->message, HasSubstr("its clock is as high as theirs"));
  const BurnFinding* brake = cluster.find("slowed-down");
  ASSERT_NE(brake, nullptr);
  EXPECT_EQ(brake->status, BurnStatus::kWarning);
  EXPECT_EQ(burn_exit_code(report), 1);
}

TEST(BurnVerdict, ATenthSlowerFailsAndACauseThatNobodyNamesIsSaid) {
  BurnedCluster cluster(64, 3);
  cluster.slow_down(5, 0.12);
  BurnReport& report = cluster.judged();
  ASSERT_NE(cluster.find("slow"), nullptr);
  EXPECT_EQ(cluster.find("slow")->status, BurnStatus::kFailure);
  EXPECT_THAT(cluster.find("slow")->message, HasSubstr("with no reason that NVML names"));
  EXPECT_EQ(burn_exit_code(report), 2);
  for (BurnTally& tally : cluster.gpu(5).tallies) tally.clock = 1500;
  cluster.judged();
  EXPECT_THAT(cluster.find("slow")->message, HasSubstr("at 1500 MHz where they run at 1700"));
}

TEST(BurnVerdict, OfTwoSiblingsNamesTheOneThatLagsByMoreThanSoundOnesDiffer) {
  BurnedCluster sound(2, 4);
  sound.slow_down(1, 0.04);
  EXPECT_FALSE(sound.judged().families[0].smallest);
  EXPECT_EQ(sound.find("slow"), nullptr) << "two H200 differed as much";
  BurnedCluster cluster(2, 4);
  cluster.slow_down(1, 0.3);
  cluster.judged();
  const BurnFinding* slow = cluster.find("slow");
  ASSERT_NE(slow, nullptr);
  EXPECT_EQ(slow->gpu, 1);
  EXPECT_EQ(slow->status, BurnStatus::kFailure);
  EXPECT_THAT(slow->message, HasSubstr("slower in"));
  EXPECT_THAT(slow->message, HasSubstr("than its sibling"));
}

TEST(BurnVerdict, AllSlowTogetherIsSeenByTheDataSheet) {
  BurnedCluster cluster(16, 5);
  for (int i = 0; i < 16; ++i) cluster.slow_down(i, 0.5);
  cluster.judged();
  ASSERT_NE(cluster.find("below-data-sheet"), nullptr);
  EXPECT_EQ(cluster.find("slow"), nullptr);
}

struct BurnDocument {
  BurnReport burn;
  FIELDS(BurnDocument, burn);
};

// Judges a burn of H200 again; tests/burn_on_gpus wrote those of two.
BurnReport judged_again(const std::string& name) {
  std::ifstream file(RAILBED_SOURCE_DIR "/tests/burn/" + name + ".json");
  auto document = json::read<BurnDocument>(
      std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
  if (!document) {
    ADD_FAILURE() << document.error().text;
    return {};
  }
  document->burn.findings.clear();
  document->burn.families.clear();
  judge_burn(document->burn);
  return document->burn;
}

TEST(BurnVerdict, OfTwoRealGpus) {
  const BurnReport sound = judged_again("h200x2-sound");
  EXPECT_TRUE(sound.findings.empty());
  ASSERT_EQ(sound.families.size(), kGpuPhases);
  for (const BurnFamily& family : sound.families) EXPECT_GT(family.low, .95 * family.high);
  const BurnReport wrong = judged_again("h200x2-wrong");
  ASSERT_EQ(wrong.findings.size(), 1U);
  EXPECT_EQ(wrong.findings[0].what, "wrong-result");
  EXPECT_THAT(wrong.findings[0].message, HasSubstr("1 word just written to memory"));
  const BurnReport slow = judged_again("h200x2-slow");
  ASSERT_EQ(slow.findings.size(), 1U);
  EXPECT_EQ(slow.findings[0].what, "slow");
  EXPECT_EQ(slow.findings[0].gpu, 0);
  EXPECT_TRUE(slow.findings[0].injected);
  EXPECT_THAT(slow.findings[0].message, HasSubstr("its clock is as high as theirs")) << "a drill pauses it";
  const BurnReport copy = judged_again("h200x2-copy");
  ASSERT_EQ(copy.findings.size(), 1U);
  EXPECT_THAT(copy.findings[0].message, HasSubstr("GPU 1 of localhost gave wrong results"));
  EXPECT_THAT(copy.findings[0].message, HasSubstr("1 word of a copy to GPU 0"));
  EXPECT_THAT(copy.findings[0].remedy, HasSubstr("GPU 0, GPU 1, or the link between them"));
}

// `railbed burn --minutes 3 --host --collectives` on two H200.
TEST(BurnVerdict, OfTwoRealGpusThatSumTogether) {
  BurnReport report = judged_again("h200x2-collectives");
  EXPECT_TRUE(report.findings.empty());
  EXPECT_EQ(burn_exit_code(report), 0);
  EXPECT_EQ(report.families.size(), kGpuPhases) << "a phase of all GPUs is no phase of each";
  ASSERT_TRUE(report.collectives);
  EXPECT_EQ(report.collectives->turns, 2);
  EXPECT_NEAR(report.collectives->rate, 300e9, 1e9);
  report.collectives->rate = report.collectives->low = 0.4 * report.collectives->ceiling;
  judge_burn(report);
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].what, "collective-below-ceiling");
}

// `railbed burn --minutes 1 --host --drives` on a virtual machine with one H200 and a disk of the hypervisor.
TEST(BurnVerdict, OfAWholeMachine) {
  const BurnReport whole = judged_again("h200-whole");
  EXPECT_EQ(burn_exit_code(whole), 0);
  ASSERT_EQ(whole.findings.size(), 1U);
  EXPECT_EQ(whole.findings[0].what, "drive-skipped");
  EXPECT_THAT(whole.findings[0].message, HasSubstr("/usr/local/nvidia) was not tested"));
  EXPECT_EQ(whole.families.size(), kGpuPhases - 1) << "one GPU copies to no other";
  EXPECT_EQ(whole.host_families.size(), 2U);
  EXPECT_TRUE(whole.drive_families.empty()) << "it calls itself a rotating drive";
}

TEST(BurnVerdict, WrongResultsFailAndDrillsAreMarked) {
  BurnedCluster cluster(8, 6);
  BurnGpu& gpu = cluster.gpu(1);
  gpu.fault_count = 1;
  gpu.faults = {{BurnPhase::kBf16, 42, 1, 77, "0000000000000400", "result", 61, false}};
  gpu.tallies[0].wrong = 1;
  EXPECT_EQ(burn_exit_code(cluster.judged()), 2);
  const BurnFinding* wrong = cluster.find("wrong-result");
  ASSERT_NE(wrong, nullptr);
  EXPECT_THAT(wrong->message, AllOf(HasSubstr("GPU 1 of gpu001"), HasSubstr("in bf16 after 42 s"),
                                    HasSubstr("0000000000000400"), HasSubstr("at 61 °C")));
  EXPECT_FALSE(wrong->injected);
  gpu.faults[0].injected = true;
  cluster.judged();
  EXPECT_TRUE(cluster.find("wrong-result")->injected);
  gpu.fault_count = 2;  // one more than is described, so it need not be the drill's
  cluster.judged();
  EXPECT_FALSE(cluster.find("wrong-result")->injected);
}

BurnFault wrong_copy(int to) { return {.phase = BurnPhase::kPeers, .elements = 1, .of = "copy", .peer = to}; }

TEST(BurnVerdict, OfWrongCopiesNamesTheGpuThatAllHaveInCommon) {
  BurnedCluster cluster(8, 6);
  const auto send = [&](int from, std::vector<int> to) {
    BurnGpu& gpu = cluster.gpu(from);
    gpu.faults.clear();
    for (const int one : to) gpu.faults.push_back(wrong_copy(one));
    gpu.fault_count = gpu.faults.size();
  };
  send(1, {5});
  cluster.judged();
  EXPECT_THAT(cluster.find("wrong-result")->message, HasSubstr("1 word of a copy to GPU 5"));
  EXPECT_THAT(cluster.find("wrong-result")->remedy, HasSubstr("GPU 1, GPU 5, or the link between them"));
  send(2, {5});
  cluster.judged();
  EXPECT_THAT(cluster.find("wrong-result")->remedy, HasSubstr("GPU 5 is an end of every wrong copy"));
  send(6, {7});
  cluster.judged();
  EXPECT_THAT(cluster.find("wrong-result")->remedy, HasSubstr("no GPU in common"));
  cluster.gpu(1).faults.push_back({BurnPhase::kFp16, 42, 1, 77, "0000000000000400", "result", 61, false});
  cluster.judged();
  EXPECT_THAT(cluster.find("wrong-result")->remedy,
              HasSubstr("Take this GPU out of service: it computes wrong"));
}

TEST(BurnVerdict, BlamesNoGpuForAWrongCopyToTheHost) {
  BurnedCluster cluster(8, 6);
  cluster.gpu(1).fault_count = 1;
  cluster.gpu(1).faults = {{BurnPhase::kPcie, 42, 1, 77, "0000000000000400", "copy", 61, false}};
  cluster.judged();
  EXPECT_THAT(cluster.find("wrong-result")->remedy, HasSubstr("The GPU, its link, or the host's memory"));
}

TEST(BurnVerdict, ComparesCopiesBetweenGpusOnlyWhereAllPairsAreAlike) {
  BurnedCluster cluster(8, 6);
  ASSERT_EQ(cluster.gpu(3).tallies.back().phase, BurnPhase::kPeers);
  cluster.gpu(3).tallies.back().rate /= 2;
  cluster.judged();
  ASSERT_NE(cluster.find("slow"), nullptr);
  EXPECT_EQ(cluster.find("slow")->gpu, 3);
  for (int i = 0; i < 8; ++i) cluster.gpu(i).tallies.back().by_place = true;
  cluster.judged();
  EXPECT_EQ(cluster.find("slow"), nullptr);
  cluster.report_.nodes[0].peers_trouble = "hangs in: copies between GPUs";
  cluster.judged();
  EXPECT_THAT(cluster.find("ended")->message,
              HasSubstr("copies between the GPUs of gpu001 ended early: hangs"));
}

TEST(BurnVerdict, AGpuThatIsAlwaysWrongDiffersFromItsSiblings) {
  BurnedCluster cluster(8, 7);
  for (int i = 0; i < 8; ++i)
    for (BurnTally& tally : cluster.gpu(i).tallies)
      if (is_product(tally.phase)) tally.digest = "aa";
  cluster.gpu(6).tallies[0].digest = "bb";
  cluster.judged();
  ASSERT_NE(cluster.find("different-result"), nullptr);
  EXPECT_EQ(cluster.find("different-result")->gpu, 6);
  EXPECT_EQ(cluster.find("different-result")->status, BurnStatus::kFailure);
  for (int i = 0; i < 4; ++i) cluster.gpu(i).tallies[0].digest = "bb";  // 5 against 3: who is right?
  cluster.judged();
  EXPECT_EQ(cluster.find("different-result")->status, BurnStatus::kWarning);
  EXPECT_THAT(cluster.find("different-result")->message, HasSubstr("nobody can tell"));
}

TEST(BurnVerdict, ErrorsLossesAndWhatCouldNotBeTested) {
  BurnedCluster cluster(24, 8);
  cluster.gpu(0).ecc_uncorrectable = 2;
  cluster.gpu(1).ecc_corrected = 5;
  cluster.gpu(2).xids = {{79, 100}};
  cluster.gpu(3).xids = {{13, 100}};
  cluster.gpu(4).trouble = "cuStreamSynchronize: CUDA_ERROR_UNKNOWN (999)";
  cluster.gpu(5).trouble = "busy: process 1 runs on it";
  cluster.gpu(5).began = false;
  cluster.report_.nodes[1].lost = true;
  cluster.report_.nodes[1].lost_after = 1860;
  cluster.report_.nodes[1].trouble = "gpu002: the connection ended";
  cluster.report_.nodes.push_back({.node = "gpu009", .trouble = "no route to host"});
  const BurnReport& report = cluster.judged();
  const auto status = [&](const std::string& what) {
    return cluster.find(what) == nullptr ? BurnStatus::kNote : cluster.find(what)->status;
  };
  EXPECT_EQ(status("ecc-uncorrectable"), BurnStatus::kFailure);
  EXPECT_EQ(status("ecc-corrected"), BurnStatus::kWarning);
  EXPECT_EQ(status("xid"), BurnStatus::kFailure);
  EXPECT_EQ(status("ended"), BurnStatus::kFailure);
  EXPECT_EQ(status("not-begun"), BurnStatus::kUnknown);
  EXPECT_EQ(status("lost"), BurnStatus::kFailure);
  EXPECT_THAT(cluster.find("lost")->message, HasSubstr("gpu002 was lost after 31 min"));
  EXPECT_TRUE(std::ranges::is_sorted(report.findings, {}, &BurnFinding::status));
}

TEST(BurnVerdict, WhatIsUnknownIsNotFine) {
  BurnedCluster cluster(8, 9);
  EXPECT_EQ(burn_exit_code(cluster.judged()), 0);
  cluster.report_.stopped = true;
  EXPECT_EQ(burn_exit_code(cluster.judged()), 3);
  cluster.report_.stopped = false;
  cluster.gpu(0).tallies[0].skipped = "libcublasLt.so.13: cannot open";
  EXPECT_EQ(burn_exit_code(cluster.judged()), 3);
  cluster.gpu(0).tallies[0].no_units = true;  // that is no lack
  EXPECT_EQ(burn_exit_code(cluster.judged()), 0);
  cluster.gpu(1).tallies[0].rate = 0;  // it took longer than its turns
  cluster.gpu(1).ended = true;
  cluster.report_.phases = {{cluster.gpu(1).tallies[0].phase, 1}};
  EXPECT_EQ(burn_exit_code(cluster.judged()), 3);
  EXPECT_THAT(cluster.find("not-run")->message, HasSubstr("on 1 GPU: its turns were too short for one"));
  cluster.report_.nodes.clear();
  EXPECT_EQ(burn_exit_code(cluster.judged()), 3);
}

// The claims at the head of burn_verdict.h, by simulation. 300 burns of 1,024 sound GPUs: at most 1 % may give an alarm;
// that of 300 more than 8 do is less likely than 1 in 200 at 1 %.
TEST(BurnVerdict, GivesOneFalseAlarmInAHundredBurnsAtMost) {
  int alarms = 0;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    BurnedCluster cluster(1024, seed);
    alarms += cluster.judged().findings.empty() ? 0 : 1;
  }
  EXPECT_LE(alarms, 8);
  RecordProperty("alarms", alarms);
}

TEST(BurnVerdict, KeepsThatPromiseForOneNode) {
  int alarms = 0;
  for (unsigned seed = 1; seed <= 2000; ++seed) {
    BurnedCluster cluster(8, seed);
    alarms += cluster.judged().findings.empty() ? 0 : 1;
  }
  EXPECT_LE(alarms, 35);
}

TEST(BurnVerdict, FindsAGpuThatIsThreePercentSlowAmongAThousand) {
  int found = 0;
  constexpr int kBurns = 100;
  for (unsigned seed = 1; seed <= kBurns; ++seed) {
    BurnedCluster cluster(1024, 10'000 + seed);
    cluster.slow_down(500, 0.03);
    cluster.judged();
    const BurnFinding* slow = cluster.find("slow");
    found += slow != nullptr && slow->node == "gpu063" && slow->gpu == 4 ? 1 : 0;
  }
  EXPECT_GE(found, 95 * kBurns / 100 - 4);  // four: the scatter of 100 burns at 95 %
  RecordProperty("found", found);
}

}  // namespace
}  // namespace railbed
