// The timetable, the course, and a burn-in of three GPUs whole, in their child processes, against a CUDA, a cuBLASLt and an
// NVML made for it (testing/fake_gpu.cc).
#include "bench/burn/burn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "bench/burn/burn_engine.h"
#include "bench/burn/burn_kernels.h"
#include "bench/core/local_peer.h"
#include "bench/core/typed.h"

namespace railbed {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

TEST(BurnTurns, DivideEachRoundByTheShares) {
  const std::vector<BurnShare> phases{{BurnPhase::kBf16, 3}, {BurnPhase::kMemory, 1}};
  // Two rounds of 40 s.
  EXPECT_EQ(burn_turn(phases, 80, 0).phase, 0U);
  EXPECT_DOUBLE_EQ(burn_turn(phases, 80, 0).ends, 30);
  EXPECT_EQ(burn_turn(phases, 80, 30).phase, 1U);
  EXPECT_DOUBLE_EQ(burn_turn(phases, 80, 39.9).ends, 40);
  EXPECT_DOUBLE_EQ(burn_turn(phases, 80, 40).ends, 70);
  EXPECT_EQ(burn_turn(phases, 80, 79.999).phase, 1U);
  EXPECT_EQ(burn_turn(phases, 80, 1e9).phase, 1U);
}

TEST(BurnTurns, OfCollectivesLastLongEnoughForNccl) {
  BurnPlan plan;
  plan.phases = {{BurnPhase::kBf16, 85}, {BurnPhase::kCollectives, 15}};
  plan.seconds = 3600;
  ASSERT_TRUE(check_burn(plan));
  const auto first = burn_span(plan, BurnPhase::kCollectives, 0);
  ASSERT_TRUE(first);
  EXPECT_NEAR(first->begin, 510, .001);
  EXPECT_NEAR(first->end, 600, .001);
  const auto present = burn_span(plan, BurnPhase::kCollectives, 550);
  ASSERT_TRUE(present);
  EXPECT_EQ(present->begin, 550);
  EXPECT_NEAR(present->end, 600, .001);
  EXPECT_NEAR(burn_span(plan, BurnPhase::kCollectives, first->end)->begin, 1110, .001);
  EXPECT_FALSE(burn_span(plan, BurnPhase::kCollectives, 3600));
  EXPECT_FALSE(burn_span(plan, BurnPhase::kMemory, 0));
  plan.seconds = 60;
  const auto refused = check_burn(plan);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, HasSubstr("a turn of the collectives would last 4.5 s"));
  plan.phases[1].share = 85;
  EXPECT_TRUE(check_burn(plan));
}

TEST(BurnTurns, ARoundOfALongBurnLastsTwoMinutesAtMost) {
  const auto phases = default_burn_phases();
  const double day = 86'400;
  double at = 0;
  std::vector<double> worked(phases.size());
  for (int i = 0; at < day; ++i) {
    const BurnTurn turn = burn_turn(phases, day, at);
    ASSERT_GT(turn.ends, at);
    ASSERT_LE(turn.ends - at, 120);
    worked[turn.phase] += turn.ends - at;
    at = turn.ends;
  }
  for (std::size_t i = 0; i < phases.size(); ++i) EXPECT_NEAR(worked[i], day * phases[i].share / 100, 1);
}

TEST(BurnCourse, KeepsItsSizeAndItsMeans) {
  BurnCourseKeeper keeper;
  for (int second = 0; second < 1000; ++second) keeper.add(second, second < 500 ? 100 : 700, 1000, 50);
  const BurnCourse& course = keeper.course();
  EXPECT_DOUBLE_EQ(course.interval, 16);
  ASSERT_LE(course.watts.size(), kMostBurnPoints);
  EXPECT_NEAR(static_cast<double>(course.watts.size()) * course.interval, 1000, 32);
  EXPECT_EQ(course.watts.front(), 100);
  EXPECT_EQ(course.watts.back(), 700);
  EXPECT_EQ(course.clock.size(), course.watts.size());
  EXPECT_EQ(course.temperature.front(), 50);
}

