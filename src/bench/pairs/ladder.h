// Which rung of a ladder loses bandwidth, and why: pure functions of what was measured and of both ends'
// facts.
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
  std::string gpu = {};  // PCI address of the one that is measured; empty: none
};

// From this share on nothing is lost that is worth a look. Ours: what healthy paths reach.
inline constexpr double kGoodRung = 0.9;

// Why a rung cannot be climbed; empty: it can.
std::string why_no_rdma(const LadderEnd& a, const LadderEnd& b);
std::string why_no_gpu(const LadderEnd& a, const LadderEnd& b);

// The path's limits, and each end's PCIe path to its GPU.
Ceiling with_gpu_paths(Ceiling path, const LadderEnd& a, const LadderEnd& b);

// Sets shares, loser and causes from the rungs' measurements. TCP's loss is the ladder's only where nothing
// above it has a number: what processors cannot do says nothing of the fabric. Where no limit binds (virtual
// devices, one machine) a rung is held against the one below it.
void judge_ladder(Ladder& ladder, const LadderEnd& a, const LadderEnd& b);

// What makes this rung slower than the wire or than the rungs below it, the likeliest first. Never empty.
std::vector<std::string> causes_of(const Ladder& ladder, const Rung& rung, const LadderEnd& a,
                                   const LadderEnd& b);

}  // namespace railbed
