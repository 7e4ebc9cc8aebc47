// Checks the parts of cluster.yaml against each other: the speeds of switch, cable and adapter on each rail,
// their numbers, copper lengths, slots, power, and the software that the nodes expect.
//
// The rate of a rail is that of its slowest part (judge_link); a faster part is reported as a warning. A
// finding names the part that has to change, or that delivers less than was paid for. A property that neither
// the file nor a table gives is not judged.
#include "verify/parts_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "hardware/ceilings.h"
#include "hardware/gpu_product.h"
#include "hardware/part_model.h"
#include "hardware/processor.h"
#include "model/link_remedy.h"
#include "model/part_speed.h"

namespace railbed {
namespace {

constexpr std::string_view kOfTheFile = "what cluster.yaml says";

// --- properties of a part: from the file, else from the tables ---

std::optional<int> switch_ports(const ClusterPart& part) {
  if (part.ports) return part.ports;
  const SwitchModel* model = find_switch_model(part.model);
  return model == nullptr ? std::nullopt : std::optional(model->ports_at(BitRate{}));
}

const NicModel* nic_of(const ClusterPart& part) { return find_nic_of_part(part.model); }

std::string switch_name(const ClusterPart& part) { return part.name.empty() ? part.model : part.name; }

// Returns "40 Gb/s", and on InfiniBand the data rate, too: "40 Gb/s (QDR, 32 Gb/s of data)".
std::string link_text(BitRate rate, Fabric fabric) {
  const std::string text = fmt::format("{:g} Gb/s", rate.gigabits());
  const std::string_view name = infiniband_speed_name(rate);
  if (fabric != Fabric::kInfiniband || name.empty()) return text;
  const BitRate data = infiniband_data_rate(rate);
  if (data == rate) return fmt::format("{} ({})", text, name);
  return fmt::format("{} ({}, {:.3g} Gb/s of data)", text, name, data.gigabits());
}

class PartsJudge {
 public:
  explicit PartsJudge(const Cluster& cluster) : cluster_(cluster) {
    for (const ClusterPart& part : cluster_.parts) nodes_[&part].insert(part.nodes.begin(), part.nodes.end());
  }

  std::vector<FitFinding> judge() {
    for (const Rail& rail : cluster_.rails) {
      judge_link(rail);
      judge_fabric(rail);
      judge_ipoib_mtu(rail);
    }
    judge_counts(PartKind::kSwitch);
    judge_counts(PartKind::kCable);
    judge_subnet_manager();
    for (const ClusterPart& part : cluster_.parts) {
      if (part.kind == PartKind::kCable) judge_copper(part);
      if (part.kind == PartKind::kAdapter) judge_slot(part);
      if (part.kind == PartKind::kGpu) judge_power(part);
    }
    for (const Node& node : cluster_.nodes) judge_node(node);
    std::ranges::stable_sort(found_, {}, &FitFinding::line);
    return std::move(found_);
  }

 private:
  // Adds a finding. A message that many nodes share is added once.
  void add(FitSeverity severity, const ClusterPart& part, std::string message, std::string_view source) {
    if (!said_.emplace(part.line, message).second) return;
    found_.push_back({severity, part.line, std::move(message), std::string(source)});
  }

  bool is_in(const ClusterPart& part, std::string_view node) const {
    const auto& nodes = nodes_.at(&part);
    return nodes.empty() || nodes.contains(node);
  }

  // Visits the parts of a kind on a rail: adapters by the nodes of its ports, other parts by its name.
  template <class Visit>
  void each(PartKind kind, const Rail& rail, Visit visit) const {
    for (const ClusterPart& part : cluster_.parts) {
      if (part.kind != kind) continue;
      const bool there =
          kind == PartKind::kAdapter
              ? std::ranges::any_of(rail.ports, [&](const RailPort& port) { return is_in(part, port.node); })
              : is_on_rail(part, rail.name);
      if (there) visit(part);
    }
  }

  struct Slowest {
    BitRate rate;
    const ClusterPart* part = nullptr;
  };

