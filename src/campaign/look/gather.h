// Collects the evidence that verify() judges: from the nodes of a cluster, from this machine, or from files.
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

// Deadline for a health check's facts. slurmd kills a health check after 60 s (slurm.conf(5)); this leaves
// time to update slurmctld.
inline constexpr std::chrono::seconds kHealthDeadline{40};
inline constexpr int kHealthVenvSeconds = 20;  // part of that deadline, for the import of PyTorch

struct Sources {
  std::string cluster;                    // path of cluster.yaml; empty: there are no expectations
  std::string root;                       // captured machines that replace live ones
  std::vector<std::string> facts;         // files of facts that replace live machines
  std::vector<std::string> measurements;  // files of measurements to judge, too
  CollectOptions collect;
  // Set for a health check: judge this machine alone, under this name, within kHealthDeadline even if
  // something hangs.
  std::optional<std::string> only;
  // Start containers and gdscheck to judge what they show. False for checks that repeat by themselves; a health check
  // never starts one.
  bool containers = true;
  bool live() const { return root.empty() && facts.empty(); }
};

// Reads the cluster, facts and measurements from the sources' files. Notes files of the root that are not read.
Result<Evidence> read_sources(
    const Sources& sources, const Hear& note = [](std::string_view) {});

// Like read_sources(), and collects the facts of the nodes, or of this machine without a cluster, if no file
// supplies facts.
Result<Evidence> gather_evidence(const Sources& sources, ReachOptions reach, const Caller& caller);

// Collects this machine's facts in a child process, which is abandoned at the deadline. A hang there cannot
// block the caller.
Result<Facts> look_within(std::chrono::milliseconds deadline, const CollectOptions& options);

// Renames the only node of the evidence to `node` and drops unreachable nodes. Fails if the evidence does not
// have exactly one node, or has a cluster without `node`.
Result<void> narrow_to(const std::string& node, Evidence& evidence);

}  // namespace railbed
