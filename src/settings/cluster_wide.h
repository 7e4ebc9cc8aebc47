// What is the same on every node of a cluster, found once: each of these asks all nodes, and a plan of all
// nodes would ask for it as often.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/public_key.h"

#include "model/survey.h"
#include "settings/contact.h"

namespace railbed {

struct HostName {
  IpAddress address;
  std::string name;
  std::string need;  // "gpu1-rail0 is 10.0.0.1"
};

// A node and its own host keys; none: nobody has read them. The first `worth_telling` are for known_hosts:
// those of RSA only where there is no other, for such a key is as long as five others, and every ssh since
// OpenSSH 6.5 of 2014 knows these.
struct HostKeysOf {
  std::string_view node;  // into the survey
  std::vector<PublicKey> keys = {};
  std::size_t worth_telling = 0;
};

struct ClusterWide {
  explicit ClusterWide(const Survey& all);
  const Survey& survey;
  const Cluster& cluster() const { return survey.evidence.cluster; }

  std::optional<Meeting> meeting;      // none: no network joins all nodes
  std::set<const Rail*> rails_of_all;  // that every node is on
  std::vector<HostName> host_names;    // in the order of /etc/hosts
  std::string host_lines;
  std::string host_key_aliases;       // a sealed file of ssh_config(5): the names of a node have one host key
  std::vector<HostKeysOf> host_keys;  // of all nodes, in their order
};

}  // namespace railbed