  // Returns the slowest part of a kind on a rail; a null part if no speed is known.
  Slowest slowest_of(PartKind kind, const Rail& rail) const {
    Slowest slowest;
    each(kind, rail, [&](const ClusterPart& part) {
      const auto speed = kind == PartKind::kSwitch  ? switch_speed(part)
                         : kind == PartKind::kCable ? cable_speed(part)
                                                    : adapter_speed(part, rail.fabric);
      if (speed && speed->bits_per_second > 0 && (slowest.part == nullptr || *speed < slowest.rate))
        slowest = {*speed, &part};
    });
    return slowest;
  }

  // Returns the slowest part of a rail. A rail without a switch has cables and adapters only.
  Slowest slowest_on(const Rail& rail) const {
    Slowest slowest;
    for (const PartKind kind : {PartKind::kSwitch, PartKind::kCable, PartKind::kAdapter}) {
      if (kind == PartKind::kSwitch && rail.topology == Topology::kBackToBack) continue;
      const Slowest one = slowest_of(kind, rail);
      if (one.part != nullptr && (slowest.part == nullptr || one.rate < slowest.rate)) slowest = one;
    }
    return slowest;
  }

  // Compares each part's speed with that of the slowest part, at which the link runs, and with the rail's
  // configured speed.
  void judge_link(const Rail& rail) {
    const Slowest slowest = slowest_on(rail);
    if (slowest.part == nullptr) return;
    const std::string runs = link_text(slowest.rate, rail.fabric);
    const std::string behind =
        slowest.part->kind == PartKind::kSwitch ? switch_name(*slowest.part) : slowest.part->model;
    for (const PartKind kind : {PartKind::kSwitch, PartKind::kCable, PartKind::kAdapter}) {
      if (kind == PartKind::kSwitch && rail.topology == Topology::kBackToBack) continue;
      each(kind, rail, [&](const ClusterPart& part) {
        const auto speed = kind == PartKind::kSwitch  ? switch_speed(part)
                           : kind == PartKind::kCable ? cable_speed(part)
                                                      : adapter_speed(part, rail.fabric);
        if (!speed || *speed <= slowest.rate) return;
        add(FitSeverity::kWarning, part,
            fmt::format("{} can do {:g} Gb/s; rail {} runs at {}, as {} does no more", part.model,
                        speed->gigabits(), rail.name, runs, behind),
            source_of(*slowest.part));
      });
    }
    if (rail.speed && *rail.speed > slowest.rate)
      add(FitSeverity::kError, *slowest.part,
          fmt::format("rail {} asks for {:g} Gb/s; with {} it runs at {}", rail.name, rail.speed->gigabits(),
                      behind, runs),
          source_of(*slowest.part));
    if (rail.speed && *rail.speed < slowest.rate && is_known(rail))
      add(FitSeverity::kWarning, *slowest.part,
          fmt::format("rail {} asks for {:g} Gb/s, exactly; its parts run at {}", rail.name,
                      rail.speed->gigabits(), runs),
          kOfTheFile);
    slowest_[rail.name] = slowest.rate;
  }

  // Returns true if the speed of every kind of part on the rail is known, so nothing slower can be hidden.
  bool is_known(const Rail& rail) const {
    const bool switched = rail.topology == Topology::kSwitch;
    return slowest_of(PartKind::kCable, rail).part != nullptr &&
           slowest_of(PartKind::kAdapter, rail).part != nullptr &&
           (!switched || slowest_of(PartKind::kSwitch, rail).part != nullptr);
  }

  static std::string_view source_of(const ClusterPart& part) {
    if (part.speed) return kOfTheFile;
    if (const SwitchModel* model = find_switch_model(part.model);
        part.kind == PartKind::kSwitch && model != nullptr)
      return model->source;
    if (const CableModel* model = find_cable_model(part.model);
        part.kind == PartKind::kCable && model != nullptr)
      return model->source;
    if (const AdapterModel* model = find_adapter_model(part.model)) return model->source;
    const NicModel* nic = find_nic_named(part.model);
    return nic == nullptr ? kOfTheFile : nic->source;
  }

