// Reads the counters of a drive, of its PCIe link and of the kernel while the drive is loaded.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "facts/pcie.h"
#include "host/device_calls.h"
#include "results/burn.h"

namespace railbed {

class Host;

// Thread-safe, but look() is for one thread at a time.
class DriveWatch {
 public:
  // `devices` need a name and a model; the rest is filled in.
  DriveWatch(Host& host, std::vector<BurnDevice> devices);

  // Reads the counters again; the first time is the constructor. The kernel's log takes longer than the rest.
  void look(bool with_log);
  std::vector<BurnDevice> devices() const;
  // Returns the bytes that were read of all devices since the start; nullopt if the kernel does not count them.
  std::optional<std::uint64_t> reached() const;

 private:
  struct Start {
    std::string controller;  // nvme0; empty: not NVMe
    std::optional<NvmeAnswer> health;
    std::optional<PcieLink> link;
    std::map<std::string, std::uint64_t> errors;  // of PCI Express
    std::optional<std::uint64_t> sectors;         // read
  };
  void look_at_health(BurnDevice& device, Start& start) const;
  void look_at_pcie(BurnDevice& device, const Start& start) const;
  void look_at_log(std::vector<BurnDevice>& devices) const;

  Host& host_;
  const std::string since_;  // in the form of parse_since() (base/moment.h)
  std::vector<Start> starts_;
  mutable std::mutex mutex_;
  std::vector<BurnDevice> devices_;  // by the mutex, as all that follows
  std::optional<std::uint64_t> reached_;
};

}  // namespace railbed
