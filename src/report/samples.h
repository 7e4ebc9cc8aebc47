// Invented reports for tests. They contain no measured values.
#pragma once

#include <string>
#include <vector>

#include "report/report.h"

namespace railbed {

struct Sample {
  std::string name;  // of its file
  Report report;
};

Report healthy_pair();      // two nodes, four GPUs and two rails each
Report emulated_pair();     // two virtual machines: no GPU, software RDMA, nominal ceilings
Report broken_pair();       // one interface down, and the consequences
Report dense_pair();        // eight GPUs and eight rails a node
Report infiniband_three();  // three nodes on a switch, one warning
Report switched_eight();    // eight nodes on two switches, one unreachable
Report fleet(int nodes);    // four rails; a few nodes broken, slow or gone
Report managed(int nodes);  // the healthy pair for 2, else a fleet; some of their BMCs are in trouble
Report measured_pair();     // the dense pair with runs: a ladder, GPU copies, collectives
Report runs_only();         // no facts of nodes; only pairs, storage, training, measurements
Report hostile();           // every text tries to break out

// Returns a run of every kind in which all texts are `attack` and numbers cannot be drawn.
std::vector<BenchRun> hostile_runs(const std::string& attack);

const std::vector<Sample>& all_samples();

}  // namespace railbed
