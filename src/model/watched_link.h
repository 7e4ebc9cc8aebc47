// A link as a monitor sees it over time: the light of its module, lane by lane, and the bits that its forward error
// correction mends. Pure: no input or output.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "facts/network/counts.h"
#include "facts/network/optics.h"
#include "hardware/fec.h"
#include "model/trend.h"

namespace railbed {

// The driver's counter of bits that error correction mended (mlx5).
inline constexpr std::string_view kCorrectedBits = "rx_corrected_bits_phy";

// One reading of a link.
struct LinkSample {
  double when = 0;  // Unix seconds
  bool carrier = false;
  int speed_mbps = 0;                 // 0: not known
  std::optional<Optics> optics = {};  // nullopt: the module could not be read
  // `ethtool -S`: rx_corrected_bits_phy (mlx5), else corrected_bits of `fec`
  std::optional<std::uint64_t> corrected_bits = {};
  std::optional<FecState> fec = {};  // nullopt if its driver does not report it
  std::optional<std::uint64_t> carrier_changes = {};
};

// Blocks that error correction could not mend between two readings.
struct LostBlocks {
  std::uint64_t count = 0;
  double seconds = 0;
  std::optional<double> share = {};  // of all blocks; nullopt if their size is not known
  FIELDS(LostBlocks, count, seconds, share);
};

struct WatchedLink {
  double when = 0;
  bool carrier = false;
  int speed_mbps = 0;
  std::optional<Optics> optics = {};
  std::optional<std::uint64_t> corrected_bits = {};
  // Share of wrong bits before the correction, between the last two readings; nullopt if not known.
  std::optional<double> bit_errors = {};
  std::map<std::string, DaySeries> receive = {};  // dBm, by the lane's number
  DaySeries bit_error_powers = {};                // of ten
  std::optional<FecState> fec = {};
  std::optional<std::uint64_t> carrier_changes = {};
  std::optional<LostBlocks> lost = {};  // nullopt if not known, also of a link that came or went meanwhile
  FIELDS(WatchedLink, when, carrier, speed_mbps, optics, corrected_bits, bit_errors, receive,
         bit_error_powers, fec, carrier_changes, lost);
};

// Returns the link after one more reading. Another module, by its serial number, begins the series anew; while there is no
// carrier they stand still.
WatchedLink next_link(WatchedLink before, const LinkSample& sample);

// Returns the links that were read, each after one more reading. `counts` has their state and their drivers' counters; links
// that were not read are forgotten.
std::map<std::string, WatchedLink> next_links(std::map<std::string, WatchedLink> before,
                                              const LinkReadings& readings, const Counts& counts, double now);

// Light below this while the link is up is no light of this link: another port's lane of a module that is shared out, or a
// module that does not measure.
inline constexpr double kDarkMilliwatts = 0.001;

// Returns light in dBm; -40, the least that a module's register can hold, for none.
double dbm_of(double milliwatts);

// Returns the correction of this link; null if it is not certain.
const FecLimit* fec_of(const WatchedLink& link);

// The least change within two weeks that a forecast is made of.
inline constexpr double kLeastFall = 1;      // dB
inline constexpr double kLeastPowers = 0.5;  // powers of ten

}  // namespace railbed
