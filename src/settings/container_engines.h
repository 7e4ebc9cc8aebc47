// Settings that give containers a node's GPUs: NVIDIA's runtime in the files of docker, containerd and CRI-O, and CDI's
// description.
#pragma once

#include <vector>

#include "settings/setting.h"
#include "settings/target.h"

namespace railbed {

void add_container_engines(const Target& target, std::vector<Setting>& settings);

}  // namespace railbed
