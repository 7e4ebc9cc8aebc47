// How the operating system of a node installs packages: remedies are commands that run there.
#pragma once

#include <array>
#include <string_view>

#include "verify/survey.h"

namespace railbed {

enum class PackageTool { kUnknown, kApt, kDnf };

// By ID of /etc/os-release.
inline PackageTool package_tool(const NodeView& node) {
  constexpr std::array<std::string_view, 2> kDebian = {"debian", "ubuntu"};
  constexpr std::array<std::string_view, 7> kRedHat = {"rhel",   "rocky", "almalinux", "centos",
                                                       "fedora", "ol",    "amzn"};
  const std::string id = node.facts->system.os.id.value_or("");
  for (const std::string_view one : kDebian)
    if (id == one) return PackageTool::kApt;
  for (const std::string_view one : kRedHat)
    if (id == one) return PackageTool::kDnf;
  return PackageTool::kUnknown;
}

// Of two commands the one for this node; both where its system is not known.
inline std::vector<std::string> for_system(const NodeView& node, std::vector<std::string> apt,
                                           std::vector<std::string> dnf) {
  const PackageTool tool = package_tool(node);
  if (tool == PackageTool::kDnf) return dnf;
  if (tool == PackageTool::kUnknown) apt.insert(apt.end(), dnf.begin(), dnf.end());
  return apt;
}

}  // namespace railbed
