// Reads evidence from files: `railbed verify --root`, `--facts` and `--measurements`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "campaign/caller.h"
#include "verify/verify.h"

namespace railbed {

// Returns the paths that facts must include for the rules about this cluster: the checkpoint folders of its
// nodes, sorted and without duplicates.
std::vector<std::string> asked_paths(const Cluster& cluster);
// Sets in `options` the venv, the container and its runtime that this node is expected to have, and the devices that it
// exports. All are empty for a machine that cluster.yaml does not name.
void ask_what_is_expected(const Cluster& cluster, std::string_view name, CollectOptions& options);

// Returns the site's own checks that run on the node as orders for its agent, and the seconds that they may take.
struct SiteOrders {
  std::vector<SiteCheckOrder> orders;
  int seconds = 0;
};
SiteOrders orders_of(const std::vector<const SiteCheck*>& checks);

// Adds the facts of every node under `root`: each that open_nodes() opens (host/open.h). Notes files that are not read. A folder of trees may contain its own cluster.yaml, measurements.json, clocks.json (node →
// ClockReading), after-reboot.json, bmcs.json and watched.json (node → Watched). A node that its cluster.yaml names and that has no tree
// counts as unreachable. A cluster that `evidence` already has takes precedence over that cluster.yaml.
Result<void> add_root(
    const std::string& root, Evidence& evidence, const Hear& note = [](std::string_view) {});

// Makes the error about a file that does not hold what it should: names the command that writes such files.
tl::unexpected<Error> wrong_file(Error error, const std::string& file, std::string_view writer);

// Adds the output of `railbed facts --json`. The node gets the host name in the facts, or the file's name
// without its extension if there is none. Fails if the evidence already has a node of that name.
Result<void> add_facts_file(const std::string& file, Evidence& evidence);
Result<void> add_facts(std::string_view text, const std::string& file, Evidence& evidence);

// Parses an array of measurements, or a document that holds one under "measurements" (`railbed bench
// --json`). Accepts untrusted text.
Result<std::vector<Measurement>> measurements_from_json(std::string_view text);
// Adds the measurements in such a file.
Result<void> add_measurements_file(const std::string& file, Evidence& evidence);
Result<void> add_measurements(std::string_view text, const std::string& file, Evidence& evidence);

}  // namespace railbed