  void judge_fabric(const Rail& rail) {
    const bool infiniband = rail.fabric == Fabric::kInfiniband;
    const std::string_view word = enum_names(rail.fabric)[static_cast<std::size_t>(rail.fabric)];
    each(PartKind::kSwitch, rail, [&](const ClusterPart& part) {
      const SwitchModel* model = find_switch_model(part.model);
      if (model != nullptr && model->infiniband != infiniband)
        add(FitSeverity::kError, part,
            fmt::format("{} is a switch of {}, and rail {} is {}", part.model,
                        model->infiniband ? "InfiniBand, which carries no Ethernet" : "Ethernet", rail.name,
                        word),
            model->source);
    });
    each(PartKind::kAdapter, rail, [&](const ClusterPart& part) {
      const auto speed = adapter_speed(part, rail.fabric);
      if (speed && speed->bits_per_second <= 0)
        add(FitSeverity::kError, part,
            fmt::format("{} does no {}, and rail {} is", part.model, word, rail.name), source_of(part));
    });
  }

  // Compares the MTU of an InfiniBand rail with what IPoIB carries: more than a datagram needs connected mode.
  void judge_ipoib_mtu(const Rail& rail) {
    const int mtu = rail.mtu.value_or(0);
    if (rail.fabric != Fabric::kInfiniband || mtu <= kLargestDatagram) return;
    bool is_known = true;
    bool is_listed = false;
    each(PartKind::kAdapter, rail, [&](const ClusterPart& part) {
      const NicModel* const nic = nic_of(part);
      is_listed = true;
      is_known = is_known && nic != nullptr;
      if (nic == nullptr || nic->connected_ipoib) return;
      add(FitSeverity::kError, part,
          fmt::format(
              "rail {} asks for MTU {}, which needs IPoIB's connected mode. {} has none: write mtu: {}",
              rail.name, mtu, nic->name, kLargestDatagram),
          nic->source);
    });
    if (!is_listed || !is_known)
      found_.push_back(
          {FitSeverity::kWarning, 0,
           fmt::format("rail {} asks for MTU {}, which needs IPoIB's connected mode: ConnectX-4 and "
                       "later have none, and carry {}. `parts: {{adapters: …}}` says which these are",
                       rail.name, mtu, kLargestDatagram),
           "hardware/nic.cc"});
  }

  // Checks that there are enough switch ports, or cables, for the rails that share them.
  void judge_counts(PartKind kind) {
    std::set<std::vector<const ClusterPart*>> judged;
    for (const Rail& rail : cluster_.rails) {
      if (kind == PartKind::kSwitch && rail.topology == Topology::kBackToBack) continue;
      std::vector<const ClusterPart*> shared;
      each(kind, rail, [&](const ClusterPart& part) { shared.push_back(&part); });
      if (shared.empty() || !judged.insert(shared).second) continue;
      judge_count(kind, shared);
    }
  }

  // Adds an error if the shared parts have fewer ports or cables than the ends that need them. Not judged if
  // the number of ports of one part is unknown.
  void judge_count(PartKind kind, const std::vector<const ClusterPart*>& shared) {
    const auto all_within = [&](const Rail& rail) {
      bool any = false;
      bool within = true;
      each(kind, rail, [&](const ClusterPart& part) {
        any = true;
        within = within && std::ranges::find(shared, &part) != shared.end();
      });
      return any && within;
    };
    std::size_t needed = 0;
    std::vector<std::string> rails;
    for (const Rail& rail : cluster_.rails) {
      const bool cable = rail.topology == Topology::kBackToBack;
      if ((kind == PartKind::kSwitch && cable) || !all_within(rail)) continue;
      needed += cable ? 1 : rail.ports.size();
      rails.push_back(rail.name);
    }
    std::size_t there = 0;
    for (const ClusterPart* part : shared) {
      const auto count = kind == PartKind::kCable ? std::optional(part->quantity) : switch_ports(*part);
      if (!count) return;
      there += static_cast<std::size_t>(*count);
    }
    if (there >= needed) return;
    const std::string_view what = kind == PartKind::kCable ? "cable" : "port";
    add(FitSeverity::kError, *shared.back(),
        fmt::format("{} {}{} for the {} {} of rail{} {}", there, what, there == 1 ? "" : "s", needed,
                    needed == 1 ? "end" : "ends", rails.size() == 1 ? "" : "s", fmt::join(rails, ", ")),
        kOfTheFile);
  }

