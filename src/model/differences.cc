// Differences between the nodes of a cluster, for people to look over: no verdict, no majority, no finding.
//
// Every node is described by a list of traits, each a property and its value. Nodes are then grouped by
// value, one property at a time. A property with a single value is dropped, and so is one in which every node
// is as cluster.yaml states. The most frequent values come first.
//
// Two properties need care. Memory is never equal to the byte: sizes within 5 % count as one (kinds.h).
// Kernel command lines are long and mostly equal: parameters that all nodes share are removed, and so are
// those that name a node's own disks and addresses, so that a line shows only the difference.
#include "model/differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "model/kinds.h"

namespace railbed {
namespace {

constexpr std::string_view kCommandLine = "kernel command line";
constexpr std::string_view kMemory = "memory";

// Collects the traits of one node.
class Traits {
 public:
  explicit Traits(const NodeView& node) : node_(node) {}
  std::vector<Trait> take() { return std::move(traits_); }

  void add(std::string name, std::string value, bool stated = false) {
    traits_.push_back({std::move(name), std::move(value), stated});
  }
  template <class T>
  void add(std::string name, const Reading<T>& reading, bool stated = false) {
    if (reading.ok()) add(std::move(name), shown(*reading), stated);
  }

  void gpus() {
    if (!node_.facts->pci.ok()) return;
    const auto count = static_cast<int>(node_.gpus().size());
    add("GPUs", std::to_string(count), node_.expect().gpus == count);
    std::set<std::string> models;
    if (const auto& devices = node_.facts->gpus.devices; devices.ok())
      for (const Gpu& gpu : *devices)
        if (gpu.model.ok()) models.insert(*gpu.model);
    if (!models.empty()) add("GPU model", fmt::format("{}", fmt::join(models, " + ")));
  }
  void adapters() {
    if (node_.facts->pci.ok()) add("RDMA adapters", adapters_text(node_));
  }
  void firmware() {
    std::map<std::string, std::set<std::string>> by_board;
    if (const auto& devices = node_.facts->rdma.devices; devices.ok())
      for (const RdmaDevice& device : *devices)
        if (device.board_id.ok() && device.firmware.ok() && !device.firmware->empty())
          by_board[*device.board_id].insert(*device.firmware);
    for (const auto& [board, versions] : by_board)
      add("firmware of " + board, fmt::format("{}", fmt::join(versions, " + ")));
  }
  void mtus() {
    for (const RailEnd& end : node_.ends)
      if (end.rail != nullptr && end.interface != nullptr)
        add("MTU of " + end.rail->name, end.interface->mtu);
  }

 private:
  static std::string shown(const std::string& text) { return text; }
  static std::string shown(int number) { return std::to_string(number); }
  static std::string shown(ByteCount size) { return to_text(size); }

  const NodeView& node_;
  std::vector<Trait> traits_;
};

// Nodes by value, for one property.
using Groups = std::map<std::string, std::vector<std::string>>;

struct Property {
  Groups groups;
  bool all_stated = true;
};

// Removes the parameters that every node has, and those that name a node's own disks and addresses.
void keep_what_differs(Groups& lines) {
  static constexpr std::string_view kOwn[] = {
      "BOOT_IMAGE=", "root=", "initrd=", "resume=", "ip=", "hostname=", "rd.", "BOOTIF="};
  std::map<std::string, std::set<std::string>> parameters;
  for (const auto& [line, nodes] : lines) {
    auto& own = parameters[line];
    for (const std::string_view word : words(line))
      if (std::ranges::none_of(kOwn, [&](std::string_view one) { return word.starts_with(one); }))
        own.emplace(word);
  }
  std::set<std::string> common = parameters.begin()->second;
  for (const auto& each : parameters)
    std::erase_if(common, [&](const std::string& word) { return !each.second.contains(word); });
  Groups kept;
  for (auto& [line, nodes] : lines) {
    std::vector<std::string> rest;
    for (const std::string& word : parameters[line])
      if (!common.contains(word)) rest.push_back(word);
    auto& group = kept[rest.empty() ? "without" : fmt::format("{}", fmt::join(rest, " "))];
    group.insert(group.end(), nodes.begin(), nodes.end());
  }
  lines = std::move(kept);
}

Difference difference_of(const std::string& property, Groups groups) {
  Difference difference{property, {}};
  for (auto& [value, nodes] : groups) {
    std::ranges::sort(nodes);
    difference.values.push_back({value, std::move(nodes)});
  }
  std::ranges::stable_sort(difference.values, std::ranges::greater{},
                           [](const SameValue& value) { return value.nodes.size(); });
  return difference;
}

// Returns true if the version matches the one in cluster.yaml.
bool is_stated(const Reading<std::string>& version, const std::optional<std::string>& wanted) {
  return version.ok() && wanted && version_matches(*version, *wanted);
}

}  // namespace

bool version_matches(std::string_view version, std::string_view wanted) {
  return version.starts_with(wanted) &&
         (version.size() == wanted.size() || wanted.ends_with('.') ||
          std::string_view(".-").find(version[wanted.size()]) != std::string_view::npos);
}

std::vector<Trait> traits_of(const NodeView& node) {
  const System& system = node.facts->system;
  const Expectations& expect = node.expect();
  Traits traits(node);
  const auto& driver = node.facts->gpus.driver_version;
  traits.add("driver", driver, is_stated(driver, expect.driver));
  traits.gpus();
  traits.adapters();
  traits.firmware();
  if (system.os.id.ok())
    traits.add("operating system", *system.os.id + " " + system.os.version.value_or("?"),
               expect.os.has_value());
  traits.add("kernel", system.kernel.release, is_stated(system.kernel.release, expect.kernel));
  traits.add(std::string(kCommandLine), system.kernel.command_line);
  traits.mtus();
  traits.add("machine", system.firmware.product);
  traits.add("BIOS", system.firmware.version, is_stated(system.firmware.version, expect.bios));
  if (const auto& library = node.facts->nccl.library; library.ok())
    traits.add("NCCL", library->version, expect.nccl && version_matches(library->version, *expect.nccl));
  traits.add(std::string(kMemory), system.memory.total, expect.memory.has_value());
  return traits.take();
}

std::vector<Difference> find_differences(const Evidence& evidence) {
  const Survey survey(evidence);
  std::vector<std::string> order;
  std::map<std::string, Property> properties;
  MemorySizes sizes;
  for (const NodeView& node : survey.nodes)
    for (Trait& trait : traits_of(node)) {
      if (trait.name == kMemory) trait.value = sizes.text(*node.facts->system.memory.total);
      const auto [found, fresh] = properties.try_emplace(trait.name);
      if (fresh) order.push_back(trait.name);
      found->second.groups[trait.value].push_back(*node.name);
      found->second.all_stated = found->second.all_stated && trait.stated;
    }
  std::vector<Difference> differences;
  for (const std::string& property : order) {
    auto& [groups, all_stated] = properties[property];
    if (all_stated) continue;
    if (property == kCommandLine) keep_what_differs(groups);
    if (groups.size() > 1) differences.push_back(difference_of(property, std::move(groups)));
  }
  return differences;
}

}  // namespace railbed