TEST(BurnPlans, OutsideTheirLimitsAreRefused) {
  BurnPlan plan;
  plan.phases = default_burn_phases();
  EXPECT_TRUE(check_burn(plan));
  const auto refused = [&](auto&& change) {
    BurnPlan changed = plan;
    change(changed);
    return !check_burn(changed);
  };
  EXPECT_TRUE(refused([](BurnPlan& p) { p.seconds = 0; }));
  EXPECT_TRUE(refused([](BurnPlan& p) { p.seconds = 1e9; }));
  EXPECT_TRUE(refused([](BurnPlan& p) { p.phases.clear(); }));
  EXPECT_TRUE(refused([](BurnPlan& p) { p.phases.front().share = 0; }));
  EXPECT_TRUE(refused([](BurnPlan& p) { p.side = 100; }));
  EXPECT_TRUE(refused([](BurnPlan& p) { p.patience = 0; }));
  EXPECT_TRUE(refused([](BurnPlan& p) { p.drills = {{BurnInjection::kSlow, 0, 91}}; }));
  EXPECT_TRUE(refused([](BurnPlan& p) { p.drills = {{BurnInjection::kWrongCpu, 0, 1}}; }));
  EXPECT_TRUE(refused([](BurnPlan& p) {
    p.load = BurnLoad::kHost;
    p.drills = {{BurnInjection::kWrongResult, 0, 1}};
  }));
}

TEST(BurnWordsOfFactors, AreHashesUnderAMask) {
  EXPECT_NE(burn_word({1}, 0), burn_word({1}, 1));
  EXPECT_NE(burn_word({1}, 0), burn_word({2}, 0));
  EXPECT_EQ(burn_word({1, 0, 0x55}, 12345), 0x55U);
  const BurnWords bf16{7, 0x80FF80FF80FF80FFU, 0x3F003F003F003F00U};
  for (std::uint64_t i = 0; i < 100; ++i)  // both signs, exponents of 0.5 to 2
    EXPECT_EQ(burn_word(bf16, i) & 0x7F007F007F007F00U, 0x3F003F003F003F00U);
}

Handlers burn_handlers_of(const NvidiaLibraries& from) {
  AgentSide side(nullptr, from);
  return burn_engine().handlers(side);
}

class Burns : public ::testing::Test {
 protected:
  void SetUp() override {
    if (RAILBED_SANITIZED) GTEST_SKIP() << "the address sanitizer does not survive a fork among threads";
    unsetenv("RAILBED_FAKE_FAULT");
  }
  void TearDown() override { unsetenv("RAILBED_FAKE_FAULT"); }

  static BurnPlan plan() {
    BurnPlan plan;
    plan.seconds = 1.5;
    plan.phases = {
        {BurnPhase::kBf16, 1}, {BurnPhase::kMemory, 1}, {BurnPhase::kPcie, 1}, {BurnPhase::kFp64, 1}};
    plan.side = 64;
    plan.memory = 1 << 20;
    plan.cublas = RAILBED_FAKE_GPU;
    return plan;
  }
  static NvidiaLibraries libraries() { return {{RAILBED_FAKE_GPU}, {RAILBED_FAKE_GPU}, seconds(60)}; }

  // Burns until all GPUs have ended.
  std::vector<BurnGpu> burn(const BurnPlan& plan, const char* fault = nullptr) {
    if (fault != nullptr) setenv("RAILBED_FAKE_FAULT", fault, 1);
    LocalPeer peer("here", burn_handlers_of(libraries()));
    const auto name = ask<BurnName>(peer, kBurnBegin, plan, seconds(60), {});
    if (!name) return ADD_FAILURE() << name.error().text, std::vector<BurnGpu>();
    for (;;) {
      const auto state = ask<BurnState>(peer, kBurnLook, *name, seconds(20), {});
      if (!state) return ADD_FAILURE() << state.error().text, std::vector<BurnGpu>();
      if (state->ended) return state->gpus;
      std::this_thread::sleep_for(milliseconds(50));
    }
  }
  static const BurnTally& tally(const BurnGpu& gpu, BurnPhase phase) {
    static const BurnTally kNone;
    const auto found = std::ranges::find(gpu.tallies, phase, &BurnTally::phase);
    return found == gpu.tallies.end() ? kNone : *found;
  }
};

