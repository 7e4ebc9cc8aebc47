#include "cli/plan/schedule_output.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/document.h"
#include "cli/option_checks.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "report/text/schedule_text.h"

namespace railbed {

CLI::Option* add_schedule_format(CLI::App& app, const std::string& name, std::string& format) {
  return app
      .add_option(
          name, format,
          "slurm: topology.conf of topology/tree; slurm-yaml: topology.yaml of Slurm 25.05; kubernetes: "
          "commands that label nodes")
      ->check(one_of({"slurm", "slurm-yaml", "kubernetes"}));
}

int print_schedule(const ScheduleTree& tree, const std::string& format) {
  for (const std::string& note : tree.notes) print_to_stderr("railbed: {}\n", note);
  if (tree.switches.empty())
    return report({ErrorKind::kUnavailable, "no switch has a node on it: there is no tree to write"});
  print_result(format == "json"         ? schedule_json(tree)
               : format == "slurm-yaml" ? slurm_topology_yaml(tree)
               : format == "kubernetes" ? kubernetes_labels(tree)
                                        : slurm_topology_conf(tree));
  return tree.notes.empty() ? kExitClean : kExitWarnings;
}

}  // namespace railbed
