#include "base/user_folders.h"

#include <cstdlib>

namespace railbed {
namespace {

std::filesystem::path folder_of(const VariableLookup& variables, std::string_view variable,
                                const char* below_home) {
  if (const std::string folder = variables(variable); folder.starts_with('/'))
    return std::filesystem::path(folder) / "railbed";
  if (const std::string home = variables("HOME"); home.starts_with('/'))
    return std::filesystem::path(home) / below_home / "railbed";
  return {};
}

}  // namespace

std::string own_variable(std::string_view name) {
  const char* const value = std::getenv(std::string(name).c_str());
  return value == nullptr ? "" : value;
}

std::filesystem::path cache_folder(const VariableLookup& variables) {
  return folder_of(variables, "XDG_CACHE_HOME", ".cache");
}

std::filesystem::path state_folder(const VariableLookup& variables) {
  return folder_of(variables, "XDG_STATE_HOME", ".local/state");
}

}  // namespace railbed