TEST_F(Burns, OfSoundGpusCompareEverythingAndFindNothing) {
  const auto gpus = burn(plan());
  ASSERT_EQ(gpus.size(), 3U);
  for (const BurnGpu& gpu : gpus) {
    EXPECT_TRUE(gpu.ended) << gpu.trouble;
    EXPECT_EQ(gpu.trouble, "");
    EXPECT_EQ(gpu.fault_count, 0U);
    EXPECT_EQ(gpu.library, "12.8.5");
    EXPECT_EQ(gpu.side, 64U);
    EXPECT_EQ(gpu.memory, 1U << 20);
    for (const BurnPhase phase : {BurnPhase::kBf16, BurnPhase::kMemory, BurnPhase::kPcie, BurnPhase::kFp64}) {
      EXPECT_GT(tally(gpu, phase).rate, 0) << static_cast<int>(phase);
      EXPECT_GT(tally(gpu, phase).compared, 0U);
      EXPECT_EQ(tally(gpu, phase).wrong, 0U);
    }
    EXPECT_EQ(tally(gpu, BurnPhase::kBf16).digest, tally(gpus.front(), BurnPhase::kBf16).digest);
    EXPECT_GT(gpu.samples, 0U);
    EXPECT_NEAR(gpu.watts, 650, 1);
    EXPECT_EQ(gpu.watts_limit, 700);
    EXPECT_EQ(gpu.ecc_corrected, 0U);
    ASSERT_EQ(gpu.slowdowns.size(), 1U);
    EXPECT_EQ(gpu.slowdowns[0].reason, "power cap");
  }
}

TEST_F(Burns, CountAWrongProduct) {
  const auto gpus = burn(plan(), "burn-result");
  ASSERT_EQ(gpus.size(), 3U);
  EXPECT_EQ(gpus[0].fault_count + gpus[2].fault_count, 0U);
  ASSERT_GT(gpus[1].fault_count, 0U);
  const BurnFault& first = gpus[1].faults.front();
  EXPECT_EQ(first.of, "result");
  EXPECT_EQ(first.bits, "0000000000000004");
  EXPECT_EQ(first.first, first.phase == BurnPhase::kFp64 ? 7U : 28U);
  EXPECT_EQ(first.temperature, 61);
  EXPECT_FALSE(first.injected);
  EXPECT_TRUE(gpus[1].ended);
}

TEST_F(Burns, ShowAGpuThatIsAlwaysWrongByItsDigest) {
  const auto gpus = burn(plan(), "burn-always");
  ASSERT_EQ(gpus.size(), 3U);
  EXPECT_EQ(gpus[1].fault_count, 0U);
  EXPECT_EQ(tally(gpus[0], BurnPhase::kBf16).digest, tally(gpus[2], BurnPhase::kBf16).digest);
  EXPECT_NE(tally(gpus[0], BurnPhase::kBf16).digest, tally(gpus[1], BurnPhase::kBf16).digest);
}

TEST_F(Burns, FindMemoryThatChanges) {
  const auto gpus = burn(plan(), "burn-memory");
  ASSERT_EQ(gpus.size(), 3U);
  ASSERT_GT(gpus[1].fault_count, 0U);
  EXPECT_EQ(gpus[1].faults.front().of, "memory");
  EXPECT_EQ(gpus[1].faults.front().first, 5U);
  EXPECT_EQ(gpus[1].faults.front().bits, "0000000000000008");
  EXPECT_EQ(gpus[0].fault_count + gpus[2].fault_count, 0U);
}

// A burn in which copies between GPUs take most of the time.
BurnPlan with_peers(BurnPlan plan) {
  plan.phases = {{BurnPhase::kMemory, 1}, {BurnPhase::kPeers, 4}};
  plan.seconds = 3;
  return plan;
}

