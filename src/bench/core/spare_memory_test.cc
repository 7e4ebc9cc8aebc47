#include "bench/core/spare_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "host/host.h"
#include "host/tree.h"

namespace railbed {
namespace {

constexpr std::uint64_t kGib = std::uint64_t{1} << 30;

TEST(SpareMemory, OnUnifiedMemoryAQuarterOfTheMachineIsTheGpusAtMost) {
  const MemoryLeft spark{.host = 112 * kGib, .gpu = 40 * kGib, .unified = true};
  const auto spare = spare_memory(spark, MemoryUse::kGpu);
  EXPECT_EQ(spare.bytes, 28 * kGib) << "16 GiB to send and as much to receive froze one";
  EXPECT_EQ(cut_text(14 * kGib, spare), "cut to 14 GiB: the machine has 112 GiB available");
  EXPECT_EQ(spare_memory(spark, MemoryUse::kGpu, 2).bytes, 14 * kGib);
}

TEST(SpareMemory, AGpusOwnMemoryIsItsAloneLessAReserve) {
  const MemoryLeft h100{.host = 4 * kGib, .gpu = 64 * kGib};
  EXPECT_EQ(spare_memory(h100, MemoryUse::kGpu, 8).bytes, 60 * kGib);
  const MemoryLeft full{.gpu = kGib / 2};
  EXPECT_EQ(spare_memory(full, MemoryUse::kGpu).bytes, kGib / 4);
  EXPECT_EQ(spare_memory(full, MemoryUse::kGpu).why, "the GPU has 512 MiB free");
}

TEST(SpareMemory, ProcessesOfANodeShareTheHosts) {
  const MemoryLeft left{.host = 64 * kGib};
  EXPECT_EQ(spare_memory(left, MemoryUse::kHost, 4).bytes, 8 * kGib);
  EXPECT_EQ(spare_memory(left, MemoryUse::kPinned, 4).bytes, 4 * kGib);
}

TEST(SpareMemory, LockedMemoryIsHeldToItsLimit) {
  const MemoryLeft left{.host = 64 * kGib, .lockable = 8 << 20};
  const auto spare = spare_memory(left, MemoryUse::kLocked);
  EXPECT_EQ(spare.bytes, 8u << 20);
  EXPECT_EQ(spare.why, "this process may lock 8 MiB more (RLIMIT_MEMLOCK)");
  EXPECT_EQ(spare_memory({.host = 64 * kGib}, MemoryUse::kLocked).bytes, 16 * kGib);
}

TEST(SpareMemory, WhatIsNotKnownLimitsNothing) {
  for (const auto use : {MemoryUse::kHost, MemoryUse::kPinned, MemoryUse::kLocked, MemoryUse::kGpu}) {
    const auto spare = spare_memory({}, use, 8);
    EXPECT_EQ(spare.bytes, std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(spare.why, "");
  }
}

std::optional<std::uint64_t> host_left(const std::string& group) {
  auto tree = parse_tree(
      "railbed-tree 1\n/proc/meminfo <<END\nMemTotal: 9 kB\nMemAvailable:   67108864 kB\nEND\n" + group,
      "t.tree", nullptr);
  EXPECT_TRUE(tree) << tree.error().text;
  return memory_left(*open_tree(tree ? *tree : Tree{})).host;
}

TEST(SpareMemory, AContainersLimitCountsWithoutTheFilesThatItRead) {
  EXPECT_EQ(host_left(""), 64 * kGib);
  const std::string own = "/proc/self/cgroup = 0::/pod/job\n/sys/fs/cgroup/pod/job/memory.max = max\n";
  EXPECT_EQ(host_left(own), 64 * kGib);
  EXPECT_EQ(host_left(own + "/sys/fs/cgroup/pod/memory.max = 8589934592\n"
                            "/sys/fs/cgroup/pod/memory.current = 7516192768\n"
                            "/sys/fs/cgroup/pod/memory.stat <<END\nanon 1\ninactive_file 3221225472\nEND\n"),
            4 * kGib);
}

}  // namespace
}  // namespace railbed
