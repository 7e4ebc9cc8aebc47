// A network of 100 Gb/s ports, for tests.
#pragma once

#include "predict/topology.h"

namespace railbed {

inline NetworkPlan plan_of(NetworkShape shape, int nodes, int rails) {
  NetworkPlan plan;
  plan.shape = shape;
  plan.nodes = nodes;
  plan.rails = rails;
  plan.port = BitRate::gigabits(100);
  return plan;
}

}  // namespace railbed
