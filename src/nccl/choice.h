// Predicts NCCL's choices on a node from its facts alone: devices, GIDs, merged NICs, interfaces, GPUDirect.
// Follows the rules in NCCL's own sources (src/transport/net_ib, src/os/linux.cc, src/graph), and gives the
// reason for each choice.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/units.h"
#include "facts/facts.h"
#include "nccl/version.h"

namespace railbed::nccl {

struct PortChoice {
  std::string device;  // mlx5_0
  int port = 1;
  std::string link;  // RoCE, IB
  BitRate rate = {};
  bool used = false;
  std::string why;
  std::optional<int> gid_index = {};  // RoCE only
  std::string gid = {};
  std::string gid_why = {};
  FIELDS(PortChoice, device, port, link, rate, used, why, gid_index, gid, gid_why);
};

// A network device as NCCL's graph sees it: one port, or several fused.
struct NicChoice {
  std::string name;  // mlx5_0+mlx5_1
  BitRate rate;
  std::string pci_address;  // of the first port
  std::string why;          // why it is fused; empty if it is one port
  FIELDS(NicChoice, name, rate, pci_address, why);
};

struct PairChoice {
  std::string gpu;       // PCI address
  std::string nic;       // NicChoice::name
  std::string path;      // PIX, PXB, PHB, NODE, SYS
  bool nearest = false;  // no other NIC is closer to this GPU
  bool gpudirect = false;
  std::string why;
  std::string blocked_by = {};  // the variable that prevents GPUDirect although the hardware supports it
  FIELDS(PairChoice, gpu, nic, path, nearest, gpudirect, why, blocked_by);
};

struct Choices {
  std::string network;  // IB, Socket; empty: NCCL does not start
  std::string network_why;
  std::vector<PortChoice> ports;  // used ones first, in NCCL's order
  std::vector<NicChoice> nics;
  // The first one makes the first contact; all of them carry data over TCP.
  std::vector<std::string> interfaces;
  std::string interfaces_why;
  std::string gpudirect_route;  // peermem, DMA-BUF; empty: none
  std::string gpudirect_why;
  std::vector<PairChoice> pairs;
  FIELDS(Choices, network, network_why, ports, nics, interfaces, interfaces_why, gpudirect_route,
         gpudirect_why, pairs);
};

// Returns the choices of this version of NCCL; without one, of the installed version, else of the newest
// known one.
Choices predict(const Facts& facts, std::optional<Version> version);

}  // namespace railbed::nccl
