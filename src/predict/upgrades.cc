// Each upgrade changes the node's path and computes its limits again (limits_of()), so its gain goes only up to the
// next limit. An upgrade without a gain is no advice. It is not offered where the part cannot be exchanged, and
// what railbed cannot know (a free slot, what a switch's ports can do) is a condition, never silent.
#include "predict/upgrades.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "hardware/ceilings.h"
#include "hardware/fixed_parts.h"
#include "hardware/gpudirect.h"
#include "hardware/nic.h"
#include "hardware/part_model.h"
#include "hardware/pci_link.h"
#include "predict/rail_plan.h"

namespace railbed {
namespace {

constexpr double kAdapterWatts = 25;
constexpr double kCableWatts = 0.1;
constexpr double kSwitchWatts = 150;
constexpr std::string_view kWattsSource = "general knowledge, to check in its data sheet";
constexpr double kLeastGain = 1.005;
constexpr std::size_t kMostNumbers = 3;  // part numbers that are named for one part
constexpr std::string_view kSlotCondition = "only if the board has a free slot for it";

// --- which part to order ---

// Returns the part numbers that suit, one for each model of adapter, the oldest model first. Of a model, the variant
// with the fewest ports, and one of 100 Gb/s rather than a slower one: those are rarer and not cheaper.
std::vector<std::string> adapters_for(bool ethernet, BitRate rate, int ports, int lanes) {
  const auto speed_of = [&](const AdapterModel& row) { return ethernet ? row.ethernet : row.infiniband; };
  const auto order = [&](const AdapterModel& row) {
    return std::tuple(row.ports, speed_of(row).gigabits() < 100, speed_of(row).bits_per_second);
  };
  std::vector<std::string> numbers;
  for (const NicModel& nic : nic_models()) {
    const AdapterModel* best = nullptr;
    for (const AdapterModel& row : adapter_models()) {
      const bool suits = row.nic == nic.name && nic.gpudirect && row.form == AdapterForm::kCard &&
                         !row.order.empty() && speed_of(row) >= rate && row.ports >= ports &&
                         row.lanes >= lanes;
      if (suits && (best == nullptr || order(row) < order(*best))) best = &row;
    }
    if (best != nullptr && numbers.size() < kMostNumbers) numbers.emplace_back(best->order);
  }
  return numbers;
}

// Returns the next speed that adapters have above this one; the same if there is none.
BitRate next_speed(BitRate rate) {
  for (const double gigabits : {25, 40, 100, 200, 400, 800})
    if (gigabits > rate.gigabits()) return BitRate::gigabits(gigabits);
  return rate;
}

// Returns the route of GPUDirect RDMA that another adapter would have on a node: what to do after the exchange.
std::string route_with(const Facts& facts, const NicModel& nic) {
  Facts then = facts;
  std::vector<RdmaDevice> devices = items(facts.rdma.devices);
  for (RdmaDevice& device : devices) {
    device.driver = Reading<std::string>(std::string(nic.module), "assumed");
    device.hca_type = Reading<std::string>(fmt::format("MT{}", nic.device), "assumed");
    device.dma_buf = Reading<bool>();
  }
  then.rdma.devices = Reading<std::vector<RdmaDevice>>(std::move(devices), "assumed");
  if (gpudirect_routes(then).any()) return "";
  const GpuDirectRow& row = gpudirect_remedy(then);
  return row.possible ? fmt::format("then: {}", row.text) : "";
}

class Adviser {
 public:
  Adviser(const Facts& facts, const NodePath& path, const FixedParts& fixed, const PriceList& prices,
          int nodes)
      : facts_(facts), path_(path), fixed_(fixed), prices_(prices), nodes_(nodes), now_(limits_of(path)) {}

  void advise(NodeUpgrades& result) {
    if (!path_.staged.empty()) add_gpudirect();
    add_half();
    add_mtu();
    add_link();
    add_slot();
    add_faster_link();
    add_second_port();
    add_rail();
    for (Upgrade& upgrade : all_) add_prices(upgrade);
    std::ranges::stable_sort(all_, std::ranges::greater{},
                             [](const Upgrade& u) { return u.after_most.bits_per_second; });
    std::ranges::stable_sort(all_, {}, [](const Upgrade& u) { return u.per_gained.value_or(1e300); });
    result.upgrades = std::move(all_);
    result.useless = std::move(useless_);
    if (result.upgrades.empty()) result.note = why_none();
  }

