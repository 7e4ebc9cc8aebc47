// What ports count of errors: PerfMgt's PortCounters, in the words of the InfiniBand specification
// (16.1.3.5).
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
  kXmitData,  // in words of four bytes, as the next
  kRcvData,
  kXmitPackets,
  kRcvPackets,
};
inline constexpr std::size_t kIbCounters = 17;
// What is sent and received; those before count what went wrong.
constexpr bool is_traffic(IbCounter one) { return one >= IbCounter::kXmitData; }

// One counter: where it lies in the answer, what is too many.
struct IbCounterRow {
  std::string_view name;
  std::size_t byte = 0;  // in PortCounters' data
  int bits = 0;          // 4 (the low or high half of the byte), 8, 16 or 32; it stops at its end
  bool high_half = false;
  std::size_t extended_byte = 0;  // in PortCountersExtended' data, of eight bytes
  std::uint64_t total =
      0;                // ibqueryerrors' own threshold (error_thresholds of infiniband-diags); 0: no limit
  double a_second = 0;  // as it grows in a window; what more is red
  std::string_view standard;  // where the rate comes from
  std::uint64_t end() const { return bits == 32 ? 0xFFFFFFFFU : (std::uint64_t{1} << bits) - 1; }
};
const std::array<IbCounterRow, kIbCounters>& ib_counter_rows();

struct IbCounts {
  std::array<std::uint64_t, kIbCounters> value = {};
  std::uint64_t operator[](IbCounter one) const { return value[static_cast<std::size_t>(one)]; }
};

struct IbCounterReading {
  IbEnd end;
  IbCounts first;
  std::optional<IbCounts> second;
};

struct IbCounterLook {
  std::vector<IbCounterReading> ports;
  std::size_t unanswered = 0;
  double seconds = 0;  // between the two readings; 0: there is one
};

}  // namespace railbed
