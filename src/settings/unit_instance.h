// Units of ours that are there once for each interface: systemd's template units, railbed-qos@ens6.service.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "settings/target.h"

namespace railbed {

// As systemd-escape(1) writes a text into a unit's name.
std::string escaped_for_unit(std::string_view text);
// `unit`: "railbed-qos"
std::string instance_of(std::string_view unit, std::string_view interface);

// Letters, digits, '.', '_' and '-' alone, '-' not first: such a name stays a name in every file, in the name
// of a file, to systemd, to a shell and in a command.
bool is_plain_interface(std::string_view name);

// The interfaces whose ports carry an end: a VLAN's parent, and a bond's members where the node was looked
// at.
std::vector<std::string> carriers_of(const Target& target, const RailEnd& end);
// Of all ends that `wanted` picks, each once, in their order; without those whose names are not plain.
std::vector<std::string> carriers_of(const Target& target, bool (*wanted)(const RailEnd&));

// An end of RoCE on an adapter.
bool is_roce_port(const RailEnd& end);

// A template unit that lives and dies with its interface, %I. `service`: lines of its section [Service].
std::string unit_of_interface(std::string_view description, std::string_view service);

}  // namespace railbed
