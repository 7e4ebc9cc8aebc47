#include "inventory/describe.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "inventory/load.h"

namespace railbed {
namespace {

std::string described(const std::string& example) {
  const auto cluster = load_cluster(RAILBED_SOURCE_DIR "/examples/" + example);
  return cluster ? "\n" + describe(*cluster) : cluster.error().text;
}

TEST(Describe, SaysWhatAClusterIs) {
  EXPECT_EQ(described("v100-pair.yaml"), R"(
v100-pair: 2 nodes, 2 rails
  nodes     gpuserver[1-2]
  link1     roce back-to-back, 40.0 Gb/s, MTU 9000, 10.0.1.0/24, 2 ports on ens6
  link2     roce back-to-back, 40.0 Gb/s, MTU 9000, 10.0.0.0/24, 2 ports on ens6d1
  expected  2 GPUs, GPU model V100, NVIDIA driver 570, ubuntu 22.04, NCCL 2.30.7, 64 GiB of memory, governor performance, CUDA toolkit 12.8, mpicc, at least 90 % of each ceiling
)");
}

TEST(Describe, NamesNodesThatDiffer) {
  EXPECT_EQ(described("infiniband-trio.yaml"), R"(
infiniband-trio: 3 nodes, 1 rail
  nodes     r720, r730-a, r730-b
  ib        infiniband switch, 40.0 Gb/s, MTU 4092, 10.10.10.0/24, 3 ports on ib0
  parts     1 switch, 3 cables, 3 servers, 3 adapters, 5 GPUs
  expected  rhel 9, 128 GiB of memory, subnet manager, at least 90 % of each ceiling: r720
  expected  rhel 10.1, 256 GiB of memory, subnet manager, at least 90 % of each ceiling: r730-a
  expected  rhel 10.1, 768 GiB of memory, at least 90 % of each ceiling: r730-b
)");
}

TEST(Describe, StaysOnAScreenWhateverTheSize) {
  const std::string text = described("rail-optimised-1000.yaml");
  EXPECT_NE(text.find("nodes     gpu[0001-1000]\n"), std::string::npos) << text;
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 20) << text;
}

}  // namespace
}  // namespace railbed
