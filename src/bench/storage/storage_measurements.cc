// Converts the results of fio on a node to measurements, with the limit of the drives' PCIe links.
#include <fmt/format.h>

#include <algorithm>

#include "bench/storage/storage.h"
#include "facts/facts.h"
#include "hardware/ceilings.h"

namespace railbed {
namespace {

const BlockDevice* find_drive(const Facts& facts, const std::string& name) {
  const auto& drives = facts.system.storage.block_devices;
  if (!drives) return nullptr;
  const auto found = std::find_if(drives->begin(), drives->end(),
                                  [&](const BlockDevice& drive) { return drive.name == name; });
  return found == drives->end() ? nullptr : &*found;
}

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : std::string(between)) + part;
  return text;
}

// Returns a note if the drive's link is slower than the drive supports: "0000:02:00.0 runs at PCIe Gen3 x4,
// and could at PCIe Gen4 x4"; then another slot may help. Empty if it is not slower.
std::string below_its_best(const std::vector<PciDevice>& devices, const std::string& address) {
  const PciDevice* device = find_pci(devices, address);
  if (device == nullptr || !device->link_now || !device->link_max ||
      pcie_rate(*device->link_now) >= pcie_rate(*device->link_max))
    return "";
  return fmt::format("{} runs at {}, and could at {}", address, describe_link(*device->link_now),
                     describe_link(*device->link_max));
}

const NetInterface* interface_to(const Facts& facts, const std::string& server) {
  const auto address = IpAddress::parse(server);
  if (!address || !facts.net.interfaces) return nullptr;
  for (const NetInterface& interface : *facts.net.interfaces)
    for (const InterfaceAddress& own : items(interface.addresses))
      if (const auto subnet = Subnet::of(own.address, own.prefix); subnet && subnet->contains(*address))
        return &interface;
  return nullptr;
}

// Returns the sum of the ports to the machines that serve the file system. Their drives and ports are not in it: only a
// look at them would tell.
Ceiling network_ceiling(const std::string& node, const std::vector<std::string>& servers,
                        const Facts& facts) {
  Ceiling ceiling;
  const auto none = [&](std::string why) {
    ceiling.limits.clear();
    ceiling.note = std::move(why);
    return ceiling;
  };
  std::vector<std::string> ports, sources;
  BitRate sum;
  for (const std::string& server : servers) {
    const NetInterface* const interface = interface_to(facts, server);
    if (interface == nullptr)
      return none(fmt::format("{} is in no subnet of this node: the port is not known", server));
    const CeilingEnd end{node, interface->name, &facts};
    if (const std::string note = virtual_note(end); !note.empty()) return none(note);
    const auto rate = link_rate(end, Wire::kTcpIpv4);
    if (!rate) return none(fmt::format("{} states no speed", where(end)));
    if (std::ranges::find(ports, "port " + where(end)) != ports.end()) continue;
    ports.push_back("port " + where(end));
    sources.push_back(rate->from);
    sum.bits_per_second += rate->rate.bits_per_second;
  }
  ceiling.limits.push_back({joined(ports, " + "), sum, joined(sources, "; ")});
  ceiling.note = fmt::format("served by {}; what its drives give is not known here", joined(servers, ", "));
  return ceiling;
}

// Returns the sum of the drives' PCIe links, because data of one file system may use all of them at the same
// time. If the limit of a drive is unknown, there is no ceiling and the note has the reason.
Ceiling ceiling_of(const std::string& node, const StorageAnswer& answer, const Facts* facts) {
  Ceiling ceiling;
  const auto none = [&](std::string why) {
    ceiling.limits.clear();
    ceiling.note = std::move(why);
    return ceiling;
  };
  if (answer.memory) return none("memory, no storage");
  if (answer.mount && !answer.mount->servers.empty() && facts != nullptr)
    return network_ceiling(node, answer.mount->servers, *facts);
  if (!answer.mount || answer.mount->devices.empty())
    return none(answer.mount ? fmt::format("no local drive is known below {} ({})", answer.mount->point,
                                           answer.mount->type)
                             : "what the folder lies on is not known");
  if (facts == nullptr || !facts->pci) return none("the node's PCI devices are not known");
  std::vector<std::string> names, sources, notes;
  BitRate sum;
  for (const std::string& name : answer.mount->devices) {
    const BlockDevice* drive = find_drive(*facts, name);
    if (drive == nullptr || !drive->pci_address) return none(name + " is not on PCI, or virtual");
    const auto limit = pcie_limit(*facts->pci, *drive->pci_address, node);
    if (!limit) return none(fmt::format("{} at {} states no link", name, *drive->pci_address));
    sum.bits_per_second += limit->rate.bits_per_second;
    names.push_back(limit->name);
    sources.push_back(limit->source);
    if (auto note = below_its_best(*facts->pci, *drive->pci_address); !note.empty())
      notes.push_back(std::move(note));
  }
  ceiling.limits.push_back({joined(names, " + "), sum, joined(sources, "; ")});
  ceiling.note = joined(notes, "; ");
  return ceiling;
}

// fio gives one rate for the whole run; only repeated runs show a spread.
Summary rate_of(const FioResult& result) { return single_number(result.bytes_per_second * 8); }

Summary latency_of(const FioResult& result) {
  Summary summary;
  summary.samples = result.requests;
  summary.median = summary.low = summary.high = result.median;
  summary.mean = result.mean;
  summary.minimum = result.minimum;
  summary.maximum = result.maximum;
  summary.deviation = result.deviation;
  summary.p99 = result.p99;
  summary.p999 = result.p999;
  summary.p9999 = result.p9999;
  return summary;
}

}  // namespace

std::vector<Measurement> storage_measurements(const std::string& node, const StorageAnswer& answer,
                                              const Facts* facts) {
  std::vector<Measurement> measurements;
  const Ceiling ceiling = ceiling_of(node, answer, facts);
  for (const StorageRun& run : answer.runs) {
    const bool checkpoint = run.threads > 1;
    Measurement measurement;
    measurement.engine = Engine::kStorage;
    measurement.operation = run.operation;
    // A name of its own, so that the history never compares these runs with those past the page cache.
    if (answer.memory)
      measurement.operation += " in memory";
    else if (!answer.not_direct.empty() && !checkpoint)
      measurement.operation += " buffered";
    measurement.rail = answer.folder;
    measurement.from.node = node;
    if (answer.mount) {
      measurement.from.interface = answer.mount->type;
      measurement.from.device = joined(answer.mount->devices, ",");
    }
    measurement.message_bytes = run.block_bytes;
    measurement.streams = run.depth * run.threads;
    measurement.failure = run.failure;
    if (run.result) {
      measurement.seconds = run.result->seconds;
      measurement.summary = rate_of(*run.result);
    }
    measurement.ceiling = ceiling;
    if (!answer.not_direct.empty() && !checkpoint && !answer.memory) {
      measurement.ceiling.nominal = true;
      measurement.ceiling.note = "through the page cache: memory may bind";
    }
    measurements.push_back(measurement);
    if (!run.result) continue;
    measurement.metric = Metric::kLatency;
    measurement.ceiling = {};
    measurement.summary = latency_of(*run.result);
    measurements.push_back(std::move(measurement));
  }
  return measurements;
}

}  // namespace railbed
