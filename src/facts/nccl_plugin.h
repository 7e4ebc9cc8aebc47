// NCCL's network plugins, as far as a variable names them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "facts/nccl.h"
#include "host/host.h"

namespace railbed {

// `nccl` has its variables already.
std::vector<NcclPlugin> collect_net_plugins(Host& host, const Nccl& nccl);
// Of ldconfig's output the lines about NCCL.
std::string used_loader_cache(std::string_view output);

}  // namespace railbed
