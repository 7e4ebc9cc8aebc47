// Which network NCCL found and chose, its devices, and GPUDirect RDMA.
#include <fmt/format.h>

#include "base/text.h"
#include "nccl/log_state.h"
#include "nccl/scan.h"

namespace railbed::nccl {
namespace {

constexpr std::size_t kMostNics = 1 << 16;
constexpr std::size_t kMostWhy = 20;

using Nics = std::map<std::pair<std::string, std::string>, LogNic>;

LogNic* nic(Nics& nics, const std::string& host, std::string_view device, int port) {
  const auto key = std::pair(host, fmt::format("{}:{}", device, port));
  if (const auto found = nics.find(key); found != nics.end()) return &found->second;
  if (nics.size() >= kMostNics) return nullptr;
  LogNic& added = nics[key];
  added.host = host;
  added.device = device;
  added.port = port;
  return &added;
}

// "[0]mlx5_0:1/RoCE [1]mlx5_1:1/IB [RO]; OOB …". 2.20–2.23 wrote merged ones as
// "[0]={[0] mlx5_0:1/RoCE, [1] mlx5_1:1/RoCE}"; 2.30 may write ":RAIL:PLANE" behind the port.
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

// "[0]eth0:10.0.0.1<0> [1]eth1:10.0.1.1<0>", or " eth0:10.0.0.1<0>" of the first contact.
void read_interfaces(std::vector<LogInterface>& interfaces, const std::string& host, std::string_view text,
                     bool data) {
  for (std::string_view word : words(text)) {
    if (word.starts_with('[')) word = word.substr(std::min(word.find(']'), word.size() - 1) + 1);
    const auto pair = key_value(word, ':');
    if (!pair || interfaces.size() >= kMostNics) continue;
    const LogInterface one{host, std::string(pair->first),
                           std::string(pair->second.substr(0, pair->second.find('<'))), data};
    bool known = false;
    for (LogInterface& other : interfaces) {
      if (other.host != one.host || other.name != one.name || other.address != one.address) continue;
      other.data = other.data || data;
      known = true;
    }
    if (!known) interfaces.push_back(one);
  }
}

}  // namespace

bool LogState::read_network(LogProcess& process, const LogLine& line) {
  Scan scan(line.text);
  if (scan.take("Using network ")) {
    process.networks.emplace(trim(scan.rest()));
    return true;
  }
  if (scan.take("Bootstrap : Using") || scan.take("Bootstrap: Using")) {
    read_interfaces(log.interfaces, process.host, scan.rest(), false);
    return true;
  }
  if (scan.take("NET/Socket : Using")) {
    read_interfaces(log.interfaces, process.host, scan.rest(), true);
    return true;
  }
  if (scan.take("NET/IB : Using")) {
    read_devices(nics, process.host, scan.rest());
    return true;
  }
  if (scan.take("NET/IB : No device found")) return process.no_rdma_device = true;
  if (scan.take("Failed to open libibverbs")) return process.no_verbs_library = true;
  if (scan.take("NET/IB : Made virtual device ")) {
    network_lines = true;
    scan.skip_past("name=");
    const std::string_view name = scan.until(" ");
    const bool merged = name.find('+') != std::string_view::npos;
    const auto speed = number_after(scan.rest(), "speed=");
    if (merged && speed) {
      if (LogNic* const found = nic(nics, process.host, name, 0)) found->gigabits = *speed / 1000.0;
    } else if (speed) {
      for (auto& [key, one] : nics)
        if (one.host == process.host && one.device == name) one.gigabits = *speed / 1000.0;
    }
    return true;
  }
  if (scan.take("NET/IB: [")) {  // "[0] mlx5_0:uverbs0:1/RoCE provider=Mlx5 speed=400000 …"
    network_lines = true;
    const auto index = scan.number();
    if (!index || !scan.take("] ")) return false;
    const std::string_view device = scan.until(":");
    scan.take(":");
    scan.until(":");
    const int port = scan.take(":") ? scan.number().value_or(1) : 1;
    const auto speed = number_after(scan.rest(), "speed=");
    if (LogNic* const found = nic(nics, process.host, device, port); found != nullptr && speed) {
      found->gigabits = *speed / 1000.0;
      if (scan.take("/")) found->link = scan.until(" ");
    }
    return true;
  }
  if (line.text.starts_with("NET/") && scan.skip_past(" : GPU Direct RDMA ")) {
    // "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'"
    network_lines = true;
    const bool enabled = scan.take("Enabled");
    scan.skip_past("'");
    const std::string_view name = scan.until("'");
    if (!enabled)
      add_once(log.gpudirect_why,
               fmt::format("{} on {}: neither nvidia-peermem nor DMA-BUF can register GPU memory", name,
                           process.host),
               kMostWhy);
    for (auto& [key, one] : nics)
      if (one.host == process.host && one.device == name) one.gpudirect = enabled ? "enabled" : "disabled";
    return true;
  }
  if (scan.take("GPU Direct RDMA Disabled for GPU ")) {
    network_lines = true;
    const std::string_view gpu = scan.until(" ");
    scan.skip_past("HCA ");
    const std::string_view hca = scan.until(" ");
    const auto distance = number_after(scan.rest(), "distance ");
    const auto limit = number_after(scan.rest(), " > ");
    if (distance && limit)
      add_once(log.gpudirect_why,
               fmt::format("GPU {} and HCA {} on {} are too far apart (distance {}, allowed {})", gpu, hca,
                           process.host, *distance, *limit),
               kMostWhy);
    return true;
  }
  if (line.text.starts_with("DMA-BUF is available on GPU device")) return dma_buf = true;
  return false;
}

}  // namespace railbed::nccl
