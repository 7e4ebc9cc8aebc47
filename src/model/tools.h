// Programs for remedies, which are commands that run on the node itself. Rules use these functions instead of
// naming a tool that the node's system or driver may lack.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/remedy.h"
#include "model/survey.h"

namespace railbed {

enum class PackageTool { kUnknown, kApt, kDnf };
PackageTool package_tool(const NodeView& node);  // by ID of /etc/os-release

// Returns the list of commands for this node's system; both lists if the system is unknown.
std::vector<ShellCommand> for_system(const NodeView& node, std::vector<ShellCommand> apt,
                                     std::vector<ShellCommand> dnf);

bool has_systemd(const NodeView& node);  // true, too, if it could not be read
// Returns true if MLNX_OFED or DOCA-OFED drives the adapters, so its own tools exist, such as mlnx_qos and
// mget_temp.
bool has_vendor_driver(const NodeView& node);
// Returns true if iproute2 is new enough to have dcb.
bool has_dcb(const NodeView& node);

// Each returns the commands for this node; empty if the node has no tool for it.
std::vector<ShellCommand> trust_dscp_with(const NodeView& node, const std::string& interface, int dscp,
                                          int priority);
std::vector<ShellCommand> make_lossless_with(const NodeView& node, const std::string& interface,
                                             int priority);
std::vector<ShellCommand> show_lossless_with(const NodeView& node, const std::string& interface);
std::vector<ShellCommand> set_at_boot_with(const NodeView& node, std::string_view kernel_parameters);
std::vector<ShellCommand> keep_time_with(const NodeView& node);
// keeps it loaded while no program uses a GPU
std::vector<ShellCommand> keep_driver_with(const NodeView& node);
std::vector<ShellCommand> show_temperature_with(const NodeView& node, const std::string& pci_address);

ShellCommand show_firmware_with(const std::string& pci_address);
std::vector<ShellCommand> flash_with(const RdmaDevice& device);
std::string subnet_manager_unit(const NodeView& node);  // opensm, or opensmd of MLNX_OFED
std::string partitions_file(const NodeView& node);      // of OpenSM

// Returns the programs that a command line starts, in order; leaves out sudo, env and assignments.
std::vector<std::string> programs_of(std::string_view command);
// Adapts a remedy's commands to the node. Without systemd, commands that need it are dropped, and the
// kernel's log is read by dmesg. A program that few systems install by default gets its package's name as a
// comment. Adds the conditions of a GPU reset and of setpci under Secure Boot to the text.
void fit_to_node(const NodeView* node, Remedy& remedy);  // null if the finding is about the cluster

}  // namespace railbed
