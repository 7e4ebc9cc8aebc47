// The rates of ports do not simply add up. Two ports of one card share its slot: two of 40 Gb/s on Gen3 x8
// carry 7.2 GB/s, not 9.8. And one cable may be connected to two functions: each half of a DGX Spark's
// ConnectX-7 reaches both cables over four lanes of its own, so one function carries 14.3 GB/s of a cable's
// 24.5, and only both together fill it.
//
// So for each card the rates of its cables are added, and the rates of its slots' links are added, and the
// smaller sum is the card's rate. Functions belong to one card if they have the same system image GUID.
// Functions of one card with the same function number, on different slots, are two paths to one cable.
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

BitRate payload_rate(const RdmaDevice& device, const RdmaPort& port) {
  const bool ethernet = port.link_layer.value_or("") == "Ethernet";
  const int mtu = path_mtu_of(device, port);
  return data_rate(port) *
         wire_efficiency(ethernet ? Wire::kRoceV2Ipv4 : Wire::kInfiniband, mtu > 0 ? mtu : kUsualPathMtu);
}

// One adapter card with all its functions.
struct Card {
  std::map<std::string, BitRate> cables;  // by function and port
  std::map<std::string, BitRate> slots;   // slots that state their link
  bool unknown_slot = false;
};

BitRate sum_of(const std::map<std::string, BitRate>& rates) {
  BitRate sum;
  for (const auto& [name, rate] : rates) sum.bits_per_second += rate.bits_per_second;
  return sum;
}

// Returns true if the card's slots carry less than its cables. Unknown slots do not limit.
bool held_by_slots(const Card& card) {
  return !card.unknown_slot && sum_of(card.slots) < sum_of(card.cables);
}

// Adds the active ports and the slot of one function to its card.
void add_device(Card& card, const Facts& facts, const RdmaDevice& device, const std::string& node) {
  const std::string address = device.pci_address.value_or("");
  const auto [slot, function] = slot_and_function(address);
  for (const RdmaPort& port : items(device.ports)) {
    if (!is_active(port)) continue;
    BitRate& cable = card.cables[fmt::format("{} {}", function, port.number)];
    cable = std::max(cable, payload_rate(device, port));
  }
  if (const auto limit = pcie_limit(items(facts.pci), address, node))
    card.slots[slot] = limit->rate;
  else
    card.unknown_slot = true;
}

// Groups the node's functions with active ports by card and counts these ports. The key of a card is its
// system image GUID, else its slot, else its name.
std::map<std::string, Card> cards_of(const Facts& facts, const std::string& node, int& ports) {
  std::map<std::string, Card> cards;
  for (const RdmaDevice& device : items(facts.rdma.devices)) {
    const auto active = std::ranges::count_if(items(device.ports), is_active);
    if (active == 0) continue;
    ports += static_cast<int>(active);
    const std::string slot = slot_and_function(device.pci_address.value_or(device.name)).first;
    add_device(cards[device.image_guid.value_or(slot)], facts, device, node);
  }
  return cards;
}

// Returns the sum over all cards; nullopt without active RDMA ports.
std::optional<Limit> rdma_limit(const Facts& facts, const std::string& node) {
  int ports = 0;
  BitRate sum;
  bool by_slots = false;
  for (const auto& [name, card] : cards_of(facts, node, ports)) {
    const bool held = held_by_slots(card);
    by_slots = by_slots || held;
    sum.bits_per_second += sum_of(held ? card.slots : card.cables).bits_per_second;
  }
  if (ports == 0) return std::nullopt;
  return Limit{fmt::format("the network of {}, {} RDMA {}", node, ports, ports == 1 ? "port" : "ports"), sum,
               by_slots ? "the sum of the active ports' rates, less packet headers, where their PCIe slots "
                          "carry as much; else of the slots"
                        : "the sum of the active ports' rates, less packet headers"};
}

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
  auto limit = rdma_limit(facts, node);
  return limit ? limit : socket_limit(facts, node);
}

}  // namespace railbed