 private:
  UpgradePart part(UpgradePartKind kind, std::string what, std::vector<std::string> numbers, int quantity,
                   int total, double watts) const {
    return {kind,  std::move(what), std::move(numbers),        quantity,
            total, total * watts,   std::string(kWattsSource), {}};
  }
  UpgradePart adapters(std::string what, std::vector<std::string> numbers) const {
    const int each = static_cast<int>(path_.cards.size());
    return part(UpgradePartKind::kAdapter, std::move(what), std::move(numbers), each, each * nodes_,
                kAdapterWatts);
  }
  // A cable between two nodes is counted once.
  UpgradePart cables(BitRate speed, int each) const {
    const RailCable& cable = first();
    const CableModel* model = cable_for(speed, !cable.ethernet);
    std::vector<std::string> numbers;
    if (model != nullptr) numbers.push_back(fmt::format("{}…", model->name));
    const bool shared = cable.other == OtherEnd::kNode && nodes_ % 2 == 0;
    return part(UpgradePartKind::kCable, fmt::format("{} cable", to_text(speed)), std::move(numbers), each,
                shared ? each * nodes_ / 2 : each * nodes_, kCableWatts);
  }

  const RailCable& first() const { return path_.cards.front().cables.front(); }
  int ports() const {
    std::size_t count = 0;
    for (const RailCard& card : path_.cards) count += card.cables.size();
    return static_cast<int>(count);
  }

  // Keeps the upgrade if the path that it leads to is faster. While data is staged and need not be, nothing else
  // counts: how much a faster line would raise staging is not known. Of GPUs that cannot do without, it is a range.
  bool keep(const NodePath& then, Upgrade upgrade) {
    const auto limits = limits_of(then);
    upgrade.after = limits.front().rate;
    upgrade.after_most = limits.front().most;
    upgrade.binds = limits.front().name;
    const bool counts = then.staged.empty() || !(can_unstage_ || path_.staged_as_measured);
    const bool gains = counts && (upgrade.after > now_.front().rate * kLeastGain ||
                                  upgrade.after_most > now_.front().most * kLeastGain);
    if (gains) all_.push_back(std::move(upgrade));
    return gains;
  }
  void drop(std::string name, std::string why) { useless_.push_back({std::move(name), std::move(why)}); }

  // The same for an upgrade that is named as useless otherwise.
  bool keep_or_drop(const NodePath& then, Upgrade upgrade) {
    std::string name = upgrade.name;
    const bool kept = keep(then, std::move(upgrade));
    if (!kept) drop(std::move(name), still_binds());
    return kept;
  }

  std::string still_binds() const { return fmt::format("{} binds before and after", now_.front().name); }

  bool is_card() const {
    return std::ranges::all_of(path_.cards, [](const RailCard& card) {
      return card.name.find("BlueField") == std::string::npos &&
             (card.part == nullptr || card.part->form == AdapterForm::kCard);
    });
  }

  void add_gpudirect() {
    NodePath then = path_;
    then.staged.clear();
    if (!path_.software.empty()) {
      can_unstage_ = keep(then, {.name = "GPUDirect RDMA, by software", .why = path_.software});
      return;
    }
    const std::string gpu = why_no_gpu_can(facts_);
    if (!gpu.empty())
      return drop("adapter with GPUDirect RDMA", fmt::format("no adapter changes that: {}", gpu));
    if (!exchangeable()) return drop("adapter with GPUDirect RDMA", fixed_why());
    const RailCard& card = path_.cards.front();
    const int lanes = card.slots.empty() || !card.slots.front().slot ? 8 : card.slots.front().slot->width;
    const auto numbers = adapters_for(first().ethernet, first().rate, static_cast<int>(card.cables.size()),
                                      std::min(lanes, 16));
    const AdapterModel* model = numbers.empty() ? nullptr : find_adapter_model(numbers.front());
    const NicModel* nic = model == nullptr ? nullptr : find_nic_named(model->nic);
    Upgrade upgrade{.name = "adapter with GPUDirect RDMA", .why = fmt::format("now: {}", path_.staged)};
    if (nic != nullptr)
      if (const std::string route = route_with(facts_, *nic); !route.empty())
        upgrade.conditions.push_back(route);
    upgrade.parts = {adapters(
        fmt::format("adapter of {} × {} at least", card.cables.size(), to_text(first().rate)), numbers)};
    can_unstage_ = keep(then, std::move(upgrade));
  }

