#include "facts/network/load.h"

#include <gtest/gtest.h>

#include "facts/collectors.h"
#include "facts/network/rdma.h"
#include "host/calls.h"
#include "host/device_calls.h"
#include "host/recording_host.h"
#include "host/tree.h"

namespace railbed {
namespace {

std::unique_ptr<Host> host_of(std::string_view lines) {
  auto tree = parse_tree("railbed-tree 1\n" + std::string(lines), "t.tree", nullptr);
  EXPECT_TRUE(tree) << tree.error().text;
  return open_tree(tree ? *tree : Tree{});
}

TEST(CounterMoves, GoesRoundTheEndOf32BitsAndNoticesAReset) {
  EXPECT_EQ(moved(5, 5), 0U);
  EXPECT_EQ(moved(5, 12), 7U);
  EXPECT_EQ(moved(0xfffffff0, 0x10), 0x20U);
  EXPECT_EQ(moved(1000, 3), std::nullopt) << "the driver was loaded again";
  EXPECT_EQ(moved(std::uint64_t{1} << 40, 3), std::nullopt);
}

TEST(Load, IsReplayedFromATree) {
  const auto host = host_of(R"(@ load 10 <<END
{"seconds":10.0,"ports":[{"device":"mlx5_0","number":1,"counters":{"link_downed":2}}],"interfaces":[{"name":"ens1"}]}
END
)");
  const auto load = collect_load(*host, 10);
  ASSERT_TRUE(load);
  EXPECT_EQ(load->ports.at(0).counters.at("link_downed"), 2U);
  EXPECT_TRUE(load->interfaces.at(0).optics.absent());
  EXPECT_FALSE(load->gpus);
  EXPECT_TRUE(collect_load(*host, 7).absent()) << "a window of another length was not recorded";
}

TEST(Optics, TellsAlarmsThatAreOnFromThresholds) {
  const Optics optics = parse_optics(
      "\tModule temperature                        : 71.50 degrees C / 160.70 degrees F\n"
      "\tModule temperature high alarm             : Off\n"
      "\tModule temperature high warning           : On\n"
      "\tLaser rx power low alarm (Channel 2)      : On\n"
      "\tLaser tx power low warning (Chan 1)       : On\n"
      "\tModule temperature high alarm threshold   : 75.00 degrees C / 167.00 degrees F\n");
  EXPECT_EQ(optics.celsius, 71.5);
  EXPECT_EQ(optics.alarms, (std::vector<std::string>{"Module temperature high warning",
                                                     "Laser rx power low alarm (Channel 2)",
                                                     "Laser tx power low warning (Chan 1)"}));
}

TEST(Nvme, HealthPageIsReadWhereTheSpecificationPutsIt) {
  std::string page(512, '\0');
  page[0] = 0x04;
  page[1] = 0x3b;  // 315 K
  page[2] = 0x01;
  page[3] = 90;
  page[4] = 10;
  page[5] = 97;
  page[160] = 3;
  page[161] = 1;
  page[144] = 7;
  page[176] = 9;
  page[192] = 2;
  page[196] = 1;
  page[225] = 1;
  page[228] = 4;
  const NvmeAnswer health = parse_health_page(page);
  EXPECT_EQ(health.critical_warning, 4);
  EXPECT_EQ(health.celsius, 42);
  EXPECT_EQ(health.spare_percent, 90);
  EXPECT_EQ(health.used_percent, 97);
  EXPECT_EQ(health.media_errors, 259U);
  EXPECT_EQ(health.unsafe_shutdowns, 7U);
  EXPECT_EQ(health.log_entries, 9U);
  EXPECT_EQ(health.hot_minutes, 3U);
  EXPECT_EQ(health.throttled_seconds, 260U);
  EXPECT_FALSE(parse_health_page("short").error.empty());
}

TEST(Restricted, FunctionIsNeitherOpenedNorCounted) {
  auto tree = read_tree(RAILBED_SOURCE_DIR "/tests/machines/odd-restricted/r730-a.tree");
  ASSERT_TRUE(tree) << tree.error().text;
  const auto host = open_tree(std::move(*tree));
  RecordingHost recorder(*host);
  const Rdma rdma = collect_rdma(recorder);
  const Tree asked = recorder.tree();
  EXPECT_TRUE(asked.calls.contains("verbs except mlx5_1"));
  EXPECT_FALSE(asked.calls.contains("verbs"));
  asked.each([](const std::string& path, const TreeEntry&) {
    EXPECT_EQ(path.find("mlx5_1/ports/1/counters"), std::string::npos) << path;
  });
  ASSERT_EQ(rdma.devices->size(), 2U);
  EXPECT_FALSE(rdma.devices->at(0).ports->at(0).counters.empty()) << "the other device is looked at as ever";
}

TEST(Firewall, GarbageIsNoFirewall) {
  EXPECT_FALSE(collect_firewall(*host_of("$ nft -j list ruleset <<END\n[]\nEND\n")));
  EXPECT_FALSE(collect_firewall(*host_of("$ nft -j list ruleset ! 1 <<END\nEND\n")));
}

TEST(Hosts, LinesWithCommentsAndSeveralNames) {
  const auto hosts =
      collect_hosts(*host_of("/etc/hosts <<END\n# 10.0.0.9 old\n10.0.0.1 a a.b # c\nnonsense\nEND\n"));
  ASSERT_TRUE(hosts);
  ASSERT_EQ(hosts->size(), 1U);
  EXPECT_EQ(hosts->at(0).names, (std::vector<std::string>{"a", "a.b"}));
}

// The text of cloud-init's templates/hosts.debian.tmpl, and of what it makes of it.
TEST(Hosts, TheTemplateThatWritesThemAtBoot) {
  const std::string written =
      "/etc/hosts <<END\n# a.) make changes to the master file in /etc/cloud/templates/hosts.debian.tmpl\n"
      "127.0.1.1 gpu1\nEND\n";
  const std::string from =
      "/etc/cloud/templates/hosts.debian.tmpl <<END\n{# The value '{{hostname}}' -#}\n127.0.1.1 {{fqdn}} {{hostname}}\n"
      "END\n";
  const auto entries = collect_hosts_template(*host_of(written + from));
  ASSERT_TRUE(entries);
  EXPECT_EQ(entries.from(), "/etc/cloud/templates/hosts.debian.tmpl");
  ASSERT_EQ(entries->size(), 1U);
  EXPECT_EQ(entries->at(0).names, (std::vector<std::string>{"{{fqdn}}", "{{hostname}}"}));
  EXPECT_TRUE(collect_hosts_template(*host_of(written)).absent());
  EXPECT_TRUE(collect_hosts_template(*host_of(from)).absent());
  EXPECT_TRUE(
      collect_hosts_template(*host_of("/etc/hosts <<END\n127.0.0.1 localhost\nEND\n" + from)).absent());
  EXPECT_EQ(
      template_of_hosts("# /etc/cloud/templates/hosts.../x.tmpl\n /etc/cloud/templates/hosts.debian.tmpl\n"),
      "");
}

}  // namespace
}  // namespace railbed
