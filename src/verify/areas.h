// The rule table, area by area. Each function returns rows that stand beside their functions in its file.
#pragma once

#include <span>

#include "verify/rule.h"

namespace railbed {

std::span<const Rule> node_rules();         // rules_node.cc: does it answer, is its system fit
std::span<const Rule> system_rules();       // rules_system.cc: the node's upkeep and its disks
std::span<const Rule> module_rules();       // rules_module.cc: kernel modules and the devices they bring
std::span<const Rule> link_rules();         // rules_link.cc: interface and cable
std::span<const Rule> address_rules();      // rules_address.cc: MTU, addresses, GIDs
std::span<const Rule> port_rules();         // rules_port.cc: RDMA ports
std::span<const Rule> qos_rules();          // rules_qos.cc: what keeps RoCE lossless
std::span<const Rule> fabric_rules();       // rules_fabric.cc: devices for programs, ends of a rail compared
std::span<const Rule> counter_rules();      // rules_counter.cc: error counters
std::span<const Rule> load_rules();         // rules_load.cc: what moved under load
std::span<const Rule> pcie_rules();         // rules_pcie.cc
std::span<const Rule> gpu_rules();          // rules_gpu.cc
std::span<const Rule> gpu_driver_rules();   // rules_gpu_driver.cc: NVML, CUDA, versions
std::span<const Rule> gpu_health_rules();   // rules_gpu_health.cc: memory, modes, power, heat
std::span<const Rule> gpu_link_rules();     // rules_gpu_link.cc: PCI Express, NVLink, fabric, peers
std::span<const Rule> gpu_load_rules();     // rules_gpu_load.cc: what shows under load only
std::span<const Rule> gpudirect_rules();    // rules_gpudirect.cc
std::span<const Rule> pytorch_rules();      // rules_pytorch.cc
std::span<const Rule> log_gpu_rules();      // rules_log_gpu.cc: what the kernel's log tells of GPUs
std::span<const Rule> log_device_rules();   // rules_log_device.cc: of adapters and PCI Express
std::span<const Rule> log_host_rules();     // rules_log_host.cc: of the host
std::span<const Rule> nccl_rules();         // rules_nccl.cc: what NCCL is told
std::span<const Rule> nccl_choice_rules();  // rules_nccl_choice.cc: what NCCL will choose
std::span<const Rule> fleet_rules();        // rules_fleet.cc: nodes compared with each other
std::span<const Rule> alike_rules();        // rules_alike.cc: firmware, settings and clocks of nodes compared
std::span<const Rule> measured_rules();     // rules_measured.cc

}  // namespace railbed
