// Optional work of `railbed monitor`: probes of the rails, and queries of the BMC.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "monitor/node_watch.h"
#include "monitor/probe/probe_watch.h"

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

// Lets the watch query this node's BMC if --bmc was given: the one that cluster.yaml names, or else its own.
Result<void> add_bmc(const ProbeCommand& command, WatchOptions& watch);
// Opens the probes; null if none were requested.
Result<std::unique_ptr<ProbeWatch>> open_probes(const ProbeCommand& command, const WatchOptions& watch,
                                                NodeWatch& node, const Hear& note);
// Runs one round of probes, prints it, and returns the exit code.
int print_probes(const ProbeCommand& command, const WatchOptions& watch);

}  // namespace railbed
