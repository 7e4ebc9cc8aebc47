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
// brackets is one name. More than `limit` names, and a name of more than 255 characters, are errors.
tl::expected<std::vector<std::string>, HostlistError> expand_hostlist(std::string_view pattern,
                                                                      std::size_t limit);
// Returns the names of a list, "gpu[01-04,7],nas": patterns with commas between them and, if wanted, blanks
// around each. An empty pattern is an error. The offset of an error counts from the beginning of the list.
tl::expected<std::vector<std::string>, HostlistError> expand_hostlists(std::string_view list,
                                                                       std::size_t limit);

// The most nodes that a command line, a line of passwords or Slurm may name.
inline constexpr std::size_t kMostHosts = 100'000;

// Returns the names of a list that a person wrote. Fails with the list, the position and what is wrong there:
// "gpu1,gpu[64-01], character 10: the range 64-01 runs backwards".
Result<std::vector<std::string>> named_hosts(std::string_view list);
// Likewise for the words of a command line, each a list.
Result<std::vector<std::string>> named_hosts(const std::vector<std::string>& words);

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
