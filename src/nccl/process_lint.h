// What keeps one running process from the node's RDMA and GPUs: a pure function of the node's facts and the
// process's.
#pragma once

#include <string>
#include <vector>

#include "base/fields.h"
#include "facts/facts.h"
#include "facts/process.h"
#include "nccl/choice.h"
#include "nccl/lint.h"

namespace railbed::nccl {

struct ProcessComplaint {
  std::string id;  // "no-rdma-nodes"
  Severity severity = Severity::kWarning;
  std::string message;
  std::string remedy;      // on a host, or flags of docker and podman
  std::string kubernetes;  // the same in a pod's terms; empty outside of containers
  std::string source;
  FIELDS(ProcessComplaint, id, severity, message, remedy, kubernetes, source);
};

// What carries its data between nodes now, by its queue pairs, open devices and connections.
struct NetworkUse {
  std::string network;  // RDMA, TCP; empty: cannot be told
  std::string why;
  FIELDS(NetworkUse, network, why);
};

// Everything that is said of one process.
struct ProcessVerdict {
  Process process;
  NetworkUse uses;
  std::vector<ProcessComplaint> complaints;  // worst first
  std::vector<Complaint> variables;          // worst first
  Choices choices;
  std::string version;  // the NCCL that is judged: of the mapped library, else what was expected
  Severity worst() const;
  bool clean() const { return complaints.empty() && variables.empty(); }
  FIELDS(ProcessVerdict, process, uses, complaints, variables, choices, version);
};

// The node as this process sees it: its variables, its interfaces, the RDMA devices that it may open.
Facts as_seen_by(const Process& process, const Facts& node);
NetworkUse used_now(const Process& process, const Facts& node);
ProcessVerdict judge_process(const Process& process, const Facts& node, const Expectation& expected);

// For people; nothing in it is obeyed by a terminal.
std::string to_text(const ProcessVerdict& verdict);

}  // namespace railbed::nccl
