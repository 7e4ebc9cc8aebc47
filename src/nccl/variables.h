// The environment variables that NCCL reads: what each takes, and in which versions it exists.
// Names and versions come from the sources of every release from 2.3.5 to 2.30.7, meanings and values from
// the NCCL user guide (Environment Variables) of 2.30.
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
  kLevel,    // LOC NVL PIX PXB PHB SYS; integers are a legacy
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
  Version since;       // 2.3.5 stands for "or earlier", 2.0.5 for what was gone by then
  Version until = {};  // the first version without it; {} while it exists
  Values takes = {};
  bool debugging = false;         // the guide's "Debugging" half: not to be kept in production
  std::string_view meaning = {};  // one line; empty: NVIDIA does not document it
  std::string_view instead = {};  // the variable that takes its place
};

std::span<const Variable> all_variables();  // sorted by name
const Variable* find_variable(std::string_view name);

}  // namespace railbed::nccl
