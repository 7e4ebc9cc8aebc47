#include "bench/gpu/library_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glob.h>

#include <cstdlib>
#include <span>

namespace railbed {

std::vector<std::string> matching_files(const std::string& pattern) {
  std::vector<std::string> files;
  glob_t found = {};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    for (std::size_t i = 0; i < found.gl_pathc; ++i) files.emplace_back(found.gl_pathv[i]);
  globfree(&found);
  return files;
}

std::vector<std::string> beside_python(std::string_view pattern) {
  std::vector<std::string> places;
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const char* folder = std::getenv(variable); folder != nullptr && folder[0] == '/')
      places.push_back(std::string(folder) + "/lib/python3*/site-packages");
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/')
    places.push_back(std::string(home) + "/.local/lib/python3*/site-packages");
  places.insert(places.end(),
                {"/usr/local/lib/python3*/dist-packages", "/usr/local/lib/python3*/site-packages",
                 "/usr/lib/python3*/site-packages", "/opt/*/lib/python3*/site-packages"});
  std::vector<std::string> files;
  for (const std::string& place : places)
    for (std::string& file : matching_files(fmt::format("{}/{}", place, pattern)))
      files.push_back(std::move(file));
  return files;
}

std::string not_opened(const Library& library, const std::vector<std::string>& files) {
  if (files.size() < 2) return library.error();
  return fmt::format("{}; tried as well: {}, and Python's site-packages", library.error(),
                     fmt::join(std::span(files).subspan(1), ", "));
}

}  // namespace railbed
