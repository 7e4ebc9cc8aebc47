#include "verify/learn.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/differences.h"

namespace railbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

template <class T>
Reading<T> read(T value) {
  return {std::move(value), "somewhere"};
}

Facts node(const std::string& driver, const std::string& kernel = "6.8.0-31", std::uint64_t gibibytes = 64) {
  Facts facts;
  facts.gpus.driver_version = read(driver);
  facts.system.os.id = read<std::string>("ubuntu");
  facts.system.os.version = read<std::string>("24.04");
  facts.system.kernel.release = read(kernel);
  facts.system.kernel.command_line =
      read("BOOT_IMAGE=/boot/" + kernel + " root=UUID=" + kernel + " quiet iommu=pt");
  facts.system.memory.total = read(ByteCount{gibibytes << 30});
  facts.system.firmware.version = read<std::string>("2.1");
  NvmlSystem nvml;
  nvml.cuda_version = read(13000);
  facts.gpus.nvml = read(nvml);
  facts.nccl.library = read(NcclFile{"/usr/lib/libnccl.so.2", "2.28.9"});
  RdmaDevice adapter;
  adapter.board_id = read<std::string>("MT_0000000838");
  adapter.firmware = read<std::string>("28.39.1002");
  facts.rdma.devices = read(std::vector{adapter});
  return facts;
}

Evidence fleet(int nodes) {
  Evidence evidence;
  for (int i = 1; i <= nodes; ++i) evidence.nodes.emplace(fmt::format("gpu{:04}", i), node("580.95.05"));
  return evidence;
}

std::vector<Difference> differences(const Evidence& evidence) { return find_differences(evidence); }

TEST(Differences, EqualNodesHaveNone) { EXPECT_THAT(differences(fleet(3)), IsEmpty()); }

TEST(Differences, OneLineAPropertyHoweverManyNodes) {
  Evidence evidence = fleet(1000);
  evidence.nodes["gpu0007"] = node("570.86.10");
  evidence.nodes["gpu0019"] = node("570.86.10", "6.8.0-40");
  const auto found = differences(evidence);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].property, "driver");
  ASSERT_EQ(found[0].values.size(), 2u);
  EXPECT_EQ(found[0].values[0].value, "580.95.05");
  EXPECT_EQ(found[0].values[0].nodes.size(), 998u);
  EXPECT_THAT(found[0].values[1].nodes, ElementsAre("gpu0007", "gpu0019"));
  EXPECT_EQ(found[1].property, "kernel") << "the command line differs only in what is each node's own";
}

TEST(Differences, OfTheCommandLineOnlyWhatDiffers) {
  Evidence evidence = fleet(3);
  evidence.nodes["gpu0002"].system.kernel.command_line = read<std::string>("root=/dev/sda1 quiet");
  const auto found = differences(evidence);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].property, "kernel command line");
  EXPECT_EQ(found[0].values[0].value, "iommu=pt");
  EXPECT_EQ(found[0].values[1].value, "without");
}

TEST(Differences, MemoryWithinFivePercentIsTheSame) {
  Evidence evidence = fleet(3);
  evidence.nodes["gpu0002"] = node("580.95.05", "6.8.0-31", 62);
  EXPECT_THAT(differences(evidence), IsEmpty());
  evidence.nodes["gpu0003"] = node("580.95.05", "6.8.0-31", 32);
  EXPECT_EQ(differences(evidence).size(), 1u);
}

TEST(Differences, WhatClusterYamlStatesOfEachNodeIsNone) {
  Evidence evidence = fleet(2);
  evidence.nodes["gpu0002"] = node("570.86.10");
  for (const auto& [name, driver] : {std::pair{"gpu0001", "580"}, {"gpu0002", "570"}}) {
    Node wanted;
    wanted.name = name;
    wanted.expect.driver = driver;
    evidence.cluster.nodes.push_back(wanted);
  }
  EXPECT_THAT(differences(evidence), IsEmpty());
  evidence.cluster.nodes[1].expect.driver = "580";
  EXPECT_EQ(differences(evidence).size(), 1u);
}

TEST(Versions, MatchByWholeParts) {
  EXPECT_TRUE(version_matches("570.86.10", "570"));
  EXPECT_TRUE(version_matches("570.86.10", "570."));
  EXPECT_TRUE(version_matches("570.86.10", "570.86.10"));
  EXPECT_FALSE(version_matches("570.86.10", "57"));
  EXPECT_FALSE(version_matches("570", "570.86"));
}

TEST(Learn, TakesWhatAHealthyFleetShows) {
  const auto learnt = learn(fleet(4), {});
  ASSERT_TRUE(learnt);
  EXPECT_EQ(learnt->expect.driver, "580.95.05");
  EXPECT_EQ(learnt->expect.os, "ubuntu 24.04");
  EXPECT_EQ(learnt->expect.memory, ByteCount{64ull << 30});
  EXPECT_EQ(learnt->expect.kernel, "6.8.0-31");
  EXPECT_EQ(learnt->expect.bios, "2.1");
  EXPECT_EQ(learnt->expect.cuda, "13.0");
  EXPECT_EQ(learnt->expect.nccl, "2.28.9");
  EXPECT_EQ(learnt->expect.firmware, (std::map<std::string, std::string>{{"MT_0000000838", "28.39.1002"}}));
  EXPECT_EQ(learnt->nodes, 4u);
  EXPECT_THAT(learnt->left_out, IsEmpty());
}

TEST(Learn, NamesWhoIsOtherwise) {
  Evidence evidence = fleet(4);
  evidence.nodes["gpu0003"] = node("570.86.10");
  const auto learnt = learn(evidence, {});
  ASSERT_TRUE(learnt);
  EXPECT_EQ(learnt->expect.driver, "580.95.05");
  EXPECT_THAT(learnt->left_out, ElementsAre(HasSubstr("driver: 570.86.10 on gpu0003")));
}

TEST(Learn, LearnsNothingOnWhichNoTwoThirdsAgree) {
  Evidence evidence = fleet(4);
  evidence.nodes["gpu0003"] = node("570.86.10");
  evidence.nodes["gpu0004"] = node("570.86.10");
  const auto learnt = learn(evidence, {});
  ASSERT_TRUE(learnt);
  EXPECT_EQ(learnt->expect.driver, std::nullopt);
  EXPECT_EQ(learnt->expect.os, "ubuntu 24.04");
}

TEST(Learn, LeavesOutTheSickAndRefusesASickFleet) {
  Finding sick;
  sick.rule = "gpu.count";
  sick.node = "gpu0001";
  sick.status = Status::kFail;
  Verdict verdict{{sick}};
  Evidence evidence = fleet(3);
  evidence.nodes["gpu0001"] = node("570.86.10");
  const auto learnt = learn(evidence, verdict);
  ASSERT_TRUE(learnt);
  EXPECT_EQ(learnt->nodes, 2u);
  EXPECT_EQ(learnt->expect.driver, "580.95.05");
  EXPECT_THAT(learnt->left_out, ElementsAre("gpu0001: gpu.count"));
  evidence.unreachable.push_back({"gpu0004", {}});
  const auto refused = learn(evidence, verdict);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, HasSubstr("gpu0001: gpu.count"));
}

}  // namespace
}  // namespace railbed
