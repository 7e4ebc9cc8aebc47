// Environments as shells and systemd write them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace railbed {

// The first word of a shell's text, quotes and backslashes resolved; ends at a space, ";" or a comment.
// Variables in it stay as they are written.
std::string first_shell_word(std::string_view text);

// One block of `systemctl show --property=Id,Environment,EnvironmentFiles`.
struct UnitEnvironment {
  std::string name;  // without .service
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<std::string> files;  // absolute paths, without patterns
};

std::vector<UnitEnvironment> parse_unit_environments(std::string_view output);

}  // namespace railbed