  bool exchangeable() const { return fixed_.freedom != PartsFreedom::kFixed && is_card(); }
  std::string fixed_why() const {
    return fixed_.freedom == PartsFreedom::kFixed
               ? fixed_.why
               : "the adapter is an OCP mezzanine or a BlueField, which a card does not replace";
  }

  // The other slot's function of a GB10 on the same cable.
  void add_half() {
    NodePath then = path_;
    std::vector<std::string> names;
    for (RailCard& card : then.cards) {
      if (card.unused_halves.empty() || card.slots.size() != 1) continue;
      RailSlot second = card.slots.front();
      second.address.clear();
      card.slots.push_back(std::move(second));
      names.insert(names.end(), card.unused_halves.begin(), card.unused_halves.end());
    }
    if (names.empty()) return;
    keep(then, {.name = "second half of the cable",
                .why = fmt::format(
                    "{} is the same cable's other PCIe link of four lanes: give it an address in a "
                    "subnet of its own, add it to cluster.yaml as a rail, and name both in NCCL_IB_HCA",
                    fmt::join(names, ", "))});
  }

  void add_mtu() {
    NodePath then = path_;
    for (RailCard& card : then.cards)
      for (RailCable& cable : card.cables)
        if (cable.ethernet && cable.mtu > 0 && cable.mtu < cable.mtu_most) cable.mtu = cable.mtu_most;
    if (first().mtu <= 0 || first().mtu >= first().mtu_most) return;
    keep(then, {.name = "larger MTU",
                .why = fmt::format(
                    "RDMA packets have {} bytes, and the adapter can do {}: an interface MTU of 9000 on "
                    "every node, and on the switch",
                    first().mtu, first().mtu_most)});
  }

  static bool below(const PcieLink& a, const PcieLink& b) {
    return pcie_rate(a) < pcie_rate(b) * (1 / kLeastGain);
  }
  static BitRate through(const RailSlot& slot, const PcieLink& link) {
    const BitRate own = pcie_rate(link);
    return slot.above ? std::min(own, *slot.above) : own;
  }

  // A link that is below what both the card and its slot can do: no purchase.
  void add_link() {
    if (fixed_.freedom == PartsFreedom::kFixed) return;
    NodePath then = path_;
    std::string where;
    for (RailCard& card : then.cards)
      for (RailSlot& slot : card.slots) {
        if (!slot.now || !slot.card || !slot.slot) continue;
        const PcieLink both = common(*slot.card, *slot.slot);
        if (!below(*slot.now, both)) continue;
        where = fmt::format("{} runs at {}, and both ends can do {}", slot.address, describe_link(*slot.now),
                            describe_link(both));
        slot.rate = through(slot, both);
      }
    if (where.empty()) return;
    keep(then,
         {.name = "PCIe link as it should be",
          .why = where + ": reseat the card, look at its riser and at the slot's setting in the firmware"});
  }

  // A slot with fewer lanes than the card.
  void add_slot() {
    NodePath then = path_;
    std::string why;
    for (RailCard& card : then.cards)
      for (RailSlot& slot : card.slots) {
        if (!slot.card || !slot.slot || slot.slot->width >= slot.card->width) continue;
        PcieLink wide = common(*slot.card, *slot.slot);
        wide.width = slot.card->width;
        why = fmt::format("the slot has {} lanes, the card {}", slot.slot->width, slot.card->width);
        slot.rate = through(slot, wide);
      }
    if (why.empty()) return;
    if (fixed_.freedom != PartsFreedom::kFree) return;
    if (!is_card()) return drop("wider PCIe slot", fixed_why());
    keep_or_drop(then, {.name = "wider PCIe slot",
                        .why = why,
                        .conditions = {"only if the board has a free slot with that many lanes"}});
  }

