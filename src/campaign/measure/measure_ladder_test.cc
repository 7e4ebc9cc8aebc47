#include "campaign/measure/measure_ladder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace railbed {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

diagnose::Log read_captured(const std::string& name) {
  const auto text = read_file(RAILBED_SOURCE_DIR "/tests/nccl/" + name + ".log");
  return diagnose::read_log(text.value_or(""));
}

TEST(NcclWay, OverSockets) {
  Facts facts;
  const NcclWay way = nccl_way(read_captured("two-namespaces-socket"), {"gpu01", "va", &facts, ""},
                               {"gpu02", "vb", &facts, ""});
  EXPECT_EQ(way.network, "Socket");
  EXPECT_THAT(way.through_a, ElementsAre("va"));
}

TEST(NcclWay, SaysWhyItIsSocketsWhereThereIsRdma) {
  Facts with_rdma;
  RdmaDevice device;
  device.name = "mlx5_0";
  with_rdma.rdma.devices = {std::vector{device}, "test"};
  with_rdma.nccl.environment = {std::vector<NcclVariable>{{"NCCL_IB_DISABLE", "1", "environment"}}, "test"};
  const NcclWay way = nccl_way(read_captured("two-namespaces-socket"), {"gpu01", "va", &with_rdma, ""},
                               {"gpu02", "vb", &with_rdma, ""});
  EXPECT_THAT(way.why, Contains(HasSubstr("gpu01: ")));
  EXPECT_THAT(way.why, Contains(HasSubstr("NCCL_IB_DISABLE")));
}

TEST(NcclWay, OverAdapters) {
  Facts facts;
  const NcclWay way = nccl_way(read_captured("ib-gpudirect-peermem"), {"gpu0", "ib0", &facts, ""},
                               {"gpu1", "ib0", &facts, ""});
  EXPECT_EQ(way.network, "IB");
  EXPECT_EQ(way.gpudirect, "on");
  EXPECT_THAT(way.through_a, ElementsAre("mlx5_0", "mlx5_1"));
  EXPECT_THAT(way.through_b, ElementsAre("mlx5_0", "mlx5_1"));
}

}  // namespace
}  // namespace railbed
