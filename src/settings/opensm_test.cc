#include <gmock/gmock.h>

#include "settings/files.h"
#include "settings/testing/sample.h"

namespace railbed {
namespace {

std::string fabric_yaml(const std::string& os) {
  return "railbed: 1\ncluster: one\nfabric: infiniband\nexpect: {os: " + os +
         "}\nnodes: [{name: n1, expect: {subnet_manager: true}}, {name: n2, expect: {subnet_manager: true}}, n3]\n"
         "rails: [{name: ib, subnet: 10.1.0.0/24, interface: ib0, first_address: 10.1.0.1, mtu: 4092}]\n";
}

TEST(RenderOpensm, GivesEachManagerItsPriorityAndThePartitionItsMtu) {
  const ConfiguredCluster all = sample(fabric_yaml("ubuntu 24.04"));
  const auto settings = all.render("n1", Section::kOpensm);
  ASSERT_EQ(settings.size(), 2U);
  EXPECT_EQ(settings[0].files[0].path, "/etc/opensm/opensm.conf");
  EXPECT_EQ(settings[0].files[0].content, "sm_priority 14\n");
  EXPECT_TRUE(settings[0].files[0].block);
  ASSERT_EQ(settings[0].files.size(), 1U);  // no port is known
  EXPECT_EQ(settings[1].files[0].path, "/etc/opensm/partitions.conf");
  EXPECT_EQ(settings[1].files[0].content,
            std::string(kFileMark) + "Default=0x7fff, ipoib, mtu=5 : ALL=full;\n");
  EXPECT_EQ(all.render("n2", Section::kOpensm)[0].files[0].content, "sm_priority 13\n");
  EXPECT_TRUE(all.render("n3", Section::kOpensm).empty());
}

TEST(RenderOpensm, KnowsRedHatsFolder) {
  const auto settings = sample(fabric_yaml("rhel 9.4")).render("n1", Section::kOpensm);
  EXPECT_EQ(settings.at(0).files[0].path, "/etc/rdma/opensm.conf");
  EXPECT_EQ(settings.at(1).files[0].path, "/etc/rdma/partitions.conf");
}

TEST(RenderOpensm, ServesThePortsOfRails) {
  Facts facts = facts_of_machine("r730-cx4").at("r730-a");
  facts.system.services = {std::vector<Service>{{"opensm", "loaded", "active", "disabled", 9}}, ""};
  const auto settings = sample(fabric_yaml("ubuntu 24.04"), {{"n1", facts}}).render("n1", Section::kOpensm);
  ASSERT_EQ(settings.at(0).files.size(), 2U);
  EXPECT_TRUE(settings[0].files[1].block);
  EXPECT_THAT(settings[0].files[1].content, testing::MatchesRegex("(PORTS|GUIDS)=\"0x[0-9a-f]{16}\"\n"));
  EXPECT_EQ(settings[0].needs[0].now, true);
  EXPECT_EQ(settings[0].needs[0].at_boot, false);
  EXPECT_EQ(settings[0].needs[0].found, "it does not start at boot");
  EXPECT_EQ(settings[0].steps.size(), 2U);  // it is installed
}

}  // namespace
}  // namespace railbed
