// Error counters of ports: PerfMgt's PortCounters, named as in the InfiniBand specification (16.1.3.5).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "fabric/subnet.h"

namespace railbed {

enum class IbCounter {
  kSymbolErrors,
  kLinkErrorRecovery,
  kLinkDowned,
  kRcvErrors,
  kRcvRemotePhysicalErrors,
  kRcvSwitchRelayErrors,
  kXmitDiscards,
  kXmitConstraintErrors,
  kRcvConstraintErrors,
  kLocalLinkIntegrity,
  kExcessiveBufferOverrun,
  kVl15Dropped,
  kXmitWait,
  kXmitData,  // in words of four bytes, as is the next
  kRcvData,
  kXmitPackets,
  kRcvPackets,
};
inline constexpr std::size_t kIbCounters = 17;
// True for the counters of traffic; those before them in the enum count what went wrong.
constexpr bool is_traffic(IbCounter counter) { return counter >= IbCounter::kXmitData; }

// One counter: its place in a response, and its limits.
struct IbCounterRow {
  std::string_view name;
  std::size_t byte = 0;  // offset in PortCounters' data
  int bits = 0;          // 4 (the low or high half of the byte), 8, 16 or 32; it stops at its maximum
  bool high_half = false;
  std::size_t extended_byte = 0;  // offset in PortCountersExtended' data; it has eight bytes there
  // ibqueryerrors' own threshold (error_thresholds of infiniband-diags); 0: no limit.
  std::uint64_t total = 0;
  double a_second = 0;        // growth in a window; faster growth is red; 0: no limit
  std::string_view standard;  // basis of that rate
  // The value at which the counter stops.
  std::uint64_t end() const { return bits == 32 ? 0xFFFFFFFFU : (std::uint64_t{1} << bits) - 1; }
};
const std::array<IbCounterRow, kIbCounters>& ib_counter_rows();

// The counters of one port, by IbCounter.
struct IbCounts {
  std::array<std::uint64_t, kIbCounters> value = {};
  std::uint64_t operator[](IbCounter counter) const { return value[static_cast<std::size_t>(counter)]; }
};

// One port, read once or twice.
struct IbCounterReading {
  IbEnd end;
  IbCounts first;
  std::optional<IbCounts> second;
  int plane = 0;  // of the port, if it has several
};

// The counters of a subnet.
struct IbCounterLook {
  std::vector<IbCounterReading> ports;
  std::size_t unanswered = 0;  // ports that did not respond; they are not in `ports`
  double seconds = 0;          // between the two readings; 0 if there is one
};

}  // namespace railbed
