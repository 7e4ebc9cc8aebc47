// Finds the rung of a ladder that loses bandwidth, and the causes. These are pure functions of the
// measurements and of both ends' facts.
//
// A ladder measures one path in several ways, each with one layer more than the one below: TCP, RDMA from
// host memory, RDMA from GPU memory, NCCL. Each rung's bandwidth is divided by the limit of the wire. The
// rung at which the largest part of the share that the rungs below had left is lost is the loser.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "facts/facts.h"
#include "results/ladder.h"

namespace railbed {

struct LadderEnd {
  std::string node;
  std::string interface;
  const Facts* facts = nullptr;
  std::string gpu = {};  // PCI address of the measured GPU; empty: none
};

// Return why the RDMA rungs, or those with GPU memory, cannot be measured; empty if they can.
std::string why_no_rdma(const LadderEnd& a, const LadderEnd& b);
std::string why_no_gpu(const LadderEnd& a, const LadderEnd& b);

// Returns the path's limits with the limit of each end's PCIe path to its GPU added.
Ceiling with_gpu_paths(Ceiling path, const LadderEnd& a, const LadderEnd& b);

// Sets shares, loser and causes from the rungs' measurements. TCP can be the loser only if no rung above it
// has a number: a limit of the processors is not a limit of the fabric. If no limit is known (virtual
// devices, one machine), a rung is compared with the one below it.
void judge_ladder(Ladder& ladder, const LadderEnd& a, const LadderEnd& b);

// Returns the causes that make this rung slower than the wire or than the rungs below it, the most likely
// first. Never empty.
std::vector<std::string> causes_of(const Ladder& ladder, const Rung& rung, const LadderEnd& a,
                                   const LadderEnd& b);

}  // namespace railbed
