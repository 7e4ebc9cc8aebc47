#include "campaign/look/technology_columns.h"

#include <algorithm>
#include <map>

#include "hardware/part_model.h"

namespace railbed {
namespace {

bool say_the_same(const std::vector<TechnologyCell>& a, const std::vector<TechnologyCell>& b) {
  return std::ranges::equal(a, b, [](const TechnologyCell& cell, const TechnologyCell& two) {
    return cell.support == two.support && cell.reason == two.reason;
  });
}

void add_node(const std::string& node, const TechnologyStack& stack, const Facts* facts,
              std::vector<TechnologyColumn>& columns) {
  auto cells = technology_cells(stack, facts);
  const auto same = std::ranges::find_if(columns, [&](const TechnologyColumn& column) {
    return column.stack.gpu == stack.gpu && column.stack.adapters == stack.adapters &&
           column.stack.os == stack.os && say_the_same(column.cells, cells);
  });
  if (same == columns.end())
    columns.push_back({stack, {node}, std::move(cells)});
  else
    same->nodes.push_back(node);
}

// Returns the stacks that cluster.yaml describes for a node, one per GPU model: its parts, and its
// expectations for what the parts do not state.
std::vector<TechnologyStack> planned_stacks(const Cluster& cluster, const Node& node) {
  TechnologyStack stack;
  stack.os = node.expect.os.value_or("");
  std::map<std::string, int> gpus;
  for (const ClusterPart& part : cluster.parts) {
    if (!is_on_node(part, node.name)) continue;
    if (part.kind == PartKind::kServer) stack.processor = part.processor;
    if (part.kind == PartKind::kGpu) gpus[part.model] += part.quantity;
    if (part.kind != PartKind::kAdapter) continue;
    const AdapterModel* model = find_adapter_model(part.model);
    stack.adapters.push_back(model == nullptr ? part.model : std::string(model->nic));
  }
  if (gpus.empty()) {
    stack.gpu = node.expect.gpu_model.value_or("");
    stack.gpus = node.expect.gpus;
    return {stack};
  }
  std::vector<TechnologyStack> stacks;
  for (const auto& [model, count] : gpus) {
    stacks.push_back(stack);
    stacks.back().gpu = model;
    stacks.back().gpus = count;
  }
  return stacks;
}

}  // namespace

std::vector<TechnologyColumn> technology_columns(const Evidence& evidence) {
  std::vector<TechnologyColumn> columns;
  for (const auto& [name, facts] : evidence.nodes)
    for (const TechnologyStack& stack : stacks_of(facts)) add_node(name, stack, &facts, columns);
  for (const Node& node : evidence.cluster.nodes)
    if (!evidence.nodes.contains(node.name))
      for (const TechnologyStack& stack : planned_stacks(evidence.cluster, node))
        add_node(node.name, stack, nullptr, columns);
  return columns;
}

}  // namespace railbed
