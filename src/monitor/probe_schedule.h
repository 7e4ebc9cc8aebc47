// Whom a node probes in which round.
//
// A node of a thousand must not ping 999 others each minute, and pinging the same few would never see most of
// the ways through the switches. So it is done as in a tournament in which everybody meets everybody (the
// circle method): of n nodes, n made even by one who is not there, all but the last sit on a circle of n - 1
// places, and in round r those two meet whose places add up to r, modulo n - 1; whoever would meet himself
// meets the last. In each round everybody meets exactly one, and after n - 1 rounds all have met. A round of
// probes takes `most` rounds of the tournament. Nodes count rounds by their clocks: where these differ, a
// node is now and then probed by a few more, and nothing else is lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace railbed {

// Of `count` nodes, of which this is the one with number `own`: at most `most` others, each once.
std::vector<std::size_t> partners(std::size_t count, std::size_t own, std::uint64_t round, std::size_t most);

}  // namespace railbed
