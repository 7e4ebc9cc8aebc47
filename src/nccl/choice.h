// What NCCL will choose on this node, told from its facts alone: devices, GIDs, merged NICs, interfaces,
// GPUDirect. Follows the rules of NCCL's own sources (src/transport/net_ib, src/os/linux.cc, src/graph), each
// with its why.
#pragma once

#include <optional>
#include <string>
#include <vector>

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
  static void fields(auto&& field) {
    field("device", &PortChoice::device);
    field("port", &PortChoice::port);
    field("link", &PortChoice::link);
    field("rate", &PortChoice::rate);
    field("used", &PortChoice::used);
    field("why", &PortChoice::why);
    field("gid_index", &PortChoice::gid_index);
    field("gid", &PortChoice::gid);
    field("gid_why", &PortChoice::gid_why);
  }
};

// A network device as NCCL's graph sees it: one port, or several fused.
struct NicChoice {
  std::string name;  // mlx5_0+mlx5_1
  BitRate rate;
  std::string pci_address;  // of the first
  std::string why;          // why it is fused; empty when it is one port
  static void fields(auto&& field) {
    field("name", &NicChoice::name);
    field("rate", &NicChoice::rate);
    field("pci_address", &NicChoice::pci_address);
    field("why", &NicChoice::why);
  }
};

struct PairChoice {
  std::string gpu;       // PCI address
  std::string nic;       // NicChoice::name
  std::string path;      // PIX, PXB, PHB, NODE, SYS
  bool nearest = false;  // no other NIC is closer to this GPU
  bool gpudirect = false;
  std::string why;
  std::string blocked_by = {};  // the variable that keeps GPUDirect off where the hardware would do it
  static void fields(auto&& field) {
    field("gpu", &PairChoice::gpu);
    field("nic", &PairChoice::nic);
    field("path", &PairChoice::path);
    field("nearest", &PairChoice::nearest);
    field("gpudirect", &PairChoice::gpudirect);
    field("why", &PairChoice::why);
    field("blocked_by", &PairChoice::blocked_by);
  }
};

struct Choices {
  std::string network;  // IB, Socket; empty: NCCL does not start
  std::string network_why;
  std::vector<PortChoice> ports;  // used ones first, in NCCL's order
  std::vector<NicChoice> nics;
  std::vector<std::string>
      interfaces;  // of the first contact, the first is used; all of them carry data over TCP
  std::string interfaces_why;
  std::string gpudirect_route;  // peermem, DMA-BUF; empty: none
  std::string gpudirect_why;
  std::vector<PairChoice> pairs;
  static void fields(auto&& field) {
    field("network", &Choices::network);
    field("network_why", &Choices::network_why);
    field("ports", &Choices::ports);
    field("nics", &Choices::nics);
    field("interfaces", &Choices::interfaces);
    field("interfaces_why", &Choices::interfaces_why);
    field("gpudirect_route", &Choices::gpudirect_route);
    field("gpudirect_why", &Choices::gpudirect_why);
    field("pairs", &Choices::pairs);
  }
};

// Without a version: the installed one, else the newest known.
Choices predict(const Facts& facts, std::optional<Version> version);

}  // namespace railbed::nccl