  void judge_subnet_manager() {
    const bool somebody = std::ranges::any_of(
        cluster_.nodes, [](const Node& node) { return node.expect.subnet_manager.value_or(false); });
    if (somebody) return;
    for (const ClusterPart& part : cluster_.parts) {
      const SwitchModel* model = part.kind == PartKind::kSwitch ? find_switch_model(part.model) : nullptr;
      if (model != nullptr && model->infiniband && !model->managed)
        add(FitSeverity::kWarning, part,
            fmt::format("{} runs no subnet manager: give one node `expect: {{subnet_manager: true}}`",
                        part.model),
            model->source);
    }
  }

  void judge_copper(const ClusterPart& part) {
    const CableModel* model = find_cable_model(part.model);
    const bool passive =
        part.medium ? *part.medium == CableMedium::kPassive : model != nullptr && model->passive;
    const auto speed = cable_speed(part);
    if (!passive || !speed || !part.metres) return;
    const CopperLimit* limit = copper_limit(*speed);
    if (limit != nullptr && *part.metres > limit->metres)
      add(FitSeverity::kWarning, part,
          fmt::format(
              "{:g} m of passive copper at {:g} Gb/s: {:g} m is the longest; take an active or optical one",
              *part.metres, speed->gigabits(), limit->metres),
          limit->source);
  }

  // Returns the PCI Express generation of a node's slots: from the part, else from the server, else from its
  // processor.
  std::optional<int> generation_at(const ClusterPart& part, std::string_view node) const {
    if (part.pcie) return part.pcie;
    for (const ClusterPart& server : cluster_.parts) {
      if (server.kind != PartKind::kServer || !is_in(server, node)) continue;
      if (server.pcie) return server.pcie;
      if (const auto generation = pcie_generation(server.processor)) return generation;
    }
    return std::nullopt;
  }

  // Compares the link that the slot gives an adapter with the one that the adapter supports.
  void judge_slot(const ClusterPart& part) {
    const NicModel* nic = nic_of(part);
    if (nic == nullptr) return;
    for (const Rail& rail : cluster_.rails)
      for (const RailPort& port : rail.ports) {
        const auto speed = adapter_speed(part, rail.fabric);
        if (!is_in(part, port.node) || !speed || speed->bits_per_second <= 0) continue;
        const auto generation = generation_at(part, port.node);
        const double slot = generation ? pcie_gigatransfers(*generation) : nic->pcie_gigatransfers;
        const PcieLink link{std::min(slot, nic->pcie_gigatransfers),
                            std::min(part.lanes.value_or(nic->pcie_width), nic->pcie_width)};
        if (link.width == nic->pcie_width && link.gigatransfers >= nic->pcie_gigatransfers) continue;
        judge_slot_link(part, *nic, rail, link);
      }
  }

  void judge_slot_link(const ClusterPart& part, const NicModel& nic, const Rail& rail, const PcieLink& link) {
    const BitRate passes = pcie_rate(link);
    const auto known = slowest_.find(rail.name);
    const BitRate runs = known == slowest_.end() ? *adapter_speed(part, rail.fabric) : known->second;
    const std::string here = fmt::format("{} wants {} and has {}: {:.3g} Gb/s pass", part.model,
                                         describe_link({nic.pcie_gigatransfers, nic.pcie_width}),
                                         describe_link(link), passes.gigabits());
    if (passes < infiniband_or_whole(runs, rail.fabric))
      add(FitSeverity::kWarning, part,
          fmt::format("{}, and rail {} runs at {:g}", here, rail.name, runs.gigabits()),
          "PCI Express Base Specification, less packet headers (hardware/ceilings.cc)");
    else
      add(FitSeverity::kNote, part,
          fmt::format("{}, which is enough for rail {} at {:g}", here, rail.name, runs.gigabits()),
          "PCI Express Base Specification, less packet headers (hardware/ceilings.cc)");
  }

