// Everything that one run found out, and the page that shows it.
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
  Cluster cluster;                     // without nodes: the nodes are those of `facts`
  std::map<std::string, Facts> facts;  // by node name
  Verdict verdict;
  std::vector<Measurement> measurements;
  std::vector<Unreachable> unreachable;
  std::vector<Difference> differences = {};
  std::map<std::string, BmcFacts> bmcs = {};  // by node name; of BMCs that were asked
  std::vector<BenchRun> runs = {};  // of the history, or measured just now: each has a section of its own
  std::string railbed;              // version of the program
  std::string started_at;           // RFC 3339, UTC
  double seconds = 0;               // wall time of the run
};

Run run_of(const Report& report);

// Findings, then measurements, then one line a run.
std::string render_text(const Report& report, const TextOptions& options = {});
// The findings' document with the measurements and the runs in it.
std::string render_json(const Report& report);

// One page that needs nothing but itself: no network, no script for its content. Whatever came from a node is
// escaped.
std::string render_html(const Report& report);

}  // namespace railbed
