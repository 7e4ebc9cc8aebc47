#include <fmt/format.h>

#include "settings/hosts_lines.h"
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

HostsTable table_with(std::string_view name, std::string_view address) {
  HostsTable table;
  table.add(name, *IpAddress::parse(address));
  return table;
}

TEST(HostsTable, CorrectsOnlyLinesThatContradictIt) {
  HostsTable table = table_with("gpu1", "10.0.0.1");
  table.add("gpu2-rail0", *IpAddress::parse("10.1.0.2"));
  const auto corrected = [&](std::string_view line) { return table.corrected(line, "gpu1"); };
  // Ubuntu's installer, with and without a domain; the comment and the white space stay.
  EXPECT_EQ(corrected("127.0.1.1 gpu1\n"), "10.0.0.1 gpu1\n");
  EXPECT_EQ(corrected("127.0.1.1\tgpu1.example.org  GPU1 # gpu1\r\n"),
            "10.0.0.1\tgpu1.example.org  GPU1 # gpu1\r\n");
  EXPECT_EQ(corrected("127.0.0.1 localhost gpu1\n"), "127.0.0.1 localhost\n");
  EXPECT_EQ(corrected("127.0.0.1 gpu1 localhost # x"), "127.0.0.1 localhost # x");
  EXPECT_EQ(corrected("::1 ip6-localhost gpu1"), "::1 ip6-localhost");
  EXPECT_EQ(corrected("10.0.0.9 gpu1 gpu2-rail0"), "# 10.0.0.9 gpu1 gpu2-rail0");
  EXPECT_EQ(corrected("10.1.0.9 gpu2-rail0\n"), "10.1.0.2 gpu2-rail0\n");
  EXPECT_EQ(corrected("127.0.1.1 {{fqdn}} {{hostname}}\n"), "10.0.0.1 {{fqdn}} {{hostname}}\n");
  EXPECT_EQ(corrected("127.0.0.1 ${fqdn} ${hostname} \n"), "10.0.0.1 ${fqdn} ${hostname} \n");
  for (const std::string_view right :
       {"10.0.0.1 gpu1\n", "2001:db8::1 gpu1\n", "# 127.0.1.1 gpu1\n", "127.0.1.1 gpu10 xgpu1\n",
        "127.0.1.1\n", "gpu1 127.0.1.1\n", "\n\n \t\n", "127.0.0.1 localhost", "{# {{hostname}} -#}\n", ""})
    EXPECT_EQ(corrected(right), right);
  EXPECT_EQ(table.corrected("127.0.1.1 {{hostname}}", "gpu7"), "127.0.1.1 {{hostname}}");
}

TEST(HostsTable, LeavesANameThatHasSeveralAddresses) {
  HostsTable table = table_with("gpu1-rail0", "10.0.0.1");
  table.add("gpu1-rail0", *IpAddress::parse("10.0.0.2"));
  EXPECT_EQ(table.corrected("10.0.0.2 gpu1-rail0", "gpu1"), "10.0.0.2 gpu1-rail0");
  EXPECT_EQ(table.corrected("10.0.0.3 nas gpu1-rail0", "gpu1"), "10.0.0.3 nas");
  EXPECT_EQ(table.corrected("10.0.0.3 gpu1-rail0", "gpu1"), "# 10.0.0.3 gpu1-rail0");
}

constexpr std::string_view kManaged =
    "railbed: 1\ncluster: pair\nexpect: {os: ubuntu 22.04}\nnodes:\n"
    "  - {name: gpu1, configure: {management_address: 192.168.1.1/24}}\n"
    "  - {name: gpu2, configure: {management_address: 192.168.1.2/24}}\n";

Facts facts_with(std::vector<HostsEntry> entries) {
  Facts facts;
  facts.railbed = "0";
  facts.system.os.id = {"ubuntu", "/etc/os-release"};
  facts.system.os.version = {"22.04", "/etc/os-release"};
  facts.system.hosts = {std::move(entries), "/etc/hosts"};
  return facts;
}

