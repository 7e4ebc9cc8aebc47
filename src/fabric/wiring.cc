#include "fabric/wiring.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "base/wording.h"
#include "fabric/layout.h"
#include "inventory/hostlist.h"

namespace railbed {
namespace {

// Returns whether an HCA still has its maker's description, which is the same on all of a kind ("MT4129 ConnectX7
// Mellanox Technologies"): no host is known then.
bool is_makers_text(const IbNode& node) {
  const std::string host = host_of(node);
  return host.empty() || (host.starts_with("MT") && is_digits(std::string_view(host).substr(2))) ||
         node.description.find("Mellanox Technologies") != std::string::npos;
}

}  // namespace

Wiring wiring_of(const IbFabric& fabric, const std::vector<std::string>& hosts) {
  Wiring wiring;
  const IbLayout layout = layout_of(fabric);
  std::vector<std::size_t> place(fabric.nodes.size());
  for (std::size_t n = 0; n < fabric.nodes.size(); ++n)
    if (fabric.nodes[n].is_switch()) {
      place[n] = wiring.switches.size();
      wiring.switches.push_back({name_of(fabric.nodes[n]), layout.level[n], {}});
    }
  const std::set<std::string> wanted(hosts.begin(), hosts.end());
  std::set<std::string> left_out;
  std::size_t nameless = 0;
  for (std::size_t n = 0; n < fabric.nodes.size(); ++n) {
    const IbNode& node = fabric.nodes[n];
    if (!node.is_switch() && !node.is_hca()) continue;
    std::set<std::size_t> beside;
    for (const IbPort& port : node.ports)
      if (port.peer && fabric.at(port.peer).is_switch())
        beside.insert(place[static_cast<std::size_t>(port.peer.node)]);
    if (node.is_switch()) {
      wiring.switches[place[n]].next.assign(beside.begin(), beside.end());
      continue;
    }
    std::string host = host_of(node);
    if (!wanted.contains(host)) host = host.substr(0, host.find('.'));
    if (is_makers_text(node) && !wanted.contains(host)) {
      ++nameless;
    } else if (!wanted.empty() && !wanted.contains(host)) {
      left_out.insert(host);
    } else {
      auto& its = wiring.nodes[host];
      for (const std::size_t one : beside)
        if (std::ranges::find(its, one) == its.end()) its.push_back(one);
    }
  }
  if (nameless > 0)
    wiring.notes.push_back(fmt::format(
        "{} that no host's name describes, so left out (rdma-ndd describes them)", counted(nameless, "HCA")));
  const auto note = [&](std::string_view what, const std::vector<std::string>& names) {
    constexpr std::size_t kMost = 16;
    if (names.empty()) return;
    const std::vector<std::string> some(
        names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(kMost, names.size())));
    wiring.notes.push_back(
        fmt::format("{}: {}{}", what, printable(fold_hosts(some)),
                    names.size() > kMost ? fmt::format(" and {} more", names.size() - kMost) : ""));
  };
  note("in the subnet and not in cluster.yaml, so left out", {left_out.begin(), left_out.end()});
  std::vector<std::string> missing;
  for (const std::string& host : wanted)
    if (!wiring.nodes.contains(host)) missing.push_back(host);
  note("in cluster.yaml and not in the subnet, so left out", missing);
  return wiring;
}

}  // namespace railbed
