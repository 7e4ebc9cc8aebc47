// Writes a Cluster as cluster.yaml, with regular nodes and addresses folded into ranges.
//
// Settings that all nodes or rails have are written once at the top level with their most frequent value; an
// entry has only those that differ. Consecutive nodes become one entry while their names, ssh destinations
// and BMCs all continue their patterns; ports of a rail fold in the same way.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/yaml.h"
#include "inventory/amend.h"
#include "inventory/hostlist.h"
#include "inventory/load.h"

namespace railbed {
namespace {

// A few nodes are easier to read and to edit one by one.
constexpr std::size_t kFew = 4;

// Returns a value as YAML: plain if YAML cannot misread it, else in quotes.
std::string in_quotes(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/@+- ";
  const bool word = !text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos &&
                    std::string_view("._/@+- ").find(text.front()) == std::string_view::npos &&
                    text.back() != ' ' && text != "null" && text != "Null" && text != "NULL";
  if (word || (text.starts_with('/') && text.find_first_not_of(kPlain) == std::string_view::npos))
    return std::string(text);
  return yaml_quoted(text);
}

// Returns a size in the largest unit in which it is a whole number.
std::string exact(ByteCount size) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (size.bytes != 0 && size.bytes % 1024 == 0 && unit + 1 < std::size(kUnits)) {
    size.bytes /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", size.bytes, kUnits[unit]);
}

std::string text_of(const std::string& text) { return in_quotes(text); }
std::string text_of(bool truth) { return truth ? "true" : "false"; }
std::string text_of(int number) { return std::to_string(number); }
std::string text_of(std::uint64_t bytes) { return exact(ByteCount{bytes}); }
std::string text_of(ByteCount size) { return exact(size); }
std::string text_of(BitRate rate) { return fmt::format("{} Gb/s", rate.gigabits()); }
std::string text_of(const Subnet& subnet) { return subnet.to_text(); }
std::string text_of(const IpAddress& address) { return in_quotes(address.to_text()); }
std::string text_of(const InterfaceAddress& address) { return in_quotes(to_text(address)); }
std::string text_of(const MigLayout& layout) {
  std::string instances;
  for (const auto& [profile, count] : layout.instances)
    instances += fmt::format("{}{}: {}", instances.empty() ? "" : ", ", profile, count);
  const std::string gpus =
      layout.gpus.empty() ? "" : fmt::format("gpus: [{}], ", fmt::join(layout.gpus, ", "));
  return fmt::format("{{{}instances: {{{}}}}}", gpus, instances);
}
template <class T>
std::string text_of(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) text += (text.empty() ? "" : ", ") + text_of(value);
  return "[" + text + "]";
}
std::string text_of(const std::map<std::string, std::string>& values) {
  std::string text;
  for (const auto& [key, value] : values)
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", in_quotes(key), in_quotes(value));
  return "{" + text + "}";
}
template <class Enum>
requires std::is_enum_v<Enum> std::string text_of(Enum value) {
  return std::string(enum_names(value)[static_cast<std::size_t>(value)]);
}

// YAML values by key, in the order of fields().
using Settings = std::vector<std::pair<std::string_view, std::string>>;

std::string flow(const Settings& settings) {
  std::string text;
  for (const auto& [key, value] : settings)
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", key, value);
  return "{" + text + "}";
}

std::string text_of(const GpuSharing& sharing) {
  Settings settings = {{"method", text_of(sharing.method)}};
  if (sharing.replicas) settings.emplace_back("replicas", text_of(*sharing.replicas));
  if (sharing.active_threads) settings.emplace_back("active_threads", text_of(*sharing.active_threads));
  if (sharing.pinned_memory) settings.emplace_back("pinned_memory", text_of(*sharing.pinned_memory));
  return flow(settings);
}

// Returns the most frequent value of every key that all of them have. Values that differ are written with
// their own entry.
Settings common_settings(const std::vector<Settings>& all) {
  std::map<std::string_view, std::map<std::string, std::size_t>> counts;
  for (const Settings& settings : all)
    for (const auto& [key, value] : settings) ++counts[key][value];
  Settings common;
  if (all.empty()) return common;
  for (const auto& [key, value] : all.front()) {
    std::size_t total = 0;
    auto most = counts[key].begin();
    for (auto one = counts[key].begin(); one != counts[key].end(); ++one) {
      total += one->second;
      if (one->second > most->second) most = one;
    }
    if (total == all.size()) common.emplace_back(key, most->first);
  }
  return common;
}

// Returns the settings that are not in `known` with the same value.
Settings without(const Settings& settings, const Settings& known) {
  Settings left;
  for (const auto& setting : settings)
    if (std::find(known.begin(), known.end(), setting) == known.end()) left.push_back(setting);
  return left;
}

// Folds consecutive texts into one pattern, or into one IP address that counts up.
class Column {
 public:
  bool add(const std::string& text) {
    const auto address = IpAddress::parse(text);
    const bool canonical = address && address->to_text() == text;
    if (count_ == 0) {
      first_ = canonical ? address : std::nullopt;
    } else if (first_ ? !canonical || first_->plus(count_) != address : false) {
      return false;
    }
    if (!first_ && !fold_.add(text)) return false;
    ++count_;
    return true;
  }
  std::string text() const { return in_quotes(first_ ? first_->to_text() : fold_.pattern()); }

