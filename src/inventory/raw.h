// What a cluster.yaml said, value by value with its place, before anything is checked against anything else.
// Private to this room: read.cc fills it, resolve.cc turns it into a Cluster.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml.h"
#include "inventory/cluster.h"

namespace railbed {

template <class T>
struct Raw {
  T value{};
  Spot spot;
};
template <class T>
using Said = std::optional<Raw<T>>;

// Text that may hold ranges; `inside` is where its first character stands, when a caret can point into it.
struct RawPattern {
  std::string text;
  Spot spot;
  std::optional<std::size_t> inside;
};

struct RawExpect {
  Expectations values;
  bool fraction_said = false;  // fraction_of_ceiling has a default and cannot tell by itself
};

struct RawConfigure {
  Configuration values;
  Spot address_spot;  // of management_address, which counts up
};

struct RawNode {
  RawPattern name;
  std::optional<RawPattern> ssh;
  std::optional<RawPattern> bmc;
  Said<bool> local;
  RawExpect expect;
  RawConfigure configure;
};

struct RawPort {
  RawPattern nodes;
  Said<std::string> interface;
  Said<IpAddress> address;  // of the first node; counts up along the others
};

// What the top level says for every rail, and a rail may say for itself.
struct RawLink {
  std::optional<Fabric> fabric;
  std::optional<Topology> topology;
  Said<int> mtu;
  Said<BitRate> speed;
  Said<int> vlan;
  Said<std::string> rdma_driver;
};

struct RawRail {
  Spot spot;
  Raw<std::string> name;
  RawLink link;
  Said<Subnet> subnet;
  Said<std::string> interface;
  Said<IpAddress> first_address;
  std::vector<RawPattern> nodes;
  std::optional<Spot> ports_spot;
  std::vector<RawPort> ports;
  bool misread = false;  // something of it was complained of: what is missing now is no news
};

struct RawPart {
  Spot spot;
  ClusterPart values;  // all but rails and nodes
  std::vector<Raw<std::string>> rails;
  std::vector<RawPattern> nodes;
};

struct RawCluster {
  std::string name;
  std::string ssh_config;
  std::string ssh_user;
  BmcAccess bmc;  // password_file as it was written
  RawLink link;
  RawExpect expect;
  RawConfigure configure;
  std::vector<RawNode> nodes;
  bool nodes_misread = false;
  std::vector<RawRail> rails;
  std::vector<RawPart> parts;
};

// What the kernel takes for an interface (dev_valid_name in net/core/dev.c), of visible characters.
bool is_interface(std::string_view text);

// Takes what can be taken; complains of the rest.
RawCluster read_raw(const YamlValue& root, Complaints& complaints);
// Checks everything against everything. `folder` is what a relative ssh.config starts from.
Cluster resolve(const RawCluster& raw, std::string_view folder, Complaints& complaints);

}  // namespace railbed
