// A ladder as a table with bars, and as a picture.
#pragma once

#include <string>
#include <vector>

#include "results/ladder.h"

namespace railbed {

std::string ladder_text(const Ladder& ladder);
// A whole SVG document: a bar for each rung, a tick at its ceiling, the losing one marked.
std::string ladders_svg(const std::vector<Ladder>& ladders);

}  // namespace railbed
