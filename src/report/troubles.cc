#include "report/troubles.h"

#include <string_view>

namespace railbed {
namespace {

// Returns the text for a finding: the message of its cause if it has one, else its own.
std::string cause_of(const Finding& finding, const Findings& findings) {
  if (!finding.caused_by || *finding.caused_by >= findings.size()) return finding.message;
  const Finding& cause = findings[*finding.caused_by];
  const bool is_elsewhere = cause.node != finding.node && !cause.node.empty();
  return is_elsewhere ? cause.node + ": " + cause.message : cause.message;
}

}  // namespace

Health health_of(Status status) {
  switch (status) {
    case Status::kFail:
      return Health::kBad;
    case Status::kWarn:
      return Health::kWarn;
    case Status::kUnknown:
      return Health::kUnknown;
    case Status::kPass:
    case Status::kNotApplicable:
      return Health::kGood;
  }
  return Health::kGood;
}

Troubles::Troubles(const Findings& findings) {
  for (const Finding& finding : findings) {
    const Trouble trouble{health_of(finding.status), cause_of(finding, findings)};
    if (trouble.health == Health::kGood) continue;
    take({finding.node, ""}, trouble);
    for (const auto& thing : finding.touches) take({finding.node, thing}, trouble);
    if (finding.node.empty()) take_named_nodes(finding, trouble);
  }
}

Trouble Troubles::of(const std::string& node, std::initializer_list<std::string> things) const {
  Trouble worst;
  for (const auto& thing : things)
    if (const Trouble trouble = at({node, thing}); trouble.health > worst.health) worst = trouble;
  return worst;
}

Trouble Troubles::of_end(const std::string& node, const std::string& rail, const std::string& interface,
                         const std::string& device) const {
  return of(node, {"netdev:" + interface, "rdma:" + device, "rdma:" + device.substr(0, device.find('/')),
                   "rail:" + rail});
}

Trouble Troubles::of_gpu(const std::string& node, const std::string& pci_address) const {
  return of(node, {"gpu:" + pci_address, "pci:" + pci_address});
}

// A finding about a rail that names nodes concerns their ports on it.
void Troubles::take_named_nodes(const Finding& finding, const Trouble& trouble) {
  for (const std::string_view touched : finding.touches) {
    if (!touched.starts_with("node:")) continue;
    for (const auto& thing : finding.touches)
      if (thing.starts_with("rail:")) take({std::string(touched.substr(5)), thing}, trouble);
  }
}

void Troubles::take(const Key& key, const Trouble& trouble) {
  Trouble& known = worst_[key];
  if (trouble.health > known.health) known = trouble;
}

Trouble Troubles::at(const Key& key) const {
  const auto found = worst_.find(key);
  return found == worst_.end() ? Trouble{} : found->second;
}

}  // namespace railbed
