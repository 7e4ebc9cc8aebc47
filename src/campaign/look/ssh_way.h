// The way in which the user's own ssh would reach a destination, as `ssh -G` reports it. No connection is
// made.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/result.h"
#include "campaign/reach.h"
#include "fleet/ssh_words.h"

namespace railbed {

// Returns ssh's effective configuration for `destination`. Fails if ssh cannot be run within ten seconds.
Result<fleet::SshWay> ssh_way(const ReachOptions& reach, const std::string& destination,
                              std::stop_token stop = {});

// Returns the addresses that ssh connects to; none if the name does not resolve here, as behind a jump host.
std::vector<IpAddress> ssh_addresses(const ReachOptions& reach, const std::string& destination,
                                     std::stop_token stop = {});

}  // namespace railbed
