// Files of others that configure an interface which railbed is asked to configure.
#pragma once

#include <string>
#include <vector>

#include "settings/network/interfaces.h"
#include "settings/setting.h"

namespace railbed {

struct ForeignFiles {
  std::vector<Contradiction> contradictions = {};
  std::vector<std::string> notes = {};
  // Why railbed cannot write beside such a file, nor move it aside, since it configures other interfaces
  // too. Empty: it can.
  std::string blocked = {};
};
ForeignFiles foreign_files(const Target& target, const WantedNetwork& network, const WantedInterface& wanted);

// By what name netplan's own files know the interface; else the interface's.
std::string netplan_id(const Target& target, const std::string& interface);

// Who keeps the network here, as far as railbed could see, where that is nobody for whom it writes.
std::string who_keeps_network(const Target& target);

}  // namespace railbed
