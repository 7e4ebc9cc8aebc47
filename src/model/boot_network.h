// The next boot's effect on a rail's interface: whether its MTU and address stay as cluster.yaml wants them.
// Values that are already wrong now have rules of their own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/remedy.h"
#include "model/survey.h"

namespace railbed {

// The values of one rail end that are right now, by their state after the next boot.
struct RailOutlook {
  struct Loss {
    std::string what;  // "MTU 9000", "192.168.100.1/24"
    std::string why;
  };
  std::vector<std::string> kept;    // texts of the values that stay
  std::vector<std::string> doubts;  // reasons why the state is unknown
  std::vector<Loss> lost;
  bool mtu_lost = false;
  bool nothing_fits() const { return kept.empty() && doubts.empty() && lost.empty(); }
};

// Returns true if the unit is loaded and either active or enabled.
bool unit_starts_at_boot(const NodeView& node, std::string_view unit);
// Returns true if the program that reads this file starts at boot.
bool is_read_at_boot(const NodeView& node, const BootProfile& profile);

// The outlook of one value: does the next boot set it, whatever is set now?
struct AtBoot {
  std::optional<bool> kept = {};  // nullopt if unknown
  std::string why = {};           // the reason if it is not kept or unknown
};
// Return the outlook of an interface's MTU or address, by the files in `profiles` (facts->net.at_boot).
AtBoot mtu_at_boot(const NodeView& node, const NetInterface& interface, int mtu,
                   const std::vector<BootProfile>& profiles);
AtBoot address_at_boot(const NodeView& node, const NetInterface& interface, const IpAddress& address,
                       const std::vector<BootProfile>& profiles);

// Returns true if a program that railbed knows configures interfaces here: NetworkManager, systemd-networkd
// or ifupdown.
bool has_known_manager(const NodeView& node, const std::vector<BootProfile>& profiles);

// Returns the outlook of a rail end that has an interface and a rail. `profiles` are facts->net.at_boot.
RailOutlook rail_after_reboot(const NodeView& node, const RailEnd& end,
                              const std::vector<BootProfile>& profiles);

// Returns how to make the end's present values permanent. It has commands only if they cannot affect another
// interface.
Remedy keep_rail_at_boot(const NodeView& node, const RailEnd& end, const RailOutlook& outlook,
                         const std::vector<BootProfile>& profiles);

// Returns commands that write IPoIB's mode, and its MTU unless 0, to the node's network configuration; empty
// if railbed does not know how. They leave the running interface unchanged.
std::vector<ShellCommand> keep_ipoib_with(const NodeView& node, const RailEnd& end, std::string_view mode,
                                          int mtu);

}  // namespace railbed
