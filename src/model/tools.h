// Which program does a thing on a node: remedies are commands that run on that very node. Rules ask here
// instead of naming a tool that its system or its driver does not have.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/remedy.h"
#include "model/survey.h"

namespace railbed {

enum class PackageTool { kUnknown, kApt, kDnf };
PackageTool package_tool(const NodeView& node);  // by ID of /etc/os-release

// Of two lists of commands the one for this node; both where its system is not known.
std::vector<ShellCommand> for_system(const NodeView& node, std::vector<ShellCommand> apt,
                                     std::vector<ShellCommand> dnf);

bool has_systemd(const NodeView& node);  // or nobody could look
// MLNX_OFED or DOCA-OFED drives the adapters: its own tools came along, mlnx_qos and mget_temp among them.
bool has_vendor_driver(const NodeView& node);
// iproute2 is new enough to have dcb.
bool has_dcb(const NodeView& node);

// The commands that do it here; none where the node has no tool for it.
std::vector<ShellCommand> trust_dscp_with(const NodeView& node, const std::string& interface, int dscp,
                                          int priority);
std::vector<ShellCommand> make_lossless_with(const NodeView& node, const std::string& interface,
                                             int priority);
std::vector<ShellCommand> show_lossless_with(const NodeView& node, const std::string& interface);
std::vector<ShellCommand> set_at_boot_with(const NodeView& node, std::string_view kernel_parameters);
std::vector<ShellCommand> keep_time_with(const NodeView& node);
std::vector<ShellCommand> keep_driver_with(const NodeView& node);  // loaded, while nothing uses a GPU
std::vector<ShellCommand> show_temperature_with(const NodeView& node, const std::string& pci_address);

ShellCommand show_firmware_with(const std::string& pci_address);
std::vector<ShellCommand> flash_with(const RdmaDevice& device);
std::string subnet_manager_unit(const NodeView& node);  // opensm, or opensmd of MLNX_OFED
std::string partitions_file(const NodeView& node);      // of OpenSM

// The programs that a command line starts, in order; without sudo and env.
std::vector<std::string> programs_of(std::string_view command);
// Makes a remedy's commands fit the node: without systemd no systemctl, and the kernel's log by dmesg; a
// program that few systems bring along gets its package's name as a comment. The text says what a reset of a
// GPU and Secure Boot ask for.
void fit_to_node(const NodeView* node, Remedy& remedy);  // null: the finding is about the cluster

}  // namespace railbed
