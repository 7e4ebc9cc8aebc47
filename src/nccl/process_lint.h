// Finds the reasons why a running process cannot use the node's RDMA and GPUs. A pure function of the facts
// of the node and of the process.
#pragma once

#include <string>
#include <vector>

#include "base/fields.h"
#include "facts/facts.h"
#include "facts/software/process.h"
#include "nccl/choice.h"
#include "nccl/lint.h"

namespace railbed::nccl {

struct ProcessComplaint {
  std::string id;  // "no-rdma-nodes"
  Severity severity = Severity::kWarning;
  std::string message;
  std::string remedy;      // for a host, or as flags of docker and podman
  std::string kubernetes;  // the same for a pod; empty outside of containers
  std::string source;
  FIELDS(ProcessComplaint, id, severity, message, remedy, kubernetes, source);
};

// The network that carries the process's data between nodes now, from its queue pairs, open devices and
// connections.
struct NetworkUse {
  std::string network;  // RDMA, TCP; empty if unknown
  std::string why;
  FIELDS(NetworkUse, network, why);
};

// All results for one process.
struct ProcessVerdict {
  Process process;
  NetworkUse uses;
  std::vector<ProcessComplaint> complaints;  // worst first
  std::vector<Complaint> variables;          // worst first
  Choices choices;
  std::string version;  // the assumed version of NCCL: of the mapped library, else the expected one
  // Why the process's variables could not be read; empty if they were. Then nothing can be predicted, and
  // the absence of complaints means nothing.
  std::string could_not_look = {};
  Severity worst() const;
  bool clean() const { return complaints.empty() && variables.empty() && could_not_look.empty(); }
  FIELDS(ProcessVerdict, process, uses, complaints, variables, choices, version, could_not_look);
};

// Returns the node's facts as this process sees them: its variables, its interfaces, and the RDMA devices
// that it may open.
Facts as_seen_by(const Process& process, const Facts& node);
// Returns the network that the process uses now, and the reason for this result.
NetworkUse used_now(const Process& process, const Facts& node);
// Checks the process. The version of its mapped NCCL, if known, overrides the expected one.
ProcessVerdict judge_process(const Process& process, const Facts& node, const Expectation& expected);

// Returns a text for people. Control characters are removed.
std::string to_text(const ProcessVerdict& verdict);

}  // namespace railbed::nccl
