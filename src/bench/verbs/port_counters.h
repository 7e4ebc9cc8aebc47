// Maps a port's counters, whose names differ by driver, to sent packets, received packets, lost packets and
// troubles.
#pragma once

#include "bench/verbs/rdma.h"
#include "facts/network/rdma.h"

namespace railbed {

RdmaCounters read_counters(const RdmaPort& port);

}  // namespace railbed
