// The table of engines. A new engine is a folder beside this one and a line in engines.cc
// (docs/contributing/add-an-engine.md).
#pragma once

#include <memory>
#include <vector>

#include "bench/core/engine.h"

namespace railbed {

const std::vector<EngineRegistration>& engines();
// Null where the table has none, or one that measures no pairs.
const PairMeasuring* find_pair_measuring(Engine engine);

}  // namespace railbed
