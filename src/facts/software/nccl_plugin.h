// NCCL's network plugins that a variable names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "facts/software/nccl.h"
#include "host/host.h"

namespace railbed {

// Returns the plugins that the variables in `nccl` name. Collect the variables first.
std::vector<NcclPlugin> collect_net_plugins(Host& host, const Nccl& nccl);
// Returns the lines of ldconfig's output about NCCL.
std::string used_loader_cache(std::string_view output);

}  // namespace railbed
