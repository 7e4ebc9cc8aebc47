// What is the same on every node of a cluster, found once: each of these asks all nodes, and a plan of all
// nodes would ask for it as often.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "configure/contact.h"
#include "verify/survey.h"

namespace railbed {

struct HostName {
  IpAddress address;
  std::string name;
  std::string need;  // "gpu1-rail0 is 10.0.0.1"
};

struct ClusterWide {
  explicit ClusterWide(const Survey& all);
  const Survey& survey;
  const Cluster& cluster() const { return survey.evidence.cluster; }

  std::optional<Meeting> meeting;      // none: no network joins all nodes
  std::set<const Rail*> rails_of_all;  // that every node is on
  std::vector<HostName> host_names;    // in the order of /etc/hosts
  std::string host_lines;
  std::string host_key_aliases;  // a sealed file of ssh_config(5): the names of a node have one host key
};

}  // namespace railbed