TEST_F(Burns, CopyBetweenAllGpus) {
  const auto gpus = burn(with_peers(plan()));
  ASSERT_EQ(gpus.size(), 3U);
  for (const BurnGpu& gpu : gpus) {
    const BurnTally& copies = tally(gpu, BurnPhase::kPeers);
    EXPECT_EQ(copies.skipped, "");
    EXPECT_GT(copies.rate, 0);
    EXPECT_GT(copies.compared, 0U);
    EXPECT_GT(copies.watts, 0) << "the GPU's own child samples meanwhile";
    EXPECT_FALSE(copies.by_place);
    EXPECT_EQ(gpu.fault_count, 0U);
    EXPECT_TRUE(gpu.ended) << gpu.trouble;
  }
}

TEST_F(Burns, NameBothEndsOfAWrongCopy) {
  const auto gpus = burn(with_peers(plan()), "copy-to-2");
  ASSERT_EQ(gpus.size(), 3U);
  for (const int sender : {0, 1}) {
    ASSERT_GT(gpus[sender].fault_count, 0U);
    EXPECT_EQ(gpus[sender].faults.front().peer, 2);
    EXPECT_EQ(gpus[sender].faults.front().bits, "0000000000000002");
    EXPECT_FALSE(gpus[sender].faults.front().injected);
  }
  EXPECT_EQ(gpus[2].fault_count, 0U) << "what it sent arrived";
}

TEST_F(Burns, MarkADrillOfACopy) {
  auto drilled = with_peers(plan());
  drilled.drills = {{BurnInjection::kWrongResult, 1, 1.2}};  // in the first turn of copies: 0.3 to 1.5 s
  const auto gpus = burn(drilled);
  ASSERT_EQ(gpus.size(), 3U);
  ASSERT_EQ(gpus[1].fault_count, 1U);
  EXPECT_TRUE(gpus[1].faults.front().injected);
  EXPECT_TRUE(gpus[1].faults.front().peer);
}

TEST_F(Burns, KnowWhenCopiesDependOnThePlaceAndWhenThereIsNoWay) {
  EXPECT_TRUE(tally(burn(with_peers(plan()), "over-pcie")[0], BurnPhase::kPeers).by_place);
  const auto apart = burn(with_peers(plan()), "no-peers");
  EXPECT_THAT(tally(apart[0], BurnPhase::kPeers).skipped, HasSubstr("reaches no other one"));
  EXPECT_TRUE(tally(apart[0], BurnPhase::kPeers).no_units);
  auto alone = with_peers(plan());
  alone.gpus = {0};
  const auto one = burn(alone);
  ASSERT_EQ(one.size(), 1U);
  EXPECT_THAT(tally(one[0], BurnPhase::kPeers).skipped, HasSubstr("the only GPU"));
  EXPECT_TRUE(one[0].ended);
}

TEST_F(Burns, GoOnWithoutCopiesThatFail) {
  const auto gpus = burn(with_peers(plan()), "copy-dies");
  ASSERT_EQ(gpus.size(), 3U);
  for (const BurnGpu& gpu : gpus) {
    EXPECT_TRUE(gpu.ended) << gpu.trouble;
    EXPECT_THAT(tally(gpu, BurnPhase::kPeers).skipped, HasSubstr("cuMemcpyPeerAsync"));
    EXPECT_GT(tally(gpu, BurnPhase::kMemory).rate, 0);
  }
}

TEST_F(Burns, GoOnWhenAGpuDiesAndWhenOneHangs) {
  auto gpus = burn(plan(), "burn-die");
  ASSERT_EQ(gpus.size(), 3U);
  EXPECT_TRUE(gpus[0].ended && gpus[1].ended);
  EXPECT_FALSE(gpus[2].ended);
  EXPECT_TRUE(gpus[2].began);
  EXPECT_NE(gpus[2].trouble, "");
  auto short_of_patience = plan();
  short_of_patience.patience = 1;
  gpus = burn(short_of_patience, "burn-hang");
  ASSERT_EQ(gpus.size(), 3U);
  EXPECT_TRUE(gpus[0].ended && gpus[1].ended);
  EXPECT_THAT(gpus[2].trouble, HasSubstr("hangs in: bf16 on GPU 0000:1c:00.0"));
}

