// The keys of a cluster.yaml, table by table: what the reader accepts, and what schema/cluster.schema.json
// and docs/reference/cluster-yaml.md are tested against.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace railbed {

struct KeyTable {
  std::string_view thing;  // "cluster", "ssh", "expect", "node", "rail", "port"
  std::vector<std::string_view> keys;
  std::vector<std::string_view> required;
};

std::span<const KeyTable> all_key_tables();
const KeyTable& key_table(std::string_view thing);

}  // namespace railbed
