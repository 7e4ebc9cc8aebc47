// What the checks of lint.cc share.
#pragma once

#include "nccl/lint.h"
#include "nccl/settings.h"
#include "nccl/variables.h"

namespace railbed::nccl {

inline constexpr std::string_view kGuide = "NCCL user guide, Environment Variables";

struct Linter {
  const Facts& facts;
  const Expectation& expected;
  Settings settings;
  std::vector<Complaint> complaints;

  void say(Severity severity, std::string_view id, const NcclVariable& variable, std::string message,
           std::string remedy, std::string_view source = kGuide);
  bool older_than(Version version) const { return expected.version && *expected.version < version; }
  // An RDMA port is up on this node.
  bool has_active_rdma() const;
};

void lint_values(Linter& lint);   // lint_values.cc: names, values, versions, duplicates
void lint_devices(Linter& lint);  // lint_devices.cc: what a variable points at on this node
void lint_habits(Linter& lint);   // lint.cc: RDMA off, debugging left on, traffic class, timeouts

}  // namespace railbed::nccl
