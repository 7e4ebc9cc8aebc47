#include "base/shell.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

TEST(Shell, QuotesWhatAShellWouldRead) {
  EXPECT_EQ(shell_word("NCCL_IB_HCA==mlx5_0:1,mlx5_1:1"), "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("~/train.py"), "'~/train.py'");
  EXPECT_EQ(shell_word("it's $HOME"), "'it'\\''s $HOME'");
  EXPECT_EQ(shell_quote("plain"), "'plain'");
  EXPECT_EQ(shell_line({"echo", "a b", "*"}), "echo 'a b' '*'");
}

}  // namespace
}  // namespace railbed
