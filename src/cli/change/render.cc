// railbed render: the files that cluster.yaml requires, without reading a node.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "base/files.h"
#include "campaign/change/plan_nodes.h"
#include "cli/change/plan_options.h"
#include "cli/command.h"
#include "cli/document.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "configure/device_plugin.h"
#include "inventory/load.h"
#include "report/text/plan_text.h"

namespace railbed {
namespace {

struct RenderCommand {
  PlanOptionsSaid said;
  std::string folder;
  bool kubernetes = false;
};

// Writes FOLDER/NODE/etc/…, as if FOLDER/NODE were the node's root.
Result<void> write_files(const std::vector<NodeSettings>& nodes, const std::string& folder) {
  for (const NodeSettings& node : nodes)
    for (const Setting& setting : node.settings)
      for (const DesiredFile& file : setting.files) {
        const std::filesystem::path path = folder + "/" + node.node + file.path;
        if (auto made = make_folder(path.parent_path()); !made) return made;
        if (auto written = write_file(path, file.content); !written) return written;
      }
  return {};
}

int run_kubernetes(const RenderCommand& command) {
  const auto cluster = load_cluster(command.said.request.sources.cluster);
  if (!cluster) return report(cluster.error());
  const auto manifest = device_plugin_manifest(*cluster);
  if (!manifest) return report(manifest.error());
  keep_lines_whole();
  print_result(*manifest);
  return kExitClean;
}

int run_render(const RenderCommand& command) {
  if (command.kubernetes) return run_kubernetes(command);
  const auto nodes = render_nodes(request_of(command.said));
  if (!nodes) return report(nodes.error());
  if (!command.folder.empty()) {
    if (const auto written = write_files(*nodes, command.folder); !written) return report(written.error());
  } else {
    keep_lines_whole();
    print_result(command.said.json ? document_text(kRenderDocument, *nodes) : settings_text(*nodes));
  }
  for (const NodeSettings& node : *nodes)
    if (!node.error.empty()) return report({ErrorKind::kBadInput, node.error});
  return kExitClean;
}

}  // namespace

Action declare_render(CLI::App& app) {
  auto command = std::make_shared<RenderCommand>();
  add_plan_options(app, command->said);
  auto* root = app.add_option(
      "--root", command->said.request.sources.root,
      "with the facts of captured machines: a folder like /, a .tree file, or a folder of them");
  app.add_option("--facts", command->said.request.sources.facts,
                 "with facts that `railbed facts --json` printed")
      ->excludes(root);
  app.add_option("--to", command->folder, "write the files below FOLDER/NODE instead of printing them");
  app.add_flag(
         "--kubernetes", command->kubernetes,
         "print what NVIDIA's device plugin reads instead: how Kubernetes shares GPUs (configure.gpu_sharing)")
      ->excludes("--to")
      ->excludes("--json")
      ->excludes("--root")
      ->excludes("--facts")
      ->excludes("--only")
      ->excludes("--nodes");
  app.footer(
      "\nNothing is asked of any node, and nothing is changed. Without facts the operating system comes from cluster.yaml\n"
      "(`expect: {os: ubuntu 24.04}`), and what only a look can tell is left out and said. Examples:\n"
      "  railbed render cluster.yaml gpu01\n"
      "  railbed render cluster.yaml --only network --to rendered/\n"
      "  railbed render cluster.yaml --kubernetes | kubectl apply -f -");
  return [command] { return run_render(*command); };
}

}  // namespace railbed
