// cluster.yaml and facts → the settings of a node. Pure: the same in, the same out, on any machine.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/fields.h"
#include "settings/setting.h"
#include "settings/target.h"

namespace railbed {

// All settings that cluster.yaml asks for on this node, whether they are met or not, in the order in which
// they are made. `only`: these sections; empty: all.
std::vector<Setting> render_settings(const Target& target, const std::set<Section>& only = {});

// One node's settings. `error`: why there are none; empty: there are.
struct NodeSettings {
  std::string node = {};
  std::string error = {};
  Platform platform = {};
  std::vector<Setting> settings = {};
  FIELDS(NodeSettings, node, error, platform, settings);
};

// A renderer for each section: adds its settings.
void render_packages(const Target& target, std::vector<Setting>& settings);
void render_network(const Target& target, std::vector<Setting>& settings);
void render_hosts(const Target& target, std::vector<Setting>& settings);
void render_sysctl(const Target& target, std::vector<Setting>& settings);
void render_limits(const Target& target, std::vector<Setting>& settings);
void render_modules(const Target& target, std::vector<Setting>& settings);
void render_governor(const Target& target, std::vector<Setting>& settings);
void render_services(const Target& target, std::vector<Setting>& settings);
void render_rdma(const Target& target, std::vector<Setting>& settings);
void render_qos(const Target& target, std::vector<Setting>& settings);
void render_ipoib(const Target& target, std::vector<Setting>& settings);
void render_opensm(const Target& target, std::vector<Setting>& settings);
void render_nccl(const Target& target, std::vector<Setting>& settings);
void render_console(const Target& target, std::vector<Setting>& settings);
void render_ssh(const Target& target, std::vector<Setting>& settings);
void render_exporters(const Target& target, std::vector<Setting>& settings);

}  // namespace railbed
