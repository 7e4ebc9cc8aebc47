// The environment variables that NCCL reads: their values, and the versions that have them. Names and
// versions come from the sources of every release from 2.3.5 to 2.30.7, meanings and values from the NCCL
// user guide (Environment Variables) of 2.30.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "nccl/version.h"

namespace railbed::nccl {

enum class Kind {
  kFlag,     // 0 or 1
  kInteger,  // low … high
  kWord,     // one of `words`, separated by spaces
  kLevel,    // LOC NVL PIX PXB PHB SYS; integers are a legacy form
  kNames,    // [^][=]name[:port],…: RDMA devices or interfaces
  kText,     // anything
};

struct Values {
  Kind kind = Kind::kText;
  std::int64_t low = 0;         // kInteger
  std::int64_t high = 0;        // kInteger
  std::string_view words = {};  // kWord; case does not matter
};

struct Variable {
  std::string_view name;
  // 2.3.5 means "or earlier"; 2.0.5 is used for variables that were removed before 2.3.5.
  Version since;
  Version until = {};  // the first version without it; {} if it still exists
  Values takes = {};
  bool debugging = false;         // in the guide's "Debugging" half: not for production
  std::string_view meaning = {};  // one line; empty: NVIDIA does not document it
  std::string_view instead = {};  // the variable that replaces it
};

std::span<const Variable> all_variables();  // sorted by name
// Returns the variable of this name; null if NCCL has none.
const Variable* find_variable(std::string_view name);

}  // namespace railbed::nccl
