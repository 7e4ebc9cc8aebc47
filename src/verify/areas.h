// The rule table, area by area, in the order people read it. Each function returns rows that stand beside
// their functions in its file, rules/NAME.cc for NAME_rules().
#pragma once

#include <span>

#include "verify/rule.h"

namespace railbed {

std::span<const Rule> node_rules();          // does it answer, is it what cluster.yaml says
std::span<const Rule> tuning_rules();        // memory, disk space, processors, clock
std::span<const Rule> system_rules();        // what hangs, what is full or frozen
std::span<const Rule> upkeep_rules();        // the next boot
std::span<const Rule> after_reboot_rules();  // what railbed changed, after a boot
std::span<const Rule> reach_rules();         // the firewall, names
std::span<const Rule> vlan_rules();          // rails on VLANs
std::span<const Rule> lldp_rules();          // what switches say of a rail's cables
std::span<const Rule> shaper_rules();        // queue disciplines that hold rails back
std::span<const Rule> interrupt_rules();     // cores that serve adapters
std::span<const Rule> bmc_rules();           // what BMCs show of nodes, and themselves
std::span<const Rule> console_rules();       // what a person without network sees: serial ports, screen
std::span<const Rule> disk_rules();          // drives and room for checkpoints
std::span<const Rule> module_rules();        // kernel modules and the devices they bring
std::span<const Rule> limit_rules();         // locked memory, socket buffers
std::span<const Rule> link_rules();          // interface and cable
std::span<const Rule> address_rules();       // MTU, addresses
std::span<const Rule> gid_rules();           // GIDs and the size of RoCE's packets
std::span<const Rule> port_rules();          // RDMA ports
std::span<const Rule> qos_rules();           // what keeps RoCE lossless
std::span<const Rule> fabric_rules();        // devices for programs, ends of a rail compared
std::span<const Rule> counter_rules();       // error counters
std::span<const Rule> load_rules();          // counters that moved under load
std::span<const Rule> load_path_rules();     // links, losses, congestion and PCI Express under load
std::span<const Rule> pcie_rules();          // links, NUMA, what stands between GPU and adapter
std::span<const Rule> pcie_setting_rules();  // sizes of requests and payloads, ordering, address ranges
std::span<const Rule> gpu_rules();           // GPUs as PCI and the driver show them
std::span<const Rule> gpu_module_rules();    // why there is no driver
std::span<const Rule> gpu_driver_rules();    // NVML, CUDA, versions
std::span<const Rule> gpu_health_rules();    // memory: errors and repairs
std::span<const Rule> gpu_mode_rules();      // modes, power, heat
std::span<const Rule> gpu_link_rules();      // PCI Express, NVLink, fabric, peers
std::span<const Rule> gpu_load_rules();      // what shows under load only
std::span<const Rule> gpudirect_rules();     // the route from a GPU's memory to the network
std::span<const Rule> nccl_rules();          // what NCCL is told
std::span<const Rule> nccl_choice_rules();   // what NCCL will choose
std::span<const Rule> pytorch_rules();       // PyTorch of the environment that cluster.yaml names
std::span<const Rule> container_rules();     // what a container of the image that cluster.yaml names sees
std::span<const Rule> toolkit_rules();       // what programs are built with
std::span<const Rule> log_gpu_rules();       // what the kernel's log tells of GPUs
std::span<const Rule> log_device_rules();    // of adapters and PCI Express
std::span<const Rule> log_host_rules();      // of the host
std::span<const Rule> fleet_rules();         // nodes compared with each other
std::span<const Rule> alike_rules();         // firmware, settings and clocks of nodes compared
std::span<const Rule> measured_rules();      // what the engines measured
std::span<const Rule> compared_rules();      // measurements compared: both ways, rails, other work
std::span<const Rule> all_rails_rules();     // all rails at once against each alone

}  // namespace railbed