  // --- the line ---

  // Returns the speed that the adapter, its cable and the other end allow, as far as they are known.
  static BitRate allowed(const RailCable& cable, bool new_cable) {
    BitRate most = cable.adapter_most;
    if (cable.other_most) most = std::min(most, *cable.other_most);
    if (!new_cable && cable.cable) most = std::min(most, *cable.cable);
    return most;
  }

  // Returns the path with every port as fast as `speed` of it says.
  template <class Speed>
  NodePath with_speed(Speed speed) const {
    NodePath then = path_;
    for (RailCard& card : then.cards)
      for (RailCable& cable : card.cables) cable.rate = std::max(cable.rate, speed(cable));
    return then;
  }

  std::vector<std::string> unknown_ends() const {
    const RailCable& cable = first();
    std::vector<std::string> conditions;
    if (!cable.other_most)
      conditions.push_back(
          cable.other == OtherEnd::kNode
              ? "both ends need it: only if the other node's adapter can do it, too"
              : fmt::format(
                    "only if what is at the other end can do {}: name the switch under parts: in cluster.yaml, "
                    "and railbed knows",
                    to_text(cable.adapter_most)));
    if (!cable.variant_known)
      conditions.push_back(fmt::format("only if this {} is the variant of {}: its part number says",
                                       path_.cards.front().name, to_text(cable.adapter_most)));
    return conditions;
  }

  void add_faster_link() {
    const RailCable& cable = first();
    const BitRate with_cable = allowed(cable, true);
    if (cable.adapter_most.bits_per_second <= 0) return;
    if (with_cable > cable.rate) return add_cables(with_cable);
    if (cable.adapter_most > cable.rate && cable.other_most) {
      drop("faster cables",
           cable.other == OtherEnd::kSwitch
               ? fmt::format("a cable gains nothing: the ports of {} are {}",
                             cable.other_name.empty() ? "what is at the other end" : cable.other_name,
                             to_text(*cable.other_most))
               : fmt::format("a cable gains nothing: {} can do {}",
                             cable.other_name.empty() ? "the other end" : cable.other_name,
                             to_text(*cable.other_most)));
      if (cable.other == OtherEnd::kSwitch) add_switch();
      return;
    }
    if (cable.adapter_most == cable.rate) add_adapter();
  }

  void add_cables(BitRate speed) {
    Upgrade upgrade{
        .name = "faster cables",
        .why = fmt::format("{} and {} can do {}; the link runs at {}", path_.cards.front().name,
                           first().other_name.empty() ? "perhaps the other end" : first().other_name,
                           to_text(speed), to_text(first().rate)),
        .conditions = unknown_ends()};
    upgrade.parts = {cables(speed, ports())};
    keep_or_drop(with_speed([](const RailCable& cable) { return allowed(cable, true); }), std::move(upgrade));
  }

  void add_switch() {
    const RailCable& cable = first();
    const auto fits = switches_that_fit(nodes_, ports(), cable.ethernet ? Fabric::kRoce : Fabric::kInfiniband,
                                        cable.adapter_most);
    if (fits.empty()) return;
    const SwitchModel* model = find_switch_model(fits.front().model);
    Upgrade upgrade{
        .name = "faster switch and cables",
        .why = fmt::format("{} can do {}; {} cannot, so it takes another one and cables of that speed",
                           path_.cards.front().name, to_text(cable.adapter_most),
                           cable.other_name.empty() ? "the switch" : cable.other_name)};
    if (!cable.variant_known) upgrade.conditions = {unknown_ends().back()};
    upgrade.parts = {part(UpgradePartKind::kSwitch, "switch, for all nodes together", {fits.front().model}, 0,
                          fits.front().count(), kSwitchWatts),
                     cables(cable.adapter_most, ports())};
    if (model != nullptr && model->most_watts > 0) {
      upgrade.parts[0].watts = model->most_watts * fits.front().count();
      upgrade.parts[0].source = "its maximum: " + std::string(model->source);
    }
    keep(with_speed([](const RailCable& one) { return one.adapter_most; }), std::move(upgrade));
  }

