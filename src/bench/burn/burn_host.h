// A burn-in's work on the processors and the memory of a node, in a child process.
#pragma once

#include <cstdint>

#include "bench/burn/burn.h"
#include "os/process.h"

namespace railbed {

class Host;

// Works until the plan's time is over, on every CPU that the process may use. `begin` is the start of the burn by now_ns(). Sends the BurnHost as a line every second or two,
// and at the end.
void run_burn_host(const BurnPlan& plan, Host& host, std::uint64_t begin, const Tell& tell);

}  // namespace railbed
