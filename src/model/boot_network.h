// What becomes of a rail's interface at the next boot: its MTU and its address, as cluster.yaml wants them
// and as they are now. What does not fit now has its own rules.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/remedy.h"
#include "model/survey.h"

namespace railbed {

struct RailOutlook {
  struct Loss {
    std::string what;  // "MTU 9000", "192.168.100.1/24"
    std::string why;
  };
  std::vector<std::string> kept;    // what
  std::vector<std::string> doubts;  // why it cannot be told
  std::vector<Loss> lost;
  bool mtu_lost = false;
  bool nothing_fits() const { return kept.empty() && doubts.empty() && lost.empty(); }
};

bool unit_starts_at_boot(const NodeView& node, std::string_view unit);
// Who reads this file starts at boot.
bool is_read_at_boot(const NodeView& node, const BootProfile& profile);

// Whether the next boot sets it, whatever is set now.
struct AtBoot {
  std::optional<bool> kept = {};  // none: it cannot be told
  std::string why = {};           // when it is not kept, or cannot be told
};
AtBoot mtu_at_boot(const NodeView& node, const NetInterface& interface, int mtu,
                   const std::vector<BootProfile>& profiles);
AtBoot address_at_boot(const NodeView& node, const NetInterface& interface, const IpAddress& address,
                       const std::vector<BootProfile>& profiles);

// Somebody whom railbed knows configures interfaces here: NetworkManager, systemd-networkd or ifupdown.
bool has_known_manager(const NodeView& node, const std::vector<BootProfile>& profiles);

// `profiles` are facts->net.at_boot; the end has an interface and a rail.
RailOutlook rail_after_reboot(const NodeView& node, const RailEnd& end,
                              const std::vector<BootProfile>& profiles);

// How the end keeps what it has; commands only where no other interface can be hurt by them.
Remedy keep_rail_at_boot(const NodeView& node, const RailEnd& end, const RailOutlook& outlook,
                         const std::vector<BootProfile>& profiles);

// Writes IPoIB's mode, and its MTU unless 0, where the node's network is configured; nothing where railbed
// does not know how. The interface keeps what it has until then.
std::vector<ShellCommand> keep_ipoib_with(const NodeView& node, const RailEnd& end, std::string_view mode,
                                          int mtu);

}  // namespace railbed
