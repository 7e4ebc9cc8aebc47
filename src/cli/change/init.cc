// railbed init HOST…: reads live hosts and writes a first cluster.yaml.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "base/files.h"
#include "base/text.h"
#include "campaign/change/propose.h"
#include "campaign/look/look_at_hosts.h"
#include "cli/command.h"
#include "cli/fleet_options.h"
#include "cli/option_checks.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "inventory/describe.h"
#include "inventory/load.h"

namespace railbed {
namespace {

struct InitOptions {
  std::vector<std::string> hosts;
  std::vector<std::string> facts_files;
  std::string root;
  std::string output = "cluster.yaml";
  std::string name;
  std::string ssh_config;
  bool force = false;
  ReachOptions reach;
};

Result<LookedAt> look(const InitOptions& options) {
  const int sources = !options.hosts.empty() + !options.facts_files.empty() + !options.root.empty();
  if (sources != 1)
    return fail(ErrorKind::kBadInput,
                "name the hosts to look at, or files with --facts, or a captured tree with --root");
  if (!options.facts_files.empty()) return look_at_facts_files(options.facts_files);
  Caller caller = terminal_caller();
  caller.note = say_to_person;
  if (!options.root.empty()) return look_at_tree(options.root, caller);
  ReachOptions reach = options.reach;
  reach.ssh_config = options.ssh_config;
  return look_at_hosts(options.hosts, std::move(reach), caller);
}

Result<std::string> write_description(const InitOptions& options, const std::string& text) {
  if (options.output == "-") {
    keep_lines_whole();
    fmt::print("{}", text);
    return std::string("standard output");
  }
  RETURN_IF_ERROR(write_file(options.output, text));
  return options.output;
}

std::string cluster_name(const InitOptions& options) {
  if (!options.name.empty()) return options.name;
  const auto folder = std::filesystem::absolute(options.output).parent_path().filename().string();
  return folder.empty() || options.output == "-" ? "cluster" : folder;
}

int run_init(const InitOptions& options) {
  // This is checked first, because reading the hosts takes minutes.
  if (options.output != "-" && !options.force && std::filesystem::exists(options.output))
    return report(
        {ErrorKind::kBadInput, fmt::format("{} is there already; --force replaces it", options.output)});
  auto seen = look(options);
  if (!seen) return report(seen.error());
  const bool complete = seen->complete;
  Proposal proposal = propose_cluster(std::move(seen->nodes), seen->facts, seen->reached);
  proposal.cluster.name = cluster_name(options);
  if (!options.ssh_config.empty())
    proposal.cluster.ssh_config = std::filesystem::absolute(options.ssh_config).lexically_normal().string();
  std::vector<std::string> comments = {
      "Written by `railbed init` from what the nodes showed: correct what is not as you want it."};
  comments.insert(comments.end(), proposal.notes.begin(), proposal.notes.end());
  const std::string text = write_cluster(proposal.cluster, comments);
  const auto checked = parse_cluster(text, options.output);
  if (!checked)
    return report(
        {checked.error().kind, "what the nodes showed makes no valid cluster:\n" + checked.error().text});
  const auto written = write_description(options, text);
  if (!written) return report(written.error());
  if (options.output != "-") fmt::print("wrote {}\n\n{}", *written, describe(*checked));
  for (const std::string& note : proposal.notes) print_to_stderr("railbed: {}\n", printable(note));
  return complete ? kExitClean : kExitCouldNotLook;
}

}  // namespace

Action declare_init(CLI::App& app) {
  auto options = std::make_shared<InitOptions>();
  app.add_option("HOST", options->hosts,
                 "ssh destinations; lists like gpu[01-64],nas; localhost is this machine, without ssh")
      ->check(no_description("write hosts, and the file to write behind -o"));
  app.add_option("-o,--output", options->output, "file to write (default cluster.yaml; - is stdout)");
  app.add_flag("--force", options->force, "replace the file when it is there already");
  app.add_option("--name", options->name, "name of the cluster (default: the folder's)");
  app.add_option("-F,--ssh-config", options->ssh_config, "ssh configuration file for all hosts");
  app.add_option("--facts", options->facts_files, "instead of hosts: files of `railbed facts --json`")
      ->expected(1, -1);
  app.add_option("--root", options->root, "instead of hosts: a captured tree, or a folder of them");
  add_fleet_options(app, options->reach);
  app.footer(
      "\nLooks and never changes anything on a host. Interfaces that share a subnet become rails, "
      "those that\n"
      "speak RDMA if there are any; never the one with the default route, nor, on a node without such a "
      "route,\n"
      "the one that ssh uses. Then: railbed check, edit, and railbed prove cluster.yaml.");
  return [options] { return run_init(*options); };
}

}  // namespace railbed
