// The keys of a cluster.yaml, table by table. The reader accepts these; tests compare them with
// schema/cluster.schema.json and docs/reference/cluster-yaml.md.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace railbed {

// The keys of one kind of mapping.
struct KeyTable {
  std::string_view thing;  // "cluster", "ssh", "expect", "node", "rail", "port"
  std::vector<std::string_view> keys;
  std::vector<std::string_view> required;
};

// Returns all tables. They live as long as the program.
std::span<const KeyTable> all_key_tables();
// Returns the table of `thing`, which must exist.
const KeyTable& key_table(std::string_view thing);

}  // namespace railbed
