#include "report/text/schedule_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/shell.h"
#include "base/text.h"
#include "base/yaml.h"
#include "inventory/hostlist.h"

namespace railbed {
namespace {

// Returns a hostlist as Slurm reads it: no blanks.
std::string slurm_list(const std::vector<std::string>& names) {
  std::string list = fold_hosts(names);
  std::erase(list, ' ');
  return list;
}

std::string comment_lines(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += "# " + printable(note) + "\n";
  return text;
}

// Returns which switches one of the tree stands for, unless it is one of the same name.
std::string stands_for(const ScheduleSwitch& one) {
  if (one.switches.empty() || (one.switches.size() == 1 && one.switches.front() == one.name)) return {};
  return printable(fmt::format("{}: {}", one.name, fold_hostlist(one.switches)));
}

std::string heading(const ScheduleTree& tree) {
  std::string text = "# Written by railbed of the network's cables.\n" + comment_lines(tree.notes);
  const bool rails = std::ranges::any_of(
      tree.switches, [](const ScheduleSwitch& one) { return one.level == 1 && one.switches.size() > 1; });
  if (rails)
    text +=
        "# Nodes have their rails on several leaves; a tree has one place for each node. So nodes on the same leaves\n"
        "# are under one switch, which stands for all of these leaves: within it each rail crosses one switch.\n";
  return text;
}

}  // namespace

std::string slurm_topology_conf(const ScheduleTree& tree) {
  std::string text = heading(tree);
  for (const ScheduleSwitch& one : tree.switches) {
    if (const std::string members = stands_for(one); !members.empty()) text += "# " + members + "\n";
    text += fmt::format("SwitchName={} {}={}\n", one.name, one.nodes.empty() ? "Switches" : "Nodes",
                        slurm_list(one.nodes.empty() ? one.children : one.nodes));
  }
  return text;
}

std::string slurm_topology_yaml(const ScheduleTree& tree) {
  std::string text =
      "---\n" + heading(tree) + "- topology: railbed\n  cluster_default: true\n  tree:\n    switches:\n";
  for (auto one = tree.switches.rbegin(); one != tree.switches.rend(); ++one) {
    if (const std::string members = stands_for(*one); !members.empty()) text += "      # " + members + "\n";
    text += fmt::format("      - switch: {}\n        {}: {}\n", yaml_quoted(one->name),
                        one->nodes.empty() ? "children" : "nodes",
                        yaml_quoted(slurm_list(one->nodes.empty() ? one->children : one->nodes)));
  }
  return text;
}

std::string kubernetes_labels(const ScheduleTree& tree) {
  static constexpr std::string_view kLabels[] = {"leaf", "spine", "core"};
  const auto above = switches_above(tree);
  std::string text = "#!/bin/sh\n" + heading(tree);
  for (const ScheduleSwitch& one : tree.switches) {
    if (one.nodes.empty()) continue;
    if (const std::string members = stands_for(one); !members.empty()) text += "# " + members + "\n";
    std::vector<std::string> labels;
    const auto& its = above.at(one.nodes.front());
    for (std::size_t i = 0; i < std::min(its.size(), std::size(kLabels)); ++i)
      labels.push_back(fmt::format("network.topology.nvidia.com/{}={}", kLabels[i], its[i]));
    // A command line is limited; so are the eyes of its reader.
    constexpr std::size_t kAtOnce = 256;
    for (std::size_t begin = 0; begin < one.nodes.size(); begin += kAtOnce) {
      std::vector<std::string> words = {"kubectl", "label", "--overwrite", "nodes"};
      for (std::size_t i = begin; i < std::min(begin + kAtOnce, one.nodes.size()); ++i) {
        std::string name = one.nodes[i];  // RFC 1123: Kubernetes knows small letters only
        std::ranges::transform(name, name.begin(),
                               [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
        words.push_back(std::move(name));
      }
      words.insert(words.end(), labels.begin(), labels.end());
      text += shell_line(words) + "\n";
    }
  }
  return text;
}

std::string schedule_json(const ScheduleTree& tree) { return document_text(kScheduleDocument, tree); }

}  // namespace railbed
