// Gathers the evidence that verify() judges: from the nodes of a cluster, from this machine, or from files.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "campaign/caller.h"
#include "campaign/reach.h"
#include "facts/facts.h"
#include "verify/verify.h"

namespace railbed {

// A health check's facts have until then. slurmd kills a health check after 60 s (slurm.conf(5)); this leaves
// time to tell slurmctld.
inline constexpr std::chrono::seconds kHealthDeadline{40};
inline constexpr int kHealthVenvSeconds = 20;  // of them, for the import of PyTorch

struct Sources {
  std::string cluster;                    // its file; empty: nothing is expected
  std::string root;                       // captured machines instead of live ones
  std::vector<std::string> facts;         // files of facts instead of live machines
  std::vector<std::string> measurements;  // files that are judged as well
  CollectOptions collect;
  // A health check: this machine alone, under this name, within kHealthDeadline, whatever hangs.
  std::optional<std::string> only;
  // Looks that repeat by themselves start no container, and neither does a health check.
  bool containers = true;
  bool live() const { return root.empty() && facts.empty(); }
};

// What the sources' files bring: the cluster, facts and measurements.
Result<Evidence> read_sources(const Sources& sources);

// … and, where no file brings facts, what the nodes show, or this machine.
Result<Evidence> gather_evidence(const Sources& sources, ReachOptions reach, const Caller& caller);

// This machine's facts, collected in a child that is given up at the deadline: nothing that hangs there can
// hang the caller.
Result<Facts> look_within(std::chrono::milliseconds deadline, const CollectOptions& options);

// Leaves `node` alone in the evidence, under that name. Refuses evidence of several nodes, and a cluster that
// does not know it.
Result<void> narrow_to(const std::string& node, Evidence& evidence);

}  // namespace railbed
