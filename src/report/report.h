// All results of one run, and the page that shows them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "facts/bmc.h"
#include "facts/facts.h"
#include "inventory/cluster.h"
#include "report/findings.h"
#include "results/measurement.h"
#include "results/run.h"
#include "verify/verify.h"

namespace railbed {

struct Report {
  Cluster cluster;                     // if it has no nodes, the nodes are those of `facts`
  std::map<std::string, Facts> facts;  // by node name
  Verdict verdict;
  std::vector<Measurement> measurements;
  std::vector<Unreachable> unreachable;
  std::vector<Difference> differences = {};
  std::map<std::string, BmcFacts> bmcs = {};  // by node name; only BMCs that were queried
  std::vector<BenchRun> runs = {};  // from the history or just measured; each has a section of its own
  std::string railbed;              // version of the program
  std::string started_at;           // RFC 3339, UTC
  double seconds = 0;               // wall time of the run
};

Run run_of(const Report& report);

// Returns the findings, then the measurements, then one line for each run.
std::string render_text(const Report& report, const TextOptions& options = {});
// Returns the document of the findings with the measurements and the runs in it.
std::string render_json(const Report& report);

// Returns one page that needs nothing else: no network, and no script for its content. Text from a node is
// escaped.
std::string render_html(const Report& report);

}  // namespace railbed
