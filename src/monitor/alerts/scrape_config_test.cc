#include "monitor/alerts/scrape_config.h"

#include <gmock/gmock.h>

#include "base/json.h"

namespace railbed {
namespace {

using testing::HasSubstr;
using testing::Not;

Node node_at(std::string ssh) {
  Node node;
  node.name = "gpu01";
  node.ssh = std::move(ssh);
  return node;
}

TEST(ScrapeTarget, IsWhatSshGoesTo) {
  EXPECT_EQ(scrape_target(node_at("gpu01"), 9885), "gpu01:9885");
  EXPECT_EQ(scrape_target(node_at("ops@10.0.0.1"), 1), "10.0.0.1:1");
  EXPECT_EQ(scrape_target(node_at("ssh://ops@gpu01.lab:2222"), 9885), "gpu01.lab:9885");
  EXPECT_EQ(scrape_target(node_at("ssh://ops@[fd00::1]:2222/"), 9885), "[fd00::1]:9885");
  EXPECT_EQ(scrape_target(node_at("ops@fd00::1"), 9885), "[fd00::1]:9885");
  EXPECT_EQ(scrape_target(node_at(""), 9885), "gpu01:9885");
  Node local = node_at("");
  local.local = true;
  EXPECT_EQ(scrape_target(local, 9885), "localhost:9885");
}

TEST(ScrapeTarget, IsTheManagementAddressWhereClusterYamlSaysIt) {
  Node node = node_at("gate");
  node.configure.management_address = InterfaceAddress::parse("192.168.1.7/24");
  EXPECT_EQ(scrape_target(node, 9885), "192.168.1.7:9885");
}

TEST(ScrapeTargets, NamesCannotLeaveTheirQuotes) {
  Cluster cluster;
  cluster.name = "a\"}], \xC2\x85 {{x}}";
  cluster.nodes = {node_at("gpu01")};
  const auto groups = json::parse(render_targets(cluster, 9885));
  ASSERT_TRUE(groups);
  EXPECT_EQ((*groups)[0]["labels"]["cluster"], cluster.name);
  EXPECT_EQ((*groups)[0]["labels"]["node"], "gpu01");
  EXPECT_EQ((*groups)[0]["targets"][0], "gpu01:9885");
}

TEST(ScrapeConfig, NamesFilesOfSecretsAlone) {
  ScrapeOptions options;
  EXPECT_THAT(render_scrape_config({}, options), Not(HasSubstr("tls_config")));
  options.tls = true;
  options.authority = "/etc/ca\n.pem";
  options.user = "prometheus";
  options.password_file = "/etc/password";
  const std::string text = render_prometheus_config({}, options);
  EXPECT_THAT(text, HasSubstr("ca_file: \"/etc/ca\\n.pem\""));
  EXPECT_THAT(text, HasSubstr("password_file: \"/etc/password\""));
  EXPECT_THAT(text, HasSubstr("rule_files: [railbed.rules.yml]"));
}

}  // namespace
}  // namespace railbed
