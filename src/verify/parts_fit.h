// Checks that the parts listed in cluster.yaml fit together and meet what cluster.yaml expects of them. A
// pure function of the file.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/fields.h"
#include "inventory/cluster.h"

namespace railbed {

enum class FitSeverity { kNote, kWarning, kError };
constexpr auto enum_names(FitSeverity) { return std::array<std::string_view, 3>{"note", "warning", "error"}; }

struct FitFinding {
  FitSeverity severity = FitSeverity::kNote;
  int line = 0;  // line in cluster.yaml of the part that does not fit; 0: no part is at fault
  std::string message;
  std::string source;
  FIELDS(FitFinding, severity, line, message, source);
};

// Returns the findings in the order of the file's lines.
std::vector<FitFinding> check_parts(const Cluster& cluster);

// Returns what is wrong with the MIG instances that `configure.mig` describes: profiles that the nodes' GPUs do not have or
// have no room for, and instances on nodes that rails join for NCCL.
std::vector<FitFinding> check_mig(const Cluster& cluster);

// Returns what is wrong with the way in which `configure.gpu_sharing` shares GPUs: what these GPUs, MPS or Kubernetes' device
// plugin cannot do.
std::vector<FitFinding> check_sharing(const Cluster& cluster);

// Returns the models of the node's GPUs, by `expect.gpu_model`, else by `parts`; one empty name if the file has none.
std::vector<std::string> gpu_models_of(const Cluster& cluster, const Node& node);

}  // namespace railbed
