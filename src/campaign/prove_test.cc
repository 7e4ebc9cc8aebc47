// Proves a cluster whose nodes and rails are all this machine. The requests to its agents are recorded.
#include "campaign/prove.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "results/all_rails.h"

namespace railbed {
namespace {

class Prove : public ::testing::Test {
 protected:
  Prove() {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "agent") << "#!/bin/sh\ntee -a " << (folder_ / "asked").string()
                                     << " | " RAILBED_TEST_AGENT " agent\n";
    std::filesystem::permissions(folder_ / "agent", std::filesystem::perms::owner_all);
  }
  ~Prove() override { std::filesystem::remove_all(folder_); }

  // Two nodes and two rails over loopback, which states no speed.
  static Cluster cluster() {
    Cluster made;
    made.name = "two";
    for (const char* name : {"one", "other"}) {
      made.nodes.emplace_back().name = name;
      made.nodes.back().local = true;
    }
    for (int i = 0; i < 2; ++i) {
      Rail& rail = made.rails.emplace_back();
      rail.name = fmt::format("rail{}", i);
      rail.fabric = Fabric::kEthernet;
      for (int host = 1; host <= 2; ++host)
        rail.ports.push_back({made.nodes[static_cast<std::size_t>(host - 1)].name, "lo",
                              IpAddress::parse(fmt::format("127.0.{}.{}", i, host))});
    }
    return made;
  }

  Result<Proof> prove_it() const {
    ReachOptions reach;
    reach.binary = (folder_ / "agent").string();
    const Caller caller{{}, [](std::string_view) {}, [](std::string_view) {}};
    return prove(cluster(), {true, 0.5}, {}, reach, caller);
  }

  std::size_t asked_for(std::string_view method) const {
    const std::string text = read_file((folder_ / "asked").string()).value_or("");
    const std::string wanted = fmt::format("\"{}\"", method);
    std::size_t count = 0;
    for (auto at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1)) ++count;
    return count;
  }

  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / fmt::format("prove-{}", getpid());
};

std::string failures_of(const std::vector<Measurement>& measurements) {
  std::string text;
  for (const Measurement& measurement : measurements)
    if (measurement.failure)
      text += fmt::format("{} {} → {}, {}: {}\n", measurement.rail, measurement.from.node,
                          measurement.to.node, measurement.operation, measurement.failure->cause);
  return text;
}

TEST_F(Prove, AsksEachNodeForItsFactsOnceAndMeasuresAllRailsAtOnce) {
  const auto proof = prove_it();
  ASSERT_TRUE(proof) << proof.error().text;
  EXPECT_EQ(asked_for("facts"), 2u);
  const auto ways = all_rails_of(proof->run.measurements);
  ASSERT_EQ(ways.size(), 2u) << failures_of(proof->run.measurements);
  for (const AllRails& way : ways) {
    ASSERT_EQ(way.rails.size(), 2u);
    EXPECT_GT(way.alone(), 0) << failures_of(proof->run.measurements);
    EXPECT_GT(way.total->summary.median, 0);
  }
  EXPECT_EQ(ways[0].total->from.node, ways[1].total->to.node);
}

}  // namespace
}  // namespace railbed
