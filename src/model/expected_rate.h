// What each port should run at, as far as anything says so. No table of chips does: the same chip is sold
// with ports of 25, 50 and 100 Gb/s, and any port may face a slower switch on purpose.
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
  bool certain;      // somebody states it, or the other ends of the rail show it; else it is a guess
  std::string from;  // "cluster.yaml"
};

// Mb/s; 0: not known.
struct Offers {
  int own = 0;
  int peer = 0;
};
// What the port of an Ethernet end advertises, and the port at the other end of its cable: as the two have
// told each other, else, between two nodes back to back, as the other node states.
Offers offers_of(const Survey& survey, const RailEnd& end);

class ExpectedRates {
 public:
  explicit ExpectedRates(const Survey& survey);
  // In this order: cluster.yaml; what most ends of the rail run at; what most ports of the same kind run at;
  // what both ends of the cable offer. Nothing where none of these says it.
  std::optional<ExpectedRate> of(const RailEnd& end) const;

 private:
  using Votes = std::map<double, int>;  // bit/s → ports
  static std::optional<BitRate> usual(const Votes& votes);

  const Survey& survey_;
  std::map<const Rail*, Votes> by_rail_;
  std::map<std::pair<const NicModel*, bool>, Votes> by_kind_;  // the adapter's model; whether InfiniBand
};

}  // namespace railbed
