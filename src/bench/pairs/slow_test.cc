#include "bench/pairs/slow.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

namespace railbed {
namespace {

// A cluster in which every path runs at 40 Gb/s, except those that are set slower, with noise on each
// measurement.
struct Simulated {
  explicit Simulated(std::uint64_t seed, double noise_ = 0.02) : random(seed), noise(noise_) {}

  MeasureRound measure() {
    return [this](const Round& round) {
      std::vector<PairResult> results;
      for (const NodePair& pair : round)
        results.push_back({speed(pair.a, pair.b, round.size()), speed(pair.b, pair.a, round.size())});
      ++rounds;
      return results;
    };
  }

  std::optional<double> speed(int from, int to, std::size_t company) {
    if (dead.contains(from) || dead.contains(to)) return std::nullopt;
    double rate = 40e9;
    if (slow_senders.contains(from)) rate = std::min(rate, 10e9);
    if (slow_receivers.contains(to)) rate = std::min(rate, 10e9);
    if (link == std::pair{std::min(from, to), std::max(from, to)}) rate = 10e9;
    if (company > 1 && crowded.contains(from)) rate *= 0.5;
    if (company > 1 && crowded_link == std::pair{std::min(from, to), std::max(from, to)}) rate *= 0.5;
    return rate * std::exp(std::normal_distribution<double>(0, noise)(random));
  }

