// The network over which the ranks of a job find each other: NCCL's first contact, Gloo, rendezvous, MPI.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"
#include "model/survey.h"

namespace railbed {

// A node's own end of it.
struct ContactEnd {
  std::string_view interface = {};        // into the survey
  std::optional<IpAddress> address = {};  // none: nobody says
  std::optional<Subnet> subnet = {};      // likewise
};

// The management network, where the interface of each node is known by cluster.yaml or by the facts: it
// stays when a rail fails, and a job that fell back to TCP is seen to crawl there. Else the first rail that
// all nodes are on. `where` says which it is: "management", "rail link1".
struct Contact {
  std::string where;
  std::vector<ContactEnd> ends;  // in the order of the nodes that were asked for
};

// Nothing: no network joins these nodes, as far as cluster.yaml and facts tell.
std::optional<Contact> find_contact(const std::vector<const NodeView*>& nodes);

// Over which network nodes meet, without their ends.
struct Meeting {
  const Rail* rail = nullptr;  // null: the management network
};
std::optional<Meeting> find_meeting(const std::vector<const NodeView*>& nodes);
// One node's end of it.
std::optional<ContactEnd> end_at(const Meeting& meeting, const NodeView& node);

// That ssh goes to; none: it goes to a name.
std::optional<IpAddress> ssh_address(const Node& node);
// Where the node answers: its management address, else the address that ssh goes to.
std::optional<IpAddress> own_address(const Node& node);

}  // namespace railbed
