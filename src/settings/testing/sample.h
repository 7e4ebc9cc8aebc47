// A cluster to render settings for, from YAML and from machines of tests/machines.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "facts/facts.h"
#include "host/open.h"
#include "inventory/load.h"
#include "model/survey.h"
#include "settings/files.h"
#include "settings/render.h"

namespace railbed {

// Owns what its targets point into.
struct ConfiguredCluster {
  std::unique_ptr<Evidence> evidence;
  std::unique_ptr<Survey> survey;
  std::unique_ptr<ClusterWide> wide;

  Target target(std::string_view node) const {
    const NodeView* view = survey->find(node);
    EXPECT_NE(view, nullptr) << node;
    auto target = target_of(*wide, *view);
    EXPECT_TRUE(target) << (target ? "" : target.error().text);
    return *std::move(target);
  }
  // Renders one section. Checks the digest of each file and removes its line.
  std::vector<Setting> render(std::string_view node, Section only) const {
    std::vector<Setting> settings = render_settings(target(node), {only});
    for (Setting& setting : settings)
      for (DesiredFile& file : setting.files) {
        if (!file.content.starts_with(kFileMark)) continue;
        EXPECT_EQ(author_of(file.content, false), Author::kRailbed) << file.path;
        const std::size_t end = file.content.find('\n', kFileMark.size());
        file.content.erase(kFileMark.size(), end + 1 - kFileMark.size());
      }
    return settings;
  }
};

// Returns the facts of a folder of tests/machines, by node.
inline std::map<std::string, Facts> facts_of_machine(const std::string& folder) {
  std::map<std::string, Facts> facts;
  auto hosts = open_nodes(RAILBED_SOURCE_DIR "/tests/machines/" + folder);
  EXPECT_TRUE(hosts) << (hosts ? "" : hosts.error().text);
  if (hosts)
    for (NamedHost& host : *hosts) facts[host.node] = collect_facts(*host.host);
  return facts;
}

inline ConfiguredCluster sample(const Cluster& cluster, std::map<std::string, Facts> facts = {}) {
  ConfiguredCluster made{std::make_unique<Evidence>(), nullptr, nullptr};
  made.evidence->cluster = cluster;
  made.evidence->nodes = std::move(facts);
  for (const Node& node : cluster.nodes) made.evidence->nodes.try_emplace(node.name);  // without facts
  made.survey = std::make_unique<Survey>(*made.evidence);
  made.wide = std::make_unique<ClusterWide>(*made.survey);
  return made;
}

inline ConfiguredCluster sample(std::string_view yaml, std::map<std::string, Facts> facts = {}) {
  const auto cluster = parse_cluster(yaml, "cluster.yaml");
  EXPECT_TRUE(cluster) << (cluster ? "" : cluster.error().text);
  return sample(cluster.value_or(Cluster{}), std::move(facts));
}

// Loads a cluster.yaml of this repository.
inline Cluster cluster_in(const std::string& file) {
  const auto cluster = load_cluster(RAILBED_SOURCE_DIR "/" + file);
  EXPECT_TRUE(cluster) << (cluster ? "" : cluster.error().text);
  return cluster.value_or(Cluster{});
}

// Loads the cluster.yaml of a folder of tests/machines.
inline Cluster cluster_of_machine(const std::string& folder) {
  return cluster_in("tests/machines/" + folder + "/cluster.yaml");
}
inline ConfiguredCluster captured(const std::string& folder) {
  return sample(cluster_of_machine(folder), facts_of_machine(folder));
}

// Loads an example of the guides, without facts.
inline Cluster example(const std::string& name) { return cluster_in("examples/" + name + ".yaml"); }

}  // namespace railbed
