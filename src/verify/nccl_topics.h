// Assigns each complaint of NCCL's lint to a rule.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nccl/lint.h"

namespace railbed {

struct NodeView;

struct NcclTopic {
  std::string_view complaint;  // nccl::Complaint::id
  std::string_view variable;   // empty: any variable
  std::string_view rule;
};

// Returns the table. The first matching row applies. Every id of nccl::complaint_ids() has a row that matches
// any variable.
std::span<const NcclTopic> nccl_topics();
// Returns the rule's id; empty if no row matches.
std::string_view nccl_rule_of(const nccl::Complaint& complaint);

}  // namespace railbed
