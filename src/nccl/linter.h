// Shared by the checks of the linter.
#pragma once

#include "nccl/lint.h"
#include "nccl/settings.h"
#include "nccl/variables.h"

namespace railbed::nccl {

inline constexpr std::string_view kGuide = "NCCL user guide, Environment Variables";

// The remedy for a complaint, in words and, if it is a single edit, as the value to write.
struct Fix {
  std::string text;
  std::optional<std::string> value = {};              // empty: remove the line
  Fix(std::string words) : text(std::move(words)) {}  // NOLINT: most fixes are words only
  Fix(const char* words) : text(words) {}             // NOLINT
  Fix(std::string words, std::string better) : text(std::move(words)), value(std::move(better)) {}
};
inline Fix remove_line() { return {"Remove the line.", ""}; }
inline Fix write(std::string better) { return {"Write " + better + ".", better}; }

struct Linter {
  const Facts& facts;
  const Expectation& expected;
  std::optional<Version> version;  // expected or installed
  Settings settings;
  std::vector<Complaint> complaints;

  // Adds a complaint about `variable`.
  void say(Severity severity, std::string_view id, const NcclVariable& variable, std::string message, Fix fix,
           std::string_view source = kGuide);
  bool older_than(Version other) const { return version && *version < other; }
  // True if an RDMA port is up on this node.
  bool has_active_rdma() const;
};

void lint_values(Linter& lint);   // lint_values.cc: names, values, versions, duplicates
void lint_devices(Linter& lint);  // lint_devices.cc: the devices and files that a variable refers to
void lint_habits(Linter& lint);   // lint.cc: RDMA off, debugging left on, traffic class, timeouts

}  // namespace railbed::nccl
