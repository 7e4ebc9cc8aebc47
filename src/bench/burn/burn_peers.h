// Copies between the GPUs of one node: the phase "peers" of a burn-in, in a child process for all of them.
//
// A GPU's own child sees no other GPU, so that none disturbs another. In this phase it only samples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "bench/burn/burn.h"
#include "nvidia/calls.h"
#include "os/process.h"
#include "results/collective.h"

namespace railbed {

// Bytes that each GPU's child leaves free for the child of the copies: a context and its buffers.
inline constexpr std::uint64_t kPeersReserve = std::uint64_t{5} << 28;

// The copies from one GPU to the others.
struct BurnPeerGpu {
  int ordinal = 0;
  BurnTally tally = {.phase = BurnPhase::kPeers};
  std::uint64_t fault_count = 0;
  std::vector<BurnFault> faults = {};  // the first of them
  FIELDS(BurnPeerGpu, ordinal, tally, fault_count, faults);
};
struct BurnPeers {
  bool ended = false;        // the work came to its end
  std::string trouble = {};  // why it ended early; empty if it did not
  std::vector<BurnPeerGpu> gpus = {};
  FIELDS(BurnPeers, ended, trouble, gpus);
};

// Works in each turn of the phase until the plan's time is over. `begin` is the start of the burn, by now_ns(). Sends
// BurnPeers as a line every second, and at the end. A failure is its `trouble`.
void run_burn_peers(const BurnPlan& plan, const std::vector<VisibleGpu>& gpus, std::uint64_t begin,
                    const NvidiaLibraries& from, const Tell& tell);

// Adds the copies to the states of the GPUs, and why there are none.
void add_peer_copies(const BurnPeers& peers, std::vector<BurnGpu>& gpus);

}  // namespace railbed