 private:
  std::uint32_t count_ = 0;
  std::optional<IpAddress> first_;
  HostlistFold fold_;
};

// Returns `destination` without "user@".
std::string without_user(const std::string& destination, const std::string& user) {
  if (user.empty() || !destination.starts_with(user + "@")) return destination;
  return destination.substr(user.size() + 1);
}

// Returns the ssh user of all nodes; empty if they differ, or if ssh chooses it.
std::string common_user(const Cluster& cluster) {
  std::optional<std::string> user;
  for (const Node& node : cluster.nodes) {
    if (node.local) continue;
    const auto at = node.ssh.find('@');
    if (at == std::string::npos || node.ssh.find(':') != std::string::npos) return "";
    const std::string own = node.ssh.substr(0, at);
    if (user.value_or(own) != own || own.empty()) return "";
    user = own;
  }
  return user.value_or("");
}

// The settings of a node that differ from the top level's.
struct Differences {
  Settings expect;
  Settings configure;
  bool operator==(const Differences&) const = default;
};

// One entry of `nodes:`, for one node or more.
class NodeEntry {
 public:
  NodeEntry(const Node& node, std::string user, Differences own)
      : local_(node.local), has_bmc_(node.bmc.has_value()), user_(std::move(user)), own_(std::move(own)) {
    named_ = !local_ && without_user(node.ssh, user_) != node.name;
  }

  bool add(const Node& node, const Differences& own) {
    const std::string destination = without_user(node.ssh, user_);
    if (node.local != local_ || node.bmc.has_value() != has_bmc_ || own != own_) return false;
    if (!local_ && (destination != node.name) != named_) return false;
    // Either all columns accept the node or none changes, so a copy is tried first.
    NodeEntry tried = *this;
    if (!tried.names_.add(node.name) || (named_ && !tried.destinations_.add(destination)) ||
        (has_bmc_ && !tried.bmcs_.add(*node.bmc)))
      return false;
    *this = std::move(tried);
    return true;
  }

  std::string text() const {
    if (!local_ && !named_ && !has_bmc_ && own_ == Differences{})
      return "  - " + in_quotes(names_.pattern()) + "\n";
    std::string line = "name: " + in_quotes(names_.pattern());
    if (local_) line += ", local: true";
    if (named_) line += ", ssh: " + destinations_.text();
    if (has_bmc_) line += ", bmc: " + bmcs_.text();
    if (!own_.expect.empty()) line += ", expect: " + flow(own_.expect);
    if (!own_.configure.empty()) line += ", configure: " + flow(own_.configure);
    return "  - {" + line + "}\n";
  }

