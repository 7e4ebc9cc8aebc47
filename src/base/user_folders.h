// The user's folders of railbed (XDG Base Directory Specification).
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace railbed {

// Returns the value of an environment variable; empty if it is not set.
using VariableLookup = std::function<std::string(std::string_view name)>;
std::string own_variable(std::string_view name);

// Return $XDG_CACHE_HOME/railbed, else ~/.cache/railbed, and $XDG_STATE_HOME/railbed, else ~/.local/state/railbed; empty
// if neither variable holds an absolute path. They do not create the folder.
std::filesystem::path cache_folder(const VariableLookup& variables = own_variable);
std::filesystem::path state_folder(const VariableLookup& variables = own_variable);

}  // namespace railbed
