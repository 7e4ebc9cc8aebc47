// railbed autoinstall cluster.yaml NODE: the files that the installer of a bare machine reads.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "campaign/change/installer_iso.h"
#include "campaign/change/plan_nodes.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "configure/autoinstall.h"
#include "inventory/load.h"

namespace railbed {
namespace {

struct AutoinstallOptions {
  std::string file;
  std::vector<std::string> nodes;  // as lists of named_hosts()
  std::string os;
  std::string output;
  std::string iso;
  bool force = false;
};

// Returns "ubuntu-24.04" as cluster.yaml writes it, "ubuntu 24.04".
std::string os_name(std::string text) {
  if (const auto dash = text.find('-'); dash != std::string::npos) text[dash] = ' ';
  return text;
}

Result<std::vector<Node>> nodes_to_install(const AutoinstallOptions& options) {
  ASSIGN_OR_RETURN(const Cluster cluster, load_cluster(options.file));
  ASSIGN_OR_RETURN(const Names names, chosen_nodes(options.nodes, cluster));
  std::vector<Node> nodes;
  for (const Node& node : cluster.nodes) {
    if (!names.contains(node.name)) continue;
    nodes.push_back(node);
    if (!options.os.empty()) nodes.back().expect.os = os_name(options.os);
  }
  return nodes;
}

Result<void> write_install_files(const std::vector<InstallFile>& files, const std::string& folder,
                                 bool replace) {
  std::error_code ignored;  // the write below fails with the reason
  for (const InstallFile& file : files)
    if (const auto path = std::filesystem::path(folder) / file.name;
        !replace && std::filesystem::is_regular_file(path, ignored))
      return fail(ErrorKind::kBadInput,
                  fmt::format("{} is there already; --force replaces it", path.string()));
  if (const auto made = make_folder(folder); !made) return fail(ErrorKind::kBadInput, made.error().text);
  for (const InstallFile& file : files) {
    const std::string path = (std::filesystem::path(folder) / file.name).string();
    RETURN_IF_ERROR(write_file(path, file.content));
    fmt::print("{}\n", path);
  }
  return {};
}

int write_answers(const AutoinstallOptions& options, const std::vector<Node>& nodes) {
  if (nodes.size() != 1)
    return report({ErrorKind::kBadInput, "name one node; only --iso writes for several at once"});
  const auto files = install_files(nodes.front());
  if (!files) return report(files.error());
  if (options.output.empty()) {
    keep_lines_whole();
    fmt::print("{}", files->front().content);
    return kExitClean;
  }
  const auto written = write_install_files(*files, options.output, options.force);
  return written ? kExitClean : report(written.error());
}

int write_iso(const AutoinstallOptions& options, const std::vector<Node>& nodes) {
  const auto written =
      write_installer_iso({options.iso, nodes}, options.output, options.force, terminal_caller());
  clear_progress();
  if (!written) return report(written.error());
  fmt::print("{}: {}, {}\n", options.output, written->system,
             nodes.size() == 1
                 ? fmt::format("which installs {} by itself up to the choice of the disk", nodes.front().name)
                 : fmt::format("whose menu waits until a person chooses one of {} nodes", nodes.size()));
  return kExitClean;
}

int run_autoinstall(const AutoinstallOptions& options) {
  const auto nodes = nodes_to_install(options);
  if (!nodes) return report(nodes.error());
  return options.iso.empty() ? write_answers(options, *nodes) : write_iso(options, *nodes);
}

}  // namespace

Action declare_autoinstall(CLI::App& app) {
  auto options = std::make_shared<AutoinstallOptions>();
  app.add_option("cluster.yaml", options->file, "the description of the cluster")->required();
  app.add_option("NODE", options->nodes, "the machine that is to be installed; several with --iso")
      ->required()
      ->expected(1, -1);
  app.add_option("--os", options->os,
                 "ubuntu-24.04 or rhel-9 (default: expect.os of the node, or what the ISO holds)");
  auto* output = app.add_option(
      "-o,--output", options->output,
      "folder for the files: user-data and meta-data, or ks.cfg; else the main one is printed. With --iso "
      "the ISO that is written");
  auto* iso = app.add_option(
      "--iso", options->iso,
      "the maker's ISO (Ubuntu live server, or RHEL 9 and its kin): writes a copy that holds the answers and "
      "boots with them, by BIOS and UEFI");
  iso->needs(output);
  app.add_flag("--force", options->force, "replace the files, or the ISO, of -o if they exist")
      ->needs(output);
  app.footer(R"(
Examples:
  railbed autoinstall cluster.yaml gpu1 -o seed/            Ubuntu: user-data and meta-data
  railbed autoinstall cluster.yaml gpu1 --os rhel-9 > ks.cfg
  railbed autoinstall cluster.yaml gpu1 --iso ubuntu-24.04-live-server-amd64.iso -o gpu1.iso
  railbed autoinstall cluster.yaml 'gpu[1-8]' --iso Rocky-9-dvd.iso -o pod.iso    a menu with an entry for each

The disks stay a person's choice: the installer asks, and nothing is erased by itself. docs/how-to/bare-machine.md)");
  return [options] { return run_autoinstall(*options); };
}

}  // namespace railbed
