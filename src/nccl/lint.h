// What is wrong with the NCCL variables of a node: a pure function of its facts.
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
  // The NCCL that will run; without it the one installed on the node, and where there is none the newest.
  std::optional<Version> version;
  std::optional<int> traffic_class;  // what the switches' lossless class wants: 104 is DSCP 26
  bool separate_rails = false;       // each NIC of a node has a switch of its own
};

struct Complaint {
  std::string id;  // "hca-prefix"; one word per kind of complaint
  Severity severity = Severity::kWarning;
  std::string variable;
  std::string value;    // empty when it is not set
  std::string from;     // "/etc/nccl.conf:3", "environment"; empty when it is not set
  std::string message;  // follows variable and value: "takes names as prefixes: …"
  std::string remedy;
  std::optional<std::string> better;  // the value to write instead; empty: the line should go
  std::string source;
  FIELDS(Complaint, id, severity, variable, value, from, message, remedy, better, source);
};

// Every id a complaint may have.
std::span<const std::string_view> complaint_ids();

// Worst first.
std::vector<Complaint> lint(const Facts& facts, const Expectation& expected);

}  // namespace railbed::nccl
