// Finds the causes for the loss of a rung. Each cause is a fact of one of the ends, or of the measurement
// itself. The order of the calls is the order of likelihood.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/shell.h"
#include "bench/pairs/ladder.h"
#include "hardware/ceilings.h"
#include "hardware/pci_path.h"

namespace railbed {
namespace {

std::string adapter_of(const LadderEnd& end) {
  if (const NetInterface* interface = find_interface(end.facts->net, end.interface))
    if (interface->pci_address) return *interface->pci_address;
  const RdmaPortRef port = rdma_port_of(end.facts->rdma, end.facts->net, end.interface);
  return port ? port.device->pci_address.value_or("") : "";
}

class Causes {
 public:
  Causes(const Ladder& ladder, const Rung& rung, const LadderEnd& a, const LadderEnd& b)
      : ladder_(ladder), rung_(rung), one_(*rung.measurement), a_(a), b_(b) {}

  std::vector<std::string> find() {
    if (const std::string traffic = traffic_text(one_); !traffic.empty()) found_.push_back(traffic);
    switch (rung_.kind) {
      case RungKind::kTcp:
      case RungKind::kRdmaCm:
      case RungKind::kRdma:
        add_wire();
        break;
      case RungKind::kRdmaGpu:
        add_staging();
        add_gpu();
        break;
      case RungKind::kNccl:
        add_nccl();
        add_gpu();
    }
    // If the RDMA rung from host memory was measured, it has judged the wire already.
    const bool below_is_measured = std::ranges::any_of(
        ladder_.rungs, [](const Rung& rung) { return rung.kind == RungKind::kRdma && rung.has_number(); });
    if (rung_.kind >= RungKind::kRdmaGpu && !below_is_measured) add_wire();
    if (found_.empty()) found_.push_back(nothing_found());
    return std::move(found_);
  }

 private:
  template <class Add>
  void each_end(Add add) {
    add(a_);
    add(b_);
  }

  void add_wire() {
    add_losses();
    each_end([this](const LadderEnd& end) { add_bond(end); });
    each_end([this](const LadderEnd& end) { add_pcie(end, adapter_of(end)); });
    if (one_.engine == Engine::kRdma) each_end([this](const LadderEnd& end) { add_software(end); });
    add_processors();
    add_mtu();
    add_congestion();
    each_end([this](const LadderEnd& end) { add_translation(end, adapter_of(end)); });
  }

  void add_gpu() {
    each_end([this](const LadderEnd& end) { add_pcie(end, end.gpu); });
    each_end([this](const LadderEnd& end) { add_gpu_path(end); });
    each_end([this](const LadderEnd& end) { add_translation(end, end.gpu); });
  }

  void add_staging() {
    for (const Endpoint* end : {&one_.from, &one_.to})
      if (end->memory.ends_with("staged"))
        found_.push_back(fmt::format("{} stages through host memory{}", end->node,
                                     end->memory_why.empty() ? "" : ": " + end->memory_why));
  }

  void add_losses() {
    constexpr double kMany = 1e-4;  // our own value: a sound data-center link loses far less
    if (one_.packets == 0 || static_cast<double>(one_.lost) <= kMany * static_cast<double>(one_.packets))
      return;
    found_.push_back(fmt::format("{} of {} packets were lost: a cable, flow control, or a full switch buffer",
                                 one_.lost, one_.packets));
  }

  // Each flow and each queue pair stays on one member of a bond. So a bond that carries no more than the
  // speed of one member may have used only one.
  void add_bond(const LadderEnd& end) {
    const NetInterface* bond = find_interface(end.facts->net, end.interface);
    if (bond == nullptr || items(bond->bond_members).size() < 2) return;
    for (const std::string& member : items(bond->bond_members)) {
      const NetInterface* port = find_interface(end.facts->net, member);
      if (port == nullptr || !port->speed_mbps || one_.summary.median > *port->speed_mbps * 1e6) continue;
      found_.push_back(
          fmt::format("one port of a LAG: {} of {} bonds {} ports and no more than one of them was filled; "
                      "more streams, or hashing by layer3+4, use all",
                      end.interface, end.node, bond->bond_members->size()));
      return;
    }
  }

