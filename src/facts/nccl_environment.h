// Environments as shells and systemd write them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace railbed {

// The first word of a shell's text, quotes and backslashes resolved; ends at a space, ";" or a comment.
// Variables in it stay as they are written.
std::string first_shell_word(std::string_view text);
// Likewise, and takes it off the text.
std::string take_shell_word(std::string_view& text);

// One block of `systemctl show --property=Id,Environment,EnvironmentFiles`.
struct UnitEnvironment {
  std::string name;  // without .service
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<std::string> files;  // absolute paths, without patterns
};

std::vector<UnitEnvironment> parse_unit_environments(std::string_view output);

// Of the lines of a shell's file, as only_nccl_lines() leaves them, what sets the first variable: what
// follows its value may be anything.
std::string first_values(std::string_view text);
// only_nccl_environment() with other values and names of files.
using ReplaceText = std::function<std::string(const std::string&)>;
std::string only_nccl_environment(std::string_view output, const ReplaceText& value_of,
                                  const ReplaceText& file_of);

}  // namespace railbed
