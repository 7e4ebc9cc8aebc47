// Ceilings of paths between nodes, from facts: they become parts of a path here, and limits.h does the
// arithmetic. Nothing is measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "facts/pcie.h"
#include "hardware/limits.h"
#include "results/measurement.h"

namespace railbed {

struct Facts;
struct NetInterface;
struct RdmaPort;

// Returns a port's rate without the link's coding. The port has to state a rate.
BitRate data_rate(const RdmaPort& port);

// Returns the hop with the slowest link between the device at `address` and memory; null if no hop states a
// link, as for virtual devices. The pointer points into `devices`.
const PciDevice* narrowest_hop(const std::vector<PciDevice>& devices, std::string_view address);
// Returns the device's way to memory, without hops if it is not among the devices or its link carries no data
// (a GB10's GPU). A GPU lowers the speed of its link while it is idle: its speed is that of both ends' best, with
// the lanes that are connected now. `peer` is the device whose memory it reads and writes instead of the
// node's: then only the hops below their first common bridge are on the way. Empty: the node's memory.
PciePath pcie_path_of(const std::vector<PciDevice>& devices, std::string_view address, std::string_view node,
                      std::string_view peer = "");
// Returns the limit of that way, in one direction.
std::optional<Limit> pcie_limit(const std::vector<PciDevice>& devices, std::string_view address,
                                std::string_view node, PcieWay way = PcieWay::kToMemory);

// Returns true if the interface only claims a speed, because it has no link of its own.
bool is_virtual(const NetInterface& interface);

// One end of a path. It does not own what it refers to. `facts` is null if the node's facts are not known.
struct CeilingEnd {
  std::string_view node;
  std::string_view interface;
  const Facts* facts = nullptr;
  std::string_view gpu = {};  // PCI address of the GPU in whose memory the bytes are; empty: host memory
};

// The data rate that an end states (TCP: of the interface, RDMA: of the port), and the source of that.
struct LinkRate {
  BitRate rate;
  std::string from;
};
// Returns that rate; nullopt if the end states none. `end.facts` must be set, also for virtual_note() and
// adapter_address().
std::optional<LinkRate> link_rate(const CeilingEnd& end, Wire wire);
// Returns a text such as "ens6 of gpu01".
std::string where(const CeilingEnd& end);
// Returns why this end's stated speed is not a physical limit; empty for an adapter on PCIe.
std::string virtual_note(const CeilingEnd& end);

// Returns the PCI address of the end's adapter; nullopt for virtual ones.
std::optional<std::string> adapter_address(const CeilingEnd& end);

// Returns the path between two ends, whose facts must be known, from the one that has the bytes.
DataPath path_of(const CeilingEnd& from, const CeilingEnd& to, Wire wire, int mtu);
// Returns all limits of that path, the binding one first. With virtual devices, or both ends on one node, it is
// nominal. Without the facts of both ends it has only a note.
Ceiling path_ceiling(const CeilingEnd& from, const CeilingEnd& to, Wire wire, int mtu,
                     const Traffic& traffic = {});
// Adds the PCIe path of one more device to the limits, which stay in order.
void add_pcie_limit(Ceiling& path, const std::vector<PciDevice>& devices, std::string_view address,
                    std::string_view node, PcieWay way);
}  // namespace railbed
