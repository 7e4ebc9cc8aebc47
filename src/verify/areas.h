// Declares the rule table, one function for each area, in the order in which people read it. NAME_rules() is
// defined in rules/NAME.cc, which also holds the check functions of its rows.
#pragma once

#include <span>

#include "verify/rule.h"

namespace railbed {

std::span<const Rule> node_rules();          // reachable, and as cluster.yaml describes it
std::span<const Rule> tuning_rules();        // memory, disk space, processors, clock
std::span<const Rule> system_rules();        // hung tasks, full disks, frozen processes
std::span<const Rule> upkeep_rules();        // the next boot
std::span<const Rule> after_reboot_rules();  // settings that railbed changed, after a boot
std::span<const Rule> reach_rules();         // the firewall, names
std::span<const Rule> vlan_rules();          // rails on VLANs
std::span<const Rule> lldp_rules();          // neighbors that switches announce on a rail's cables
std::span<const Rule> shaper_rules();        // queue disciplines that hold rails back
std::span<const Rule> interrupt_rules();     // cores that serve adapters
std::span<const Rule> bmc_rules();           // nodes as their BMCs show them, and the BMCs themselves
std::span<const Rule> console_rules();       // output for a person without network: serial ports, screen
std::span<const Rule> disk_rules();          // drives and room for checkpoints
std::span<const Rule> gds_rules();           // GPUDirect Storage
std::span<const Rule> storage_rules();       // exports of storage over rails, and their clients
std::span<const Rule> module_rules();        // kernel modules and the devices that they create
std::span<const Rule> limit_rules();         // locked memory, socket buffers
std::span<const Rule> link_rules();          // interface and cable
std::span<const Rule> address_rules();       // MTU, addresses
std::span<const Rule> gid_rules();           // GIDs and the size of RoCE's packets
std::span<const Rule> port_rules();          // RDMA ports
std::span<const Rule> signal_rules();        // signals of ports, as mlxlink shows them
std::span<const Rule> qos_rules();           // settings that keep RoCE lossless
std::span<const Rule> fabric_rules();        // devices for programs; the ends of a rail compared
std::span<const Rule> counter_rules();       // error counters
std::span<const Rule> load_rules();          // counters that moved under load
std::span<const Rule> load_path_rules();     // links, losses, congestion and PCI Express under load
std::span<const Rule> pcie_rules();          // links, NUMA, the PCI path between GPU and adapter
std::span<const Rule> pcie_setting_rules();  // sizes of requests and payloads, ordering, address ranges
std::span<const Rule> gpu_rules();           // GPUs as PCI and the driver show them
std::span<const Rule> gpu_module_rules();    // reasons for a missing driver
std::span<const Rule> gpu_kind_rules();      // the open kernel module or the proprietary one
std::span<const Rule> gpu_driver_rules();    // NVML, CUDA, versions
std::span<const Rule> gpu_health_rules();    // memory: errors and repairs
std::span<const Rule> gpu_mode_rules();      // modes, power, heat
std::span<const Rule> gpu_link_rules();      // PCI Express, NVLink, fabric, peers
std::span<const Rule> gpu_load_rules();      // faults that appear only under load
std::span<const Rule> gpudirect_rules();     // the route from a GPU's memory to the network
std::span<const Rule> nccl_rules();          // NCCL's variables
std::span<const Rule> nccl_choice_rules();   // NCCL's expected choices
std::span<const Rule> pytorch_rules();       // PyTorch in the environment that cluster.yaml names
std::span<const Rule> site_rules();          // the site's own checks of cluster.yaml
std::span<const Rule> runtime_rules();       // how container engines come by a node's GPUs
std::span<const Rule> container_rules();     // view from inside a container of the image in cluster.yaml
std::span<const Rule> toolkit_rules();       // toolkits that programs are built with
std::span<const Rule> job_rules();           // jobs as a monitor sees them over time
std::span<const Rule> optics_rules();        // links as a monitor sees them over time
std::span<const Rule> log_gpu_rules();       // GPUs in the kernel's log
std::span<const Rule> log_device_rules();    // adapters and PCI Express in the kernel's log
std::span<const Rule> log_host_rules();      // the host in the kernel's log
std::span<const Rule> fleet_rules();         // nodes compared with each other
std::span<const Rule> alike_rules();         // firmware, settings and clocks of nodes compared
std::span<const Rule> measured_rules();      // numbers that the engines measured
std::span<const Rule> compared_rules();      // measurements compared: directions, rails, other work
std::span<const Rule> all_rails_rules();     // all rails at once compared with each alone

}  // namespace railbed
