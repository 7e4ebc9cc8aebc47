// The network over which the ranks of a job find each other: NCCL's bootstrap, Gloo, rendezvous, MPI.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"
#include "model/survey.h"

namespace railbed {

// A node's own end of that network.
struct ContactEnd {
  std::string_view interface = {};        // points into the survey
  std::optional<IpAddress> address = {};  // nullopt if unknown
  std::optional<Subnet> subnet = {};      // nullopt if unknown
};

// The management network if cluster.yaml or the facts give the interface of each node: it stays up when a
// rail fails, and a job that fell back to TCP is visibly slow there. Otherwise the first rail that all nodes
// are on. `where` names it: "management", "rail link1".
struct Contact {
  std::string where;
  std::vector<ContactEnd> ends;  // in the order of the `nodes` argument
};

// Returns nullopt if no network joins these nodes, as far as cluster.yaml and the facts show.
std::optional<Contact> find_contact(const std::vector<const NodeView*>& nodes);

// The network on which nodes meet, without their ends.
struct Meeting {
  const Rail* rail = nullptr;  // null: the management network
};
std::optional<Meeting> find_meeting(const std::vector<const NodeView*>& nodes);
// Returns one node's end of the meeting network; nullopt if it has none.
std::optional<ContactEnd> end_at(const Meeting& meeting, const NodeView& node);

// Returns the address that ssh connects to; nullopt if that is a name.
std::optional<IpAddress> ssh_address(const Node& node);
// Returns the node's management address; else the address that ssh connects to.
std::optional<IpAddress> own_address(const Node& node);

}  // namespace railbed
