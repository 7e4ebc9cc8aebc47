// RDMA devices: /sys/class/infiniband and, if libibverbs can be opened, what it adds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/ip.h"
#include "base/reading.h"
#include "base/units.h"
#include "host/sent_answers.h"

namespace railbed {

class Host;

// An entry of the port's GID table that is in use. P = D/ports/N
struct Gid {
  int index = 0;
  Reading<IpAddress> gid;       // P/gids/i
  Reading<std::string> type;    // P/gid_attrs/types/i: "RoCE v2", "IB/RoCE v1"
  Reading<std::string> netdev;  // P/gid_attrs/ndevs/i
  FIELDS(Gid, index, gid, type, netdev);
};

// A port of an RDMA device. P = D/ports/N
struct RdmaPort {
  int number = 1;
  Reading<std::string> state;           // P/state, the word: ACTIVE, DOWN, INIT
  Reading<std::string> physical_state;  // P/phys_state, the word: LinkUp, Polling, Disabled
  Reading<std::string> link_layer;      // P/link_layer: Ethernet, InfiniBand
  Reading<BitRate> rate;                // P/rate: "40 Gb/sec (4X QDR)"
  Reading<std::string> rate_text;       // the text in parentheses: "4X QDR"
  Reading<int> lid;                     // P/lid
  Reading<int> sm_lid;                  // P/sm_lid
  Reading<int> active_mtu;              // bytes; ibv_query_port
  Reading<int> max_mtu;                 // bytes; ibv_query_port
  Reading<std::vector<Gid>> gids;       // entries that are not zero
  std::map<std::string, Reading<std::uint64_t>> counters;     // P/counters
  std::map<std::string, Reading<std::uint64_t>> hw_counters;  // P/hw_counters
  Reading<int> roce_tos;                                      // configfs rdma_cm/DEV/ports/N/default_roce_tos
  Reading<std::string> roce_mode;                             // .../default_roce_mode: "RoCE v2"
  Reading<std::vector<std::uint16_t>> pkeys;                  // P/pkeys/i, without zeros
  FIELDS(RdmaPort, number, state, physical_state, link_layer, rate, rate_text, lid, sm_lid, active_mtu,
         max_mtu, gids, counters, hw_counters, roce_tos, roce_mode, pkeys);
};

// D = /sys/class/infiniband/NAME
struct RdmaDevice {
  std::string name;                 // mlx5_0, rocep1s0f0, rxe0
  Reading<std::string> firmware;    // D/fw_ver
  Reading<std::string> board_id;    // D/board_id
  Reading<std::string> hca_type;    // D/hca_type: MT4115
  Reading<std::string> node_guid;   // D/node_guid
  Reading<std::string> image_guid;  // D/sys_image_guid: the same for all functions of a card
  Reading<std::string> driver;  // last part of D/device/driver, resolved; "rxe"/"siw" for software devices
  Reading<std::string> pci_address;  // D/device, resolved; absent for software devices
  Reading<int> numa_node;            // D/device/numa_node
  Reading<std::string> parent;       // D/parent: the interface under a software device
  Reading<bool> user_access;         // a uverbs node in /sys/class/infiniband_verbs names this device
  Reading<bool> management;  // "SW_MNG" in D/device/vpd: manages NVSwitches; its counters are not read
  Reading<bool> dma_buf;     // its driver supports DMA-BUF: ibv_reg_dmabuf_mr without a file fails with EBADF
  Reading<std::vector<RdmaPort>> ports;  // D/ports
  FIELDS(RdmaDevice, name, firmware, board_id, hca_type, node_guid, image_guid, driver, pci_address,
         numa_node, parent, user_access, management, dma_buf, ports);
};

struct Rdma {
  // Names in /sys/class/infiniband. Without that folder there are no devices, which is a value.
  Reading<std::vector<RdmaDevice>> devices;
  Reading<std::string> verbs_library;               // the library that was opened: "libibverbs.so.1"
  Reading<std::vector<std::string>> verbs_devices;  // devices that libibverbs lists (ibv_get_device_list)
  // Permission bits of the nodes in /dev/infiniband: uverbs0, rdma_cm. Host call "modes /dev/infiniband"
  Reading<std::map<std::string, int>> device_modes;
  Reading<bool> shared_netns;           // /sys/module/ib_core/parameters/netns_mode
  Reading<std::string> driver_version;  // /sys/module/{mlx5_core,mlx4_core}/version; absent: the kernel's own
  // The modules that registered memory of other devices with the RDMA core: names in
  // /sys/kernel/mm/memory_peers. The folder exists with MLNX_OFED and with kernels that have its patch.
  Reading<std::vector<std::string>> peer_memory_clients;
  // Host call "adapters": the adapters' firmware and its settings, of support reports alone
  Reading<std::vector<AdapterAnswer>> adapters;
  Reading<std::vector<SignalAnswer>> signals;  // Host call "signals": of support reports alone
  FIELDS(Rdma, devices, verbs_library, verbs_devices, device_modes, shared_netns, driver_version,
         peer_memory_clients, adapters, signals);
};

Rdma collect_rdma(Host& host);
// Reads the fields of port `port.number` that may change within a second: state and rate, and the counters if
// `with_counters`.
void read_port(Host& host, const std::string& device, bool with_counters, RdmaPort& port);

// The RDMA device and port of an interface. Both pointers are null if there is none; they point into `rdma`.
struct RdmaPortRef {
  const RdmaDevice* device = nullptr;
  const RdmaPort* port = nullptr;
  explicit operator bool() const { return port != nullptr; }
};
struct Net;
// Returns the port whose GID table, parent or PCI function names this interface, or the interface that its
// VLAN is on.
RdmaPortRef rdma_port_of(const Rdma& rdma, const Net& net, std::string_view interface);

}  // namespace railbed
