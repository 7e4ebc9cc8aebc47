// How the user's own ssh would reach a destination, asked of ssh itself; nobody is connected to.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/result.h"
#include "campaign/reach.h"
#include "fleet/ssh_words.h"

namespace railbed {

Result<fleet::SshWay> ssh_way(const ReachOptions& reach, const std::string& destination,
                              std::stop_token stop = {});

// The addresses that it connects to; none where the name stands for none here, as behind a jump host.
std::vector<IpAddress> ssh_addresses(const ReachOptions& reach, const std::string& destination,
                                     std::stop_token stop = {});

}  // namespace railbed
