// Hostlists in the syntax of Slurm and pdsh: "gpu[01-64]", "gpu[1-4,7]", "rack[1-2]n[01-16]".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace railbed {

// The error in a pattern, and the part of the pattern that causes it, in bytes.
struct HostlistError {
  std::string text;
  std::size_t offset = 0;
  std::size_t length = 1;
};

// Returns the names in order: the last bracket counts fastest. "01" keeps its leading zero. A pattern without
// brackets is one name. More than `limit` names are an error.
tl::expected<std::vector<std::string>, HostlistError> expand_hostlist(std::string_view pattern,
                                                                      std::size_t limit);

// Folds names into one pattern, one by one: gpu01, gpu02, gpu04 → "gpu[01-02,04]".
class HostlistFold {
 public:
  // Adds a name. Returns false and changes nothing if the name does not continue the pattern. The first name
  // always does.
  bool add(std::string_view name);
  // Returns the pattern. expand_hostlist() of it returns exactly the names that were added.
  std::string pattern() const;

 private:
  struct Number {
    std::uint64_t value = 0;
    std::size_t width = 0;  // number of digits if it has leading zeros, else 0
  };
  struct Run {
    Number first;
    Number last;
  };
  bool choose_number(std::string_view second);

  std::string first_;  // the only name, until a second one decides which of its numbers varies
  bool chosen_ = false;
  std::string prefix_;
  std::string suffix_;
  std::vector<Run> runs_;
};

// Returns names in short form: "gpu[01-64], nas". Only neighbours are folded, so the order stays.
std::string fold_hostlist(const std::vector<std::string>& names);
// Likewise for names in any order, each once: names that differ in their last number stand together, by that number, in
// the order of the first of them.
std::string fold_hosts(const std::vector<std::string>& names);

}  // namespace railbed
