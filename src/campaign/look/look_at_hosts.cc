#include "campaign/look/look_at_hosts.h"
#include "campaign/look/evidence.h"

#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <set>

#include "base/files.h"
#include "base/wording.h"
#include "campaign/look/ssh_way.h"
#include "campaign/look/survey.h"
#include "host/open.h"
#include "inventory/hostlist.h"

namespace railbed {
namespace {

bool is_this_machine(std::string_view host) {
  return host == "localhost" || host == "127.0.0.1" || host == "::1";
}

// Returns the short name of a host: "ops@gpu1.lab" → gpu1. An address has no short form.
std::string name_of(std::string_view host) {
  if (host.starts_with("ssh://")) host.remove_prefix(6);
  host = host.substr(host.find('@') + 1);
  if (IpAddress::parse(host)) return std::string(host);
  return std::string(host.substr(0, host.find_first_of(".:")));
}

// Renames nodes that are named by an address or localhost to their own host name, unless another node has it.
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
    if (auto reached = seen.reached.extract(node.name); !reached.empty()) {
      reached.key() = own;
      seen.reached.insert(std::move(reached));
    }
    node.name = own;
  }
}

Result<std::vector<Node>> nodes_of(const std::vector<std::string>& hosts) {
  std::vector<Node> nodes;
  std::set<std::string> names;
  ASSIGN_OR_RETURN(const auto named, named_hosts(hosts));
  for (const std::string& host : named) {
    if (host.starts_with('-')) return fail(ErrorKind::kBadInput, fmt::format("\"{}\" is no host", host));
    Node node;
    node.local = is_this_machine(host);
    node.name = node.local ? "localhost" : name_of(host);
    node.ssh = node.local ? "" : host;
    if (!names.insert(node.name).second)
      return fail(ErrorKind::kBadInput, fmt::format("two hosts would both be called \"{}\"", node.name));
    nodes.push_back(std::move(node));
  }
  return nodes;
}

void add(LookedAt& seen, std::string name, Facts facts) {
  Node node;
  node.name = name;
  node.ssh = name;
  seen.nodes.push_back(std::move(node));
  seen.facts.emplace(std::move(name), std::move(facts));
}

}  // namespace

Result<LookedAt> look_at_hosts(const std::vector<std::string>& hosts, ReachOptions reach,
                               const Caller& caller) {
  ASSIGN_OR_RETURN(auto nodes, nodes_of(hosts));
  Cluster cluster;
  cluster.nodes = std::move(nodes);
  const ReachOptions way = reach;
  fleet::Fleet fleet(fleet::targets_of(cluster), std::move(reach));
  Surveyed surveyed = survey_nodes(fleet, caller);
  for (const Unreachable& dead : surveyed.unreachable)
    caller.note(fmt::format("{}: left out: {}", dead.node, without_node(dead.error)));
  if (caller.stop.stop_requested()) return fail(ErrorKind::kCancelled, "interrupted; nothing was written");
  if (surveyed.facts.empty()) return fail(ErrorKind::kUnavailable, "no host answered; nothing was written");
  LookedAt seen;
  seen.complete = surveyed.facts.size() == cluster.nodes.size();
  for (Node& node : cluster.nodes) {
    if (!surveyed.facts.contains(node.name)) continue;
    if (!node.local) seen.reached[node.name] = ssh_addresses(way, node.ssh, caller.stop);
    seen.nodes.push_back(std::move(node));
  }
  seen.facts = std::move(surveyed.facts);
  take_hostnames(seen);
  return seen;
}

Result<LookedAt> look_at_facts_files(const std::vector<std::string>& files) {
  LookedAt seen;
  for (const std::string& file : files) {
    const auto text = read_file(file);
    if (!text) return fail(ErrorKind::kBadInput, text.error().text);
    auto facts = facts_from_json(*text);
    if (!facts) return wrong_file(facts.error(), file, "railbed facts --json");
    std::string name = name_of(facts->system.os.hostname.value_or(""));
    if (name.empty()) name = std::filesystem::path(file).stem().string();
    if (seen.facts.contains(name))
      return fail(ErrorKind::kBadInput,
                  fmt::format("{}: another file already holds node \"{}\"", file, name));
    add(seen, std::move(name), std::move(*facts));
  }
  return seen;
}

Result<LookedAt> look_at_tree(const std::string& root, const Caller& caller) {
  LookedAt seen;
  std::vector<Unread> unread;
  ASSIGN_OR_RETURN(auto hosts, open_nodes(root, &unread));
  for (const std::string& line : lines_of(unread)) caller.note(line);
  for (NamedHost& host : hosts) add(seen, host.node, collect_facts(*host.host));
  return seen;
}

}  // namespace railbed
