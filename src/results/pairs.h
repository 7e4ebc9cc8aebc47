// What a search for the slow node or link among many found (`railbed bench pairs`). Nodes are numbers here;
// the rail's report names them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "results/measurement.h"

namespace railbed {

struct PairSpeed {
  int from = 0;
  int to = 0;
  std::optional<double> together;  // while the round's other pairs ran; the mean where a pair met twice
  std::optional<double> alone;     // retested by itself
  FIELDS(PairSpeed, from, to, together, alone);
};

enum class SlowKind { kNode, kSending, kReceiving, kLink, kSilent };
constexpr auto enum_names(SlowKind) {
  return std::array<std::string_view, 5>{"node", "sending", "receiving", "link", "silent"};
}

struct Slow {
  SlowKind kind = SlowKind::kNode;
  int node = 0;            // of a link: one end
  int other = -1;          // of a link: the other end
  double share = 0;        // of what the others reach: 0.26
  bool confirmed = false;  // slow alone, too; kSilent is not retested
  FIELDS(Slow, kind, node, other, share, confirmed);
};

struct SlowReport {
  int nodes = 0;
  int rounds = 0;
  int retests = 0;               // pairs measured alone
  double together = 0;           // median of all pairs, bits per second
  double alone = 0;              // of the retested pairs nobody suspects; 0 when nothing was retested
  std::vector<PairSpeed> pairs;  // every direction that was asked for
  std::vector<Slow> slow;        // the worst first
  bool too_many =
      false;  // so many differ that "the others" have no meaning; nothing is retested, nobody confirmed
  FIELDS(SlowReport, nodes, rounds, retests, together, alone, pairs, slow, too_many);
};

struct RailReport {
  std::string rail;
  Engine engine = Engine::kTcp;
  std::vector<std::string> nodes;  // the report's numbers count these
  SlowReport report;
  std::vector<std::string> failures;  // "gpu03 → gpu07: cause", one a direction without a number; or "gpu03 –
                                      // gpu07: root", one for both
  FIELDS(RailReport, rail, engine, nodes, report, failures);
};

}  // namespace railbed
