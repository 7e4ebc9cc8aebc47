// railbed init HOST…: reads live hosts, listens where cables lead, and writes a first cluster.yaml.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "base/files.h"
#include "base/json.h"
#include "base/shell.h"
#include "base/text.h"
#include "base/wipe.h"
#include "campaign/change/find_cables.h"
#include "campaign/change/propose.h"
#include "campaign/look/look_at_hosts.h"
#include "cli/change/apply_options.h"
#include "cli/command.h"
#include "cli/document.h"
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
  bool json = false;
  bool no_cables = false;
  bool bring_up = false;
  CableChoice cables;
  int listen_seconds = 3;
  ReachOptions reach;
  ReachOptions as_root;  // its password of sudo alone: only links that are down need root
};

// The document of `init --json` (docs/reference/output.md).
struct InitAnswer {
  std::string file = {};  // empty: nothing was written
  json::Lines description = {};
  bool complete = true;
  std::vector<ListeningPort> ports = {};
  std::vector<CableLink> links = {};
  std::vector<std::string> cables = {};
  std::vector<std::string> notes = {};
  std::vector<std::string> next = {};
  FIELDS(InitAnswer, file, description, complete, ports, links, cables, notes, next);
};
constexpr Document<InitAnswer> kInitDocument{"railbed-init"};

ReachOptions reach_of(const InitOptions& options) {
  ReachOptions reach = options.reach;
  reach.ssh_config = options.ssh_config;
  reach.sudo_password = options.as_root.sudo_password;
  return reach;
}

Result<LookedAt> look(const InitOptions& options) {
  const int sources = !options.hosts.empty() + !options.facts_files.empty() + !options.root.empty();
  if (sources != 1)
    return fail(ErrorKind::kBadInput,
                "name the hosts to look at, or files with --facts, or a captured tree with --root");
  if (!options.facts_files.empty()) return look_at_facts_files(options.facts_files);
  Caller caller = terminal_caller();
  caller.note = say_to_person;
  if (!options.root.empty()) return look_at_tree(options.root, caller);
  return look_at_hosts(options.hosts, reach_of(options), caller);
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
  std::error_code ignored;
  const auto folder = std::filesystem::absolute(options.output, ignored).parent_path().filename().string();
  return folder.empty() || options.output == "-" ? "cluster" : folder;
}

Result<CablesSeen> hear_cables(const InitOptions& options, const LookedAt& seen) {
  if (options.hosts.empty() || options.no_cables) return CablesSeen{};
  CableChoice choice = options.cables;
  choice.who = choice_of({}).who;
  choice.listen = std::chrono::seconds(options.listen_seconds);
  if (options.bring_up)
    choice.may_bring_up = [](std::string_view) { return true; };
  else if (!options.json && isatty(STDIN_FILENO) == 1)
    choice.may_bring_up = asks_person;
  Caller caller = terminal_caller();
  caller.note = say_to_person;
  return find_cables(seen, choice, reach_of(options), caller);
}

// Returns the commands that follow, in order.
std::vector<std::string> next_steps(const InitOptions& options, const Proposal& proposal) {
  if (proposal.cluster.rails.empty()) return {};
  const std::string file = shell_line({options.output == "-" ? "cluster.yaml" : options.output});
  std::vector<std::string> next = {"railbed check " + file};
  if (!proposal.cables.empty()) next.push_back("railbed apply " + file);
  next.push_back("railbed prove " + file);
  return next;
}

// The comments at the head of the file.
std::vector<std::string> comments_of(const Proposal& proposal) {
  std::vector<std::string> comments = {
      "Written by `railbed init` from what the nodes showed: correct what is not as you want it."};
  if (!proposal.cables.empty())
    comments.emplace_back(
        "Cables that were seen; the nodes have none of these addresses until `railbed apply`:");
  for (const std::string& cable : proposal.cables) comments.push_back("  " + cable);
  comments.insert(comments.end(), proposal.notes.begin(), proposal.notes.end());
  return comments;
}

void print_for_person(const InitAnswer& answer, const Cluster& cluster) {
  fmt::print("wrote {}\n\n{}", answer.file, describe(cluster));
  if (!answer.cables.empty()) fmt::print("\ncables\n");
  for (const std::string& cable : answer.cables) fmt::print("  {}\n", printable(cable));
  if (!answer.next.empty()) fmt::print("\nnext\n");
  for (const std::string& command : answer.next) fmt::print("  {}\n", printable(command));
}

