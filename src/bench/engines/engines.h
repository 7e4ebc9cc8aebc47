// The table of engines. A new engine is a folder beside this one and a line in engines.cc
// (docs/contributing/add-an-engine.md).
#pragma once

#include <memory>
#include <vector>

#include "bench/core/engine.h"

namespace railbed {

const std::vector<EngineRegistration>& engines();
// Returns the pair measuring of an engine; null if the table does not have the engine, or if the engine
// measures no pairs.
const PairMeasuring* find_pair_measuring(Engine engine);

}  // namespace railbed