 private:
  bool local_;
  bool has_bmc_;
  bool named_ = false;  // the ssh destination is not the name
  std::string user_;
  Differences own_;
  HostlistFold names_;
  Column destinations_;
  Column bmcs_;
};

std::string nodes_text(const Cluster& cluster, const std::string& user, const std::vector<Differences>& all) {
  const bool fold = cluster.nodes.size() > kFew;
  std::vector<NodeEntry> entries;
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
    const Node& node = cluster.nodes[i];
    const Differences& own = all[i];
    if (fold && !entries.empty() && entries.back().add(node, own)) continue;
    entries.emplace_back(node, user, own).add(node, own);
  }
  std::string text = "nodes:\n";
  for (const NodeEntry& entry : entries) text += entry.text();
  return text;
}

Settings link_of(const Rail& rail) {
  Settings link = {{"fabric", text_of(rail.fabric)}, {"topology", text_of(rail.topology)}};
  if (rail.mtu) link.emplace_back("mtu", text_of(*rail.mtu));
  if (rail.speed) link.emplace_back("speed", text_of(*rail.speed));
  if (rail.vlan) link.emplace_back("vlan", text_of(*rail.vlan));
  if (!rail.rdma_driver.empty()) link.emplace_back("rdma_driver", rail.rdma_driver);
  return link;
}

Settings settings_of(const BmcAccess& access) {
  Settings settings;
  if (access.protocol) settings.emplace_back("protocol", text_of(*access.protocol));
  if (!access.user.empty()) settings.emplace_back("user", in_quotes(access.user));
  if (!access.password_file.empty()) settings.emplace_back("password_file", in_quotes(access.password_file));
  if (access.cipher) settings.emplace_back("cipher", text_of(*access.cipher));
  if (!access.certificates.empty()) settings.emplace_back("certificates", in_quotes(access.certificates));
  return settings;
}

// Consecutive ports with the same interface, whose nodes fold and whose addresses count up.
struct PortGroup {
  std::string interface;
  std::optional<IpAddress> first_address;
  std::uint32_t count = 0;
  HostlistFold nodes;

  bool add(const RailPort& port) {
    if (count == 0) {
      interface = port.interface;
      first_address = port.address;
    }
    const auto next = first_address ? first_address->plus(count) : std::nullopt;
    if (port.interface != interface || port.address != next || !nodes.add(port.node)) return false;
    ++count;
    return true;
  }
};

// Returns true if the rail has every node in order, with one interface and addresses that count up: then
// `interface` and `first_address` describe it.
bool is_regular(const Cluster& cluster, const Rail& rail) {
  if (rail.ports.size() <= kFew || rail.ports.size() != cluster.nodes.size()) return false;
  const RailPort& first = rail.ports.front();
  for (std::size_t i = 0; i < rail.ports.size(); ++i) {
    const RailPort& port = rail.ports[i];
    const auto address = first.address ? first.address->plus(static_cast<std::uint32_t>(i)) : std::nullopt;
    if (port.node != cluster.nodes[i].name || port.interface != first.interface || port.address != address)
      return false;
  }
  return true;
}

std::string ports_text(const Rail& rail) {
  std::vector<PortGroup> groups;
  for (const RailPort& port : rail.ports)
    if (rail.ports.size() <= kFew || groups.empty() || !groups.back().add(port))
      groups.emplace_back().add(port);
  std::string text = "    ports:\n";
  for (const PortGroup& group : groups) {
    Settings port = {{"interface", in_quotes(group.interface)}};
    if (group.first_address) port.emplace_back("address", group.first_address->to_text());
    text += fmt::format("      {}: {}\n", in_quotes(group.nodes.pattern()), flow(port));
  }
  return text;
}

