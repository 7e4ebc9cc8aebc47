// Which of a port's counters tell of trouble, and which count packets: names differ by driver.
#pragma once

#include "bench/verbs/rdma.h"
#include "facts/rdma.h"

namespace railbed {

RdmaCounters read_counters(const RdmaPort& port);

}  // namespace railbed
