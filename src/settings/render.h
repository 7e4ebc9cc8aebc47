// Renders the settings of a node from cluster.yaml and facts. Pure functions: equal input gives equal output
// on any machine.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/fields.h"
#include "settings/setting.h"
#include "settings/target.h"

namespace railbed {

// Returns all settings that cluster.yaml requests for this node, met or not, in the order in which they are
// applied. `only` limits them to these sections; empty: all sections.
std::vector<Setting> render_settings(const Target& target, const std::set<Section>& only = {});

// One node's settings. `error` is the reason why there are none; empty if there are.
struct NodeSettings {
  std::string node = {};
  std::string error = {};
  Platform platform = {};
  std::vector<Setting> settings = {};
  FIELDS(NodeSettings, node, error, platform, settings);
};

// One renderer for each section. Appends its settings.
void render_packages(const Target& target, std::vector<Setting>& settings);
void render_network(const Target& target, std::vector<Setting>& settings);
void render_hosts(const Target& target, std::vector<Setting>& settings);
void render_sysctl(const Target& target, std::vector<Setting>& settings);
void render_limits(const Target& target, std::vector<Setting>& settings);
void render_modules(const Target& target, std::vector<Setting>& settings);
void render_governor(const Target& target, std::vector<Setting>& settings);
void render_services(const Target& target, std::vector<Setting>& settings);
void render_mig(const Target& target, std::vector<Setting>& settings);  // of kServices, too
void render_mps(const Target& target, std::vector<Setting>& settings);  // likewise
void render_rdma(const Target& target, std::vector<Setting>& settings);
void render_qos(const Target& target, std::vector<Setting>& settings);
void render_ipoib(const Target& target, std::vector<Setting>& settings);
void render_opensm(const Target& target, std::vector<Setting>& settings);
void render_storage(const Target& target, std::vector<Setting>& settings);
void render_nfs(const Target& target, std::vector<Setting>& settings);  // of the section storage, too
void render_nccl(const Target& target, std::vector<Setting>& settings);
void render_console(const Target& target, std::vector<Setting>& settings);
void render_ssh(const Target& target, std::vector<Setting>& settings);
void render_exporters(const Target& target, std::vector<Setting>& settings);

}  // namespace railbed
