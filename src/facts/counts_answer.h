// A node's counts as its agent answers them: what a fleet's live page needs, and no more, for it is asked
// every few seconds.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "facts/counts.h"
#include "facts/gpu.h"

namespace railbed {

struct CountedPort {
  std::string device;
  int number = 1;
  std::string state;
  std::string link_layer;
  std::string rate_text;
  std::optional<BitRate> rate;
  std::map<std::string, std::uint64_t> counters;  // of counters/ and hw_counters/
  FIELDS(CountedPort, device, number, state, link_layer, rate_text, rate, counters);
};

struct CountedInterface {
  std::string name;
  std::string state;
  std::optional<bool> carrier;
  std::optional<int> mtu;
  std::optional<int> speed_mbps;
  std::map<std::string, std::uint64_t> statistics;
  std::map<std::string, std::uint64_t> driver;  // of those that were asked for
  FIELDS(CountedInterface, name, state, carrier, mtu, speed_mbps, statistics, driver);
};

struct KnownPort {
  std::string device;
  int number = 1;
  bool management = false;  // of NVSwitches: its counters are not read
  FIELDS(KnownPort, device, number, management);
};

struct CountsRequest {
  std::vector<KnownPort> ports;     // as the node's facts know them
  std::vector<std::string> driver;  // names of the drivers' counters that are wanted
  std::vector<std::string> gpus;    // PCI addresses of those that NVML is asked about
  FIELDS(CountsRequest, ports, driver, gpus);
};

struct CountsAnswer {
  std::vector<std::string> devices;
  std::vector<CountedPort> ports;
  std::vector<CountedInterface> interfaces;
  std::map<std::string, Reading<NvmlGpu>> gpus;
  FIELDS(CountsAnswer, devices, ports, interfaces, gpus);
};

CountsRequest counts_request(const Rdma& known, std::vector<std::string> driver);
CountsAnswer answer_counts(Host& host, const CountsRequest& request);
Counts counts_of(const CountsAnswer& answer);

}  // namespace railbed
