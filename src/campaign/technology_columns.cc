#include "campaign/technology_columns.h"

#include <algorithm>

namespace railbed {
namespace {

bool say_the_same(const std::vector<TechnologyCell>& a, const std::vector<TechnologyCell>& b) {
  return std::ranges::equal(a, b, [](const TechnologyCell& one, const TechnologyCell& two) {
    return one.support == two.support && one.reason == two.reason;
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

TechnologyStack expected_stack(const Node& node) {
  TechnologyStack stack;
  stack.gpu = node.expect.gpu_model.value_or("");
  stack.os = node.expect.os.value_or("");
  stack.gpus = node.expect.gpus;
  return stack;
}

}  // namespace

std::vector<TechnologyColumn> technology_columns(const Evidence& evidence) {
  std::vector<TechnologyColumn> columns;
  for (const auto& [name, facts] : evidence.nodes)
    for (const TechnologyStack& stack : stacks_of(facts)) add_node(name, stack, &facts, columns);
  for (const Node& node : evidence.cluster.nodes)
    if (!evidence.nodes.contains(node.name)) add_node(node.name, expected_stack(node), nullptr, columns);
  return columns;
}

}  // namespace railbed
