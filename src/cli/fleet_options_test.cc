#include "cli/fleet_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "inventory/hostlist.h"

namespace railbed {
namespace {

using ::testing::ElementsAre;

TEST(FleetOptions, AreReadFromTheCommandLine) {
  CLI::App app;
  fleet::FleetOptions options;
  add_fleet_options(app, options);
  app.parse(
      "--parallel 8 --connect-timeout 3 --ssh-option Port=2222 --ssh-option User=root "
      "--agent-binary aarch64=/opt/railbed");
  EXPECT_EQ(options.parallelism, 8u);
  EXPECT_EQ(options.connect_deadline, std::chrono::seconds(3));
  EXPECT_EQ(options.start_deadline, std::chrono::seconds(8));
  EXPECT_THAT(options.ssh_options, ElementsAre("-o", "Port=2222", "-o", "User=root"));
  EXPECT_THAT(options.agent_binaries, ElementsAre(::testing::Pair("aarch64", "/opt/railbed")));
  EXPECT_TRUE(options.share_connections);
}

TEST(FleetOptions, ConnectionsEndWithTheCommandWhereThatIsAskedFor) {
  CLI::App app;
  fleet::FleetOptions options;
  add_fleet_options(app, options);
  app.parse("--no-share");
  EXPECT_FALSE(options.share_connections);
}

TEST(LauncherOptions, SayHowSlurmGivesNodes) {
  CLI::App app;
  fleet::FleetOptions options;
  add_launcher_options(app, options);
  add_nodelist_option(app, options);
  app.parse("--launcher slurm --partition gpu --nodelist gpu[01-04] --slurm-wait 5 --overlap");
  EXPECT_EQ(options.launcher, fleet::Launcher::kSlurm);
  EXPECT_EQ(options.slurm.partition, "gpu");
  EXPECT_EQ(options.nodelist, "gpu[01-04]");
  EXPECT_EQ(options.slurm.patience, std::chrono::seconds(5));
  EXPECT_TRUE(options.slurm.overlap);
}

TEST(LauncherOptions, SayWhichPodsOfWhichClusterCarryAgents) {
  CLI::App app;
  fleet::FleetOptions options;
  add_launcher_options(app, options);
  EXPECT_EQ(options.kubernetes.name_space, "railbed");
  app.parse(
      "--launcher kubernetes --namespace gpu --selector app=a,tier!=b --context me@here --kubeconfig /k");
  EXPECT_EQ(options.launcher, fleet::Launcher::kKubernetes);
  EXPECT_EQ(options.kubernetes.name_space, "gpu");
  EXPECT_EQ(options.kubernetes.selector, "app=a,tier!=b");
  EXPECT_EQ(options.kubernetes.context, "me@here");
  EXPECT_EQ(options.kubernetes.kubeconfig, "/k");
}

TEST(LauncherOptions, NonsenseIsRefused) {
  for (const char* line :
       {"--launcher pdsh", "--namespace x", "--launcher kubernetes --namespace a/b",
        "--launcher kubernetes --namespace=-x", "--launcher kubernetes --selector a=$(b)",
        "--launcher kubernetes --context=", "--partition gpu", "--launcher slurm --partition=-x", "--overlap",
        "--launcher slurm --slurm-job 7_1", "--launcher slurm --nodelist gpu[1-",
        "--launcher slurm --slurm-job 7 --partition gpu"}) {
    CLI::App app;
    fleet::FleetOptions options;
    add_launcher_options(app, options);
    add_nodelist_option(app, options);
    EXPECT_THROW(app.parse(line), CLI::ParseError) << line;
  }
}

TEST(FleetOptions, NonsenseIsRefused) {
  for (const char* line : {"--parallel 0", "--connect-timeout 0", "--agent-binary aarch64"}) {
    CLI::App app;
    fleet::FleetOptions options;
    add_fleet_options(app, options);
    EXPECT_THROW(app.parse(line), CLI::ParseError) << line;
  }
}

TEST(NodeOptions, AreOneSpellingEverywhere) {
  for (const char* line : {"c.yaml g1 g[2-3]", "c.yaml --nodes g1,g[2-3]", "--nodes g1,g[2-3] c.yaml"}) {
    CLI::App app;
    std::string cluster;
    fleet::FleetOptions options;
    app.add_option("cluster.yaml", cluster);
    add_node_arguments(app, options);
    app.parse(line);
    EXPECT_EQ(cluster, "c.yaml");
    EXPECT_EQ(options.nodelist, "g1,g[2-3]");
    EXPECT_THAT(nodes_in(options), ElementsAre("g1,g[2-3]"));

    CLI::App other;
    std::vector<std::string> nodes;
    other.add_option("cluster.yaml", cluster);
    add_nodes_options(other, nodes);
    other.parse(line);
    EXPECT_THAT(*named_hosts(nodes), ElementsAre("g1", "g2", "g3"));
  }
  EXPECT_THAT(nodes_in({}), ::testing::IsEmpty());
}

TEST(NodeOptions, AListTakesNothingBehindIt) {
  CLI::App app;
  const Action action = declare_rollback(app);
  app.parse("cluster.yaml --nodes g1 20260104T000000Z-0001");
  EXPECT_THAT(app.get_option("--nodes")->results(), ElementsAre("g1"));
  EXPECT_THAT(app.get_option("apply")->results(), ElementsAre("20260104T000000Z-0001"));
  for (const char* line : {"c.yaml g1 --nodes g2", "c.yaml g[1-"}) {
    CLI::App other;
    std::string cluster;
    fleet::FleetOptions options;
    other.add_option("cluster.yaml", cluster);
    add_node_arguments(other, options);
    EXPECT_THROW(other.parse(line), CLI::ParseError) << line;
  }
}

}  // namespace
}  // namespace railbed
