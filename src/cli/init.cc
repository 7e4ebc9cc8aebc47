// railbed init HOST…: looks at live hosts and writes a first cluster.yaml.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>

#include "campaign/propose.h"
#include "campaign/survey.h"
#include "cli/command.h"
#include "cli/fleet_options.h"
#include "cli/terminal.h"
#include "host/open.h"
#include "inventory/describe.h"
#include "inventory/hostlist.h"
#include "inventory/load.h"

namespace railbed {
namespace {

constexpr std::size_t kMaxHosts = 10'000;

struct InitOptions {
  std::vector<std::string> hosts;
  std::vector<std::string> facts_files;
  std::string root;
  std::string output = "cluster.yaml";
  std::string name;
  std::string ssh_config;
  bool force = false;
  fleet::FleetOptions fleet;
};

// What was seen, from wherever it came.
struct LookedAt {
  std::vector<Node> nodes;
  std::map<std::string, Facts> facts;
};

bool is_this_machine(std::string_view host) {
  return host == "localhost" || host == "127.0.0.1" || host == "::1";
}

// "ops@gpu1.lab" → gpu1. An address has no short form.
std::string name_of(std::string_view host) {
  if (host.starts_with("ssh://")) host.remove_prefix(6);
  host = host.substr(host.find('@') + 1);
  if (IpAddress::parse(host)) return std::string(host);
  return std::string(host.substr(0, host.find_first_of(".:")));
}

// The node's own name for itself beats an address, when nobody else has it.
void take_hostnames(LookedAt& seen) {
  std::set<std::string> taken;
  for (const Node& node : seen.nodes) taken.insert(node.name);
  for (Node& node : seen.nodes) {
    const auto found = seen.facts.find(node.name);
    if (found == seen.facts.end() || (!IpAddress::parse(node.name) && !is_this_machine(node.name))) continue;
    const std::string own = name_of(found->second.system.os.hostname.value_or(""));
    if (own.empty() || !taken.insert(own).second) continue;
    auto facts = seen.facts.extract(found);
    facts.key() = own;
    seen.facts.insert(std::move(facts));
    node.name = own;
  }
}

Result<std::vector<Node>> nodes_of(const std::vector<std::string>& hosts) {
  std::vector<Node> nodes;
  std::set<std::string> names;
  for (const std::string& word : hosts) {
    const auto expanded = expand_hostlist(word, kMaxHosts);
    if (!expanded) return fail(ErrorKind::kBadInput, fmt::format("{}: {}", word, expanded.error().text));
    for (const std::string& host : *expanded) {
      if (host.empty() || host.starts_with('-'))
        return fail(ErrorKind::kBadInput, fmt::format("\"{}\" is no host", host));
      Node node;
      node.local = is_this_machine(host);
      node.name = node.local ? "localhost" : name_of(host);
      node.ssh = node.local ? "" : host;
      if (!names.insert(node.name).second)
        return fail(ErrorKind::kBadInput, fmt::format("two hosts would both be called \"{}\"", node.name));
      nodes.push_back(std::move(node));
    }
  }
  return nodes;
}

Result<LookedAt> look_at_hosts(const InitOptions& options) {
  LookedAt seen;
  auto nodes = nodes_of(options.hosts);
  if (!nodes) return fail(nodes.error());
  Cluster cluster;
  cluster.nodes = std::move(*nodes);
  fleet::FleetOptions reach = options.fleet;
  reach.ssh_config = options.ssh_config;
  fleet::Fleet fleet(fleet::targets_of(cluster), std::move(reach));
  Surveyed surveyed = survey_nodes(fleet, terminal_caller());
  for (const Unreachable& dead : surveyed.unreachable)
    fmt::print(stderr, "railbed: {}: left out: {}\n", dead.node, dead.error.text);
  if (interrupted().stop_requested()) return fail(ErrorKind::kCancelled, "interrupted; nothing was written");
  if (surveyed.facts.empty()) return fail(ErrorKind::kUnavailable, "no host answered; nothing was written");
  for (Node& node : cluster.nodes)
    if (surveyed.facts.contains(node.name)) seen.nodes.push_back(std::move(node));
  seen.facts = std::move(surveyed.facts);
  return seen;
}

void add(LookedAt& seen, std::string name, Facts facts) {
  Node node;
  node.name = name;
  node.ssh = name;
  seen.nodes.push_back(std::move(node));
  seen.facts.emplace(std::move(name), std::move(facts));
}

Result<LookedAt> look_at_files(const std::vector<std::string>& files) {
  LookedAt seen;
  for (const std::string& file : files) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) return fail(ErrorKind::kBadInput, fmt::format("cannot read {}", file));
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    auto facts = facts_from_json(text);
    if (!facts) return fail(facts.error(), file);
    std::string name = name_of(facts->system.os.hostname.value_or(""));
    if (name.empty()) name = std::filesystem::path(file).stem().string();
    if (seen.facts.contains(name))
      return fail(ErrorKind::kBadInput,
                  fmt::format("{}: another file already holds node \"{}\"", file, name));
    add(seen, std::move(name), std::move(*facts));
  }
  return seen;
}

