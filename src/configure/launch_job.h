// Data that all forms of a launch share: the nodes as ranks see them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "configure/launch.h"
#include "settings/contact.h"
#include "settings/words.h"

namespace railbed {

// A node of the job.
struct LaunchNode {
  const NodeView* view = nullptr;
  int gpus = 0;
  bool rdma = false;  // has rails with RDMA
  std::vector<EnvironmentVariable> environment = {};
};

// A job while its commands are made. Keeps a reference to the request.
struct LaunchJob {
  const LaunchRequest& request;
  std::vector<LaunchNode> nodes = {};
  std::optional<Contact> contact = {};  // nullopt for a single node
  std::vector<std::string> notes = {};

  // True for a job on one node, which needs no network.
  bool alone() const { return nodes.size() == 1; }
  // True if all nodes have the same number of GPUs.
  bool same_gpus() const;
  int all_gpus() const;
  std::string node(std::size_t i) const { return *nodes[i].view->name; }
  // Needs a contact (not alone()).
  std::string address(std::size_t i) const { return contact->ends[i].address->to_text(); }
  std::string master() const { return address(0); }
  // Returns the first node's address with the port of the rendezvous: "10.0.0.1:29500", "[fd00::1]:29500".
  std::string endpoint() const;
};

// Returns whether the program is started on each node (launch_programs.cc).
bool starts_on_each_node(Launcher launcher);
// Returns the error of a container without an image.
tl::unexpected<Error> no_image();
// Returns the words of a node's command for such a program; empty for others.
Words node_words(const LaunchJob& job, std::size_t i);

// mpirun and srun start the ranks of all nodes by one command (launch_mpi.cc).
Result<NodeCommand> mpirun_command(LaunchJob& job);
Result<NodeCommand> srun_command(LaunchJob& job);

// Puts a node's command into a container (launch_container.cc). Does nothing if the request has no container;
// fails if the image is unknown.
Result<void> contain(const LaunchJob& job, const LaunchNode& node, NodeCommand& command);

}  // namespace railbed