std::string rail_text(const Cluster& cluster, const Rail& rail, const Settings& common) {
  Settings settings = {{"name", in_quotes(rail.name)}};
  if (rail.purpose != RailPurpose::kCompute) settings.emplace_back("purpose", text_of(rail.purpose));
  for (auto& one : without(link_of(rail), common)) settings.push_back(std::move(one));
  if (rail.subnet) settings.emplace_back("subnet", text_of(*rail.subnet));
  if (is_regular(cluster, rail)) {
    settings.emplace_back("interface", in_quotes(rail.ports.front().interface));
    if (const auto& first = rail.ports.front().address)
      settings.emplace_back("first_address", first->to_text());
    return "  - " + flow(settings) + "\n";
  }
  std::string text;
  for (const auto& [key, value] : settings)
    text += fmt::format("  {} {}: {}\n", text.empty() ? "-" : " ", key, value);
  return text + ports_text(rail);
}

// Returns names in order as patterns: a single pattern if they fold into one, else a list.
std::string patterns_text(const std::vector<std::string>& names) {
  std::vector<HostlistFold> folds;
  for (const std::string& name : names)
    if (folds.empty() || !folds.back().add(name)) folds.emplace_back().add(name);
  std::vector<std::string> patterns;
  for (const HostlistFold& fold : folds) patterns.push_back(fold.pattern());
  return patterns.size() == 1 ? in_quotes(patterns.front()) : text_of(patterns);
}

std::string part_text(const ClusterPart& part) {
  Settings settings;
  const auto add = [&](std::string_view key, const auto& value) {
    if (value) settings.emplace_back(key, text_of(*value));
  };
  const bool inside = part.kind != PartKind::kSwitch && part.kind != PartKind::kCable;
  if (inside && !part.nodes.empty()) settings.emplace_back("nodes", patterns_text(part.nodes));
  if (!part.name.empty()) settings.emplace_back("name", in_quotes(part.name));
  settings.emplace_back("model", in_quotes(part.model));
  if (part.quantity != 1 || part.kind == PartKind::kCable)
    settings.emplace_back("quantity", text_of(part.quantity));
  add("ports", part.ports);
  add("speed", part.speed);
  if (part.metres) settings.emplace_back("length", fmt::format("{} m", *part.metres));
  add("medium", part.medium);
  if (!part.processor.empty()) settings.emplace_back("processor", in_quotes(part.processor));
  if (part.lanes) settings.emplace_back("slot", fmt::format("x{}", *part.lanes));
  add("pcie", part.pcie);
  add("slot_watts", part.slot_watts);
  if (!part.rails.empty()) settings.emplace_back("rails", text_of(part.rails));
  return "    - " + flow(settings) + "\n";
}

std::string check_text(const SiteCheck& check) {
  std::string text = fmt::format("  - name: {}\n    run: {}\n", in_quotes(check.name), text_of(check.run));
  const auto add = [&](std::string_view key, const std::string& value) {
    text += fmt::format("    {}: {}\n", key, value);
  };
  if (!check.nodes.empty()) add("nodes", patterns_text(check.nodes));
  if (!check.user.empty()) add("user", in_quotes(check.user));
  if (check.timeout != SiteCheck{}.timeout) add("timeout", text_of(check.timeout));
  std::string codes;
  for (const ExitCode& one : check.exit)
    codes += fmt::format("{}{}: {}", codes.empty() ? "" : ", ", one.code,
                         enum_names(one.meaning)[static_cast<std::size_t>(one.meaning)]);
  if (!codes.empty()) add("exit", "{" + codes + "}");
  if (!check.remedy.empty()) add("remedy", in_quotes(check.remedy));
  return text;
}

std::string export_text(const StorageExport& one) {
  std::string text = fmt::format("  - name: {}\n", in_quotes(one.name));
  const auto add = [&](std::string_view key, const std::string& value) {
    text += fmt::format("    {}: {}\n", key, value);
  };
  add("server", in_quotes(one.server));
  if (!one.device.empty()) add("device", in_quotes(one.device));
  if (!one.path.empty()) add("path", in_quotes(one.path));
  if (!one.mount.empty()) add("mount", in_quotes(one.mount));
  add("protocol", text_of(one.protocol));
  add("rail", in_quotes(one.rail));
  add("clients", patterns_text(one.clients));
  if (one.shared) add("shared", "true");
  if (!one.nqn.empty() && one.nqn != default_nqn(one.server, one.name)) add("nqn", in_quotes(one.nqn));
  if (one.read_only) add("read_only", "true");
  if (one.no_root_squash) add("no_root_squash", "true");
  if (one.nconnect) add("nconnect", std::to_string(*one.nconnect));
  return text;
}