int run_init(const InitOptions& options) {
  // This is checked first, because reading the hosts takes minutes.
  std::error_code ignored;
  const auto there = std::filesystem::status(options.output, ignored);
  if (options.output != "-" && !options.force && std::filesystem::exists(there) &&
      !std::filesystem::is_directory(there))
    return report(
        {ErrorKind::kBadInput, fmt::format("{} is there already; --force replaces it", options.output)});
  if (options.output != "-")
    if (const auto writable = check_writable(options.output); !writable) return report(writable.error());
  if (options.json && options.output == "-")
    return report(
        {ErrorKind::kBadInput, "--json holds the description, too: write the file elsewhere than to -"});
  auto seen = look(options);
  if (!seen) return report(seen.error());
  const auto cables = hear_cables(options, *seen);
  if (!cables) return report(cables.error());
  InitAnswer answer{.complete = seen->complete};
  Proposal proposal = propose_cluster(std::move(seen->nodes), seen->facts, seen->reached, *cables);
  proposal.cluster.name = cluster_name(options);
  if (!options.ssh_config.empty())
    proposal.cluster.ssh_config =
        std::filesystem::absolute(options.ssh_config, ignored).lexically_normal().string();
  answer.description.text = write_cluster(proposal.cluster, comments_of(proposal));
  const auto checked = parse_cluster(answer.description.text, options.output);
  if (!checked)
    return report(
        {checked.error().kind, "what the nodes showed makes no valid cluster:\n" + checked.error().text});
  const auto written = write_description(options, answer.description.text);
  if (!written) return report(written.error());
  answer.file = *written;
  answer.ports = cables->ends;
  answer.links = proposal.cabling.links;
  answer.cables = proposal.cables;
  answer.notes = proposal.notes;
  answer.next = next_steps(options, proposal);
  if (options.json)
    print_document(kInitDocument, answer);
  else if (options.output != "-")
    print_for_person(answer, *checked);
  for (const std::string& note : proposal.notes) print_to_stderr("railbed: {}\n", printable(note));
  return answer.complete ? kExitClean : kExitCouldNotLook;
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
  app.add_option("--ports", options->cables.ports,
                 "look at the cables of these ports only: ens6 on every node, or gpu1:ens6 on one")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("PORT[,PORT]");
  app.add_flag("--cables", options->cables.always, "look where cables lead even if all ports have addresses");
  app.add_flag("--no-cables", options->no_cables, "do not look where cables lead")
      ->excludes("--cables", "--ports");
  app.add_flag("--bring-up", options->bring_up,
               "set ports that are down up for the look, and down again: takes root on their nodes");
  app.add_option("--listen", options->listen_seconds, "how long the nodes listen for each other")
      ->check(between(1, 50))
      ->capture_default_str()
      ->type_name("SECONDS");
  add_json_flag(app, options->json, "print what was found as JSON; the file is written, too", kInitDocument);
  add_fleet_options(app, options->reach);
  add_root_options(app, options->as_root);
  app.footer(
      "\nWrites a first cluster.yaml. Interfaces that share a subnet become rails, those that speak RDMA if there\n"
      "are any; never the one with the default route, nor, on a node without such a route, the one that ssh uses.\n"
      "Where fast ports have no address yet, the nodes send datagrams with secret tokens on each and listen: each\n"
      "cable becomes a rail, with a subnet that nothing on the nodes uses, addresses, and the MTU that both ends can.\n"
      "Nothing on a host is changed; only --bring-up sets links up, for the look, and always down again.\n"
      "Examples:\n"
      "  railbed init gpu1 gpu2 && railbed apply cluster.yaml && railbed prove cluster.yaml\n"
      "  railbed init gpu1 gpu2 --ports ens6,gpu2:ens7 --bring-up -K\n\n"
      "Exit codes: 0 the file was written, 3 a host did not answer and is not in it, or nothing was written,\n"
      "64 the file is there already, or the command line is wrong.");
  return [options] {
    const int status = run_init(*options);
    wipe(options->as_root.sudo_password);
    return status;
  };
}

}  // namespace railbed
