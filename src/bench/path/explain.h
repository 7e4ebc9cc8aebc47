// What a failure between two nodes comes from: the path is looked at from both ends, at that moment.
#pragma once

#include <optional>
#include <stop_token>

#include "bench/core/pair.h"
#include "bench/path/diagnose.h"

namespace railbed {

// Of one pair's measurements. A root that was found explains the failures that follow, too: the path is
// looked at anew only for another engine, or where no root was found.
class PathExplainer {
 public:
  PathExplainer(const PairEnd& a, const PairEnd& b) : a_(a), b_(b) {}

  // Puts the root first in the failure's cause, and its remedy in the place of the failure's own. A failure
  // whose path is sound keeps its words, and what was seen stands beside them. Within some 20 s, mostly two.
  void explain(Engine engine, Failure& failure, const std::stop_token& stop);

 private:
  const PairEnd& a_;
  const PairEnd& b_;
  std::optional<Engine> engine_;  // that `found_` was looked for
  std::optional<Diagnosis> found_;
};

// The fault of a path on which nothing was measured, for RDMA or for TCP alone. Nothing: it is sound, as far
// as both ends can tell.
std::optional<Diagnosis> find_path_fault(const PairEnd& a, const PairEnd& b, bool rdma,
                                         const std::stop_token& stop);

}  // namespace railbed