  std::mt19937_64 random;
  double noise;
  std::set<int> slow_senders;
  std::set<int> slow_receivers;
  std::set<int> dead;
  std::set<int> crowded;  // half as fast while others run
  std::pair<int, int> link = {-1, -1};
  std::pair<int, int> crowded_link = {-1, -1};
  int rounds = 0;
};

int log2_up(int n) { return static_cast<int>(std::ceil(std::log2(n))); }

TEST(Rounds, TheTournamentIsEveryPairOnceAndNobodyTwiceInARound) {
  for (int n = 2; n <= 33; ++n) {
    std::set<std::pair<int, int>> met;
    const auto rounds = tournament_rounds(n);
    EXPECT_EQ(static_cast<int>(rounds.size()), n % 2 == 0 ? n - 1 : n);
    for (const Round& round : rounds) {
      std::set<int> busy;
      for (const NodePair& pair : round) {
        EXPECT_TRUE(busy.insert(pair.a).second && busy.insert(pair.b).second);
        EXPECT_TRUE(met.insert({pair.a, pair.b}).second);
      }
    }
    EXPECT_EQ(static_cast<int>(met.size()), n * (n - 1) / 2);
  }
  EXPECT_TRUE(tournament_rounds(1).empty());
}

TEST(Rounds, XorMeetsLogarithmicallyManyPartners) {
  for (const int n : {2, 8, 9, 31, 32, 1000, 1024}) {
    const auto rounds = xor_rounds(n);
    EXPECT_EQ(static_cast<int>(rounds.size()), log2_up(n));
    for (const Round& round : rounds) {
      std::set<int> busy;
      for (const NodePair& pair : round) {
        EXPECT_TRUE(busy.insert(pair.a).second && busy.insert(pair.b).second);
        EXPECT_LT(pair.b, n);
      }
      EXPECT_GE(static_cast<int>(busy.size()), n - 1);
    }
  }
}

TEST(FindSlow, HealthyClustersAccuseNobody) {
  for (const int n : {2, 3, 4, 5, 8, 13, 32, 100, 1024})
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      Simulated cluster(seed);
      const SlowReport report = find_slow(n, cluster.measure());
      EXPECT_TRUE(report.slow.empty()) << n << " nodes, seed " << seed;
      EXPECT_EQ(report.retests, 0);
    }
}

TEST(FindSlow, TheSlowNodeWhereverItIs) {
  std::mt19937 place(11);
  for (const int n : {4, 5, 8, 11, 32, 1024})
    for (int trial = 0; trial < 20; ++trial) {
      const int node = static_cast<int>(place() % static_cast<unsigned>(n));
      Simulated cluster(place());
      cluster.slow_senders = cluster.slow_receivers = {node};
      const SlowReport report = find_slow(n, cluster.measure());
      ASSERT_EQ(report.slow.size(), 1u) << n << " nodes, slow " << node;
      EXPECT_EQ(report.slow[0].kind, SlowKind::kNode);
      EXPECT_EQ(report.slow[0].node, node);
      EXPECT_TRUE(report.slow[0].confirmed);
      EXPECT_NEAR(report.slow[0].share, 0.25, 0.03);
      EXPECT_EQ(report.rounds, n >= 8 ? log2_up(n) : n - 1 + n % 2);
    }
}

TEST(FindSlow, TheSlowLinkAmongThoseMeasured) {
  std::mt19937 place(12);
  for (const int n : {8, 32, 1024})
    for (int trial = 0; trial < 20; ++trial) {
      const auto rounds = xor_rounds(n);
      const Round& round = rounds[place() % rounds.size()];
      const NodePair pair = round[place() % round.size()];
      Simulated cluster(place());
      cluster.link = {pair.a, pair.b};
      const SlowReport report = find_slow(n, cluster.measure());
      ASSERT_EQ(report.slow.size(), 1u) << n << " nodes, " << pair.a << '-' << pair.b;
      EXPECT_EQ(report.slow[0].kind, SlowKind::kLink);
      EXPECT_EQ(report.slow[0].node, pair.a);
      EXPECT_EQ(report.slow[0].other, pair.b);
      EXPECT_TRUE(report.slow[0].confirmed);
    }
}

TEST(FindSlow, EveryPairFindsAnyLink) {
  std::mt19937 place(13);
  for (const int n : {4, 6, 13, 32})
    for (int trial = 0; trial < 20; ++trial) {
      const int a = static_cast<int>(place() % static_cast<unsigned>(n - 1));
      const int b = a + 1 + static_cast<int>(place() % static_cast<unsigned>(n - 1 - a));
      Simulated cluster(place());
      cluster.link = {a, b};
      const SlowReport report = find_slow(n, cluster.measure(), {.every_pair = true});
      ASSERT_EQ(report.slow.size(), 1u) << n << " nodes, " << a << '-' << b;
      EXPECT_EQ(report.slow[0].kind, SlowKind::kLink);
      EXPECT_EQ(report.slow[0].node, a);
      EXPECT_EQ(report.slow[0].other, b);
    }
}

TEST(FindSlow, OneDirectionIsToldFromBoth) {
  Simulated sender(3);
  sender.slow_senders = {9};
  const SlowReport sending = find_slow(32, sender.measure());
  ASSERT_EQ(sending.slow.size(), 1u);
  EXPECT_EQ(sending.slow[0].kind, SlowKind::kSending);
  Simulated receiver(4);
  receiver.slow_receivers = {9};
  const SlowReport receiving = find_slow(32, receiver.measure());
  ASSERT_EQ(receiving.slow.size(), 1u);
  EXPECT_EQ(receiving.slow[0].kind, SlowKind::kReceiving);
}

TEST(FindSlow, ANodeAndALinkAtOnce) {
  Simulated cluster(5);
  cluster.slow_senders = cluster.slow_receivers = {3};
  cluster.link = {20, 21};
  const SlowReport report = find_slow(32, cluster.measure());
  ASSERT_EQ(report.slow.size(), 2u);
  std::set<SlowKind> kinds = {report.slow[0].kind, report.slow[1].kind};
  EXPECT_EQ(kinds, (std::set{SlowKind::kNode, SlowKind::kLink}));
}

// Observed among real nodes: noise while other pairs ran made one of a slow node's links look worse than the
// node.
TEST(FindSlow, ALinkOfASlowNodeIsNotAccusedBesideIt) {
  Simulated cluster(10);
  cluster.slow_senders = cluster.slow_receivers = {8};
  cluster.crowded_link = {8, 10};
  const SlowReport report = find_slow(16, cluster.measure());
  ASSERT_EQ(report.slow.size(), 1u);
  EXPECT_EQ(report.slow[0].kind, SlowKind::kNode);
  EXPECT_EQ(report.slow[0].node, 8);
}

TEST(FindSlow, WhatIsSlowOnlyInCompanyIsCleared) {
  Simulated cluster(6);
  cluster.crowded = {7};
  const SlowReport report = find_slow(32, cluster.measure());
  ASSERT_EQ(report.slow.size(), 1u);
  EXPECT_EQ(report.slow[0].node, 7);
  EXPECT_FALSE(report.slow[0].confirmed);
}

TEST(FindSlow, OneBadMeasurementAloneAccusesNobody) {
  Simulated cluster(10);
  cluster.crowded_link = {2, 3};
  int alone = 0;
  const MeasureRound real = cluster.measure();
  const SlowReport report = find_slow(16, [&](const Round& round) {
    auto results = real(round);
    const bool link = round.size() == 1 && round[0].a == 2 && round[0].b == 3;
    if (link && ++alone == 1) results[0].there = *results[0].there / 2;
    return results;
  });
  EXPECT_EQ(alone, 2);
  ASSERT_EQ(report.slow.size(), 1u);
  EXPECT_FALSE(report.slow[0].confirmed);
}

TEST(FindSlow, OtherTrafficThatMayBeAllThatIsMissingAccusesNobody) {
  for (const double other : {30e9, 20e9}) {
    Simulated cluster(6);
    cluster.link = {2, 3};
    cluster.slow_senders = {9};
    const MeasureRound real = cluster.measure();
    const SlowReport report = find_slow(16, [&](const Round& round) {
      auto results = real(round);
      for (PairResult& result : results) result.other_there = result.other_back = other;
      return results;
    });
    ASSERT_EQ(report.slow.size(), 2u);
    for (const Slow& slow : report.slow) {
      EXPECT_EQ(slow.confirmed, other < 25e9) << "10 Gb/s and 20 more are not 40";
      EXPECT_EQ(slow.shared, other > 25e9);
    }
  }
}

TEST(FindSlow, ADeadNodeIsSilentAndNotMistakenForSlowPartners) {
  Simulated cluster(7);
  cluster.dead = {5};
  const SlowReport report = find_slow(16, cluster.measure());
  ASSERT_EQ(report.slow.size(), 1u);
  EXPECT_EQ(report.slow[0].kind, SlowKind::kSilent);
  EXPECT_EQ(report.slow[0].node, 5);
}

TEST(FindSlow, HalfAClusterIsNotTheException) {
  Simulated cluster(8);
  for (int node = 0; node < 32; node += 2) cluster.slow_senders.insert(node);
  const SlowReport report = find_slow(32, cluster.measure());
  for (const Slow& slow : report.slow) EXPECT_FALSE(slow.confirmed);
}

TEST(FindSlow, TwoNodesAccuseNobodyWhateverTheyReach) {
  Simulated cluster(9);
  cluster.slow_senders = cluster.slow_receivers = {0, 1};
  EXPECT_TRUE(find_slow(2, cluster.measure()).slow.empty());
  EXPECT_TRUE(find_slow(1, cluster.measure()).slow.empty());
  EXPECT_TRUE(find_slow(0, cluster.measure()).slow.empty());
}

}  // namespace
}  // namespace railbed