  // Adds a cause if PCIe above this device carries less than the wire. If the wire's limit is unknown, adds
  // one if a hop could be wider than it is.
  void add_pcie(const LadderEnd& end, const std::string& address) {
    const std::vector<PciDevice>& devices = items(end.facts->pci);
    const auto limit = pcie_limit(devices, address, end.node);
    if (!limit) return;
    const std::string wider = could_be_wider(devices, address, limit->rate);
    const Limit* wire = one_.ceiling.nominal ? nullptr : find_wire(one_.ceiling);
    if (wire == nullptr ? wider.empty() : limit->rate >= wire->rate) return;
    std::string cause = fmt::format("PCIe width: {} carries {}", limit->name, to_text(limit->rate));
    if (wire != nullptr) cause += fmt::format(", the link {}", to_text(wire->rate));
    found_.push_back(cause + (wider.empty()
                                  ? "; only a wider slot helps"
                                  : fmt::format("; it could be {}: reseat it, or take another slot", wider)));
  }

  static std::string could_be_wider(const std::vector<PciDevice>& devices, const std::string& address,
                                    BitRate limit) {
    for (const PciDevice* hop : path_to_root(devices, *find_pci(devices, address)))
      if (hop->link_now && hop->link_max && pcie_rate(*hop->link_now) <= limit &&
          pcie_rate(*hop->link_now) < pcie_rate(*hop->link_max))
        return describe_link(*hop->link_max);
    return "";
  }

  void add_software(const LadderEnd& end) {
    const RdmaPortRef port = rdma_port_of(end.facts->rdma, end.facts->net, end.interface);
    const std::string driver = port ? port.device->driver.value_or("") : "";
    if (driver != "rxe" && driver != "siw") return;
    found_.push_back(fmt::format("software RDMA: {} of {} is {}, the processor does an adapter's work",
                                 port.device->name, end.node, driver));
  }

  void add_processors() {
    if (one_.engine != Engine::kTcp) return;
    constexpr double kBusy = 0.8;  // our own value: the rest of the time is spent waiting for wake-ups
    const double busy = one_.cpu_seconds_per_gigabyte * one_.summary.median / 8e9;  // of both ends together
    if (busy <= kBusy * 2 * one_.streams) return;
    found_.push_back(fmt::format("processors: the {} {} of each end {} busy; more --streams need more cores",
                                 one_.streams, one_.streams == 1 ? "thread" : "threads",
                                 one_.streams == 1 ? "is" : "are"));
  }

  void add_mtu() {
    if (one_.engine == Engine::kTcp && one_.mtu > 0 && one_.mtu <= 1500)
      found_.push_back(fmt::format("MTU {}: six times the packets that 9000 would need", one_.mtu));
    if (one_.engine == Engine::kRdma && one_.mtu > 0 && one_.mtu < 4096)
      found_.push_back(
          fmt::format("RDMA MTU {}: 4096 carries more (on Ethernet with an interface MTU of 4200 or more, "
                      "9000 as a rule)",
                      one_.mtu));
  }

  void add_congestion() {
    for (const auto& [name, delta] : one_.counter_deltas)
      if (delta > 0 && (name.ends_with("np_cnp_sent") || name.ends_with("rp_cnp_handled"))) {
        found_.push_back(
            fmt::format("congestion: {} {:+}: a switch marked packets, "
                        "so others share the path or its ECN threshold is low",
                        name, delta));
        return;
      }
  }

  void add_translation(const LadderEnd& end, const std::string& address) {
    const PciDevice* device = find_pci(items(end.facts->pci), address);
    if (device == nullptr || !device->iommu_type || !device->iommu_type->starts_with("DMA")) return;
    found_.push_back(fmt::format("the IOMMU of {} translates what {} reads and writes: boot with iommu=pt",
                                 end.node, address));
  }

