// Reads the network that NCCL found and chose, its devices, and GPUDirect RDMA.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "diagnose/log/scan.h"
#include "diagnose/log/state.h"

namespace railbed::diagnose {
namespace {

constexpr std::size_t kMostNics = 1 << 16;
constexpr std::size_t kMostWhy = 20;
constexpr std::size_t kMostNetworks = 64;
constexpr std::size_t kLongestNetwork = 64;
constexpr int kMostPorts = 255;  // a port's number is a byte (InfiniBand specification, volume 1, PortNum)

using Nics = decltype(LogState::nics);

LogNic* nic(Nics& nics, const std::string& host, std::string_view device, int port) {
  if (port < 0 || port > kMostPorts) return nullptr;
  const Nics::key_type key(host, device, port);
  if (const auto found = nics.find(key); found != nics.end()) return &found->second;
  if (nics.size() >= kMostNics) return nullptr;
  LogNic& added = nics[key];
  added.host = host;
  added.device = device;
  added.port = port;
  return &added;
}

void each_port(Nics& nics, const std::string& host, std::string_view device, auto&& visit) {
  for (auto at = nics.lower_bound({host, std::string(device), 0}); at != nics.end(); ++at) {
    if (at->second.host != host || at->second.device != device) return;
    visit(at->second);
  }
}

// Reads "[0]mlx5_0:1/RoCE [1]mlx5_1:1/IB [RO]; OOB …". 2.20–2.23 wrote merged ones as "[0]={[0]
// mlx5_0:1/RoCE, [1] mlx5_1:1/RoCE}"; 2.30 may write ":RAIL:PLANE" after the port.
void read_devices(Nics& nics, const std::string& host, std::string_view text) {
  Scan scan(text.substr(0, text.find("; OOB")));
  while (scan.skip_past("[")) {
    const auto index = scan.number();
    if (!index || !scan.take("]")) continue;
    scan.take(" ");
    if (scan.take("={")) continue;
    const std::string_view device = scan.until(":/ ");
    if (device.empty() || !scan.take(":")) continue;
    const int port = scan.number().value_or(1);
    scan.until("/ ");
    if (LogNic* const found = nic(nics, host, device, port)) {
      found->index = *index;
      if (scan.take("/")) found->link = scan.until(" ,}[/");  // "IB/SHARP" with a SHARP plugin
    }
  }
}

// Reads "[0]eth0:10.0.0.1<0> [1]eth1:10.0.1.1<0>", or " eth0:10.0.0.1<0>" of the first contact.
void read_interfaces(LogState& state, const std::string& host, std::string_view text, bool data) {
  std::vector<LogInterface>& interfaces = state.log.interfaces;
  for (std::string_view word : words(text)) {
    if (word.starts_with('[')) word = word.substr(std::min(word.find(']'), word.size() - 1) + 1);
    const auto pair = key_value(word, ':');
    if (!pair) continue;
    const std::string_view address = pair->second.substr(0, pair->second.find('<'));
    std::string key = fmt::format("{} {} {}", host, pair->first, address);
    const auto found = state.interface_places.find(key);
    if (found != state.interface_places.end()) {
      LogInterface& known = interfaces[found->second];
      known.data = known.data || data;
    } else if (interfaces.size() < kMostNics) {
      state.interface_places.emplace(std::move(key), interfaces.size());
      interfaces.push_back({host, std::string(pair->first), std::string(address), data});
    }
  }
}

// Reads the text after "Made virtual device ": "[0] name=mlx5_0+mlx5_1 speed=400000 ndevs=2".
void read_virtual_device(Nics& nics, const std::string& host, Scan scan) {
  scan.skip_past("name=");
  const std::string_view name = scan.until(" ");
  const bool merged = name.find('+') != std::string_view::npos;
  const auto speed = number_after(scan.rest(), "speed=");
  if (!speed) return;
  if (merged) {
    if (LogNic* const found = nic(nics, host, name, 0)) found->gigabits = *speed / 1000.0;
  } else {
    each_port(nics, host, name, [&](LogNic& nic) { nic.gigabits = *speed / 1000.0; });
  }
}

// Reads the text after "NET/IB: [": "0] mlx5_0:uverbs0:1/RoCE provider=Mlx5 speed=400000 …".
bool read_port(Nics& nics, const std::string& host, Scan scan) {
  const auto index = scan.number();
  if (!index || !scan.take("] ")) return false;
  const std::string_view device = scan.until(":");
  scan.take(":");
  scan.until(":");
  const int port = scan.take(":") ? scan.number().value_or(1) : 1;
  const auto speed = number_after(scan.rest(), "speed=");
  if (LogNic* const found = nic(nics, host, device, port); found != nullptr && speed) {
    found->gigabits = *speed / 1000.0;
    if (scan.take("/")) found->link = scan.until(" ");
  }
  return true;
}

// Reads the text after "NET/IB : GPU Direct RDMA ": "Disabled for HCA 0 'mlx5_0'".
void read_registration(LogState& state, const std::string& host, Scan scan) {
  const bool enabled = scan.take("Enabled");
  scan.skip_past("'");
  const std::string_view name = scan.until("'");
  if (!enabled)
    add_once(state.log.gpudirect_why,
             fmt::format("{} on {}: neither nvidia-peermem nor DMA-BUF can register GPU memory", name, host),
             kMostWhy);
  each_port(state.nics, host, name, [&](LogNic& nic) { nic.gpudirect = enabled ? "enabled" : "disabled"; });
}

// Reads the text after "GPU Direct RDMA Disabled for GPU ": "0 / HCA 1 (distance 8 > 5)".
void read_distance(LogState& state, const std::string& host, Scan scan) {
  const std::string_view gpu = scan.until(" ");
  scan.skip_past("HCA ");
  const std::string_view hca = scan.until(" ");
  const auto distance = number_after(scan.rest(), "distance ");
  const auto limit = number_after(scan.rest(), " > ");
  if (distance && limit)
    add_once(state.log.gpudirect_why,
             fmt::format("GPU {} and HCA {} on {} are too far apart (distance {}, allowed {})", gpu, hca,
                         host, *distance, *limit),
             kMostWhy);
}

}  // namespace

bool LogState::read_network(LogProcess& process, const LogLine& line) {
  Scan scan(line.text);
  if (scan.take("Using network ")) {
    const std::string_view name = trim(scan.rest()).substr(0, kLongestNetwork);
    if (networks.size() < kMostNetworks) networks.emplace(name);
    if (networks.contains(name)) process.networks.emplace(name);
    return true;
  }
  if (scan.take("Bootstrap : Using") || scan.take("Bootstrap: Using")) {
    read_interfaces(*this, process.host, scan.rest(), false);
    return true;
  }
  if (scan.take("NET/Socket : Using")) {
    read_interfaces(*this, process.host, scan.rest(), true);
    return true;
  }
  if (scan.take("NET/IB : Using")) {
    read_devices(nics, process.host, scan.rest());
    return true;
  }
  if (scan.take("NET/IB : No device found")) return process.no_rdma_device = true;
  if (scan.take("Failed to open libibverbs")) return process.no_verbs_library = true;
  if (line.text.starts_with("DMA-BUF is available on GPU device")) return dma_buf = true;
  // The remaining lines are printed only if NCCL_DEBUG_SUBSYS includes NET.
  if (scan.take("NET/IB : Made virtual device ")) {
    read_virtual_device(nics, process.host, scan);
  } else if (scan.take("NET/IB: [")) {
    network_lines = true;
    return read_port(nics, process.host, scan);
  } else if (line.text.starts_with("NET/") && scan.skip_past(" : GPU Direct RDMA ")) {
    read_registration(*this, process.host, scan);
  } else if (scan.take("GPU Direct RDMA Disabled for GPU ")) {
    read_distance(*this, process.host, scan);
  } else {
    return false;
  }
  return network_lines = true;
}

}  // namespace railbed::diagnose
