// Evidence about the trees of tree.h, as rules get it.
#pragma once

#include <utility>

#include "fabric/fabric_view.h"
#include "fabric/testing/tree.h"

namespace railbed::told {

inline FabricEvidence unplanned(IbFabric fabric) {
  FabricEvidence evidence;
  evidence.fabric = std::move(fabric);
  return evidence;
}

inline FabricEvidence planned(IbFabric fabric, IbFabric plan = fat_tree()) {
  FabricEvidence evidence = unplanned(std::move(fabric));
  evidence.plan = std::move(plan);
  return evidence;
}

}  // namespace railbed::told