  void add_gpu_path(const LadderEnd& end) {
    const std::vector<PciDevice>& devices = items(end.facts->pci);
    const PciDevice* gpu = find_pci(devices, end.gpu);
    const PciDevice* adapter = find_pci(devices, adapter_of(end));
    if (gpu == nullptr || adapter == nullptr) return;
    const PathClass path = path_between(devices, *gpu, *adapter);
    if (path >= PathClass::kPhb)
      found_.push_back(fmt::format(
          "GPU {} of {} and its adapter have no PCIe switch in common ({}): "
          "each transfer passes the processor{}",
          end.gpu, end.node, to_text(path), path == PathClass::kSys ? ", and the link between two" : ""));
    std::vector<std::string_view> redirecting;
    for (const PciDevice* bridge : bridges_between(devices, *gpu, *adapter))
      if (redirects_peers(*bridge)) redirecting.push_back(bridge->address);
    if (!redirecting.empty())
      found_.push_back(
          fmt::format("ACS at {} of {} sends what passes between GPU and adapter up to the processor: "
                      "{}",
                      fmt::join(redirecting, ", "), end.node,
                      command("setpci -s {} ecap_acs+6.w=0000", redirecting.front()).text()));
  }

  void add_nccl() {
    if (!rung_.nccl) return;
    const NcclWay& way = *rung_.nccl;
    const std::string why = way.why.empty() ? "" : fmt::format(": {}", fmt::join(way.why, "; "));
    const bool sockets = way.network == "Socket";
    if (sockets && why_no_rdma(a_, b_).empty()) found_.push_back("NCCL fell back to sockets" + why);
    if (!sockets && (way.gpudirect == "off" || way.gpudirect == "partly"))
      found_.push_back(fmt::format("NCCL stages {} through host memory{}",
                                   way.gpudirect == "off" ? "everything" : "a part", why));
    add_other_way(a_, way.through_a, sockets);
    add_other_way(b_, way.through_b, sockets);
  }

  // Adds a cause if NCCL used another interface or device than the rail on which the rungs below were
  // measured. A name with '/' is not judged.
  void add_other_way(const LadderEnd& end, const std::vector<std::string>& through, bool sockets) {
    const RdmaPortRef port = rdma_port_of(end.facts->rdma, end.facts->net, end.interface);
    const std::string own = sockets ? end.interface : port ? port.device->name : "";
    const auto is_own = [&](const std::string& name) {
      return name.find('/') != std::string::npos ||
             ("+" + name + "+").find("+" + own + "+") != std::string::npos;
    };
    if (own.empty() || through.empty() || std::ranges::any_of(through, is_own)) return;
    found_.push_back(fmt::format("NCCL on {} went through {}, not through the rail's {}: {} chooses",
                                 end.node, fmt::join(through, ", "), own,
                                 sockets ? "NCCL_SOCKET_IFNAME" : "NCCL_IB_HCA"));
  }

  std::string nothing_found() const {
    // Measured between two H200 over veths: 24 Gb/s with NCCL's defaults, 73 Gb/s with these settings.
    if (rung_.nccl && rung_.nccl->network == "Socket")
      return "NCCL's sockets are few where nobody asks for more: "
             "NCCL_SOCKET_NTHREADS=4 and NCCL_NSOCKS_PERTHREAD=4 tell whether that is it";
    if (rung_.kind == RungKind::kNccl)
      return "nothing in the facts explains it; one GPU a node opens few connections: "
             "NCCL_IB_QPS_PER_CONNECTION=4 and NCCL_MIN_NCHANNELS=8 tell whether that is it";
    return "nothing in the facts explains it: try more streams and larger messages, "
           "then look at what else uses the path";
  }

  const Ladder& ladder_;
  const Rung& rung_;
  const Measurement& one_;
  const LadderEnd& a_;
  const LadderEnd& b_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> causes_of(const Ladder& ladder, const Rung& rung, const LadderEnd& a,
                                   const LadderEnd& b) {
  return Causes(ladder, rung, a, b).find();
}

}  // namespace railbed
