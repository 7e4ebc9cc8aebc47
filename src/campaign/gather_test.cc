#include "campaign/gather.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/files.h"
#include "base/moment.h"
#include "base/testing/temporary_folder.h"

namespace railbed {
namespace {

// A health check examines this machine, for all that cluster.yaml expects of the node.
TEST(HealthCheck, AsksForWhatItsRulesNeed) {
  const TemporaryFolder folder;
  const std::string cluster = folder.path() / "cluster.yaml";
  ASSERT_TRUE(
      write_file(cluster,
                 "railbed: 1\ncluster: one\nnodes:\n  - {name: here, local: true, expect: {checkpoint_path: "
                 "/usr, venv: /no/such/venv, container: \"no/such:1\"}}\n"));
  Sources sources;
  sources.cluster = cluster;
  sources.only = "here";
  sources.collect.log_since = "1h";
  const auto evidence = gather_evidence(sources, {}, {});
  ASSERT_TRUE(evidence) << evidence.error().text;
  const Facts& facts = evidence->nodes.at("here");
  const auto& asked = facts.system.storage.file_systems;
  EXPECT_TRUE(std::ranges::any_of(asked, [](const FileSystem& system) { return system.path == "/usr"; }));
  ASSERT_TRUE(facts.pytorch) << facts.pytorch.miss().why;
  EXPECT_TRUE(facts.container.absent()) << "a health check started a container";
  EXPECT_EQ(facts.pytorch->error, "there is no /no/such/venv/bin/python");
  EXPECT_TRUE(!facts.kernel_log || facts.kernel_log->begins > now_unix() - 3700);
}

}  // namespace
}  // namespace railbed
