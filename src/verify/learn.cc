// Learns what a healthy fleet looks like from one verdict.
//
// The cluster itself is the best source of what is usual in it, but faulty nodes must not count. Nodes with a
// failure of their own, or named by a failure, are left out first. If fewer than two thirds remain, nothing
// is learned, since the failures may be the norm. Each property (driver, kernel, GPUs …) is then put to a
// vote of the remaining nodes, and the most frequent value is learned if two thirds of ALL nodes have it;
// faulty and unreachable nodes count as if they disagreed. A node with another value is named, so that a
// person can declare it correct in the node's own expect.
//
// Memory is rounded down to a sixteenth or finer of its size before the vote, because firmware reserves a
// different share of it on each node.
#include "verify/learn.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/text.h"
#include "model/survey.h"

namespace railbed {
namespace {

constexpr std::uint64_t kGibibyte = 1ull << 30;

bool two_thirds(std::size_t part, std::size_t all) { return part * 3 >= all * 2; }

std::string some(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 8;
  const std::size_t shown = std::min(names.size(), kShown);
  const std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  return shown == names.size() ? text : fmt::format("{} and {} more", text, names.size() - shown);
}

// Returns the nodes that have a failure or are named by one, with the rules that failed.
std::map<std::string, std::set<std::string>> sick_nodes(const Verdict& verdict) {
  std::map<std::string, std::set<std::string>> sick;
  for (const Finding& finding : verdict.findings) {
    if (finding.status != Status::kFail) continue;
    if (!finding.node.empty()) sick[finding.node].emplace(finding.rule);
    for (const std::string& thing : finding.touches)
      if (thing.starts_with("node:")) sick[thing.substr(5)].emplace(finding.rule);
  }
  return sick;
}

using Ask = std::function<std::optional<std::string>(const NodeView&)>;

std::optional<std::string> gpu_model(const NodeView& node) {
  const auto& devices = node.facts->gpus.devices;
  if (!devices.ok() || devices->empty()) return std::nullopt;
  const auto& first = devices->front().model;
  const bool one_model = first.ok() && std::ranges::all_of(*devices, [&](const Gpu& gpu) {
                           return gpu.model.ok() && *gpu.model == *first;
                         });
  return one_model ? std::optional(*first) : std::nullopt;
}

std::optional<std::string> gpu_count(const NodeView& node) {
  if (!node.facts->pci.ok()) return std::nullopt;
  return std::to_string(node.gpus().size());
}

std::optional<std::string> driver(const NodeView& node) {
  return node.facts->gpus.driver_version.to_optional();
}

std::optional<std::string> operating_system(const NodeView& node) {
  const Os& os = node.facts->system.os;
  if (!os.id.ok() || !os.version.ok()) return std::nullopt;
  return *os.id + " " + *os.version;
}

// Returns the memory rounded down to a multiple of a grain, so that the share that the firmware reserves does
// not make nodes differ. The grain is a power of two in GiB, at most a sixteenth of the size (but at least 1
// GiB).
std::optional<std::string> memory(const NodeView& node) {
  const auto& total = node.facts->system.memory.total;
  if (!total.ok() || total->bytes < kGibibyte) return std::nullopt;
  std::uint64_t grain = kGibibyte;
  while (grain * 32 <= total->bytes) grain *= 2;
  return std::to_string(total->bytes / grain * grain);
}

std::optional<std::string> kernel(const NodeView& node) {
  return node.facts->system.kernel.release.to_optional();
}

std::optional<std::string> bios(const NodeView& node) {
  const auto& version = node.facts->system.firmware.version;
  return version.ok() && !version->empty() ? std::optional(*version) : std::nullopt;
}

// Returns the driver's CUDA version as expect.cuda is written: 13000 is 13.0.
std::optional<std::string> cuda(const NodeView& node) {
  const auto& nvml = node.facts->gpus.nvml;
  if (!nvml.ok() || !nvml->cuda_version.ok()) return std::nullopt;
  return cuda_version_text(*nvml->cuda_version);
}

std::optional<std::string> nccl_library(const NodeView& node) {
  const auto& library = node.facts->nccl.library;
  return library.ok() ? std::optional(library->version) : std::nullopt;
}

// Returns the firmware of this node's adapters with the board id; nullopt if they differ or there are none.
std::optional<std::string> firmware_of(const NodeView& node, const std::string& board) {
  std::optional<std::string> version;
  for (const RdmaDevice& device : items(node.facts->rdma.devices)) {
    if (device.board_id.value_or("") != board || !device.firmware.ok()) continue;
    if (version && *version != *device.firmware) return std::nullopt;
    version = *device.firmware;
  }
  return version;
}

std::set<std::string> boards_of(const std::vector<const NodeView*>& nodes) {
  std::set<std::string> boards;
  for (const NodeView* node : nodes)
    for (const RdmaDevice& device : items(node->facts->rdma.devices))
      if (device.board_id.ok() && !device.board_id->empty()) boards.insert(*device.board_id);
  return boards;
}

class Learner {
 public:
  Learner(std::vector<const NodeView*> nodes, Learnt& learnt) : nodes_(std::move(nodes)), learnt_(learnt) {}

