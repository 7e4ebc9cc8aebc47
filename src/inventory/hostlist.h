// Hostlists: "gpu[01-64]", "gpu[1-4,7]", "rack[1-2]n[01-16]", as Slurm and pdsh write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace railbed {

// What is wrong with a pattern, and which part of it.
struct HostlistError {
  std::string text;
  std::size_t offset = 0;
  std::size_t length = 1;
};

// The names in order: the last bracket counts fastest. "01" keeps its leading zero. A pattern without
// brackets stands for itself. More than `limit` names are an error.
tl::expected<std::vector<std::string>, HostlistError> expand_hostlist(std::string_view pattern,
                                                                      std::size_t limit);

// Folds names into one pattern as they come: gpu01, gpu02, gpu04 → "gpu[01-02,04]".
class HostlistFold {
 public:
  // False, and nothing changed, when the name does not continue the pattern. The first always does.
  bool add(std::string_view name);
  // expand_hostlist() gives back exactly the names that were added.
  std::string pattern() const;

 private:
  struct Number {
    std::uint64_t value = 0;
    std::size_t width = 0;  // digits when it has leading zeros, else 0
  };
  struct Run {
    Number first;
    Number last;
  };
  bool choose_number(std::string_view second);

  std::string first_;  // the only name so far, until a second says which of its numbers counts
  bool chosen_ = false;
  std::string prefix_;
  std::string suffix_;
  std::vector<Run> runs_;
};

// Names as a person lists them: "gpu[01-64], nas". Only neighbours fold, so the order stays.
std::string fold_hostlist(const std::vector<std::string>& names);

}  // namespace railbed
