// Explains a failure between two nodes: both ends examine the path right after the failure.
#pragma once

#include <optional>
#include <stop_token>

#include "bench/core/pair.h"
#include "bench/path/judge_path.h"

namespace railbed {

// Explains the failures of one pair's measurements. A root that was found also explains the failures that
// follow. The path is examined again only for another engine, or if no root was found. The ends must outlive
// it.
class PathExplainer {
 public:
  PathExplainer(const PairEnd& a, const PairEnd& b) : a_(a), b_(b) {}

  // Puts the root first in the failure's cause, and replaces the failure's remedy with the root's. If no
  // fault was found, the cause and the remedy stay, and `root` holds the observations. Returns within about
  // 20 s, usually 2 s. Does nothing for damaged data and for a stopped run.
  void explain(Engine engine, Failure& failure, const std::stop_token& stop);

 private:
  const PairEnd& a_;
  const PairEnd& b_;
  std::optional<Engine> engine_;  // the engine whose failure led to `found_`
  std::optional<PathDiagnosis> found_;
};

// Examines a path on which nothing was measured, either for RDMA or for TCP. Returns its fault; empty if the
// path is sound as far as both ends can see. If neither node replied, returns a diagnosis of layer kNone with
// that as its cause.
std::optional<PathDiagnosis> find_path_fault(const PairEnd& a, const PairEnd& b, bool rdma,
                                             const std::stop_token& stop);

}  // namespace railbed
