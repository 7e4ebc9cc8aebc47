// Values that are the same on every node of a cluster, computed once. Each of them looks at all nodes, so
// computing them per node would make a plan of all nodes quadratic.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/public_key.h"

#include "model/survey.h"
#include "settings/contact.h"
#include "settings/hosts_lines.h"

namespace railbed {

// A name for /etc/hosts.
struct HostName {
  IpAddress address;
  std::string name;
  std::string need;  // text of the need: "gpu1-rail0 is 10.0.0.1"
};

// A node's own host keys; empty if they were not read. The first `worth_telling` keys go into known_hosts:
// RSA keys only if there is no other, since such a key is as long as five others, and every ssh since OpenSSH
// 6.5 of 2014 supports those.
struct HostKeysOf {
  std::string_view node;  // points into the survey
  std::vector<PublicKey> keys = {};
  std::size_t worth_telling = 0;
};

// Keeps a reference to the survey, which must outlive it.
struct ClusterWide {
  explicit ClusterWide(const Survey& all);
  const Survey& survey;
  const Cluster& cluster() const { return survey.evidence.cluster; }

  std::optional<Meeting> meeting;      // of all nodes but file servers; nullopt if no network joins them
  std::set<const Rail*> rails_of_all;  // rails of computation that every node with one is on
  std::vector<HostName> host_names;    // in the order of /etc/hosts
  std::string host_lines;
  std::shared_ptr<const HostsTable> hosts_table;  // of host_names
  std::string
      host_key_aliases;  // sealed ssh_config(5) file: a node has one host key by all names and addresses
  std::vector<HostKeysOf> host_keys;  // of all nodes, in the order of cluster.yaml
};

}  // namespace railbed
