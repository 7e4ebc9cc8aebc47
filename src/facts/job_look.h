// A quick look at this node before or after a job: counters, clocks and temperatures, and nothing that takes long.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "base/reading.h"
#include "facts/log/kernel_log.h"
#include "host/host.h"
#include "results/job_record.h"

namespace railbed {

// The result of one look.
struct JobGlance {
  JobLook look = {};
  Reading<KernelLog> log = {};  // absent unless it was wanted
  // Some read did not return in time. Its thread goes on and uses the host: the process should end without running
  // destructors of static objects.
  bool hangs = false;
};

// Reads everything at once, each device on a thread of its own, and waits at most `patience`: JobLook::unread and JobGpu::unread name the rest. With `log_since` (Unix time) the kernel's log from then on is read, too.
// `host` has to be thread-safe.
JobGlance glance_at_node(const std::shared_ptr<Host>& host, std::chrono::milliseconds patience,
                         std::optional<double> log_since);

}  // namespace railbed
