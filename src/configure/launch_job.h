// What the forms of a launch share: the nodes as ranks see them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "configure/launch.h"
#include "settings/contact.h"
#include "settings/words.h"

namespace railbed {

struct LaunchNode {
  const NodeView* view = nullptr;
  int gpus = 0;
  bool rdma = false;  // it has rails with RDMA
  std::vector<EnvironmentVariable> environment = {};
};

struct LaunchJob {
  const LaunchRequest& request;
  std::vector<LaunchNode> nodes = {};
  std::optional<Contact> contact = {};  // none: there is one node
  std::vector<std::string> notes = {};

  bool alone() const { return nodes.size() == 1; }
  bool same_gpus() const;
  int all_gpus() const;
  std::string node(std::size_t i) const { return *nodes[i].view->name; }
  std::string address(std::size_t i) const { return contact->ends[i].address->to_text(); }
  std::string master() const { return address(0); }
};

// mpirun's and srun's one command for all nodes (launch_mpi.cc).
Result<NodeCommand> mpirun_command(LaunchJob& job);
Result<NodeCommand> srun_command(LaunchJob& job);

// Puts the command of a node into a container (launch_container.cc).
Result<void> contain(const LaunchJob& job, const LaunchNode& node, NodeCommand& command);

}  // namespace railbed
