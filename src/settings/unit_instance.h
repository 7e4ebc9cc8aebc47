// railbed's systemd template units, with one instance for each interface: railbed-qos@ens6.service.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "settings/target.h"

namespace railbed {

// Escapes a text for a unit's name, as systemd-escape(1) does.
std::string escaped_for_unit(std::string_view text);
// Returns the instance of `unit` ("railbed-qos") for the interface: "railbed-qos@ens6.service".
std::string instance_of(std::string_view unit, std::string_view interface);

// Returns true if the name has only letters, digits, '.', '_' and '-', and does not begin with '-'. Such a
// name is safe in a file, in a file's name, for systemd, for a shell and in a command.
bool is_plain_interface(std::string_view name);

// Returns the interfaces whose ports carry an end: a VLAN's parent, and a bond's members if the node has
// facts.
std::vector<std::string> carriers_of(const Target& target, const RailEnd& end);
// Returns the carriers of all ends that `wanted` selects, each once, in their order; leaves out names that
// are not plain.
std::vector<std::string> carriers_of(const Target& target, bool (*wanted)(const RailEnd&));

// Returns true for a rail end with RoCE on an adapter.
bool is_roce_port(const RailEnd& end);

// Returns a template unit that is bound to its interface, %I: it starts and stops with it. `service` holds
// lines of its section [Service].
std::string unit_of_interface(std::string_view description, std::string_view service);

}  // namespace railbed
