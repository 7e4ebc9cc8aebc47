// railbed autoinstall cluster.yaml NODE: the files that the installer of a bare machine reads.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "base/files.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "configure/autoinstall.h"
#include "inventory/load.h"

namespace railbed {
namespace {

struct AutoinstallOptions {
  std::string file;
  std::string node;
  std::string os;
  std::string output;
};

// Returns "ubuntu-24.04" as cluster.yaml writes it, "ubuntu 24.04".
std::string os_name(std::string text) {
  if (const auto dash = text.find('-'); dash != std::string::npos) text[dash] = ' ';
  return text;
}

Result<void> write_install_files(const std::vector<InstallFile>& files, const std::string& folder) {
  if (const auto made = make_folder(folder); !made) return fail(ErrorKind::kBadInput, made.error().text);
  for (const InstallFile& file : files) {
    const std::string path = (std::filesystem::path(folder) / file.name).string();
    RETURN_IF_ERROR(write_file(path, file.content));
    fmt::print("{}\n", path);
  }
  return {};
}

int run_autoinstall(const AutoinstallOptions& options) {
  const auto cluster = load_cluster(options.file);
  if (!cluster) return report(cluster.error());
  const Node* found = find_node(*cluster, options.node);
  if (found == nullptr) return report(no_such_node(*cluster, options.node));
  Node node = *found;
  if (!options.os.empty()) node.expect.os = os_name(options.os);
  const auto files = install_files(node);
  if (!files) return report(files.error());
  if (options.output.empty()) {
    keep_lines_whole();
    fmt::print("{}", files->front().content);
    return kExitClean;
  }
  const auto written = write_install_files(*files, options.output);
  return written ? kExitClean : report(written.error());
}

}  // namespace

Action declare_autoinstall(CLI::App& app) {
  auto options = std::make_shared<AutoinstallOptions>();
  app.add_option("cluster.yaml", options->file, "the description of the cluster")->required();
  app.add_option("NODE", options->node, "the machine that is to be installed")->required();
  app.add_option("--os", options->os, "ubuntu-24.04 or rhel-9; expect.os of the node, when nothing is said");
  app.add_option("-o,--output", options->output,
                 "folder for the files: user-data and meta-data, or ks.cfg; else the main one is printed");
  app.footer(R"(
Examples:
  railbed autoinstall cluster.yaml gpu1 -o seed/            Ubuntu: user-data and meta-data
  railbed autoinstall cluster.yaml gpu1 --os rhel-9 > ks.cfg

The disks stay a person's choice: the installer asks, and nothing is erased by itself. docs/how-to/bare-machine.md)");
  return [options] { return run_autoinstall(*options); };
}

}  // namespace railbed
