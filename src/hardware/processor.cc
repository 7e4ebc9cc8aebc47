#include "hardware/processor.h"

#include <algorithm>

#include "base/text.h"

namespace railbed {
namespace {

struct Generation {
  std::string_view name;
  int level;
};

// Red Hat, "Exploring x86-64-v3 for Red Hat Enterprise Linux 10": Haswell is Intel's first generation with
// level 3. The versions of Xeon E3, E5 and E7: ark.intel.com.
constexpr Generation kXeonVersions[] = {{"Sandy Bridge", 2}, {"Ivy Bridge", 2}, {"Haswell", 3},
                                        {"Broadwell", 3},    {"Skylake", 3},    {"Kaby Lake", 3}};
constexpr Generation kUnknownGeneration{"", 0};

// Returns the version of a Xeon E3, E5 or E7: 2 for "E5-2697 v2", 1 for "E5-2670 0" and "E5-2670".
std::optional<int> xeon_version(std::string_view model) {
  std::size_t at = std::string_view::npos;
  for (const std::string_view family : {"E3-", "E5-", "E7-"})
    if (at = model.find(family); at != std::string_view::npos) break;
  if (at == std::string_view::npos) return std::nullopt;
  const auto rest = words(model.substr(at));
  if (rest.size() < 2 || rest[1].size() != 2 || rest[1][0] != 'v' || !is_digit(rest[1][1])) return 1;
  return rest[1][1] - '0';
}

// Returns the generation that a name belongs to; level 0 if it is not known.
Generation generation(std::string_view model) {
  if (const auto version = xeon_version(model)) {
    const auto last = static_cast<int>(std::size(kXeonVersions));
    return kXeonVersions[std::clamp(*version, 1, last) - 1];
  }
  for (const std::string_view name : {"Gold", "Silver", "Platinum", "Bronze"})
    if (model.find("Xeon") != std::string_view::npos && model.find(name) != std::string_view::npos)
      return {"Xeon Scalable", 4};
  if (model.find("EPYC") != std::string_view::npos) return {"Zen", 3};
  if (model.find("Opteron") != std::string_view::npos) return {"Opteron", 1};
  return kUnknownGeneration;
}

constexpr std::string_view kLevel3Source =
    "CentOS Stream kernel, merge request 3972: \"RHEL10 has a minimum of the x86_64-v3 microarchitecture\"";
// AlmaLinux 10 is also built for level 2, so it has no row.
constexpr LevelNeeded kLevels[] = {
    {"rhel", 10, 3, kLevel3Source},
    {"rocky", 10, 3, kLevel3Source},
    {"centos", 10, 3, kLevel3Source},
    {"rhel", 9, 2,
     "Red Hat, \"Building Red Hat Enterprise Linux 9 for the x86-64-v2 microarchitecture level\""},
};

}  // namespace

std::optional<int> x86_level(std::string_view model) {
  const Generation found = generation(model);
  return found.level == 0 ? std::nullopt : std::optional(found.level);
}

std::string_view processor_generation(std::string_view model) { return generation(model).name; }

std::optional<int> pcie_generation(std::string_view model) {
  if (model.find("E5-") == std::string_view::npos) return std::nullopt;
  const auto version = xeon_version(model);
  return version && *version <= 4 ? std::optional(3) : std::nullopt;
}

const LevelNeeded* level_needed(std::string_view os, int version) {
  for (const LevelNeeded& row : kLevels)
    if (row.os == os && version >= row.version) return &row;
  return nullptr;
}

}  // namespace railbed
