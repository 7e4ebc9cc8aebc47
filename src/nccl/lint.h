// Finds errors in the NCCL variables of a node. A pure function of its facts.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fields.h"
#include "facts/facts.h"
#include "nccl/severity.h"
#include "nccl/version.h"

namespace railbed::nccl {

struct Expectation {
  // The version of NCCL that will run. Without it the installed one is assumed, and without that the newest.
  std::optional<Version> version;
  std::optional<int> traffic_class;  // traffic class of the switches' lossless queue: 104 is DSCP 26
  bool separate_rails = false;       // each NIC of a node has a switch of its own
};

struct Complaint {
  std::string id;  // "prefix"; one id per kind of complaint
  Severity severity = Severity::kWarning;
  std::string variable;
  std::string value;    // empty if it is not set
  std::string from;     // "/etc/nccl.conf:3", "environment"; empty if it is not set
  std::string message;  // follows variable and value: "takes names as prefixes: …"
  std::string remedy;
  std::optional<std::string> better;  // the value to write; empty: remove the line; none: no single value
  std::string source;
  FIELDS(Complaint, id, severity, variable, value, from, message, remedy, better, source);
};

// Returns every id that a complaint may have.
std::span<const std::string_view> complaint_ids();

// Returns the complaints, worst first.
std::vector<Complaint> lint(const Facts& facts, const Expectation& expected);

}  // namespace railbed::nccl
