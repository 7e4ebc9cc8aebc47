// Shared by the readers of subnets' files.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/complaint.h"
#include "base/result.h"
#include "fabric/subnet.h"

namespace railbed {

inline constexpr std::size_t kMostFabricComplaints = 20;

// An end whose cable a line of a file states.
struct StatedEnd {
  IbEnd end;
  Spot spot;
};

// Fills in a cable at the other end where only one states it. Complains about a cable whose ends state
// different things, unless nodes share a GUID; neither is reliable then.
void check_both_ends(IbFabric& fabric, const std::vector<StatedEnd>& stated, Complaints& complaints);

// Returns a node's description as one printable line of at most 192 bytes: NodeDescription has 64, each of which may
// become three.
std::string shown_description(std::string_view text);

// Adds the ports of a node up to this number that it does not have. Returns how many it added.
std::size_t grow_ports(IbNode& node, int number);

// The subnet that a reader builds from the lines of a text, and the complaints about them.
class FabricReader {
 protected:
  // Keeps views: both must outlive this object.
  FabricReader(std::string_view text, std::string_view file) : text_(text), complaints_(text, file) {}

  // Calls take(line, spot) for each line, until there are too many complaints.
  template <class Take>
  void each_line(Take take) {
    for (std::size_t at = 0; at < text_.size() && complaints_.count() < kMostFabricComplaints;) {
      const std::size_t end = std::min(text_.find('\n', at), text_.size());
      take(text_.substr(at, end - at), Spot{at, std::max<std::size_t>(end - at, 1)});
      at = end + 1;
    }
  }

  IbNode& node(int index) { return fabric_.nodes[static_cast<std::size_t>(index)]; }
  // Returns the index of the node; −1 after a complaint.
  int add_node(IbNode added, Spot spot);
  // Adds the ports of a node up to this number that it does not have. Returns false after a complaint.
  bool add_ports(int index, int number, Spot spot);
  // Returns the subnet with the labels of its nodes, or the complaints.
  Result<IbFabric> finish();

  std::string_view text_;
  Complaints complaints_;
  IbFabric fabric_;

 private:
  std::size_t ports_ = 0;  // of all nodes
};

}  // namespace railbed