  static BitRate infiniband_or_whole(BitRate rate, Fabric fabric) {
    return fabric == Fabric::kInfiniband ? infiniband_data_rate(rate) : rate;
  }

  void judge_power(const ClusterPart& part) {
    const GpuProduct* gpu = find_gpu_product(part.model);
    if (gpu == nullptr || gpu->watts == 0 || !part.slot_watts || gpu->watts <= *part.slot_watts) return;
    add(FitSeverity::kError, part,
        fmt::format("{} takes {} W, and its slot gives {} W: it needs power connectors", part.model,
                    gpu->watts, *part.slot_watts),
        "the product's data sheet; PCI Express Card Electromechanical Specification: 75 W at most");
  }

  void judge_node(const Node& node) {
    for (const ClusterPart& part : cluster_.parts) {
      if (!is_in(part, node.name)) continue;
      if (part.kind == PartKind::kServer) judge_processor(node, part);
      if (part.kind == PartKind::kAdapter) judge_driver(node, part);
    }
    judge_gpus(node);
  }

  static std::pair<std::string, int> system_of(const Node& node) {
    const std::string os = node.expect.os.value_or("");
    const auto said = words(os);
    if (said.size() < 2) return {};
    return {lower(said[0]), parse_number<int>(split(said[1], '.').front()).value_or(0)};
  }

  void judge_processor(const Node& node, const ClusterPart& part) {
    const auto [os, version] = system_of(node);
    const LevelNeeded* needed = level_needed(os, version);
    const auto level = x86_level(part.processor);
    if (needed == nullptr || !level || *level >= needed->level) return;
    add(FitSeverity::kError, part,
        fmt::format("{} {} asks for x86-64-v{}, and {} is {}, which knows x86-64-v{}", os, version,
                    needed->level, part.processor, processor_generation(part.processor), *level),
        needed->source);
  }

  void judge_driver(const Node& node, const ClusterPart& part) {
    const NicModel* nic = nic_of(part);
    const auto [os, version] = system_of(node);
    if (nic == nullptr) return;
    for (const DroppedDriver& row : dropped_drivers())
      if (row.module == nic->module && row.os == os && version >= row.version)
        add(FitSeverity::kError, part, fmt::format("{} {} no longer drives {}", os, version, nic->name),
            row.source);
  }

  void judge_gpus(const Node& node) {
    int there = 0;
    const ClusterPart* last = nullptr;
    for (const ClusterPart& part : cluster_.parts) {
      if (part.kind != PartKind::kGpu || !is_in(part, node.name)) continue;
      there += part.quantity;
      last = &part;
      const std::string wanted = node.expect.gpu_model.value_or("");
      if (!wanted.empty() && !is_gpu_called(part.model, wanted))
        add(FitSeverity::kWarning, part,
            fmt::format("expect says gpu_model: {}, and this is {}", wanted, part.model), kOfTheFile);
    }
    if (last != nullptr && node.expect.gpus && *node.expect.gpus != there)
      add(FitSeverity::kWarning, *last,
          fmt::format("{} has {} of these parts, and expect says gpus: {}", node.name, there,
                      *node.expect.gpus),
          kOfTheFile);
  }

  const Cluster& cluster_;
  std::unordered_map<const ClusterPart*, std::unordered_set<std::string_view>> nodes_;
  std::vector<FitFinding> found_;
  std::set<std::pair<int, std::string>> said_;
  std::map<std::string, BitRate> slowest_;  // by rail name
};

}  // namespace

std::vector<FitFinding> check_parts(const Cluster& cluster) { return PartsJudge(cluster).judge(); }

}  // namespace railbed