  // Adapters with the next speed, where they are at their own and the other end, as far as known, is not.
  void add_adapter() {
    const RailCable& cable = first();
    const BitRate speed = next_speed(cable.rate);
    if (speed <= cable.rate || !path_.staged.empty()) return;
    if (!exchangeable()) return;
    if (cable.other == OtherEnd::kSwitch && cable.other_most && *cable.other_most < speed)
      return drop("faster adapters",
                  fmt::format("the ports of {} are {}", cable.other_name, to_text(*cable.other_most)));
    const auto numbers =
        adapters_for(cable.ethernet, speed, static_cast<int>(path_.cards.front().cables.size()), 16);
    if (numbers.empty()) return;
    Upgrade upgrade{.name = "faster adapters and cables",
                    .why = fmt::format("the ports run at {}, the most of the {}", to_text(cable.rate),
                                       path_.cards.front().name)};
    if (cable.other == OtherEnd::kNode) upgrade.conditions.emplace_back("both ends need it");
    if (cable.other != OtherEnd::kNode && !cable.other_most)
      upgrade.conditions.push_back(fmt::format("only if what is at the other end can do {}", to_text(speed)));
    if (fixed_.freedom == PartsFreedom::kNoSlots)
      upgrade.conditions.emplace_back("only if the system's maker supports them in it");
    upgrade.parts = {adapters(fmt::format("{} adapter", to_text(speed)), numbers), cables(speed, ports())};
    if (!keep(with_speed([&](const RailCable&) { return speed; }), std::move(upgrade)))
      drop("faster adapters", still_binds());
  }

  // --- more lines ---

  void add_second_port() {
    if (path_.cards.front().idle_ports == 0 || fixed_.freedom == PartsFreedom::kFixed) return;
    NodePath then = path_;
    int added = 0;
    for (RailCard& card : then.cards)
      for (; card.idle_ports > 0; --card.idle_ports, ++added) card.cables.push_back(card.cables.front());
    Upgrade upgrade{
        .name = "cables on the free ports",
        .why = "ports of the same adapters have no link: each as a rail with a subnet of its own"};
    upgrade.conditions.emplace_back(first().other == OtherEnd::kNode
                                        ? "both nodes need a free port"
                                        : "only if the switch has a free port for each");
    upgrade.parts = {cables(first().rate, added)};
    keep_or_drop(then, std::move(upgrade));
  }

  void add_rail() {
    if (fixed_.freedom != PartsFreedom::kFree) return;
    if (!is_card()) return;
    NodePath then = path_;
    then.cards.insert(then.cards.end(), path_.cards.begin(), path_.cards.end());
    Upgrade upgrade{.name = path_.cards.size() == 1 ? "second adapter" : "as many adapters again",
                    .why = "like the first, each port as a rail with a subnet of its own",
                    .conditions = {std::string(kSlotCondition)}};
    if (first().other != OtherEnd::kNode)
      upgrade.conditions.emplace_back("the switch needs a port for each cable");
    std::vector<std::string> numbers;
    const AdapterModel* model = path_.cards.front().part;
    if (model != nullptr && !model->order.empty()) numbers.emplace_back(model->order);
    upgrade.parts = {
        adapters(fmt::format("{} like the first",
                             path_.cards.front().name.empty() ? "adapter" : path_.cards.front().name),
                 std::move(numbers)),
        cables(first().rate, ports())};
    keep_or_drop(then, std::move(upgrade));
  }

  // --- money ---

  void add_prices(Upgrade& upgrade) const {
    double sum = 0;
    bool whole = true;
    for (UpgradePart& one : upgrade.parts) {
      if (const auto price = prices_.price_of(one.kind, one.numbers)) one.price = *price * one.total;
      whole = whole && one.price.has_value();
      sum += one.price.value_or(0);
    }
    const double gained = upgrade.after_most.gigabytes() - now_.front().rate.gigabytes();
    if (!whole || prices_.empty() || nodes_ == 0 || gained <= 0) return;
    upgrade.price = sum;
    upgrade.per_gained = sum / nodes_ / gained;
  }

