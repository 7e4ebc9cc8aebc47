// The options that choose two nodes and a rail for a bench.
#pragma once

#include "campaign/measure/open_pair.h"

namespace CLI {
class App;
}  // namespace CLI

namespace railbed {

void add_pair_options(CLI::App& app, PairChoice& pair);

}  // namespace railbed
