// Made-up reports for tests. Nothing in them was measured.
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
Report broken_pair();       // one interface down and all that follows
Report dense_pair();        // eight GPUs and eight rails a node
Report infiniband_three();  // three nodes on a switch, one warning
Report switched_eight();    // eight nodes on two switches, one unreachable
Report fleet(int nodes);    // four rails; a few nodes broken, slow or gone
Report managed(int nodes);  // of 2 the healthy pair, else a fleet, with BMCs of which some are in trouble
Report measured_pair();     // the dense pair with runs: a ladder, GPU copies, collectives
Report runs_only();         // no node was looked at; pairs, storage, training, measurements alone
Report hostile();           // every text tries to break out

// A run of every kind whose texts are this one, with numbers that cannot be drawn.
std::vector<BenchRun> hostile_runs(const std::string& attack);

const std::vector<Sample>& all_samples();

}  // namespace railbed
