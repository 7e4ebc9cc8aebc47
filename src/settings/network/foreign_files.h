// Files of other authors that configure an interface which railbed is to configure.
#pragma once

#include <string>
#include <vector>

#include "settings/network/interfaces.h"
#include "settings/setting.h"

namespace railbed {

struct ForeignFiles {
  std::vector<Contradiction> contradictions = {};
  std::vector<std::string> notes = {};
  // Reason why railbed can neither write next to such a file nor move it aside, because it also configures
  // other interfaces. Empty if it can.
  std::string blocked = {};
};
ForeignFiles foreign_files(const Target& target, const WantedNetwork& network, const WantedInterface& wanted);

// Returns the id of the interface in netplan's present files; else its name.
std::string netplan_id(const Target& target, const std::string& interface);

// Returns what manages the network here, as far as the facts show, for the case that railbed does not write
// for it.
std::string who_keeps_network(const Target& target);

}  // namespace railbed
