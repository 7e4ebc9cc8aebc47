// A burn-in's work on one GPU, in a child process.
#pragma once

#include "bench/burn/burn.h"
#include "nvidia/calls.h"
#include "os/process.h"
#include "results/collective.h"

namespace railbed {

struct BurnChild {
  VisibleGpu gpu;
  std::uint64_t begin = 0;  // of the burn, by now_ns()
  int beside = 1;           // GPUs of this node that are burned in
};

// Works until the plan's time is over. Sends the BurnGpu as a line every second or two, and at the end. A failure
// is its `trouble`.
void run_burn_gpu(const BurnPlan& plan, const BurnChild& child, const NvidiaLibraries& from,
                  const Tell& tell);

}  // namespace railbed