HostsEntry entry(std::string_view address, std::vector<std::string> names) {
  return {*IpAddress::parse(address), std::move(names)};
}

// Both orders: getaddrinfo() puts the loopback address first in either.
TEST(RenderHosts, CountsEveryLineWithAName) {
  const HostsEntry installer = entry("127.0.1.1", {"gpu1.example.org", "gpu1"});
  const HostsEntry right = entry("192.168.1.1", {"gpu1"});
  const HostsEntry other = entry("192.168.1.2", {"GPU2"});
  for (const auto& entries : {std::vector{installer, right, other}, std::vector{right, other, installer}}) {
    const Setting setting = hosts_of(sample(kManaged, {{"gpu1", facts_with(entries)}}));
    ASSERT_EQ(setting.needs.size(), 2U);
    EXPECT_EQ(setting.needs[0].now, false);
    EXPECT_EQ(setting.needs[0].found, "127.0.1.1");
    EXPECT_EQ(setting.needs[1].now, true);
  }
  const Setting met = hosts_of(sample(
      kManaged, {{"gpu1", facts_with({entry("192.168.1.1", {"gpu1.example.org", "gpu1"}), right, other})}}));
  EXPECT_EQ(met.needs[0].now, true);
  EXPECT_EQ(met.needs[0].at_boot, true);
}

TEST(RenderHosts, CorrectsTheLinesOfOthersOnceAndLeavesAllElse) {
  const Setting setting = hosts_of(sample(kManaged, {{"gpu1", facts_with({entry("127.0.1.1", {"gpu1"})})}}));
  const std::string before = "127.0.0.1 localhost\n127.0.1.1 gpu1\n\n# IPv6\n::1 ip6-localhost\n";
  const std::string after = content_after(setting.files.at(0), before);
  EXPECT_EQ(after, with_block("127.0.0.1 localhost\n192.168.1.1 gpu1\n\n# IPv6\n::1 ip6-localhost\n",
                              "192.168.1.1 gpu1\n192.168.1.2 gpu2\n"));
  EXPECT_EQ(content_after(setting.files[0], after), after);
  EXPECT_EQ(content_after(setting.files[0], after + "10.9.9.9 gpu2\n"), after + "192.168.1.2 gpu2\n");
  EXPECT_EQ(setting.files[0].hosts.seen.at(0)[1], "192.168.1.1 gpu1");
}

TEST(RenderHosts, ChangesTheTemplateOfCloudInit) {
  Facts facts = facts_with({entry("192.168.1.1", {"gpu1"}), entry("192.168.1.2", {"gpu2"})});
  facts.system.hosts_template = {{entry("127.0.1.1", {"{{fqdn}}", "{{hostname}}"})},
                                 "/etc/cloud/templates/hosts.debian.tmpl"};
  const Setting setting = hosts_of(sample(kManaged, {{"gpu1", facts}}));
  ASSERT_EQ(setting.files.size(), 2U);
  EXPECT_EQ(setting.files[1].path, "/etc/cloud/templates/hosts.debian.tmpl");
  EXPECT_EQ(setting.needs[0].now, true);
  EXPECT_EQ(setting.needs[0].at_boot, false);
  EXPECT_EQ(setting.needs[0].found, "cloud-init's template: 127.0.1.1");
  EXPECT_EQ(setting.needs[1].found, "cloud-init's template: no entry");
  const std::string text = "## template:jinja\n{# x -#}\n127.0.1.1 {{fqdn}} {{hostname}}\n";
  EXPECT_EQ(content_after(setting.files[1], text),
            with_block("## template:jinja\n{# x -#}\n192.168.1.1 {{fqdn}} {{hostname}}\n",
                       "192.168.1.1 gpu1\n192.168.1.2 gpu2\n"));
  // A path that this kind of system does not use is not believed.
  facts.system.hosts_template = {std::vector<HostsEntry>(), "/etc/cloud/templates/hosts.suse.tmpl"};
  EXPECT_EQ(hosts_of(sample(kManaged, {{"gpu1", facts}})).files.size(), 1U);
}

}  // namespace
}  // namespace railbed
