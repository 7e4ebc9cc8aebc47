// The parts of node_metrics(), one file for each. Each part appends its metric families to `out`, and nothing
// if the state lacks their data.
#pragma once

#include "monitor/metrics/node_metrics.h"
#include "report/exposition.h"

namespace railbed {

void add_ports(const NodeState& state, Exposition& out);
void add_interfaces(const NodeState& state, Exposition& out);
void add_optics(const NodeState& state, Exposition& out);
void add_fec(const NodeState& state, Exposition& out);
void add_rails(const NodeState& state, Exposition& out);
void add_gpus(const NodeState& state, Exposition& out);
void add_kernel_log(const NodeState& state, Exposition& out);
void add_findings(const NodeState& state, Exposition& out);
void add_probes(const NodeState& state, Exposition& out);
void add_bmc(const NodeState& state, Exposition& out);
void add_past(const NodeState& state, Exposition& out);

}  // namespace railbed