Result<LookedAt> look_at_tree(const std::string& root) {
  LookedAt seen;
  auto hosts = open_nodes(root);
  if (!hosts) return fail(hosts.error());
  for (NamedHost& host : *hosts) add(seen, host.node, collect_facts(*host.host));
  return seen;
}

Result<LookedAt> look(const InitOptions& options) {
  const int sources = !options.hosts.empty() + !options.facts_files.empty() + !options.root.empty();
  if (sources != 1) return fail(ErrorKind::kBadInput, "init wants hosts, or --facts, or --root");
  if (!options.facts_files.empty()) return look_at_files(options.facts_files);
  if (!options.root.empty()) return look_at_tree(options.root);
  auto seen = look_at_hosts(options);
  if (seen) take_hostnames(*seen);
  return seen;
}

Result<std::string> write_description(const InitOptions& options, const std::string& text) {
  if (options.output == "-") {
    fmt::print("{}", text);
    return std::string("standard output");
  }
  std::ofstream stream(options.output, std::ios::binary);
  stream << text;
  stream.close();
  if (!stream) return fail(ErrorKind::kUnavailable, fmt::format("cannot write {}", options.output));
  return options.output;
}

std::string cluster_name(const InitOptions& options) {
  if (!options.name.empty()) return options.name;
  const auto folder = std::filesystem::absolute(options.output).parent_path().filename().string();
  return folder.empty() || options.output == "-" ? "cluster" : folder;
}

int run_init(const InitOptions& options) {
  // Said before minutes are spent on asking hosts.
  if (options.output != "-" && !options.force && std::filesystem::exists(options.output))
    return report(
        {ErrorKind::kBadInput, fmt::format("{} is there already; --force replaces it", options.output)});
  auto seen = look(options);
  if (!seen) return report(seen.error());
  const std::size_t asked = options.hosts.empty() ? seen->nodes.size() : nodes_of(options.hosts)->size();
  const bool complete = seen->nodes.size() == asked;
  Proposal proposal = propose_cluster(std::move(seen->nodes), seen->facts);
  proposal.cluster.name = cluster_name(options);
  if (!options.ssh_config.empty())
    proposal.cluster.ssh_config = std::filesystem::absolute(options.ssh_config).lexically_normal().string();
  std::string text =
      "# Written by `railbed init` from what the nodes showed: correct what should be otherwise.\n";
  for (const std::string& note : proposal.notes) text += "# " + note + "\n";
  text += write_cluster(proposal.cluster);
  const auto checked = parse_cluster(text, options.output);
  if (!checked)
    return report(
        {checked.error().kind, "what the nodes showed makes no valid cluster:\n" + checked.error().text});
  const auto written = write_description(options, text);
  if (!written) return report(written.error());
  if (options.output != "-") fmt::print("wrote {}\n\n{}", *written, describe(*checked));
  for (const std::string& note : proposal.notes) fmt::print(stderr, "railbed: {}\n", note);
  return complete ? kExitClean : kExitCouldNotLook;
}

}  // namespace

Action declare_init(CLI::App& app) {
  auto options = std::make_shared<InitOptions>();
  app.add_option("HOST", options->hosts,
                 "ssh destinations; ranges like gpu[01-64]; localhost is this machine, without ssh");
  app.add_option("-o,--output", options->output, "file to write (default cluster.yaml; - is stdout)");
  app.add_flag("--force", options->force, "replace the file when it is there already");
  app.add_option("--name", options->name, "name of the cluster (default: the folder's)");
  app.add_option("-F,--ssh-config", options->ssh_config, "ssh configuration file for all hosts");
  app.add_option("--facts", options->facts_files, "instead of hosts: files of `railbed facts --json`")
      ->expected(1, -1);
  app.add_option("--root", options->root, "instead of hosts: a captured tree, or a folder of them");
  add_fleet_options(app, options->fleet);
  app.footer(
      "\nLooks and never changes anything on a host. Interfaces that share a subnet become rails, "
      "those that\n"
      "speak RDMA if there are any; the one with the default route never does. Then: "
      "railbed check, edit, and\n"
      "railbed prove cluster.yaml.");
  return [options] { return run_init(*options); };
}

}  // namespace railbed
