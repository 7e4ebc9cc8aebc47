#include "campaign/look/evidence.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/files.h"
#include "base/json.h"
#include "campaign/look/sent_bmc.h"
#include "host/open.h"
#include "inventory/load.h"
#include "model/watched.h"

namespace railbed {
namespace {

namespace fs = std::filesystem;

bool is_fixture(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".tree") return true;
  return false;
}

// Reads a fixture's file of values by node name. A missing file leaves `nodes` as it is.
template <class Said>
Result<void> add_file_of_nodes(const fs::path& file, std::map<std::string, Said>& nodes) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return {};
  ASSIGN_OR_RETURN(const auto text, read_file(file));
  auto said = json::read<std::map<std::string, Said>>(text);
  if (!said) return fail(std::move(said.error()), file.string());
  nodes = std::move(*said);
  return {};
}

}  // namespace

void ask_what_is_expected(const Cluster& cluster, std::string_view name, CollectOptions& options) {
  const Node* const node = find_node(cluster, name);
  const Expectations expect = node == nullptr ? Expectations() : node->expect;
  options.venv = expect.venv.value_or("");
  options.container = expect.container.value_or("");
  options.container_runtime = expect.container_runtime.value_or("");
  options.gds = expect.gpudirect_storage.value_or(false);
  options.devices.clear();
  options.folders.clear();
  for (const StorageExport& one : cluster.storage) {
    if (one.server == name)
      (is_nfs(one.protocol) ? options.folders : options.devices).push_back(source_of(one));
    if (is_nfs(one.protocol) && std::ranges::find(one.clients, name) != one.clients.end())
      options.folders.push_back(one.mount);
  }
}

SiteOrders orders_of(const std::vector<const SiteCheck*>& checks) {
  SiteOrders all;
  for (const SiteCheck* check : checks) {
    all.orders.push_back({check->name, {check->run, check->user, check->timeout}});
    all.seconds += check->timeout;
  }
  return all;
}

std::vector<std::string> asked_paths(const Cluster& cluster) {
  std::set<std::string> paths;
  for (const Node& node : cluster.nodes)
    if (node.expect.checkpoint_path) paths.insert(*node.expect.checkpoint_path);
  return {paths.begin(), paths.end()};
}

Result<void> add_root(const std::string& root, Evidence& evidence, const Hear& note) {
  std::vector<Unread> unread;
  ASSIGN_OR_RETURN(auto hosts, open_nodes(root, &unread));
  for (const std::string& line : lines_of(unread)) note(line);
  const fs::path folder(root);
  std::error_code ignored;
  const bool fixture = fs::is_directory(folder, ignored) && is_fixture(folder);
  // A cluster.yaml that the user named takes precedence.
  if (fixture && evidence.cluster.nodes.empty() && fs::exists(folder / "cluster.yaml", ignored)) {
    ASSIGN_OR_RETURN(auto cluster, load_cluster(folder / "cluster.yaml"));
    evidence.cluster = std::move(cluster);
  }
  CollectOptions options;
  options.load_seconds = kLoadSeconds;  // reading a recorded window takes no time
  options.paths = asked_paths(evidence.cluster);
  // A tree, a folder and a report return what was recorded: nothing of them runs.
  const auto checks = site_checks_by_node(evidence.cluster);
  for (NamedHost& host : hosts) {
    ask_what_is_expected(evidence.cluster, host.node, options);
    const auto own = checks.find(host.node);
    options.site_checks =
        orders_of(own == checks.end() ? std::vector<const SiteCheck*>() : own->second).orders;
    evidence.nodes.emplace(host.node, collect_facts(*host.host, options));
    if (auto bmc = sent_bmc(*host.host, host.node)) evidence.bmcs.emplace(host.node, std::move(*bmc));
  }
  if (!fixture) return {};
  for (const Node& node : evidence.cluster.nodes)
    if (!evidence.nodes.contains(node.name))
      evidence.unreachable.push_back({node.name, {ErrorKind::kUnavailable, "there is no tree of it"}});
  if (auto added = add_file_of_nodes(folder / "clocks.json", evidence.clocks); !added) return added;
  if (auto added = add_file_of_nodes(folder / "after-reboot.json", evidence.after_reboot); !added)
    return added;
  if (auto added = add_file_of_nodes(folder / "bmcs.json", evidence.bmcs); !added) return added;
  std::map<std::string, Watched> watched;
  if (auto added = add_file_of_nodes(folder / "watched.json", watched); !added) return added;
  for (auto& [node, seen] : watched)
    evidence.watched.emplace(node, std::make_shared<const Watched>(std::move(seen)));
  if (fs::exists(folder / "measurements.json", ignored))
    return add_measurements_file(folder / "measurements.json", evidence);
  return {};
}

tl::unexpected<Error> wrong_file(Error error, const std::string& file, std::string_view writer) {
  error.text += fmt::format("; `{}` writes such a file", writer);
  return fail(std::move(error), file);
}

Result<void> add_facts(std::string_view text, const std::string& file, Evidence& evidence) {
  auto facts = facts_from_json(text);
  if (!facts) return wrong_file(std::move(facts.error()), file, "railbed facts --json");
  const std::string name = facts->system.os.hostname.value_or(fs::path(file).stem());
  if (!evidence.nodes.emplace(name, std::move(*facts)).second)
    return fail(ErrorKind::kBadInput, fmt::format("{}: facts of {} were given twice", file, name));
  return {};
}

Result<void> add_facts_file(const std::string& file, Evidence& evidence) {
  ASSIGN_OR_RETURN(const auto text, read_file(file));
  return add_facts(text, file, evidence);
}

Result<std::vector<Measurement>> measurements_from_json(std::string_view text) {
  ASSIGN_OR_RETURN(auto document, json::parse(text));
  const bool wrapped = document.is_object() && document.contains("measurements");
  return json::decode<std::vector<Measurement>>(wrapped ? (document)["measurements"] : document);
}

Result<void> add_measurements(std::string_view text, const std::string& file, Evidence& evidence) {
  auto measurements = measurements_from_json(text);
  if (!measurements) return wrong_file(std::move(measurements.error()), file, "railbed bench … --json");
  for (Measurement& measurement : *measurements) evidence.measurements.push_back(std::move(measurement));
  evidence.measured = true;
  return {};
}

Result<void> add_measurements_file(const std::string& file, Evidence& evidence) {
  ASSIGN_OR_RETURN(const auto text, read_file(file));
  return add_measurements(text, file, evidence);
}

}  // namespace railbed
