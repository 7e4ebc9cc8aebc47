// Packets by priority, as the drivers of adapters count them, and what they prove about a burst of probes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "host/host.h"

namespace railbed {

// Packets by priority, "0" to "7"; empty if the driver counts none by priority.
struct PriorityCounts {
  std::map<std::string, std::uint64_t> sent = {};
  std::map<std::string, std::uint64_t> received = {};
  FIELDS(PriorityCounts, sent, received);
  bool operator==(const PriorityCounts&) const = default;
};

// Extracts the counts from the output of `ethtool -S`; ignores other counters.
PriorityCounts priority_counts(const std::map<std::string, std::uint64_t>& statistics);
// Reads the counts of an interface. Empty if they cannot be read.
PriorityCounts read_priority_counts(Host& host, const std::string& interface);

enum class PriorityVerdict { kRight, kWrong, kUntold };
constexpr auto enum_names(PriorityVerdict) {
  return std::array<std::string_view, 3>{"right", "wrong", "untold"};
}

// The verdict on one end and one direction.
struct PrioritySight {
  bool there = false;  // the peer's end; otherwise this one
  bool sent = false;   // packets that this end sent; otherwise those that it received
  PriorityVerdict verdict = PriorityVerdict::kUntold;
  int expected = 0;
  std::string seen = {};  // the priority that was used: "3", or "several"; empty if kUntold
  std::string why = {};   // the reason, if kUntold
};

// Judges whether the packets had the expected priority. At least `packets` were sent between the two
// readings. Other traffic moves counters as well. If the expected priority moved by at least that number, it
// is consistent with the probes (kRight). If it did not move while another moved by at least that number, the
// probes used the wrong one (kWrong). Anything else proves nothing (kUntold).
PrioritySight judge_priority(int expected, std::uint64_t packets,
                             const std::map<std::string, std::uint64_t>& before,
                             const std::map<std::string, std::uint64_t>& after);

// The counts at both ends of a pair.
struct PrioritiesOfPair {
  PriorityCounts here;
  PriorityCounts there;
};
// Judges both directions at both ends of RDMA reads: requests go to the peer, and data comes back.
std::vector<PrioritySight> judge_priorities(int expected, std::uint64_t packets,
                                            const PrioritiesOfPair& before, const PrioritiesOfPair& after);

}  // namespace railbed
