#include "fabric/counters.h"

namespace railbed {

// The rates. A cable that keeps the bit error ratio of 10^-12 that the InfiniBand specification allows shows
// no more than 120 symbol errors an hour at any speed up to QDR, and fewer with FEC. A link that goes down or
// loses its integrity without being touched is never right. The other rates are ours.
const std::array<IbCounterRow, kIbCounters>& ib_counter_rows() {
  constexpr double kHour = 3600, kMinute = 60;
  static const std::array<IbCounterRow, kIbCounters> kRows = {{
      {"SymbolErrorCounter", 4, 16, false, 72, 10, 120 / kHour, "120 an hour, a bit error ratio of 1e-12"},
      {"LinkErrorRecoveryCounter", 6, 8, false, 80, 10, 5 / kMinute, "5 a minute"},
      {"LinkDownedCounter", 7, 8, false, 88, 10, 1e-9, "none"},
      {"PortRcvErrors", 8, 16, false, 96, 10, 10, "10 a second"},
      {"PortRcvRemotePhysicalErrors", 10, 16, false, 104, 100, 10, "10 a second"},
      // It counts multicast that comes back, which is no error.
      {"PortRcvSwitchRelayErrors", 12, 16, false, 112, 0, 0, ""},
      {"PortXmitDiscards", 14, 16, false, 120, 100, 100, "100 a second"},
      {"PortXmitConstraintErrors", 16, 8, false, 128, 100, 1, "1 a second"},
      {"PortRcvConstraintErrors", 17, 8, false, 136, 100, 1, "1 a second"},
      {"LocalLinkIntegrityErrors", 19, 4, true, 144, 10, 1e-9, "none"},
      {"ExcessiveBufferOverrunErrors", 19, 4, false, 152, 10, 1e-9, "none"},
      {"VL15Dropped", 22, 16, false, 160, 0, 0, ""},  // sweeps of subnet managers drop some: no error
      {"PortXmitWait", 40, 32, false, 168, 0, 0, ""},
      {"PortXmitData", 24, 32, false, 8, 0, 0, ""},
      {"PortRcvData", 28, 32, false, 16, 0, 0, ""},
      {"PortXmitPkts", 32, 32, false, 24, 0, 0, ""},
      {"PortRcvPkts", 36, 32, false, 32, 0, 0, ""},
  }};
  return kRows;
}

}  // namespace railbed
