// The values of a cluster.yaml with their places in the text, before they are checked against each other.
// Private to this room: read.cc fills it, resolve.cc turns it into a Cluster.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml.h"
#include "inventory/cluster.h"

namespace railbed {

// A value and its place in the text.
template <class T>
struct Raw {
  T value{};
  Spot spot;
};
template <class T>
using Said = std::optional<Raw<T>>;

// Text that may contain ranges. `inside` is the offset of its first character in the file; nullopt if the
// text is not literally in the file, so that a caret cannot point into it.
struct RawPattern {
  std::string text;
  Spot spot;
  std::optional<std::size_t> inside;
};

struct RawExpect {
  Expectations values;
  bool fraction_said = false;  // the file sets fraction_of_ceiling, whose default hides that
};

struct RawConfigure {
  Configuration values;
  Spot address_spot;  // place of management_address, which counts up along the nodes
};

// An entry of `nodes:`, which may be a range of nodes.
struct RawNode {
  RawPattern name;
  std::optional<RawPattern> ssh;
  std::optional<RawPattern> bmc;
  Said<bool> local;
  RawExpect expect;
  RawConfigure configure;
};

// An entry of a rail's `ports:`, for one node or a range of nodes.
struct RawPort {
  RawPattern nodes;
  Said<std::string> interface;
  Said<IpAddress> address;  // address of the first node; counts up along the others
};

// Settings of a link: the top level has them for all rails, and each rail may override them.
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
  std::optional<RailPurpose> purpose;
  RawLink link;
  Said<Subnet> subnet;
  Said<std::string> interface;
  Said<IpAddress> first_address;
  std::vector<RawPattern> nodes;
  std::optional<Spot> ports_spot;
  std::vector<RawPort> ports;
  bool misread = false;  // part of it was rejected, so missing values are not reported
};

struct RawPart {
  Spot spot;
  ClusterPart values;  // all values except rails and nodes
  std::vector<Raw<std::string>> rails;
  std::vector<RawPattern> nodes;
};

struct RawCheck {
  Spot spot;
  Raw<std::string> name;
  SiteCheck values;  // all values except nodes
  std::vector<RawPattern> nodes;
};

inline constexpr std::size_t kLongestNqn = 223;  // bytes; NVMe Base Specification, "NVMe Qualified Names"

// An entry of `storage:`. Values that the file does not have, or that could not be read, are unset.
struct RawStorage {
  Spot spot;
  Raw<std::string> name;
  Said<std::string> server;
  Said<std::string> device;
  Raw<StorageProtocol> protocol;
  Said<std::string> rail;
  std::vector<RawPattern> clients;
  Said<bool> shared;
  Said<std::string> nqn;
  Said<std::string> path;
  Said<std::string> mount;
  Said<bool> read_only;
  Said<bool> no_root_squash;
  Said<int> nconnect;
};

struct RawCluster {
  std::string name;
  std::string ssh_config;
  std::string ssh_user;
  BmcAccess bmc;  // paths as in the file
  RawLink link;
  RawExpect expect;
  RawConfigure configure;
  std::vector<RawNode> nodes;
  bool nodes_misread = false;
  std::vector<RawRail> rails;
  std::vector<RawPart> parts;
  std::vector<RawCheck> checks;
  std::vector<RawStorage> storage;
};

// Returns true for a valid interface name (dev_valid_name in net/core/dev.c) of visible characters.
bool is_interface(std::string_view text);
// Returns true for a name that only an RDMA device has: "mlx5_0", "rocep1s0f0", "irdma0". "ibp1s0" can be either.
bool is_rdma_device(std::string_view text);

// Reads all values that are valid on their own and reports the others.
RawCluster read_raw(const YamlValue& root, Complaints& complaints);
// Checks the values against each other and builds the cluster. `folder` is the start of relative paths in the
// text.
Cluster resolve(const RawCluster& raw, std::string_view folder, Complaints& complaints);

}  // namespace railbed
