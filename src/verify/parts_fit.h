// Whether what was bought fits together, and with what cluster.yaml wants of it: a pure function of the file.
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
  int line = 0;  // of cluster.yaml: the part that does not fit
  std::string message;
  std::string source;
  FIELDS(FitFinding, severity, line, message, source);
};

// In the order of the file.
std::vector<FitFinding> check_parts(const Cluster& cluster);

}  // namespace railbed
