// Evidence from files: what `railbed verify --root`, `--facts` and `--measurements` read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "verify/verify.h"

namespace railbed {

// What rules about this cluster need to be asked for: the places where its checkpoints go.
std::vector<std::string> asked_paths(const Cluster& cluster);
// … and on this node: its venv and its container. Null: no node of cluster.yaml, which asks for nothing.
void ask_what_is_expected(const Node* node, CollectOptions& options);

// Adds the facts of every node under `root` (a folder that looks like /, a .tree file, or a folder of .tree
// files). A folder of trees may bring its own cluster.yaml, measurements.json and clocks.json
// (node → ClockReading); then a node that
// cluster.yaml names and no tree holds counts as unreachable.
Result<void> add_root(const std::string& root, Evidence& evidence);

// Adds what `railbed facts --json` printed. The node is named by its host name, or by the file when the facts
// have none.
Result<void> add_facts_file(const std::string& file, Evidence& evidence);

// An array of measurements, or a document that holds one under "measurements" (`railbed bench --json`).
// Accepts untrusted text.
Result<std::vector<Measurement>> measurements_from_json(std::string_view text);
// Adds what such a file holds.
Result<void> add_measurements_file(const std::string& file, Evidence& evidence);

}  // namespace railbed
