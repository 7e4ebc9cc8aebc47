// The result of a search for the slow node or link among many (`railbed bench pairs`). A node is an index
// here; the rail's report has the names.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "results/measurement.h"

namespace railbed {

// One direction of a pair. Speeds are in bits per second.
struct PairSpeed {
  int from = 0;
  int to = 0;
  std::optional<double> together;  // with the round's other pairs; the mean if a pair met twice
  std::optional<double> alone;     // retested by itself
  FIELDS(PairSpeed, from, to, together, alone);
};

enum class SlowKind { kNode, kSending, kReceiving, kLink, kSilent };
constexpr auto enum_names(SlowKind) {
  return std::array<std::string_view, 5>{"node", "sending", "receiving", "link", "silent"};
}

struct Slow {
  SlowKind kind = SlowKind::kNode;
  int node = 0;            // for a link: one end
  int other = -1;          // for a link: the other end
  double share = 0;        // of the others' speed: 0.26
  bool confirmed = false;  // also slow alone; kSilent is not retested
  // Not confirmed because other traffic, which crossed its links while it was alone, may be all that it lacks.
  bool shared = false;
  FIELDS(Slow, kind, node, other, share, confirmed, shared);
};

struct SlowReport {
  int nodes = 0;
  int rounds = 0;
  int retests = 0;               // pairs measured alone
  double together = 0;           // median of all pairs, bits per second
  double alone = 0;              // median of the retested pairs that are not suspected; 0 without retests
  std::vector<PairSpeed> pairs;  // every requested direction
  std::vector<Slow> slow;        // the worst first
  // Too many differ for "the others" to have a meaning; nothing is retested and no suspect confirmed.
  bool too_many = false;
  FIELDS(SlowReport, nodes, rounds, retests, together, alone, pairs, slow, too_many);
};

struct RailReport {
  std::string rail;
  Engine engine = Engine::kTcp;
  bool gpu_memory = false;         // from and to the memory of GPUs
  std::vector<std::string> nodes;  // indexed by the report's numbers
  SlowReport report;
  // "gpu03 → gpu07: cause", one per direction without a number; or "gpu03 – gpu07: root", one for both
  // directions
  std::vector<std::string> failures;
  std::vector<std::string> notes;  // why numbers of some nodes do not compare: another way than the rail's
  FIELDS(RailReport, rail, engine, gpu_memory, nodes, report, failures, notes);
};

}  // namespace railbed
