#include "facts/software/programs.h"

#include <gtest/gtest.h>

#include "host/tree.h"

namespace railbed {
namespace {

std::unique_ptr<Host> proc_of(std::string_view lines) {
  auto tree = parse_tree("railbed-tree 1\n" + std::string(lines), "t.tree", nullptr);
  EXPECT_TRUE(tree) << tree.error().text;
  return open_tree(tree ? *tree : Tree{});
}

constexpr std::string_view kProc = R"(/sys/devices/system/cpu/online = 0-3
/proc/1/stat = 1 (systemd) S 0 1 1 0 -1 4194560 1 1 1 1 30 20 0 0 20 0 1 0 5 1 1
/proc/2/stat = 2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 9 9 0 0 20 0 1 0 5 0 0
/proc/40/stat = 40 (a) b) R 1 40 40 0 -1 4194304 0 0 0 0 700 50 0 0 20 0 8 0 900 1 1
/proc/41/stat = nonsense
/proc/self/stat = 77 (railbed) R 1 77 77 0 -1 4194304 0 0 0 0 1 1 0 0 20 0 1 0 950 1 1
)";

TEST(Programs, AreReadWithoutThreadsOfTheKernel) {
  const auto programs = read_programs(*proc_of(kProc));
  ASSERT_TRUE(programs);
  EXPECT_EQ(programs->processors, 4);
  EXPECT_EQ(programs->own_name, "railbed");
  ASSERT_EQ(programs->all.size(), 2U);
  EXPECT_EQ(programs->all[0].ticks, 50U);
  EXPECT_EQ(programs->all[1].name, "a) b");
  EXPECT_EQ(programs->all[1].started, 900U);
  EXPECT_EQ(programs->all[1].ticks, 750U);
}

TEST(Programs, ThatAreHiddenAreNotNone) {
  const auto programs = read_programs(*proc_of("/proc/77/stat = 77 (railbed) R 1\n"));
  ASSERT_FALSE(programs);
  EXPECT_EQ(programs.miss().missing, Missing::kDenied);
}

}  // namespace
}  // namespace railbed
