#include "hardware/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/part_model.h"
#include "hardware/spark.h"

namespace railbed {
namespace {

using ::testing::HasSubstr;

constexpr double kMib = 1048576 * 8 / 1e9;  // Gb/s of perftest's MB/s, which are MiB/s
constexpr std::uint64_t kKib = 1024;
constexpr int kNotKnown = 0;
// The default of expect.fraction_of_ceiling.
constexpr double kFraction = 0.9;

// A result of ib_write_bw, ib_read_bw or ib_send_bw. Both ends are alike.
struct SoundRun {
  const char* what;
  double gigabits;  // measured
  // Its path
  Wire wire;
  double signalled;  // Gb/s, with InfiniBand's coding
  int mtu;
  PcieLink link;    // width 0: not published
  int max_payload;  // bytes; kNotKnown: not published
  // Its traffic
  Operation operation;
  std::uint64_t message_bytes;
  int queue_pairs;
  const char* source;
  bool spark = false;
};

constexpr PcieLink kNoLink{};
constexpr Wire kIb = Wire::kInfiniband;
constexpr Wire kRoce = Wire::kRoceV2Ipv4;
constexpr Operation kWrite = Operation::kWrite;
constexpr Operation kRead = Operation::kRead;
constexpr Operation kSend = Operation::kSend;

const SoundRun kSoundRuns[] = {
    // The table of the issue.
    {"ConnectX-3 Pro 40GbE",
     4554 * kMib,
     kRoce,
     40,
     2048,
     {8, 8},
     kNotKnown,
     kWrite,
     64 * kKib,
     1,
     "the V100 guide, ib_write_bw, 4554 MiB/s"},
    {"ConnectX-3 Pro 40GbE, MB as 10^6",
     36.4,
     kRoce,
     40,
     1024,
     {8, 8},
     kNotKnown,
     kWrite,
     64 * kKib,
     1,
     "the V100 guide, 36.4 Gb/s"},
    {"GB10, one function",
     111.9,
     kRoce,
     200,
     1024,
     {32, 4},
     kNotKnown,
     kWrite,
     64 * kKib,
     4,
     "ib_write_bw -q 4 on one function",
     true},
    {"GB10, one function, payload known",
     111.9,
     kRoce,
     200,
     1024,
     {32, 4},
     256,
     kWrite,
     64 * kKib,
     4,
     "the same",
     true},
    {"NDR write", 392, kIb, 400, 4096, {32, 16}, kNotKnown, kWrite, 64 * kKib, 4, "ConnectX-7, ib_write_bw"},
    {"NDR read, one queue pair",
     328,
     kIb,
     400,
     4096,
     {32, 16},
     256,
     kRead,
     64 * kKib,
     1,
     "ConnectX-7, ib_read_bw"},
    {"NDR, 1 MiB, one queue pair", 284, kIb, 400, 4096, {32, 16}, 256, kWrite, 1024 * kKib, 1, "ConnectX-7"},
    {"400 GbE, 16 KiB, one queue pair",
     380,
     kRoce,
     400,
     4096,
     {32, 16},
     256,
     kWrite,
     16 * kKib,
     1,
     "NVIDIA/nccl#2409"},
    {"400 GbE, 128 KiB, one queue pair",
     392.1,
     kRoce,
     400,
     4096,
     {32, 16},
     256,
     kWrite,
     128 * kKib,
     1,
     "NVIDIA/nccl#2409"},
    {"EDR in Gen3 x8",
     52,
     kIb,
     100,
     4096,
     {8, 8},
     kNotKnown,
     kWrite,
     64 * kKib,
     1,
     "FDR and later in Gen3 x8: 52 to 53 Gb/s; mellanox38.rssing.com/chan-11689824/article788.html"},
    {"EDR in Gen3 x16",
     11708 * kMib,
     kIb,
     100,
     4096,
     {8, 16},
     kNotKnown,
     kRead,
     64 * kKib,
     1,
     "ib_read_bw over mlx5_0, 11708.31 MiB/s; where it was published is not recorded"},
    {"QDR in Gen2 x8",
     25.6,
     kIb,
     40,
     2048,
     {5, 8},
     kNotKnown,
     kWrite,
     64 * kKib,
     1,
     "mellanox38.rssing.com/chan-11689824/article788.html"},
    {"QDR in Gen2 x8, payload known", 25.6, kIb, 40, 2048, {5, 8}, 256, kWrite, 64 * kKib, 1, "the same"},
    {"QDR in Gen3 x8",
     3666 * kMib,
     kIb,
     40,
     2048,
     {8, 8},
     kNotKnown,
     kWrite,
     128 * kKib,
     1,
     "ib_write_bw -a, ConnectX-3 (MT4099), 3665.36 MiB/s"},
    {"HDR", 196.75, kIb, 200, 4096, {16, 16}, kNotKnown, kWrite, 64 * kKib, 1, "ib_write_bw -a, MT4123"},
    {"ConnectX-5 100 GbE",
     92.38,
     kRoce,
     100,
     1024,
     {8, 16},
     kNotKnown,
     kWrite,
     64 * kKib,
     1,
     "NVIDIA GPU Operator, gpu-operator-rdma, ib_write_bw -a"},
    // More of them.
    {"100 GbE, 4 KiB path MTU",
     98.01,
     kRoce,
     100,
     4096,
     {8, 16},
     kNotKnown,
     kWrite,
     64 * kKib,
     1,
     "Juniper, packet spraying for RoCEv2, ConnectX-6 Dx, no adaptive routing"},
    {"100 GbE, adaptive routing",
     97.66,
     kRoce,
     100,
     4096,
     {8, 16},
     kNotKnown,
     kWrite,
     64 * kKib,
     1,
     "Juniper, packet spraying for RoCEv2, ConnectX-6 Dx"},
    {"100 GbE, 2 KiB messages",
     91.47,
     kRoce,
     100,
     1024,
     {8, 16},
     kNotKnown,
     kWrite,
     2 * kKib,
     1,
     "NVIDIA GPU Operator, gpu-operator-rdma, ib_write_bw -a"},
    {"100 GbE, 16 KiB messages",
     92.46,
     kRoce,
     100,
     1024,
     {8, 16},
     kNotKnown,
     kWrite,
     16 * kKib,
     1,
     "NVIDIA GPU Operator, gpu-operator-rdma, ib_write_bw -a"},
    {"100 GbE, 8 MiB messages",
     92.39,
     kRoce,
     100,
     1024,
     {8, 16},
     kNotKnown,
     kWrite,
     8192 * kKib,
     1,
     "NVIDIA GPU Operator, gpu-operator-rdma, ib_write_bw -a"},
    {"100 GbE send",
     97,
     kRoce,
     100,
     4096,
     {8, 16},
     kNotKnown,
     kSend,
     64 * kKib,
     1,
     "ib_send_bw, ConnectX-4; mellanox37.rssing.com/chan-11689808/article3279.html"},
    {"100 GbE send of an odd length",
     22,
     kRoce,
     100,
     4096,
     {8, 16},
     kNotKnown,
     kSend,
     65537,
     1,
     "the same: 20 to 25 Gb/s"},
    {"100 GbE, 8 queue pairs",
     97.29,
     kRoce,
     100,
     4096,
     {8, 16},
     kNotKnown,
     kWrite,
     64 * kKib,
     8,
     "V100 Ray cluster notes, ib_write_bw"},
    {"EDR write",
     96.6,
     kIb,
     100,
     4096,
     {8, 16},
     kNotKnown,
     kWrite,
     64 * kKib,
     1,
     "forums.developer.nvidia.com/t/273376, ib_write_bw -a"},
    {"EDR write, 11728 MiB/s", 11728.47 * kMib, kIb, 100, 4096, kNoLink, kNotKnown, kWrite, 64 * kKib, 1,
     "linux-rdma/perftest#225"},
    {"HDR, 4 KiB messages",
     156.59,
     kIb,
     200,
     4096,
     {16, 16},
     kNotKnown,
     kWrite,
     4 * kKib,
     1,
     "ib_write_bw -a, MT4123"},
    {"HDR, 16 KiB messages",
     196.57,
     kIb,
     200,
     4096,
     {16, 16},
     kNotKnown,
     kWrite,
     16 * kKib,
     1,
     "ib_write_bw -a, MT4123"},
    {"HDR read",
     23000 * kMib,
     kIb,
     200,
     4096,
     {16, 16},
     kNotKnown,
     kRead,
     1024 * kKib,
     1,
     "openucx/ucx#8851, ib_read_bw, MCX653106A-HDAT"},
    {"200 GbE read", 23302.26 * kMib, kRoce, 200, 4096, kNoLink, kNotKnown, kRead, 1024 * kKib, 1,
     "hns_0, ib_read_bw of 1 MiB"},
    {"QDR read in Gen3 x8",
     3669.96 * kMib,
     kIb,
     40,
     2048,
     {8, 8},
     kNotKnown,
     kRead,
     64 * kKib,
     1,
     "ib_read_bw -a, ConnectX-3 (MT4099)"},
    {"QDR in Gen2 x8, mlx4",
     25.16,
     kIb,
     40,
     4096,
     {5, 8},
     kNotKnown,
     kWrite,
     8192 * kKib,
     1,
     "ib_write_bw -a, mlx4_0 with 40 Gb/s"},
    {"QDR read in Gen2 x8, mlx4",
     24.28,
     kIb,
     40,
     4096,
     {5, 8},
     kNotKnown,
     kRead,
     64 * kKib,
     1,
     "ib_read_bw -a, mlx4_0 with 40 Gb/s"},
    {"40 GbE send",
     36.07,
     kRoce,
     40,
     1024,
     {8, 8},
     kNotKnown,
     kSend,
     64 * kKib,
     1,
     "openucx/ucx#9430, ib_send_bw, ConnectX-3"},
    {"25 GbE", 2709.48 * kMib, kRoce, 25, 1024, kNoLink, kNotKnown, kWrite, 64 * kKib, 1,
     "RDMA profiling notes, ConnectX-5 to ConnectX-6"},
    {"400 GbE, 1 MiB, one queue pair",
     284.4,
     kRoce,
     400,
     4096,
     {32, 16},
     256,
     kWrite,
     1024 * kKib,
     1,
     "NVIDIA/nccl#2409"},
    {"400 GbE, 8 queue pairs",
     391.8,
     kRoce,
     400,
     4096,
     {32, 16},
     256,
     kWrite,
     16 * kKib,
     8,
     "NVIDIA/nccl#2409"},
    {"400 GbE, 8 queue pairs, 1 MiB",
     391.5,
     kRoce,
     400,
     4096,
     {32, 16},
     256,
     kWrite,
     1024 * kKib,
     8,
     "NVIDIA/nccl#2409"},
    {"400 GbE write of 4 MiB, one queue pair",
     365,
     kRoce,
     400,
     4096,
     {32, 16},
     kNotKnown,
     kWrite,
     4096 * kKib,
     1,
     "novitalabs/pegaflow#291"},
    {"400 GbE read of 4 MiB, one queue pair",
     320,
     kRoce,
     400,
     4096,
     {32, 16},
     kNotKnown,
     kRead,
     4096 * kKib,
     1,
     "novitalabs/pegaflow#291"},
    {"400 GbE write of 4 MiB, two queue pairs",
     392,
     kRoce,
     400,
     4096,
     {32, 16},
     kNotKnown,
     kWrite,
     4096 * kKib,
     2,
     "novitalabs/pegaflow#291"},
    {"400 GbE read of 4 MiB, two queue pairs",
     390,
     kRoce,
     400,
     4096,
     {32, 16},
     kNotKnown,
     kRead,
     4096 * kKib,
     2,
     "novitalabs/pegaflow#291"},
    {"GB10, one function, one queue pair",
     92.57,
     kRoce,
     200,
     1024,
     {32, 4},
     kNotKnown,
     kWrite,
     64 * kKib,
     1,
     "NVIDIA/dgx-spark-playbooks, performance_benchmarking_guide.md",
     true},
    {"GB10, the other function",
     97.28,
     kRoce,
     200,
     1024,
     {32, 4},
     kNotKnown,
     kWrite,
     64 * kKib,
     1,
     "NVIDIA/dgx-spark-playbooks, performance_benchmarking_guide.md",
     true},
    {"GB10, four queue pairs",
     111.61,
     kRoce,
     200,
     1024,
     {32, 4},
     kNotKnown,
     kWrite,
     64 * kKib,
     4,
     "ib_write_bw -q 4 -R between two DGX Spark",
     true},
    {"GB10 send of 8 MiB",
     102.2,
     kRoce,
     200,
     4096,
     {32, 4},
     kNotKnown,
     kSend,
     8192 * kKib,
     1,
     "nvidia.github.io/daqiri, performance-dgx-spark",
     true},
};

PciePath pcie_path(PcieLink link, int max_payload) {
  PciePath path;
  if (link.width > 0) path.hops = {{link, "0000:01:00.0 of a", "sysfs"}};
  if (max_payload > 0) path.max_payload = max_payload;
  path.payload_supported = 512;
  return path;
}

WirePart wire_part(Wire wire, double signalled, int mtu) {
  const BitRate rate = BitRate::gigabits(signalled);
  return {.protocol = wire,
          .mtu = mtu,
          .data_rate = wire == Wire::kInfiniband ? infiniband_data_rate(rate) : rate,
          .slower = "",
          .source = "sysfs"};
}

DataPath path_of_one(const SoundRun& one) {
  DataPath path;
  path.from.adapter = path.to.adapter = pcie_path(one.link, one.max_payload);
  if (one.spark) path.from.adapter.published = path.to.adapter.published = kSparkFunctionRate;
  path.wire = wire_part(one.wire, one.signalled, one.mtu);
  return path;
}

Traffic traffic_of_one(const SoundRun& one) {
  return {.operation = one.operation, .message_bytes = one.message_bytes, .queue_pairs = one.queue_pairs};
}

// Returns the rate that measured.bandwidth demands; nullopt if it does not judge.
std::optional<double> demanded(const Ceiling& ceiling, const Traffic& traffic, BitRate wire) {
  const ProvenRate proven = proven_rate(traffic, wire);
  if (!proven.rate) return std::nullopt;
  double least = proven.rate->gigabits();
  for (const Limit& limit : ceiling.limits)
    least = std::min(least, limit.least.value_or(limit.rate).gigabits());
  return kFraction * least;
}

TEST(Limits, SoundHardwareNeitherExceedsItsCeilingNorFails) {
  for (const SoundRun& one : kSoundRuns) {
    const DataPath path = path_of_one(one);
    const Traffic traffic = traffic_of_one(one);
    const Ceiling ceiling = limits(path, traffic);
    ASSERT_FALSE(ceiling.limits.empty()) << one.what;
    EXPECT_LE(one.gigabits, ceiling.limits.front().rate.gigabits()) << one.what << ", " << one.source;
    const auto least = demanded(ceiling, traffic, wire_limit(path.wire, traffic)->rate);
    if (least) {
      EXPECT_GE(one.gigabits, *least) << one.what << ", " << one.source;
    }
  }
}

// What must still be found: each is measured with two queue pairs and 64 KiB.
TEST(Limits, SickHardwareIsStillFound) {
  const SoundRun kSickRuns[] = {
      {"a link at 100 that states 200", 98, kIb, 200, 4096, {16, 16}, 256, kWrite, 64 * kKib, 2, ""},
      {"the same with one queue pair", 98, kIb, 200, 4096, {16, 16}, kNotKnown, kWrite, 64 * kKib, 1, ""},
      {"a 400G link that carries half", 196, kRoce, 400, 4096, {32, 16}, 256, kWrite, 64 * kKib, 2, ""},
      {"the same with one queue pair", 196, kRoce, 400, 4096, {32, 16}, kNotKnown, kWrite, 64 * kKib, 1, ""},
      {"a 400G adapter in Gen4 x8 that states Gen5 x16",
       112,
       kIb,
       400,
       4096,
       {32, 16},
       kNotKnown,
       kWrite,
       64 * kKib,
       2,
       ""},
      {"2 of 4 lanes of a GB10, not in the facts",
       55,
       kRoce,
       200,
       1024,
       {32, 4},
       kNotKnown,
       kWrite,
       64 * kKib,
       2,
       "",
       true},
      {"EDR at half of its rate in Gen3 x16",
       49,
       kIb,
       100,
       4096,
       {8, 16},
       kNotKnown,
       kRead,
       64 * kKib,
       1,
       ""},
      {"QDR at half of its rate in Gen2 x8", 13, kIb, 40, 2048, {5, 8}, kNotKnown, kWrite, 64 * kKib, 1, ""},
  };
  for (const SoundRun& one : kSickRuns) {
    const DataPath path = path_of_one(one);
    const Traffic traffic = traffic_of_one(one);
    const auto least = demanded(limits(path, traffic), traffic, wire_limit(path.wire, traffic)->rate);
    ASSERT_TRUE(least) << one.what;
    EXPECT_LT(one.gigabits, *least) << one.what;
  }
}

TEST(Limits, ANarrowSlotBindsBelowTheWire) {
  const SoundRun gen4{"", 0, kIb, 400, 4096, {16, 8}, 256, kWrite, 64 * kKib, 2, ""};
  const Ceiling ceiling = limits(path_of_one(gen4), traffic_of_one(gen4));
  EXPECT_EQ(ceiling.limits.front().name, "PCIe Gen4 x8 at 0000:01:00.0 of a");
  EXPECT_NEAR(ceiling.limits.front().rate.gigabits(), 114.4, 0.1);
  const SoundRun two{"", 0, kRoce, 200, 4096, {32, 2}, 256, kWrite, 64 * kKib, 2, "", true};
  EXPECT_NEAR(limits(path_of_one(two), traffic_of_one(two)).limits.front().rate.gigabits(), 57.2, 0.1);
}

TEST(Limits, PayloadDecidesWhatASlotCarries) {
  const auto limit = [](int payload) {
    return *pcie_path_limit(pcie_path({8, 8}, payload), PcieWay::kToMemory, false);
  };
  EXPECT_NEAR(limit(128).rate.gigabits(), 63.015 * 128 / 154, 0.01);
  EXPECT_NEAR(limit(256).rate.gigabits(), 57.2, 0.01);
  EXPECT_NEAR(limit(512).rate.gigabits(), 63.015 * 512 / 538, 0.01);
  EXPECT_FALSE(limit(256).least);
  // Not known: between the least of the specification and the most that the adapter supports.
  EXPECT_EQ(limit(kNotKnown).rate, limit(512).rate);
  ASSERT_TRUE(limit(kNotKnown).least);
  EXPECT_EQ(*limit(kNotKnown).least, limit(128).rate);
  EXPECT_THAT(limit(kNotKnown).source, HasSubstr("not known"));
}

TEST(Limits, ShortReadRequestsShortenTheCompletions) {
  PciePath path = pcie_path({8, 8}, 256);
  const double usual = pcie_path_limit(path, PcieWay::kFromMemory, false)->rate.gigabits();
  EXPECT_NEAR(usual, 63.015 * 256 / 278, 0.01);
  path.max_read_request = 128;
  EXPECT_NEAR(pcie_path_limit(path, PcieWay::kFromMemory, false)->rate.gigabits(), 63.015 * 128 / 150, 0.01);
  EXPECT_NEAR(pcie_path_limit(path, PcieWay::kToMemory, false)->rate.gigabits(), 57.2, 0.01);
  // Both ways at once carry less than twice as much: the requests take some of it.
  path.max_read_request = 512;
  const double both = pcie_path_limit(path, PcieWay::kToMemory, true)->rate.gigabits();
  EXPECT_LT(both, 57.2 + usual);
  EXPECT_GT(both, 1.9 * 57.2);
}

TEST(Limits, ReadsOnTheirWayBoundAQueuePair) {
  SoundRun one{"", 0, kIb, 400, 4096, {32, 16}, 256, kRead, 4 * kKib, 1, ""};
  DataPath path = path_of_one(one);
  Traffic traffic = traffic_of_one(one);
  traffic.reads = 16;
  EXPECT_FALSE(read_limit(path, traffic));
  path.least_round_trip = Nanoseconds{2000};
  EXPECT_NEAR(read_limit(path, traffic)->rate.gigabits(), 16 * 4096 * 8 / 2000.0, 0.01);
  EXPECT_NEAR(limits(path, traffic).limits.front().rate.gigabits(), 262.1, 0.1);
  traffic.operation = kWrite;
  EXPECT_FALSE(read_limit(path, traffic));
}

TEST(Limits, CardsAddUpToWhatTheirSlotsLetThrough) {
  const WirePart forty = wire_part(kRoce, 40, 2048);
  const AdapterCard v100{{forty, forty}, {pcie_path({8, 8}, 256)}};
  const auto both = cards_limit(std::vector{v100}, {}, "a");
  ASSERT_TRUE(both);
  EXPECT_GE(both->rate.gigabits(), 57);
  EXPECT_LT(both->rate.gigabits(), 58);
  // GB10: 196 Gb/s published over one cable with both functions, NVIDIA's guide 189.85.
  const AdapterCard spark{{wire_part(kRoce, 200, 4096)}, {pcie_path({32, 4}, 256), pcie_path({32, 4}, 256)}};
  EXPECT_NEAR(cards_limit(std::vector{spark}, {}, "a")->rate.gigabits(), 196.1, 0.1);
  EXPECT_FALSE(cards_limit({}, {}, "a"));
}

TEST(Limits, NothingKnownGivesANoteAndNoLimit) {
  const Ceiling ceiling = limits(DataPath{}, Traffic{});
  EXPECT_TRUE(ceiling.limits.empty());
  EXPECT_EQ(ceiling.note, "neither end states the speed of the wire");
}

TEST(Limits, EachOperationHasItsOwnHeaders) {
  EXPECT_NEAR(wire_efficiency(kRoce, 4096, 64, kWrite), 64.0 / (64 + 82 + 16), 1e-9);
  EXPECT_NEAR(wire_efficiency(kRoce, 4096, 64, kSend), 64.0 / (64 + 82), 1e-9);
  EXPECT_NEAR(wire_efficiency(kRoce, 4096, 64, kRead), 64.0 / (64 + 82 + 4), 1e-9);
}

TEST(ProvenRate, JudgesOnlyWhatIsPublished) {
  const auto proven = [](Traffic traffic, double wire) {
    return proven_rate(traffic, BitRate::gigabits(wire));
  };
  EXPECT_EQ(proven({kWrite, 65536, 2}, 392).rate, BitRate::gigabits(392));
  EXPECT_EQ(proven({kWrite, 65536, 1}, 392).rate, BitRate::gigabits(284.4));
  EXPECT_EQ(proven({kWrite, 65536, 0}, 392).rate, BitRate::gigabits(284.4));
  EXPECT_EQ(proven({kWrite, 65536, 1}, 198).rate, BitRate::gigabits(198));
  EXPECT_FALSE(proven({kWrite, 65536, 4}, 790).rate);
  EXPECT_FALSE(proven({kWrite, 4096, 2}, 98).rate);
  EXPECT_FALSE(proven({kRead, 16384, 1}, 98).rate);
  EXPECT_FALSE(proven({kWrite, 0, 2}, 98).rate);
  EXPECT_FALSE(proven({Operation::kDatagram, 65536, 2}, 98).rate);
  Traffic gpu{kWrite, 65536, 1};
  gpu.gpu = true;
  EXPECT_FALSE(proven(gpu, 98).rate);
  EXPECT_EQ(proven(gpu, 98).decides, "--streams 4");
}

TEST(TrafficOf, ReadsTheOperationOfAMeasurement) {
  Measurement measurement;
  measurement.engine = Engine::kRdma;
  measurement.message_bytes = 65536;
  measurement.streams = 2;
  measurement.operation = "read duplex, 2 threads, GPU memory";
  const auto traffic = traffic_of(measurement);
  ASSERT_TRUE(traffic);
  EXPECT_EQ(traffic->operation, kRead);
  EXPECT_TRUE(traffic->both_ways);
  EXPECT_TRUE(traffic->gpu);
  EXPECT_EQ(traffic->queue_pairs, 2);
  measurement.operation = "";
  EXPECT_EQ(traffic_of(measurement)->operation, kWrite);
  measurement.operation = "atomic";
  EXPECT_FALSE(traffic_of(measurement));
  measurement.engine = Engine::kPing;
  EXPECT_FALSE(traffic_of(measurement));
}

}  // namespace
}  // namespace railbed
