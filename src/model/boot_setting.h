// Kernel settings that rules expect on a node. Other rules judge the present values; host.settings-at-boot
// judges whether the next boot sets them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/survey.h"

namespace railbed {

// A setting with its expected value.
struct WantedSetting {
  std::string_view key;  // in sysctl's notation
  std::uint64_t value = 0;
  // True if larger values are right, too.
  bool or_more = false;
  // Returns true if the text is a number that satisfies the expectation.
  bool fits(std::string_view text) const;
};

// Returns true if memory has several NUMA nodes, and there is a GPU or an RDMA adapter that suffers if the
// kernel moves memory between them or does not take it from another one.
bool numa_matters(const NodeView& node);
// Returns the settings expected on this node: socket buffers if cluster.yaml gives their size, and the NUMA
// settings if numa_matters().
std::vector<WantedSetting> wanted_settings(const NodeView& node);

// The outlook of the expected settings that are right now.
struct BootOutlook {
  struct Change {
    std::string line;  // "net.core.rmem_max = 268435456": the present value
    std::string file;  // the sysctl.d file with another value; empty if no file sets it
    std::string to;    // the value in that file
  };
  std::vector<std::string> kept;    // keys
  std::vector<std::string> doubts;  // reasons why the state is unknown
  std::vector<Change> lost;
  bool nothing_fits() const { return kept.empty() && doubts.empty() && lost.empty(); }
};
// Returns the outlook. `files` are facts->system.sysctl_at_boot.
BootOutlook after_reboot(const NodeView& node, const std::vector<WantedSetting>& wanted,
                         const std::vector<BootSetting>& files);
// Returns "no file of sysctl.d sets net.core.rmem_max; /etc/sysctl.d/99-x.conf sets …"
std::string why_lost(const BootOutlook& outlook);

}  // namespace railbed
