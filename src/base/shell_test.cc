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

TEST(Shell, ANameStaysOneWordOfItsCommand) {
  EXPECT_EQ(command("ip link set {} mtu {}", "ens6", 9000), "ip link set ens6 mtu 9000");
  EXPECT_EQ(command("ip link set {} down", "ens6;id"), "ip link set 'ens6;id' down");
  EXPECT_EQ(command("cat /sys/class/net/{}/mode", "$(id)"), "cat /sys/class/net/'$(id)'/mode");
  EXPECT_EQ(command("echo {} >> /etc/x", ShellQuoted{"a=1"}), "echo 'a=1' >> /etc/x");
  EXPECT_EQ(command("modprobe {}", std::vector<std::string>{"ib_core", "x y"}), "modprobe ib_core 'x y'");
  EXPECT_EQ(command("{}  # on {}", command("cat {}", "a b"), "n`id`"), "cat 'a b'  # on 'n`id`'");
  EXPECT_EQ(command("cat {} A={}", "=ls", "=ls"), "cat '=ls' A==ls");
  EXPECT_EQ(command("cat {}", ""), "cat ''");
  EXPECT_EQ(command("cat a{}b", ""), "cat ab");
  EXPECT_EQ(command("cat {}", "a\nb\x1b[2Jc"), "cat 'a b\xEF\xBF\xBD[2Jc'");
}

TEST(Shell, ANameThatIsNoNameMakesTheLineAComment) {
  EXPECT_EQ(command("nvidia-smi -i {}", "-pm"), "# -pm would be an option: nvidia-smi -i -pm");
  EXPECT_EQ(command("modprobe -- {}", "-r"), "modprobe -- -r");
  EXPECT_EQ(command("x --set={}", "-1"), "x --set=-1");
  EXPECT_EQ(command("x {}", -1), "x -1");
  EXPECT_EQ(command("cat /sys/{}/mode", "../../etc"),
            "# ../../etc would leave its folder: cat /sys/../../etc/mode");
  EXPECT_EQ(command("A=1 {}", command("x {}", "-y")), "# A=1 # -y would be an option: x -y");
  EXPECT_EQ(command("railbed plan {}", "../cluster.yaml"), "railbed plan ../cluster.yaml");
}

TEST(Shell, CommandsKnowWhatTheyAreMadeOf) {
  EXPECT_FALSE(ShellCommand("reboot").has_names());
  EXPECT_FALSE(command("x {}", 1).has_names());
  EXPECT_TRUE(command("{} {}", ShellCommand("x"), "a").has_names());
  EXPECT_TRUE(command("{} {}", command("x {}", "a"), 1).has_names());
  EXPECT_EQ(command("dmesg{}", *command("journalctl -k {}", "a b").after("journalctl -k")), "dmesg 'a b'");
  EXPECT_FALSE(ShellCommand("reboot").after("x").has_value());
}

TEST(Shell, AProgramMayHaveOptionsOfItsOwn) {
  EXPECT_EQ(command("{}", ShellWords{{"apt-get", "--yes", "install", "a b", "x;y"}}),
            "apt-get --yes install 'a b' 'x;y'");
  EXPECT_TRUE(command("{}", ShellWords{{"reboot"}}).has_names());
}

TEST(Shell, OtherProgramsReadTheirTextAsItIs) {
  EXPECT_EQ(printf_text("a%s\\n"), "a%%s\\\\n");
  EXPECT_EQ(printf_text("[x]\n\ta = 1\n"), "[x]\\n\\ta = 1\\n") << "one line";
  EXPECT_EQ(sed_pattern("a.b/e id"), "a\\.b\\/e id");
  EXPECT_EQ(sed_replacement("a&b/\\1"), "a\\&b\\/\\\\1");
}

}  // namespace
}  // namespace railbed
