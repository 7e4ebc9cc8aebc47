// Parsers of environments in the syntax of shells and of systemd.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace railbed {

// Returns the first word of a shell's text with quotes and backslashes resolved. The word ends at a space, a
// tab, a ";" or a carriage return. Variables in it are not expanded.
std::string first_shell_word(std::string_view text);
// Returns that word and removes it from the text.
std::string take_shell_word(std::string_view& text);

// One block of `systemctl show --property=Id,Environment,EnvironmentFiles`.
struct UnitEnvironment {
  std::string name;  // without .service
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<std::string> files;  // absolute paths, without patterns
};

std::vector<UnitEnvironment> parse_unit_environments(std::string_view output);

// Reduces each line of a shell file, as only_nccl_lines() returns it, to its first assignment, because the
// rest of the line may be anything. A comment right behind the value stays.
std::string first_values(std::string_view text);
// Does the same as only_nccl_environment() in nccl.h, with values and file names replaced.
using ReplaceText = std::function<std::string(const std::string&)>;
std::string only_nccl_environment(std::string_view output, const ReplaceText& value_of,
                                  const ReplaceText& file_of);

}  // namespace railbed
