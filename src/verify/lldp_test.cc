// A swapped cable where no plan names the switches: what most ends show.
#include <gtest/gtest.h>

#include "inventory/load.h"
#include "verify/verify.h"

namespace railbed {
namespace {

NetInterface interface_called(const char* name) {
  NetInterface interface;
  interface.name = name;
  return interface;
}

Facts plugged_into(const char* first, const char* second) {
  Facts facts;
  facts.net.interfaces = {{interface_called("a"), interface_called("b")}, "test"};
  facts.net.lldp = {{{"a", first, first, "p1", {}, {}}, {"b", second, second, "p1", {}, {}}}, "lldpcli"};
  return facts;
}

std::vector<Finding> red_ends(const std::vector<Facts>& nodes) {
  const auto cluster = parse_cluster(R"(railbed: 1
cluster: lab
nodes: ["n[1-4]"]
rails:
  - {name: ra, interface: a, subnet: 10.0.0.0/24, first_address: 10.0.0.1}
  - {name: rb, interface: b, subnet: 10.0.1.0/24, first_address: 10.0.1.1}
)",
                                     "cluster.yaml");
  EXPECT_TRUE(cluster) << cluster.error().text;
  Evidence evidence;
  evidence.cluster = *cluster;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    evidence.nodes.emplace("n" + std::to_string(i + 1), nodes[i]);
  std::vector<Finding> found;
  for (const Finding& finding : verify(evidence).findings)
    if (finding.rule == "net.switch-of-rail" && finding.status == Status::kFail) found.push_back(finding);
  return found;
}

TEST(SwitchOfRail, TheOddEndsAreNamed) {
  const Facts fine = plugged_into("leafA", "leafB");
  const auto found = red_ends({fine, plugged_into("leafB", "leafA"), fine, fine});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].node, "n2");
  EXPECT_EQ(found[1].node, "n2");
}

TEST(SwitchOfRail, SharedSwitchesAreNoSwap) {
  const Facts shared = plugged_into("leaf", "leaf");
  EXPECT_TRUE(red_ends({shared, shared, shared, shared}).empty());
  // Two switches for each rail, as in a large pod.
  EXPECT_TRUE(red_ends({plugged_into("A1", "B1"), plugged_into("A1", "B1"), plugged_into("A2", "B2"),
                        plugged_into("A2", "B2")})
                  .empty());
}

}  // namespace
}  // namespace railbed
