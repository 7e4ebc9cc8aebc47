// The rate at which each port should run, as far as there is evidence. No table of chips gives it: the same
// chip is sold with ports of 25, 50 and 100 Gb/s, and any port may face a slower switch on purpose.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/units.h"
#include "model/survey.h"

namespace railbed {

struct ExpectedRate {
  BitRate rate;
  bool certain;      // stated, or shown by the other ends of the rail; else a guess
  std::string from;  // "cluster.yaml"
};

// Speeds in Mb/s; 0 if unknown.
struct Offers {
  int own = 0;
  int peer = 0;
};
// Returns the speeds that an Ethernet end's port and the port at the other end of its cable advertise: as
// negotiated by the two; else, between two nodes back to back, from the other node's facts.
Offers offers_of(const Survey& survey, const RailEnd& end);

// Expected rates of all ports of a survey. Keeps a reference to it.
class ExpectedRates {
 public:
  explicit ExpectedRates(const Survey& survey);
  // Returns the first of these that is known: cluster.yaml; the rate of most ends of the rail; the rate of
  // most ports of the same kind; the best rate that both ends of the cable advertise. Returns nullopt if none
  // is.
  std::optional<ExpectedRate> of(const RailEnd& end) const;

 private:
  using Votes = std::map<double, int>;  // bit/s → number of ports
  static std::optional<BitRate> usual(const Votes& votes);

  const Survey& survey_;
  std::map<const Rail*, Votes> by_rail_;
  std::map<std::pair<const NicModel*, bool>, Votes> by_kind_;  // adapter's model, whether InfiniBand
};

}  // namespace railbed
