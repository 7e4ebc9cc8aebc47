// The rates of ports do not simply add up. Two ports of one card share its slot: two of 40 Gb/s on Gen3 x8
// carry 7.2 GB/s, not 9.8. And one cable may be connected to two functions: each half of a DGX Spark's
// ConnectX-7 reaches both cables over four lanes of its own, so one function carries 14.3 GB/s of a cable's
// 24.5, and only both together fill it.
//
// So cards_limit() (limits.h) compares, for each card, the sum of its cables with the sum of its slots. Functions
// belong to one card if they have the same system image GUID. Functions of one card with the same function number,
// on different slots, are two paths to one cable.
#include "hardware/network_ceiling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "base/text.h"
#include "facts/facts.h"
#include "hardware/ceilings.h"
#include "hardware/nic.h"

namespace railbed {
namespace {

constexpr int kUsualPathMtu = 4096;

// Splits "0000:01:00.1" into "0000:01:00" and "1".
std::pair<std::string, std::string> slot_and_function(const std::string& address) {
  const auto dot = address.find('.');
  return {address.substr(0, dot), dot == std::string::npos ? "" : address.substr(dot + 1)};
}

bool is_active(const RdmaPort& port) { return port.state.value_or("") == "ACTIVE" && port.rate.ok(); }

WirePart wire_of(const RdmaDevice& device, const RdmaPort& port) {
  const bool ethernet = port.link_layer.value_or("") == "Ethernet";
  const int mtu = path_mtu_of(device, port);
  return {.protocol = ethernet ? Wire::kRoceV2Ipv4 : Wire::kInfiniband,
          .mtu = mtu > 0 ? mtu : kUsualPathMtu,
          .data_rate = data_rate(port),
          .slower = "",
          .source = port.rate.from()};
}

BitRate payload_rate(const WirePart& wire) {
  const auto limit = wire_limit(wire, Traffic{});
  return limit ? limit->rate : BitRate{};
}

// One adapter card with all its functions.
struct Card {
  std::map<std::string, WirePart> cables;  // by function and port
  std::map<std::string, PciePath> slots;
};

// Adds the active ports and the slot of one function to its card.
void add_device(Card& card, const Facts& facts, const RdmaDevice& device, const std::string& node) {
  const std::string address = device.pci_address.value_or("");
  const auto [slot, function] = slot_and_function(address);
  for (const RdmaPort& port : items(device.ports)) {
    if (!is_active(port)) continue;
    const WirePart wire = wire_of(device, port);
    const auto [cable, is_new] = card.cables.try_emplace(fmt::format("{} {}", function, port.number), wire);
    if (!is_new && payload_rate(cable->second) < payload_rate(wire)) cable->second = wire;
  }
  card.slots[slot] = pcie_path_of(items(facts.pci), address, node);
}

}  // namespace

std::vector<AdapterCard> adapter_cards(const Facts& facts, const std::string& node) {
  // By system image GUID, else by slot, else by name.
  std::map<std::string, Card> cards;
  for (const RdmaDevice& device : items(facts.rdma.devices)) {
    if (!std::ranges::any_of(items(device.ports), is_active)) continue;
    const std::string slot = slot_and_function(device.pci_address.value_or(device.name)).first;
    add_device(cards[device.image_guid.value_or(slot)], facts, device, node);
  }
  std::vector<AdapterCard> all;
  for (auto& [name, card] : cards) {
    AdapterCard& one = all.emplace_back();
    for (auto& [place, cable] : card.cables) one.cables.push_back(std::move(cable));
    for (auto& [slot, path] : card.slots) one.slots.push_back(std::move(path));
  }
  return all;
}

namespace {

// Returns the sum of all physical interfaces with a link, over TCP.
std::optional<Limit> socket_limit(const Facts& facts, const std::string& node) {
  constexpr int kUsualMtu = 1500;
  BitRate sum;
  int interfaces = 0;
  for (const NetInterface& interface : items(facts.net.interfaces)) {
    if (is_virtual(interface) || !interface.carrier.value_or(false) || interface.speed_mbps.value_or(0) <= 0)
      continue;
    sum.bits_per_second +=
        *interface.speed_mbps * 1e6 * wire_efficiency(Wire::kTcpIpv4, interface.mtu.value_or(kUsualMtu));
    ++interfaces;
  }
  if (interfaces == 0) return std::nullopt;
  return Limit{fmt::format("the network of {}, {} {} over TCP", node, interfaces,
                           interfaces == 1 ? "interface" : "interfaces"),
               sum, "the sum of the interfaces' speeds, less packet headers"};
}

}  // namespace

const NicModel* nic_of(const RdmaDevice& device) {
  const std::string type = device.hca_type.value_or("");
  if (!type.starts_with("MT")) return nullptr;
  const auto id = parse_number<std::uint16_t>(std::string_view(type).substr(2));
  return id ? find_nic(*id) : nullptr;
}

int path_mtu_of(const RdmaDevice& device, const RdmaPort& port) {
  const int active = port.active_mtu.value_or(0);
  const NicModel* model = nic_of(device);
  const bool ethernet = port.link_layer.value_or("") == "Ethernet";
  if (model == nullptr || !ethernet || model->roce_path_mtu == 0) return active;
  return std::min(active, model->roce_path_mtu);
}

std::optional<Limit> network_limit(const Facts& facts, const std::string& node) {
  auto limit = cards_limit(adapter_cards(facts, node), Traffic{}, node);
  return limit ? limit : socket_limit(facts, node);
}

}  // namespace railbed
