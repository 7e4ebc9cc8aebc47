// Which rule a complaint of NCCL's lint belongs to.
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
  std::string_view variable;   // empty: any
  std::string_view rule;
};

// The first row that fits is meant; every id of nccl::complaint_ids() has one for any variable.
std::span<const NcclTopic> nccl_topics();
std::string_view nccl_rule_of(const nccl::Complaint& complaint);

}  // namespace railbed
