#include "fabric/both_ends.h"

#include <algorithm>

#include "base/text.h"

namespace railbed {

void check_both_ends(IbFabric& fabric, const std::vector<StatedEnd>& stated, Complaints& complaints) {
  for (const StatedEnd& one : stated) {
    IbPort& port = fabric.port(one.end);
    if (!port.peer) continue;
    IbPort& other = fabric.port(port.peer);
    if (!other.peer) {
      other.peer = one.end;  // the line of the other end is missing
      if (other.active.width == 0) other.active = port.active;
      other.link_up = true;
    } else if (other.peer != one.end && fabric.conflicts.empty()) {
      complaints.add(one.spot, "the other end's line says something else");
      if (complaints.count() >= kMostFabricComplaints) return;
    }
  }
}

std::string shown_description(std::string_view quoted) {
  constexpr std::size_t kMostBytes = 192;
  std::string text = printable(quoted.substr(0, kMostBytes));
  // A cut in the middle of a character would yield another character at the next reading.
  std::size_t end = std::min(text.size(), kMostBytes);
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return std::string(trim(text));
}

int FabricReader::add_node(IbNode added, Spot spot) {
  if (fabric_.nodes.size() >= kMostIbNodes) {
    complaints_.add(spot, "more nodes than a subnet has");
    return -1;
  }
  fabric_.nodes.push_back(std::move(added));
  return static_cast<int>(fabric_.nodes.size()) - 1;
}

std::size_t grow_ports(IbNode& node, int number) {
  const std::size_t before = node.ports.size();
  while (node.ports.size() <= static_cast<std::size_t>(number)) {
    const int next = static_cast<int>(node.ports.size());
    node.ports.emplace_back().number = next;
  }
  return node.ports.size() - before;
}

bool FabricReader::add_ports(int index, int number, Spot spot) {
  const auto& ports = node(index).ports;
  const auto needed = static_cast<std::size_t>(number) + 1;
  if (needed <= ports.size()) return true;
  ports_ += needed - ports.size();
  if (ports_ > kMostIbPortsInAll) {
    complaints_.add(spot, "more ports than a subnet has");
    return false;
  }
  grow_ports(node(index), number);
  return true;
}

Result<IbFabric> FabricReader::finish() {
  if (!complaints_.empty()) return fail(complaints_.to_error());
  tell_apart(fabric_);
  return std::move(fabric_);
}

}  // namespace railbed