std::string parts_text(const std::vector<ClusterPart>& parts) {
  static constexpr std::string_view kListNames[] = {"switches", "cables", "servers", "adapters", "gpus"};
  std::string text = "\nparts:\n";
  for (std::size_t kind = 0; kind < std::size(kListNames); ++kind) {
    std::string list;
    for (const ClusterPart& part : parts)
      if (static_cast<std::size_t>(part.kind) == kind) list += part_text(part);
    if (!list.empty()) text += fmt::format("  {}:\n{}", kListNames[kind], list);
  }
  return text;
}

}  // namespace

std::vector<std::pair<std::string_view, std::string>> settings_of(const Expectations& expect) {
  Settings settings;
  Expectations::fields([&](std::string_view name, auto member) {
    const auto& value = expect.*member;
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, double>)
      settings.emplace_back(name, fmt::format("{}", value));
    else if (value)
      settings.emplace_back(name, text_of(*value));
  });
  return settings;
}

std::vector<std::pair<std::string_view, std::string>> settings_of(const Configuration& configure) {
  Settings settings;
  Configuration::fields([&](std::string_view name, auto member) {
    if (const auto& value = configure.*member) settings.emplace_back(name, text_of(*value));
  });
  return settings;
}

std::string write_cluster(const Cluster& cluster, const std::vector<std::string>& comments) {
  const std::string user = common_user(cluster);
  std::vector<Settings> expectations;
  std::vector<Settings> links;
  std::vector<Settings> configurations;
  for (const Node& node : cluster.nodes) {
    expectations.push_back(settings_of(node.expect));
    configurations.push_back(settings_of(node.configure));
  }
  for (const Rail& rail : cluster.rails) links.push_back(link_of(rail));
  const Settings common_expect = common_settings(expectations);
  const Settings configure = common_settings(configurations);
  const Settings common_link = common_settings(links);

  std::string text;
  for (const std::string& comment : comments) text += yaml_comment(comment) + "\n";
  text += fmt::format("railbed: 1\ncluster: {}\n", in_quotes(cluster.name));
  Settings ssh;
  if (!cluster.ssh_config.empty()) ssh.emplace_back("config", in_quotes(cluster.ssh_config));
  if (!user.empty()) ssh.emplace_back("user", in_quotes(user));
  if (!ssh.empty()) text += "ssh: " + flow(ssh) + "\n";
  if (const Settings bmc = settings_of(cluster.bmc); !bmc.empty()) text += "bmc: " + flow(bmc) + "\n";
  for (const auto& [key, value] : common_link) text += fmt::format("{}: {}\n", key, value);
  const Settings expect = without(common_expect, settings_of(Expectations{}));
  if (!expect.empty()) text += "expect: " + flow(expect) + "\n";
  if (!configure.empty()) text += "configure: " + flow(configure) + "\n";
  std::vector<Differences> own;
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i)
    own.push_back({without(expectations[i], common_expect), without(configurations[i], configure)});
  text += "\n" + nodes_text(cluster, user, own);
  if (!cluster.rails.empty()) text += "\nrails:\n";
  for (const Rail& rail : cluster.rails) text += rail_text(cluster, rail, common_link);
  if (!cluster.parts.empty()) text += parts_text(cluster.parts);
  if (!cluster.checks.empty()) text += "\nchecks:\n";
  for (const SiteCheck& check : cluster.checks) text += check_text(check);
  if (!cluster.storage.empty()) text += "\nstorage:\n";
  for (const StorageExport& one : cluster.storage) text += export_text(one);
  return text;
}

}  // namespace railbed
