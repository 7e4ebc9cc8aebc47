// node.reachable: the remedy fits the reason, and the command is the one that railbed uses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verify/verify.h"

namespace railbed {
namespace {

Finding of_lost_node(const std::string& remedy, const std::string& ssh_config) {
  Evidence evidence;
  evidence.cluster.ssh_config = ssh_config;
  Node node;
  node.name = "gpu01";
  node.ssh = "ops@10.0.0.7";
  evidence.cluster.nodes.push_back(node);
  evidence.unreachable.push_back(
      {"gpu01", {ErrorKind::kUnavailable, "gpu01: the host key is not known"}, Carrier::kSsh, remedy});
  const Verdict verdict = verify(evidence);
  for (const Finding& finding : verdict.findings)
    if (finding.rule == "node.reachable") return finding;
  return {};
}

TEST(NodeReachable, TheRemedyFitsTheReason) {
  const Finding known = of_lost_node("Compare the host key.", "/srv/pod/ssh_config");
  EXPECT_EQ(known.remedy.text, "Compare the host key.");
  EXPECT_THAT(known.remedy.commands, testing::ElementsAre("ssh -F /srv/pod/ssh_config ops@10.0.0.7 true"));
  const Finding unknown = of_lost_node("", "");
  EXPECT_THAT(unknown.remedy.text, testing::HasSubstr("power and network"));
  EXPECT_THAT(unknown.remedy.commands, testing::ElementsAre("ssh ops@10.0.0.7 true"));
}

}  // namespace
}  // namespace railbed
