// What a search for the slow node or link among many found (`railbed bench pairs`). Nodes are numbers here;
// the rail's report names them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/measurement.h"

namespace railbed {

struct PairSpeed {
  int from = 0;
  int to = 0;
  std::optional<double> together;  // while the round's other pairs ran; the mean where a pair met twice
  std::optional<double> alone;     // retested by itself
  static void fields(auto&& field) {
    field("from", &PairSpeed::from);
    field("to", &PairSpeed::to);
    field("together", &PairSpeed::together);
    field("alone", &PairSpeed::alone);
  }
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
  static void fields(auto&& field) {
    field("kind", &Slow::kind);
    field("node", &Slow::node);
    field("other", &Slow::other);
    field("share", &Slow::share);
    field("confirmed", &Slow::confirmed);
  }
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
  static void fields(auto&& field) {
    field("nodes", &SlowReport::nodes);
    field("rounds", &SlowReport::rounds);
    field("retests", &SlowReport::retests);
    field("together", &SlowReport::together);
    field("alone", &SlowReport::alone);
    field("pairs", &SlowReport::pairs);
    field("slow", &SlowReport::slow);
    field("too_many", &SlowReport::too_many);
  }
};

struct RailReport {
  std::string rail;
  Engine engine = Engine::kTcp;
  std::vector<std::string> nodes;  // the report's numbers count these
  SlowReport report;
  std::vector<std::string> failures;  // "gpu03 → gpu07: cause", one a direction without a number; or "gpu03 – gpu07: root", one for both
  static void fields(auto&& field) {
    field("rail", &RailReport::rail);
    field("engine", &RailReport::engine);
    field("nodes", &RailReport::nodes);
    field("report", &RailReport::report);
    field("failures", &RailReport::failures);
  }
};

}  // namespace railbed
