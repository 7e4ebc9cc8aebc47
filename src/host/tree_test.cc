#include "host/tree.h"

#include <gtest/gtest.h>

#include "host/recording_host.h"

namespace railbed {
namespace {

Result<Tree> no_base(const std::string& base) { return fail(ErrorKind::kBadInput, "no bases here: " + base); }

Tree parsed(std::string_view text) {
  auto tree = parse_tree(text, "t.tree", no_base);
  EXPECT_TRUE(tree) << tree.error().text;
  return tree ? *tree : Tree{};
}

std::string complaint(std::string_view text) {
  const auto tree = parse_tree(text, "t.tree", no_base);
  return tree ? "" : tree.error().text;
}

constexpr std::string_view kSample = R"(railbed-tree 1
# two interfaces
/sys/class/net/ens6 -> ../../devices/pci0000:00/0000:02:00.0/net/ens6
/sys/class/net/ens6/mtu = 9000
/sys/class/net/ens6/device -> ../..
/sys/class/net/lo/speed ! EINVAL
/sys/module/mlx4_core/
/sys/devices/pci0000:00/0000:02:00.0/config = hex:b31507
/etc/os-release <<END
ID=debian
VERSION_ID="12"
END
$ ip -j address show <<END
[]
END
$ systemctl show ! 1 <<END
END
$ lspci ! absent: lspci is not installed
@ verbs <<END
{}
END
)";

TEST(Tree, ServesFilesLinksFailuresFoldersCommandsAndCalls) {
  const auto host = open_tree(parsed(kSample));
  EXPECT_EQ(host->read_line("/sys/class/net/ens6/mtu").value(), "9000");
  EXPECT_EQ(host->read("/etc/os-release").value(), "ID=debian\nVERSION_ID=\"12\"\n");
  EXPECT_EQ(host->resolve("/sys/class/net/ens6/device").value(), "/sys/devices/pci0000:00/0000:02:00.0");
  EXPECT_EQ(host->read("/sys/class/net/ens6/device/config").value(), "\xb3\x15\x07");
  EXPECT_EQ(host->read("/sys/class/net/ens6/device/config", 2).value(), "\xb3\x15");
  const auto speed = host->read("/sys/class/net/lo/speed");
  EXPECT_EQ(speed.miss(), (Miss{Missing::kUnsupported, "Invalid argument"}));
  EXPECT_EQ(host->list("/sys/class/net").value(), (std::vector<std::string>{"ens6", "lo"}));
  EXPECT_EQ(host->list("/sys/module").value(), (std::vector<std::string>{"mlx4_core"}));
  EXPECT_TRUE(host->list("/sys/module/mlx4_core").value().empty());
  EXPECT_TRUE(host->read("/sys/class/net/ens7/mtu").absent());
  EXPECT_TRUE(host->list("/sys/class/infiniband").absent());
  EXPECT_EQ(host->run({"ip", "-j", "address", "show"}).value().output, "[]\n");
  EXPECT_EQ(host->run({"systemctl", "show"}).value().exit_code, 1);
  EXPECT_EQ(host->run({"lspci"}).miss(), (Miss{Missing::kAbsent, "lspci is not installed"}));
  EXPECT_TRUE(host->run({"ip", "link"}).absent());
  EXPECT_EQ(host->call("verbs").value(), "{}\n");
  EXPECT_TRUE(host->call("uname").absent());
}

TEST(Tree, WritesWhatItReads) {
  const Tree tree = parsed(kSample);
  const std::string text = write_tree(tree);
  const Tree again = parsed(text);
  EXPECT_EQ(again.root, tree.root);
  EXPECT_EQ(again.commands, tree.commands);
  EXPECT_EQ(again.calls, tree.calls);
  EXPECT_EQ(write_tree(again), text);
}

TEST(Tree, KeepsOddContentWhole) {
  Tree tree;
  for (const std::string content : {"hex:00\n", "a\nEND\nEND1\nb\n", "  spaces  \n", "tab\there\n", "µ\n"})
    ASSERT_TRUE(tree.set("/f" + std::to_string(tree.size()), {TreeEntry::Kind::kFile, content, 0}));
  ASSERT_TRUE(tree.set("/bytes", {TreeEntry::Kind::kFile, std::string("\0\xff\r\n", 4), 0}));
  ASSERT_TRUE(tree.set("/a b\\c", {TreeEntry::Kind::kFile, "x\n", 0}));
  EXPECT_EQ(parsed(write_tree(tree)).root, tree.root);
}

TEST(Tree, AMissMayHoldWhatMeansSomethingInALine) {
  Tree tree;
  const std::map<std::string, std::string> whys = {
      {"a", "no << here"}, {"b", "failed ! badly"}, {"c", "<"}, {"d", " !"}, {"e", ""}};
  for (const auto& [name, why] : whys) {
    const Miss miss{Missing::kAbsent, why};
    tree.commands.insert_or_assign(name, Reading<CommandOutput>(miss, name));
    tree.calls.insert_or_assign(name, Reading<std::string>(miss, name));
  }
  const std::string text = write_tree(tree);
  const Tree again = parsed(text);
  EXPECT_EQ(again.calls.size(), tree.calls.size());
  EXPECT_EQ(again.commands.at("a").miss().why, "no    here");
  EXPECT_EQ(again.commands.at("b").miss().why, "failed   badly");
  EXPECT_EQ(write_tree(again), text);
}

TEST(Tree, NothingLeavesTheRoot) {
  const auto host =
      open_tree(parsed("railbed-tree 1\n/a/up -> ../../../../etc/passwd\n/etc/passwd = inside\n"
                       "/a/ring -> ring\n"));
  EXPECT_EQ(host->read_line("/a/up").value(), "inside");
  EXPECT_EQ(host->read_line("/a/../../../etc/passwd").value(), "inside");
  EXPECT_EQ(host->read("/a/ring").miss().why, "Too many levels of symbolic links");
}

TEST(Tree, LaterLinesOverrideAndRemove) {
  const Tree tree = parsed(
      "railbed-tree 1\n/n/a/mtu = 1500\n/n/a/speed = 10\n/n/b/mtu = 1500\n/n/a/mtu = 9000\n"
      "/n/a/speed ! EINVAL\n- /n/b\n- /n/a/none\n");
  const auto host = open_tree(tree);
  EXPECT_EQ(host->read_line("/n/a/mtu").value(), "9000");
  EXPECT_FALSE(host->read("/n/a/speed").ok());
  EXPECT_EQ(host->list("/n").value(), std::vector<std::string>{"a"});
}

TEST(Tree, AFolderStaysWhenTheLastThingInItGoes) {
  const auto host =
      open_tree(parsed("railbed-tree 1\n/sys/class/infiniband/mlx4_0/state = 4\n"
                       "- /sys/class/infiniband/mlx4_0\n"));
  EXPECT_TRUE(host->list("/sys/class/infiniband").value().empty());
}

TEST(Tree, BasesAreLaidUnder) {
  const auto tree = parse_tree("railbed-tree 1\nbase: b.tree\n/a/mtu = 1500\n", "t.tree",
                               [](const std::string& base) -> Result<Tree> {
                                 EXPECT_EQ(base, "b.tree");
                                 return parsed("railbed-tree 1\n/link -> /a\n/a/mtu = 9000\n/a/up = 1\n");
                               });
  ASSERT_TRUE(tree);
  const auto host = open_tree(*tree);
  EXPECT_EQ(host->read_line("/link/mtu").value(), "1500");
  EXPECT_EQ(host->read_line("/a/up").value(), "1");
}

TEST(Tree, ComplainsWithTheLine) {
  EXPECT_EQ(
      complaint("nonsense"),
      "t.tree:1: a tree file starts with the line \"railbed-tree 1\"; nor is this a report or an output that "
      "railbed reads (docs/how-to/from-a-sosreport.md lists them)");
  EXPECT_EQ(complaint("railbed-tree 1\n/a = 1\nb = 2\n"),
            "t.tree:3: expected a path, \"- path\", \"$ command\", \"@ call\" or \"~ call\"");
  EXPECT_EQ(complaint("railbed-tree 1\n/a/../b = 1\n"), "t.tree:2: not an absolute path without . and ..");
  EXPECT_EQ(complaint("railbed-tree 1\n/a <<END\nx\n"), "t.tree:2: no line that is just END follows");
  EXPECT_EQ(complaint("railbed-tree 1\n/a ! EWHAT\n"),
            "t.tree:2: not the name of an errno value, such as EINVAL");
  EXPECT_EQ(complaint("railbed-tree 1\n/a = hex:0g\n"),
            "t.tree:2: hex: wants an even number of hexadecimal digits");
  EXPECT_EQ(complaint("railbed-tree 1\n/a = 1\n/a/b = 2\n"), "t.tree:3: /a is not a folder");
  EXPECT_EQ(complaint("railbed-tree 1\n/a/b = 1\n/a = 2\n"), "t.tree:3: /a is a folder that holds /a/b");
  EXPECT_EQ(complaint("railbed-tree 1\n/a = 1\nbase: x.tree\n"), "t.tree:3: base: comes first");
  EXPECT_EQ(complaint("railbed-tree 1\n$ ip ! 300 <<END\nEND\n"),
            "t.tree:2: expected an exit code from 0 to 255 after !");
  EXPECT_EQ(complaint("railbed-tree 1\n$ a ! b ! 0 <<END\nEND\n"), "t.tree:2: expected a command's words");
  EXPECT_EQ(complaint(std::string_view("railbed-tree 1\n/a -> b\0c\n", 24)), "t.tree:2: not a link target");
  EXPECT_EQ(complaint("railbed-tree 1\nbase: x\n"), "t.tree:2: base: no bases here: x");
}

TEST(RecordingHost, GivesTheSameAnswersAgain) {
  const auto inner = open_tree(parsed(kSample));
  RecordingHost recorder(*inner);
  const auto look = [](Host& host) {
    std::string seen;
    const auto add = [&](const auto& reading) { seen += reading.ok() ? "ok " : reading.miss().why + " "; };
    add(host.list("/sys/class/net"));
    add(host.list("/sys/class/infiniband"));
    add(host.resolve("/sys/class/net/ens6/device"));
    add(host.resolve("/sys/module/mlx4_core"));
    add(host.read("/sys/class/net/lo/speed"));
    add(host.read("/sys/class/net/lo/mtu"));
    seen += host.read_line("/sys/class/net/ens6/mtu").value_or("?");
    add(host.run({"lspci"}));
    add(host.run({"systemctl", "show"}));
    add(host.call("verbs"));
    add(host.call("uname"));
    return seen;
  };
  const std::string first = look(recorder);
  const Tree recorded = recorder.tree();
  EXPECT_EQ(look(*open_tree(recorded)), first);
  // Exactly the paths that were read: the rest of the machine is not in it.
  EXPECT_FALSE(recorded.has("/etc/os-release"));
  EXPECT_FALSE(recorded.commands.contains("ip -j address show"));
  EXPECT_TRUE(parse_tree(write_tree(recorded), "t", no_base));
}

// Found by the fuzzer: removing a missing entry left folders behind, one inside the other.
TEST(TreeText, RemovingWhatIsNotThereChangesNothing) {
  const Tree tree =
      parsed("railbed-tree 1\n- /sys/class/nvme/nvme0\n- /sys/class/infiniband/mlx4_0\n- /etc\n");
  EXPECT_EQ(tree.size(), 0u);
}

TEST(TreeText, AMergePatchChangesPartOfAnAnswer) {
  constexpr std::string_view kBase = "railbed-tree 1\n@ nvml <<END\n{\"a\":{\"b\":1,\"c\":2},\"d\":3}\nEND\n";
  const auto tree =
      parse_tree(std::string(kBase) + "~ nvml <<END\n{\"a\":{\"b\":7},\"d\":null}\nEND\n", "t", nullptr);
  ASSERT_TRUE(tree) << tree.error().text;
  EXPECT_EQ(tree->calls.at("nvml").value(), "{\"a\":{\"b\":7,\"c\":2}}\n");
  for (const char* bad : {"~ other <<END\n{}\nEND\n", "~ nvml <<END\n{\nEND\n", "~ nvml\n"}) {
    const auto refused = parse_tree(std::string(kBase) + bad, "t", nullptr);
    ASSERT_FALSE(refused) << bad;
    EXPECT_NE(refused.error().text.find("t:"), std::string::npos) << refused.error().text;
  }
}

}  // namespace
}  // namespace railbed