  // Returns the value that two thirds of all nodes have; nullopt if no value has that majority or no node has
  // the property. Lists the nodes with another value in left_out.
  std::optional<std::string> agreed(std::string_view what, const Ask& ask) {
    std::map<std::string, std::vector<std::string>> votes;
    for (const NodeView* node : nodes_)
      if (auto value = ask(*node)) votes[*value].push_back(*node->name);
    if (votes.empty()) return std::nullopt;
    const auto most =
        std::ranges::max_element(votes, {}, [](const auto& group) { return group.second.size(); });
    if (!two_thirds(most->second.size(), learnt_.all)) {
      learnt_.left_out.push_back(fmt::format("{}: {} is the most frequent, on only {} of {} nodes", what,
                                             most->first, most->second.size(), learnt_.all));
      return std::nullopt;
    }
    for (const auto& [value, names] : votes)
      if (value != most->first)
        learnt_.left_out.push_back(fmt::format(
            "{}: {} on {}; where that is right, say so in the node's own expect", what, value, some(names)));
    return most->first;
  }

 private:
  std::vector<const NodeView*> nodes_;
  Learnt& learnt_;
};

}  // namespace

Result<Learnt> learn(const Evidence& evidence, const Verdict& verdict) {
  const Survey survey(evidence);
  const auto sick = sick_nodes(verdict);
  Learnt learnt;
  learnt.all = evidence.nodes.size() + evidence.unreachable.size();
  std::vector<const NodeView*> healthy;
  for (const NodeView& node : survey.nodes)
    if (!sick.contains(*node.name)) healthy.push_back(&node);
  learnt.nodes = healthy.size();
  for (const auto& [node, rules] : sick)
    learnt.left_out.push_back(fmt::format("{}: {}", node, fmt::join(rules, ", ")));
  if (healthy.empty() || !two_thirds(healthy.size(), learnt.all))
    return fail(
        ErrorKind::kUnavailable,
        fmt::format(
            "too few to learn from: {} of {} nodes have no failure, and two thirds must; mend first:\n  {}",
            healthy.size(), learnt.all, fmt::join(learnt.left_out, "\n  ")));
  const std::set<std::string> boards = boards_of(healthy);
  Learner learner(std::move(healthy), learnt);
  if (const auto count = learner.agreed("GPUs", gpu_count); count && *count != "0")
    learnt.expect.gpus = parse_number<int>(*count);
  if (learnt.expect.gpus.value_or(0) > 0) learnt.expect.gpu_model = learner.agreed("GPU model", gpu_model);
  learnt.expect.driver = learner.agreed("driver", driver);
  learnt.expect.cuda = learner.agreed("CUDA", cuda);
  learnt.expect.kernel = learner.agreed("kernel", kernel);
  learnt.expect.bios = learner.agreed("BIOS", bios);
  learnt.expect.nccl = learner.agreed("NCCL", nccl_library);
  std::map<std::string, std::string> firmware;
  for (const std::string& board : boards)
    if (const auto version = learner.agreed("firmware of " + board,
                                            [&](const NodeView& node) { return firmware_of(node, board); }))
      firmware[board] = *version;
  if (!firmware.empty()) learnt.expect.firmware = std::move(firmware);
  learnt.expect.os = learner.agreed("operating system", operating_system);
  if (const auto bytes = learner.agreed("memory", memory))
    learnt.expect.memory = ByteCount{parse_number<std::uint64_t>(*bytes).value_or(0)};
  return learnt;
}

}  // namespace railbed
