#include "inventory/cluster.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"

namespace railbed {
namespace {

template <class Item, class Member>
const Item* find(const std::vector<Item>& items, Member member, std::string_view wanted) {
  const auto found =
      std::find_if(items.begin(), items.end(), [&](const Item& item) { return item.*member == wanted; });
  return found == items.end() ? nullptr : &*found;
}

// Returns all names if they are few, else a guess. A list is often better: numbers in names are seldom
// misspelled, and they resemble each other.
std::string names_instead(std::string_view name, const std::vector<std::string_view>& names) {
  constexpr std::size_t kFew = 8;
  if (names.empty()) return "";
  if (names.size() <= kFew) return fmt::format("; it has {}", fmt::join(names, ", "));
  return did_you_mean(name, names);
}

Error no_such(const Cluster& cluster, std::string_view what, std::string_view name,
              const std::vector<std::string_view>& names) {
  const std::string_view file = cluster.file.empty() ? "cluster.yaml" : std::string_view(cluster.file);
  return {ErrorKind::kBadInput,
          fmt::format("{} has no {} \"{}\"{}", file, what, name, names_instead(name, names))};
}

}  // namespace

Error no_such_node(const Cluster& cluster, std::string_view name) {
  return no_such(cluster, "node", name, names_of(cluster.nodes));
}

Error no_such_rail(const Cluster& cluster, std::string_view name) {
  return no_such(cluster, "rail", name, names_of(cluster.rails));
}

const Node* find_node(const Cluster& cluster, std::string_view name) {
  return find(cluster.nodes, &Node::name, name);
}

const Rail* find_rail(const Cluster& cluster, std::string_view name) {
  return find(cluster.rails, &Rail::name, name);
}

std::set<std::string_view> storage_servers(const Cluster& cluster) {
  std::set<std::string_view> on_storage, on_others;
  for (const Rail& rail : cluster.rails)
    for (const RailPort& port : rail.ports)
      (rail.purpose == RailPurpose::kStorage ? on_storage : on_others).insert(port.node);
  if (on_storage.empty() || on_others.empty()) return {};
  for (const Node& node : cluster.nodes)
    if (node.expect.gpus.value_or(0) > 0) on_storage.erase(node.name);
  std::erase_if(on_storage, [&](std::string_view node) { return on_others.contains(node); });
  return on_storage;
}

const MigLayout* mig_layout_of(const std::vector<MigLayout>& layouts, int gpu) {
  const auto found = std::ranges::find_if(layouts, [&](const MigLayout& layout) {
    return layout.gpus.empty() || std::ranges::find(layout.gpus, gpu) != layout.gpus.end();
  });
  return found == layouts.end() ? nullptr : &*found;
}

ExitMeaning exit_meaning(const SiteCheck& check, int code) {
  const auto said = std::ranges::find(check.exit, code, &ExitCode::code);
  if (said != check.exit.end()) return said->meaning;
  // Monitoring Plugins, Development Guidelines: "Plugin Return Codes"
  return code == 0   ? ExitMeaning::kPass
         : code == 1 ? ExitMeaning::kWarn
         : code == 2 ? ExitMeaning::kFail
                     : ExitMeaning::kUnknown;
}

std::string passing_exits(const SiteCheck& check) {
  std::vector<int> codes;
  for (int code = 0; code < 256; ++code)
    if (exit_meaning(check, code) == ExitMeaning::kPass) codes.push_back(code);
  return codes.empty() ? "no exit code passes" : fmt::format("exit {}", fmt::join(codes, " or "));
}

std::map<std::string_view, std::vector<const SiteCheck*>> site_checks_by_node(const Cluster& cluster) {
  std::map<std::string_view, std::vector<const SiteCheck*>> checks;
  for (const SiteCheck& check : cluster.checks) {
    if (check.nodes.empty())
      for (const Node& node : cluster.nodes) checks[node.name].push_back(&check);
    for (const std::string& node : check.nodes) {
      auto& its = checks[node];
      if (its.empty() || its.back() != &check) its.push_back(&check);
    }
  }
  return checks;
}

std::string default_nqn(std::string_view server, std::string_view name) {
  return fmt::format("{}{}:{}", kOwnNqn, server, name);
}

bool is_on_rail(const ClusterPart& part, std::string_view rail) {
  return part.rails.empty() || std::ranges::find(part.rails, rail) != part.rails.end();
}

bool is_on_node(const ClusterPart& part, std::string_view node) {
  return part.nodes.empty() || std::ranges::find(part.nodes, node) != part.nodes.end();
}

const RailPort* find_port(const Rail& rail, std::string_view node) {
  return find(rail.ports, &RailPort::node, node);
}

bool is_within(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) &&
         (path.size() == folder.size() || folder.ends_with('/') || path[folder.size()] == '/');
}

// hier(7), file-hierarchy(7)
bool is_system_folder(std::string_view path) {
  constexpr std::string_view kWhole[] = {"/bin",    "/boot", "/dev",  "/etc", "/lib",  "/lib32", "/lib64",
                                         "/libx32", "/proc", "/root", "/run", "/sbin", "/sys",   "/usr"};
  constexpr std::string_view kItself[] = {"/",         "/tmp",     "/var",     "/var/cache", "/var/lib",
                                          "/var/lock", "/var/log", "/var/run", "/var/spool", "/var/tmp"};
  return std::ranges::find(kItself, path) != std::end(kItself) ||
         std::ranges::any_of(kWhole, [&](std::string_view folder) { return is_within(path, folder); });
}

}  // namespace railbed
