#include "campaign/measure/pair_ways.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/measurement.h"

namespace railbed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ParseSizes, ReadsWhatPeopleWrite) {
  EXPECT_THAT(*parse_sizes("4096,64K, 1M"), ElementsAre(4096u, 65536u, 1048576u));
  for (const char* wrong : {"", "0", "4K,", "x", "1T", "-1", "4K;8K"})
    EXPECT_FALSE(parse_sizes(wrong)) << wrong;
}

NetInterface interface(std::string name, std::string_view address, int prefix, int speed) {
  NetInterface interface;
  interface.name = std::move(name);
  interface.speed_mbps = {speed, ""};
  interface.addresses = {std::vector<InterfaceAddress>{{*IpAddress::parse(address), prefix}}, ""};
  return interface;
}
Facts machine(std::vector<NetInterface> interfaces) {
  Facts facts;
  facts.net.interfaces = {std::move(interfaces), ""};
  facts.net.default_routes = {std::vector<std::string>{"mgmt"}, ""};
  return facts;
}

TEST(PathBetween, TakesTheFastestSharedSubnetThatIsNotManagement) {
  const Facts a =
      machine({interface("mgmt", "192.168.0.1", 24, 100000), interface("slow", "10.0.0.1", 24, 1000),
               interface("fast", "10.1.0.1", 24, 40000), interface("alone", "10.9.0.1", 24, 400000)});
  const Facts b =
      machine({interface("mgmt", "192.168.0.2", 24, 100000), interface("slow", "10.0.0.2", 24, 1000),
               interface("ens6", "10.1.0.2", 24, 40000)});
  const auto path = path_between(a, "a", b, "b", "");
  ASSERT_TRUE(path);
  EXPECT_EQ(path->rail, "fast-ens6");
  EXPECT_EQ(path->b.address->to_text(), "10.1.0.2");
  const auto slow = path_between(a, "a", b, "b", "slow");
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->rail, "slow");
  const auto none = path_between(a, "a", b, "b", "alone");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().text, HasSubstr("no addresses in one subnet on alone of a"));
}

TEST(PathBetween, NamesTheInterfacesInPlaceOfOneThatIsNotThere) {
  const Facts a =
      machine({interface("mgmt", "192.168.0.1", 24, 1000), interface("fast", "10.1.0.1", 24, 40000)});
  const Facts b = machine({interface("fast", "10.1.0.2", 24, 40000)});
  const auto path = path_between(a, "a", b, "b", "nosuch");
  ASSERT_FALSE(path);
  EXPECT_EQ(path.error().kind, ErrorKind::kBadInput);
  EXPECT_EQ(path.error().text, "a has no interface \"nosuch\"; it has mgmt, fast");
  EXPECT_THAT(path_between(a, "a", b, "b", "fats").error().text, HasSubstr("did you mean \"fast\"?"));
}

TEST(PathBetween, ManagementWhereThereIsNothingElse) {
  const auto path = path_between(machine({interface("mgmt", "192.168.0.1", 24, 1000)}), "a",
                                 machine({interface("mgmt", "192.168.0.2", 24, 1000)}), "b", "");
  ASSERT_TRUE(path);
  EXPECT_EQ(path->a.interface, "mgmt");
}

Cluster joined_by(const char* interface) {
  Cluster cluster;
  Rail rail;
  rail.name = "rail0";
  rail.ports = {{"a", interface, std::nullopt}, {"b", interface, std::nullopt}};
  cluster.rails = {rail};
  return cluster;
}

TEST(ManagementPath, IsOfNoRailAndPrefersTheDefaultRoute) {
  const Facts a =
      machine({interface("rail", "10.0.0.1", 24, 40000), interface("spare", "10.5.0.1", 24, 1000),
               interface("docker0", "172.17.0.1", 16, 0), interface("mgmt", "192.168.0.1", 24, 1000)});
  const Facts b =
      machine({interface("rail", "10.0.0.2", 24, 40000), interface("spare", "10.5.0.2", 24, 1000),
               interface("docker0", "172.17.0.1", 16, 0), interface("mgmt", "192.168.0.2", 24, 1000)});
  const auto path = management_path(joined_by("rail"), a, "a", b, "b");
  ASSERT_TRUE(path);
  EXPECT_EQ(path->rail, kManagement);
  EXPECT_EQ(path->a.interface, "mgmt");
  EXPECT_EQ(path->b.address->to_text(), "192.168.0.2");
}

TEST(ManagementPath, MayBeRoutedAndIsNoneWhereTheRailIsAllThereIs) {
  const auto routed =
      management_path(joined_by("rail"), machine({interface("mgmt", "192.168.1.1", 24, 1000)}), "a",
                      machine({interface("mgmt", "192.168.2.1", 24, 1000)}), "b");
  ASSERT_TRUE(routed);
  EXPECT_EQ(routed->b.address->to_text(), "192.168.2.1");
  const Facts same =
      machine({interface("mgmt", "10.0.2.15", 24, 1000)});  // QEMU gives this address to all of its guests
  EXPECT_FALSE(management_path(joined_by("rail"), same, "a", same, "b"));
  const Facts alone = machine({interface("rail", "10.0.0.1", 24, 1000)});
  EXPECT_FALSE(management_path(joined_by("rail"), alone, "a", alone, "b"));
}

TEST(RailsBetween, NamesWhatIsMissing) {
  Cluster cluster;
  cluster.file = "cluster.yaml";
  cluster.nodes = {{}, {}};
  cluster.nodes[0].name = "a";
  cluster.nodes[1].name = "b";
  Rail rail;
  rail.name = "rail0";
  rail.ports = {{"a", "ens6", IpAddress::parse("10.0.0.1")}, {"b", "ens7", std::nullopt}};
  cluster.rails = {rail};
  const auto paths = rails_between(cluster, "a", "b", "");
  ASSERT_TRUE(paths);
  ASSERT_EQ(paths->size(), 1u);
  EXPECT_EQ(paths->front().b.interface, "ens7");
  EXPECT_FALSE(paths->front().b.address);
  EXPECT_EQ(paths->front().switched, true);
  cluster.rails.front().topology = Topology::kBackToBack;
  EXPECT_EQ(rails_between(cluster, "a", "b", "")->front().switched, false);
  EXPECT_THAT(rails_between(cluster, "a", "c", "").error().text, HasSubstr("no node \"c\""));
  EXPECT_THAT(rails_between(cluster, "a", "b", "rail1").error().text, HasSubstr("no rail \"rail1\""));
  cluster.rails.front().ports.pop_back();
  EXPECT_THAT(rails_between(cluster, "a", "b", "").error().text, HasSubstr("no rail joins a and b"));
}

}  // namespace
}  // namespace railbed