TEST_F(Burns, MarkWhatADrillDid) {
  auto drilled = plan();
  drilled.gpus = {0, 1};
  drilled.drills = {{BurnInjection::kWrongResult, 1, 0.2}};
  const auto gpus = burn(drilled);
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[0].fault_count, 0U);
  ASSERT_EQ(gpus[1].fault_count, 1U);
  EXPECT_TRUE(gpus[1].faults.front().injected);
  EXPECT_EQ(gpus[1].faults.front().elements, 1U);
}

TEST_F(Burns, PauseForWatts) {
  auto capped = plan();
  capped.gpus = {0};
  capped.watts = 325;  // half of what the fake's meter counts, busy or not
  const auto gpus = burn(capped);
  ASSERT_EQ(gpus.size(), 1U);
  EXPECT_GT(gpus[0].paused, 0);
}

TEST_F(Burns, LeaveABusyGpuAloneAndSeeXidsAndBrakes) {
  auto gpus = burn(plan(), "burn-busy");
  ASSERT_EQ(gpus.size(), 3U);
  EXPECT_EQ(gpus[0].trouble, "busy: process 4711 runs on it");
  EXPECT_FALSE(gpus[0].began);
  gpus = burn(plan(), "burn-xid");
  ASSERT_EQ(gpus[1].xids.size(), 1U);
  EXPECT_EQ(gpus[1].xids[0].code, 79);
  EXPECT_TRUE(gpus[0].xids.empty());
}

TEST_F(Burns, SayWhatIsMissing) {
  auto none = plan();
  none.cublas = "/nowhere/libcublasLt.so.12";
  const auto gpus = burn(none);
  ASSERT_EQ(gpus.size(), 3U);
  EXPECT_THAT(tally(gpus[0], BurnPhase::kBf16).skipped, HasSubstr("/nowhere/libcublasLt.so.12"));
  EXPECT_GT(tally(gpus[0], BurnPhase::kMemory).rate, 0);
  LocalPeer bare("here", burn_handlers_of({{"/nowhere/nvml"}, {"/nowhere/libcuda.so.1"}, seconds(20)}));
  const auto refused = ask<BurnName>(bare, kBurnBegin, plan(), seconds(60), {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, HasSubstr("/nowhere/libcuda.so.1"));
}

TEST_F(Burns, FindTheirGpusAndTheirPowerLimits) {
  LocalPeer peer("here", burn_handlers_of(libraries()));
  const auto found = ask<BurnFound>(peer, kBurnFind, plan(), seconds(60), {});
  ASSERT_TRUE(found) << found.error().text;
  EXPECT_EQ(found->names, std::vector<std::string>(3, "Fake 9000"));
  EXPECT_EQ(found->watts, std::vector<double>(3, 700));
}

TEST_F(Burns, EndAtOnceOnRequest) {
  auto endless = plan();
  endless.seconds = 3600;
  LocalPeer peer("here", burn_handlers_of(libraries()));
  const auto name = ask<BurnName>(peer, kBurnBegin, endless, seconds(60), {});
  ASSERT_TRUE(name);
  std::this_thread::sleep_for(milliseconds(1500));
  const auto state = ask<BurnState>(peer, kBurnEnd, *name, seconds(20), {});
  ASSERT_TRUE(state);
  EXPECT_TRUE(state->ended);
  ASSERT_EQ(state->gpus.size(), 3U);
  for (const BurnGpu& gpu : state->gpus) {
    EXPECT_EQ(gpu.trouble, "");
    EXPECT_FALSE(gpu.ended);
    EXPECT_TRUE(gpu.began);
  }
  EXPECT_FALSE(ask<BurnState>(peer, kBurnLook, *name, seconds(20), {}));
}

}  // namespace
}  // namespace railbed
