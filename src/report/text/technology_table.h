// The technologies that work on each node: a grid of words, then the reasons, then the sources.
#pragma once

#include <string>
#include <vector>

#include "hardware/technology.h"

namespace railbed {

std::string technology_text(const std::vector<TechnologyColumn>& columns, std::size_t width = 100);
std::string technology_markdown(const std::vector<TechnologyColumn>& columns);

}  // namespace railbed
