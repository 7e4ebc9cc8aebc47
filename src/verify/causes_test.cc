#include "verify/causes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed {
namespace {

Finding red(std::string_view rule, std::string node, Things touches, Status status = Status::kFail) {
  Finding finding;
  finding.rule = rule;
  finding.node = std::move(node);
  finding.subject = "x";
  finding.touches = std::move(touches);
  finding.status = status;
  return finding;
}

FindingList list_of(std::vector<Finding>& findings) {
  FindingList list;
  for (Finding& finding : findings) list.push_back(&finding);
  return list;
}

std::string root_of(const std::vector<Finding>& findings, std::size_t index) {
  const auto cause = findings[index].caused_by;
  return cause ? fmt::format("{}@{}", findings[*cause].rule, findings[*cause].node) : "";
}

TEST(LinkCauses, FollowsAChainToItsEnd) {
  std::vector<Finding> findings = {
      red("rdma.gid", "a", {"netdev:eth1", "rail:r"}),
      red("rdma.port-state", "a", {"netdev:eth1", "rail:r"}),
      red("net.admin-up", "a", {"netdev:eth1", "rail:r"}),
      red("measured.failed", "", {"rail:r", "node:a", "node:b"}),
  };
  link_causes(list_of(findings), all_rules());
  EXPECT_EQ(root_of(findings, 0), "net.admin-up@a");
  EXPECT_EQ(root_of(findings, 1), "net.admin-up@a");
  EXPECT_EQ(root_of(findings, 2), "");
  EXPECT_EQ(root_of(findings, 3), "net.admin-up@a");
}

TEST(LinkCauses, KeepsApartWhatSharesNothing) {
  std::vector<Finding> findings = {
      red("net.admin-up", "a", {"netdev:eth1", "rail:r"}),
      red("rdma.port-state", "a", {"netdev:eth2", "rail:s"}),      // another interface
      red("rdma.port-state", "b", {"netdev:eth1", "rail:r"}),      // another node
      red("measured.failed", "", {"rail:r", "node:d", "node:e"}),  // the rail, between other nodes
  };
  link_causes(list_of(findings), all_rules());
  for (std::size_t i = 1; i < findings.size(); ++i) EXPECT_EQ(root_of(findings, i), "") << i;
}

TEST(LinkCauses, AWholeNodeExplainsWhatNamesIt) {
  std::vector<Finding> findings = {
      red("node.reachable", "b", {"node:b"}),
      red("measured.failed", "", {"rail:r", "node:a", "node:b"}),
      red("measured.failed", "", {"rail:r", "node:a", "node:c"}),
  };
  link_causes(list_of(findings), all_rules());
  EXPECT_EQ(root_of(findings, 1), "node.reachable@b");
  EXPECT_EQ(root_of(findings, 2), "");
}

TEST(LinkCauses, OnlyARedFindingExplains) {
  std::vector<Finding> findings = {
      red("net.admin-up", "a", {"netdev:eth1"}, Status::kPass),
      red("rdma.port-state", "a", {"netdev:eth1"}),
  };
  link_causes(list_of(findings), all_rules());
  EXPECT_EQ(root_of(findings, 1), "");
}

TEST(LinkCauses, ACauseIsAsBadAsWhatItExplains) {
  std::vector<Finding> findings = {
      red("net.admin-up", "a", {"netdev:eth1"}, Status::kWarn),
      red("rdma.port-state", "a", {"netdev:eth1"}, Status::kFail),
      red("net.admin-up", "a", {"netdev:eth2"}, Status::kWarn),
      red("rdma.port-state", "a", {"netdev:eth2"}, Status::kWarn),
      red("rdma.gid", "a", {"netdev:eth2"}, Status::kUnknown),
  };
  link_causes(list_of(findings), all_rules());
  EXPECT_EQ(root_of(findings, 1), "net.admin-up@a");
  EXPECT_EQ(findings[0].status, Status::kFail) << "it explains a failure";
  EXPECT_EQ(root_of(findings, 3), "net.admin-up@a");
  EXPECT_EQ(findings[2].status, Status::kWarn) << "it explains a warning and what could not be looked at";
}

Finding blind(std::string_view rule, std::string node, std::string why) {
  Finding finding = red(rule, std::move(node), {}, Status::kUnknown);
  finding.message = "could not look: " + why;
  finding.evidence = "some path";
  return finding;
}

TEST(LinkCauses, FoldsWhatTheSameHindranceKeptFromLooking) {
  std::vector<Finding> findings = {
      blind("net.interface", "a", "absent: No such file or directory (/sys/class/net)"),
      blind("net.mtu", "a", "absent: No such file or directory (/sys/class/net)"),
      blind("gpu.driver", "a", "absent: No such file or directory (/sys/bus/pci/devices)"),
      blind("net.mtu", "b", "absent: No such file or directory (/sys/class/net)"),
      blind("rdma.rate", "a",
            "absent: No such file or directory (/sys/class/infiniband/mlx5_0/ports/1/rate)"),
      blind("rdma.lid", "a", "denied: Permission denied (/sys/class/net)"),
      red("net.admin-up", "a", {"netdev:eth1"}),
  };
  link_causes(list_of(findings), all_rules());
  EXPECT_EQ(root_of(findings, 0), "");
  EXPECT_EQ(root_of(findings, 1), "net.interface@a");
  EXPECT_EQ(root_of(findings, 2), "net.interface@a") << "all of /sys is missing";
  EXPECT_EQ(root_of(findings, 3), "") << "another node";
  EXPECT_EQ(root_of(findings, 4), "") << "one file of a device is another cause";
  EXPECT_EQ(root_of(findings, 5), "") << "another reason";
  EXPECT_EQ(root_of(findings, 6), "");
}

TEST(PutInOrder, WorstFirstRootsBeforeConsequencesThenByNodes) {
  std::vector<Finding> findings = {
      red("host.swap", "a", {}, Status::kWarn),
      red("host.disk-space", "a", {}, Status::kUnknown),
      red("gpu.count", "a", {"gpus"}),
      red("gpu.driver", "a", {"gpus"}),
      red("gpu.driver", "b", {"gpus"}),
      red("rdma.port-state", "c", {"netdev:eth1"}),
      red("net.admin-up", "c", {"netdev:eth1"}, Status::kWarn),
      red("of.another-version", "a", {}, Status::kPass),
      red("host.swap", "b", {}, Status::kPass),
  };
  link_causes(list_of(findings), all_rules());
  FindingList list = list_of(findings);
  put_in_order(list, all_rules());
  std::vector<std::string> order;
  for (const Finding* finding : list) order.push_back(fmt::format("{}@{}", finding->rule, finding->node));
  // The warning stands first: it explains a failure, and is one. The driver is missing on two nodes, the GPU on one.
  EXPECT_THAT(order, testing::ElementsAre("net.admin-up@c", "rdma.port-state@c", "gpu.driver@a",
                                          "gpu.driver@b", "gpu.count@a", "host.swap@a", "host.disk-space@a",
                                          "host.swap@b", "of.another-version@a"));
  EXPECT_EQ(list[1]->caused_by, 0U);
}

}  // namespace
}  // namespace railbed
