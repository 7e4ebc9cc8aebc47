// Packets by priority, as adapters' drivers count them, and what they prove of a burst of probes.
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

// By priority, "0" to "7"; empty: the driver counts no packets by priority.
struct PriorityCounts {
  std::map<std::string, std::uint64_t> sent = {};
  std::map<std::string, std::uint64_t> received = {};
  FIELDS(PriorityCounts, sent, received);
  bool operator==(const PriorityCounts&) const = default;
};

// Of what `ethtool -S` shows; other counters are passed over.
PriorityCounts priority_counts(const std::map<std::string, std::uint64_t>& statistics);
// Of an interface now.
PriorityCounts read_priority_counts(Host& host, const std::string& interface);

enum class PriorityVerdict { kRight, kWrong, kUntold };
constexpr auto enum_names(PriorityVerdict) {
  return std::array<std::string_view, 3>{"right", "wrong", "untold"};
}

// One end, one direction.
struct PrioritySight {
  bool there = false;  // at the peer's end; else at this one
  bool sent = false;   // that end sent the packets; else it received them
  PriorityVerdict verdict = PriorityVerdict::kUntold;
  int expected = 0;
  std::string seen = {};  // the priority that they went by: "3"; of kUntold, empty
  std::string why = {};   // of kUntold
};

// `packets` at least were sent within the time. Other traffic moves counters as well, so the expected
// priority having moved by so many is only consistent with the probes; that it stood still while another
// moved by so many proves the contrary. Anything else tells nothing.
PrioritySight judge_priority(int expected, std::uint64_t packets,
                             const std::map<std::string, std::uint64_t>& before,
                             const std::map<std::string, std::uint64_t>& after);

struct PrioritiesOfPair {
  PriorityCounts here;
  PriorityCounts there;
};
// Both directions at both ends, of reads: requests go there and data comes back.
std::vector<PrioritySight> judge_priorities(int expected, std::uint64_t packets,
                                            const PrioritiesOfPair& before, const PrioritiesOfPair& after);

}  // namespace railbed
