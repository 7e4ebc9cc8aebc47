// Explains whatever people paste or send: what jobs printed, kernel logs, outputs of commands, support reports,
// captured machines, NCCL's topology files and a cluster.yaml, in any number and mixture.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "campaign/caller.h"
#include "campaign/reach.h"
#include "diagnose/flight/flight_verdict.h"
#include "diagnose/log/job_log.h"
#include "model/node_graph.h"
#include "verify/verify.h"

namespace railbed {

struct ExplainedInput {
  std::string path;  // "-" for standard input
  std::string what;  // what it was recognised as: "a job's output, 312 lines", "a machine: gpu01"
  FIELDS(ExplainedInput, path, what);
};

// An InfiniBand subnet by a file of ibnetdiscover, iblinkinfo or ibdiagnet, or what another file shows of its ports.
struct ExplainedFabric {
  std::string path;
  std::size_t nodes = 0;
  Verdict verdict;
};

struct Explanation {
  std::vector<ExplainedInput> inputs;
  std::optional<diagnose::Log> job;               // all outputs of jobs together; absent if no input has one
  std::optional<diagnose::FlightVerdict> flight;  // of all dumps of PyTorch's flight recorder together
  std::vector<NodeGraph> topologies;              // of NCCL's topology files
  std::vector<ExplainedFabric> fabrics;  // each file of an InfiniBand subnet or of its counters, by itself
  Evidence evidence;                     // the machines of the inputs
  Verdict machines;                      // the rules' verdict on them
};

// Reads each path, or "-" for standard input, recognises it by its content, and diagnoses all of them together:
// the findings on the machines confirm or refute the causes of what the job printed. A cluster.yaml without
// captured machines beside it means its nodes, which are looked at now.
Result<Explanation> explain(const std::vector<std::string>& paths, ReachOptions reach, const Caller& caller);
// The same for a text that was given on the command line.
Result<Explanation> explain_text(std::string_view text);

}  // namespace railbed
