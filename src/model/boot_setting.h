// Kernel settings that rules want on a node: whether it has them now is judged by their own rules, whether
// its next boot brings them by host.settings-at-boot.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/survey.h"

namespace railbed {

struct WantedSetting {
  std::string_view key;  // as sysctl writes it
  std::uint64_t value = 0;
  bool or_more = false;
  bool fits(std::string_view text) const;
};

// Memory has several NUMA nodes, and there is a GPU or an RDMA adapter that suffers where the kernel moves it
// between them or will not take it from the other one.
bool numa_matters(const NodeView& node);
std::vector<WantedSetting> wanted_settings(const NodeView& node);

// What becomes of the wanted settings that fit now.
struct BootOutlook {
  struct Change {
    std::string line;  // "net.core.rmem_max = 268435456": as it is now
    std::string file;  // of sysctl.d, that sets something else; empty: none sets it
    std::string to;    // what that file sets
  };
  std::vector<std::string> kept;    // keys
  std::vector<std::string> doubts;  // why it cannot be told
  std::vector<Change> lost;
  bool nothing_fits() const { return kept.empty() && doubts.empty() && lost.empty(); }
};
// `files` are facts->system.sysctl_at_boot.
BootOutlook after_reboot(const NodeView& node, const std::vector<WantedSetting>& wanted,
                         const std::vector<BootSetting>& files);
// "no file of sysctl.d sets net.core.rmem_max; /etc/sysctl.d/99-x.conf sets …"
std::string why_lost(const BootOutlook& outlook);

}  // namespace railbed