  std::string why_none() const {
    const NodeLimit& limit = now_.front();
    if (path_.cards.front().name.empty())
      return "these ports are of software or of an adapter that is not in the table, so there is no advice";
    const bool many = limit.name.ends_with('s');
    return fmt::format("{} {} and {} physical: railbed knows nothing to buy or to set that raises {}",
                       limit.name, many ? "bind" : "binds", many ? "are" : "is", many ? "them" : "it");
  }

  const Facts& facts_;
  const NodePath& path_;
  const FixedParts& fixed_;
  const PriceList& prices_;
  int nodes_;
  std::vector<NodeLimit> now_;
  bool can_unstage_ = false;  // an upgrade lets adapters reach GPU memory
  std::vector<Upgrade> all_;
  std::vector<UselessUpgrade> useless_;
};

std::vector<std::string> rail_texts(const NodePath& path) {
  std::vector<std::string> texts;
  for (const RailCard& card : path.cards)
    for (const RailCable& cable : card.cables)
      texts.push_back(fmt::format(
          "{}{}: {}, {}{}", cable.port, cable.interface.empty() ? "" : " (" + cable.interface + ")",
          card.name.empty() ? "an adapter that is not in the table" : card.name, to_text(cable.rate),
          cable.other_name.empty() ? "" : ", to " + cable.other_name));
  return texts;
}

// A group of nodes with the same way and the same parts at its end.
struct Group {
  std::vector<std::string> nodes;
  NodePath path;
  FixedParts fixed;
};

bool alike(const Group& a, const Group& b) {
  const auto cable = [](const RailCable& x, const RailCable& y) {
    return x.rate == y.rate && x.mtu == y.mtu && x.adapter_most == y.adapter_most && x.other == y.other &&
           x.other_most == y.other_most && x.cable == y.cable && x.ethernet == y.ethernet;
  };
  const auto slot = [](const RailSlot& x, const RailSlot& y) {
    return x.rate == y.rate && x.now == y.now && x.card == y.card && x.slot == y.slot;
  };
  const auto card = [&](const RailCard& x, const RailCard& y) {
    return x.name == y.name && x.part == y.part && x.idle_ports == y.idle_ports &&
           x.unused_halves.size() == y.unused_halves.size() &&
           std::ranges::equal(x.cables, y.cables, cable) && std::ranges::equal(x.slots, y.slots, slot);
  };
  return std::ranges::equal(a.path.cards, b.path.cards, card) && a.path.staged == b.path.staged &&
         a.path.software == b.path.software && a.path.staged_as_measured == b.path.staged_as_measured &&
         a.fixed.why == b.fixed.why;
}

}  // namespace

std::vector<NodeUpgrades> advise_upgrades(const Cluster& cluster, const std::map<std::string, Facts>& nodes,
                                          const PriceList& prices) {
  std::vector<Group> groups;
  for (const auto& [name, facts] : nodes) {
    Group group{{name}, node_path_of(cluster, nodes, name), fixed_parts_of(facts)};
    const auto same = std::ranges::find_if(groups, [&](const Group& other) { return alike(group, other); });
    if (same != groups.end())
      same->nodes.push_back(name);
    else
      groups.push_back(std::move(group));
  }
  std::vector<NodeUpgrades> all;
  for (const Group& group : groups) {
    NodeUpgrades& result = all.emplace_back();
    result.nodes = group.nodes;
    result.rails = rail_texts(group.path);
    result.left_out = group.path.left_out;
    result.fixed = group.fixed.why;
    result.limits = limits_of(group.path);
    if (result.limits.empty())
      result.note =
          "no RDMA port that GPUs could use is active, so nothing can be computed; railbed verify says why";
    else
      Adviser(nodes.at(group.nodes.front()), group.path, group.fixed, prices,
              static_cast<int>(group.nodes.size()))
          .advise(result);
  }
  return all;
}

}  // namespace railbed
