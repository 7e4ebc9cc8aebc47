// What `railbed monitor` does on request beside looking: probes of the rails, and questions to the BMC.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "monitor/node_watch.h"
#include "monitor/probe_watch.h"

namespace CLI {
class App;
}

namespace railbed {

struct ProbeCommand {
  bool probe = false;
  std::string secret_file = {};
  int port = kProbePort;
  int every = 60;
  bool beside_jobs = false;
  bool bmc = false;
};
void add_probe_options(CLI::App& app, ProbeCommand& command);

// Has the watch ask this node's BMC, where that is wanted: the one that cluster.yaml names, or its own.
Result<void> add_bmc(const ProbeCommand& command, WatchOptions& watch);
// Null: nothing is to be probed.
Result<std::unique_ptr<ProbeWatch>> open_probes(const ProbeCommand& command, const WatchOptions& watch,
                                                NodeWatch& node, const Hear& note);
// One round, printed.
int print_probes(const ProbeCommand& command, const WatchOptions& watch);

}  // namespace railbed
