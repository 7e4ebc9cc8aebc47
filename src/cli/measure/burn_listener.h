// Prints the watts and the progress of a load on GPUs.
#pragma once

#include <string_view>

#include "bench/burn/burn.h"
#include "campaign/measure/run_burn.h"

namespace railbed {

// Prints the watts and the time before anything is loaded, then the state now and then, which begins with `what`. The
// plan must outlive the listener.
BurnListener burn_listener(const BurnPlan& plan, std::string_view what);

}  // namespace railbed
