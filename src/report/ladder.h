// A ladder as a table with bars, and as a picture.
#pragma once

#include <string>
#include <vector>

#include "results/ladder.h"

namespace railbed {

// Returns the verdict in one line: "RDMA, GPU memory loses most, 61 % of the wire is left".
std::string ladder_verdict(const Ladder& ladder);
// True if `rung`, which is one of the ladder's own, loses most.
bool loses_most(const Ladder& ladder, const Rung& rung);
// Returns why a rung has no number.
std::string no_number_text(const Rung& rung);
// Returns "over IB, mlx5_0 → mlx5_0, GPUDirect on".
std::string nccl_way_text(const NcclWay& way);

std::string ladder_text(const Ladder& ladder);
// Returns runs that used all rails at once, for after the ladder of each rail: their total beside the sum of
// each alone, or the failure. Empty if there is no such run.
std::string at_once_text(const std::vector<Measurement>& measurements);
// Returns an SVG document: a bar for each rung, a tick at its ceiling, the one that loses most marked.
std::string ladders_svg(const std::vector<Ladder>& ladders);

}  // namespace railbed
