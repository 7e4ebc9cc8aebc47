#include <fmt/format.h>

#include "settings/testing/sample.h"

namespace railbed {
namespace {

ConfiguredCluster nodes_with_hosts(std::string_view nodes, std::vector<HostsEntry> entries) {
  Facts facts;
  facts.railbed = "0";
  facts.system.hosts = {std::move(entries), "/etc/hosts"};
  return sample("railbed: 1\ncluster: many\nexpect: {os: debian 12}\nnodes: [\"" + std::string(nodes) +
                    "\"]\n"
                    "rails: [{name: rail0, subnet: 10.0.0.0/24, interface: ens6, first_address: 10.0.0.1}]\n",
                {{"gpu1", facts}});
}

Setting hosts_of(const ConfiguredCluster& cluster) { return cluster.render("gpu1", Section::kHosts).at(0); }

TEST(RenderHosts, AsksForEachNameOfAFewNodes) {
  const HostsEntry other{*IpAddress::parse("10.0.0.9"), {"gpu2-rail0"}};
  const Setting setting = hosts_of(nodes_with_hosts("gpu[1-2]", {other}));
  ASSERT_EQ(setting.needs.size(), 2U);
  EXPECT_EQ(setting.needs[0].what, "gpu1-rail0 is 10.0.0.1");
  EXPECT_EQ(setting.needs[0].found, "no entry");
  EXPECT_EQ(setting.needs[1].now, false);
  EXPECT_EQ(setting.needs[1].found, "10.0.0.9");
  EXPECT_EQ(setting.files.at(0).content, "10.0.0.1 gpu1-rail0\n10.0.0.2 gpu2-rail0\n");
}

TEST(RenderHosts, TellsTheNamesOfManyNodesTogether) {
  std::vector<HostsEntry> entries;
  for (int i = 1; i <= 99; ++i)
    entries.push_back({*IpAddress::parse(fmt::format("10.0.0.{}", i)), {fmt::format("gpu{}-rail0", i)}});
  const Setting almost = hosts_of(nodes_with_hosts("gpu[1-100]", entries));
  ASSERT_EQ(almost.needs.size(), 65U);
  EXPECT_EQ(almost.needs.front().now, true);
  EXPECT_EQ(almost.needs.back().what, "36 more names have their addresses");
  EXPECT_EQ(almost.needs.back().found, "missing or different: 1");
  entries.push_back({*IpAddress::parse("10.0.0.100"), {"gpu100-rail0"}});
  EXPECT_EQ(hosts_of(nodes_with_hosts("gpu[1-100]", entries)).needs.back().now, true);
}

}  // namespace
}  // namespace railbed
