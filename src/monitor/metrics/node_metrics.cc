#include "monitor/metrics/node_metrics.h"

#include "model/expected_rate.h"
#include "model/survey.h"
#include "monitor/metrics/families.h"

namespace railbed {
namespace {

std::string peer_of(const Rail& rail, const std::string& node) {
  if (rail.ports.size() != 2) return "";
  return rail.ports[0].node == node ? rail.ports[1].node : rail.ports[0].node;
}

RailView view_of(const RailEnd& end, const ExpectedRates& rates, const std::string& node) {
  RailView view{
      .rail = end.rail->name, .interface = end.name, .peer = peer_of(*end.rail, node), .mtu = end.rail->mtu};
  if (end.rdma) {
    view.device = end.rdma.device->name;
    view.port = end.rdma.port->number;
  }
  if (const auto expected = rates.of(end)) view.rate = expected->rate;
  return view;
}

std::vector<RailView> rails_of(const Evidence& evidence, const std::string& node) {
  std::vector<RailView> rails;
  const Survey survey(evidence);
  const NodeView* const view = survey.find(node);
  if (view == nullptr) return rails;
  const ExpectedRates rates(survey);
  for (const RailEnd& end : view->ends)
    if (end.rail != nullptr) rails.push_back(view_of(end, rates, node));
  return rails;
}

// Drops findings on other nodes, which cluster.yaml names but nobody has read. Mends the references between
// findings.
Findings findings_of(Findings all, const std::string& node) {
  Findings kept;
  std::vector<std::optional<std::size_t>> place(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].node.empty() && all[i].node != node) continue;
    place[i] = kept.size();
    kept.push_back(std::move(all[i]));
  }
  for (Finding& finding : kept)
    if (finding.caused_by) finding.caused_by = place[*finding.caused_by];
  return kept;
}

}  // namespace

NodeLook judge_node(Evidence evidence, const std::vector<Injection>& injections) {
  NodeLook look;
  auto& [name, facts] = *evidence.nodes.begin();
  if (const auto watched = evidence.watched.find(name); watched != evidence.watched.end())
    look.watched = watched->second;
  look.findings = findings_of(verify(evidence).findings, name);
  look.not_injected = inject(injections, look.findings);
  look.live = live_view(evidence, look.findings, {name});
  look.picture = draw_live_picture(evidence, look.findings, {name});
  look.rails = rails_of(evidence, name);
  look.facts = std::move(facts);
  return look;
}

std::string node_metrics(const NodeState& state) {
  Exposition out;
  add_findings(state, out);
  add_rails(state, out);
  add_ports(state, out);
  add_interfaces(state, out);
  add_optics(state, out);
  add_fec(state, out);
  add_gpus(state, out);
  add_kernel_log(state, out);
  add_past(state, out);
  add_probes(state, out);
  add_bmc(state, out);
  return out.take();
}

}  // namespace railbed
