// Machines of tests/machines for the tests of this room. Each is read and judged once, however many tests use
// it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "campaign/look/evidence.h"
#include "verify/verify.h"

namespace railbed {

inline const std::filesystem::path kMachines = std::filesystem::path(RAILBED_SOURCE_DIR) / "tests/machines";

struct Machine {
  Evidence evidence;
  Verdict verdict;
};

inline const Machine& machine_of(std::string_view folder) {
  static std::map<std::string, Machine> machines;
  const auto [found, fresh] = machines.try_emplace(std::string(folder));
  if (fresh) {
    const auto added = add_root(kMachines / folder, found->second.evidence);
    EXPECT_TRUE(added) << (added ? "" : added.error().text);
    found->second.verdict = verify(found->second.evidence);
  }
  return found->second;
}

inline std::vector<std::filesystem::path> machine_folders() {
  std::vector<std::filesystem::path> folders;
  for (const auto& folder : std::filesystem::directory_iterator(kMachines)) {
    if (!folder.is_directory()) continue;
    for (const auto& file : std::filesystem::directory_iterator(folder))
      if (file.path().extension() == ".tree") {
        folders.push_back(folder);
        break;
      }
  }
  std::ranges::sort(folders);
  return folders;
}

}  // namespace railbed
