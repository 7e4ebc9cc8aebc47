// A ladder as a table with bars, and as a picture.
#pragma once

#include <string>
#include <vector>

#include "results/ladder.h"

namespace railbed {

// "RDMA, GPU memory loses most, 61 % of the wire is left".
std::string ladder_verdict(const Ladder& ladder);
bool loses_most(const Ladder& ladder, const Rung& rung);
// Why a rung has no number.
std::string no_number_text(const Rung& rung);
// "over IB, mlx5_0 → mlx5_0, GPUDirect on".
std::string nccl_way_text(const NcclWay& way);

std::string ladder_text(const Ladder& ladder);
// All rails at once, after the ladder of each: their total beside the sum of each alone, or what failed.
// Empty where none was measured so.
std::string at_once_text(const std::vector<Measurement>& measurements);
// A whole SVG document: a bar for each rung, a tick at its ceiling, the losing one marked.
std::string ladders_svg(const std::vector<Ladder>& ladders);

}  // namespace railbed
