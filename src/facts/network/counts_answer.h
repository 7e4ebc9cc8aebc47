// A node's counts as its agent sends them. A fleet's live page requests them every few seconds, so they hold
// only what that page needs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "facts/gpu.h"
#include "facts/network/counts.h"
#include "facts/network/optics.h"
#include "facts/software/gpu_job.h"

namespace railbed {

struct CountedPort {
  std::string device;
  int number = 1;
  std::string state;
  std::string link_layer;
  std::string rate_text;
  std::optional<BitRate> rate;
  std::map<std::string, std::uint64_t> counters;  // from counters/ and hw_counters/
  FIELDS(CountedPort, device, number, state, link_layer, rate_text, rate, counters);
};

struct CountedInterface {
  std::string name;
  std::string state;
  std::optional<bool> carrier;
  std::optional<int> mtu;
  std::optional<int> speed_mbps;
  std::optional<std::uint64_t> carrier_changes = {};
  std::map<std::string, std::uint64_t> statistics;
  std::map<std::string, std::uint64_t> driver;  // the requested ones
  FIELDS(CountedInterface, name, state, carrier, mtu, speed_mbps, carrier_changes, statistics, driver);
};

struct KnownPort {
  std::string device;
  int number = 1;
  bool management = false;  // manages NVSwitches: its counters are not read
  FIELDS(KnownPort, device, number, management);
};

struct CountsRequest {
  std::vector<KnownPort> ports;         // the ports in the node's facts
  std::vector<std::string> driver;      // names of the drivers' counters to return
  std::vector<std::string> gpus;        // PCI addresses of the GPUs to read through NVML
  std::vector<std::string> links = {};  // interfaces whose modules and error correction to read
  FIELDS(CountsRequest, ports, driver, gpus, links);
};

struct CountsAnswer {
  std::vector<std::string> devices;
  std::vector<CountedPort> ports;
  std::vector<CountedInterface> interfaces;
  std::map<std::string, Reading<NvmlGpu>> gpus;
  GpuJobs jobs;  // that hold these GPUs
  LinkReadings links = {};
  FIELDS(CountsAnswer, devices, ports, interfaces, gpus, jobs, links);
};

// Makes the controller's request from a node's facts. `driver` names the drivers' counters to return.
CountsRequest counts_request(const Rdma& known, std::vector<std::string> driver);
// Collects the requested counts; runs on the agent, which keeps the names of users that it has looked up.
CountsAnswer answer_counts(Host& host, const CountsRequest& request, KnownUsers& users);
// Converts an agent's reply back to Counts. Values that the reply lacks stay absent.
Counts counts_of(const CountsAnswer& answer);

}  // namespace railbed
