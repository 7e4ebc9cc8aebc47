// Decides which peers a node probes in which round.
//
// A node in a cluster of a thousand must not probe 999 others every minute, and probing the same few would
// miss most paths through the switches. So the schedule is that of a round-robin tournament (the circle
// method). For n nodes, with n made even by a dummy, all but the last sit on a circle of n - 1 places. In
// round r, two nodes meet if the sum of their places is r modulo n - 1. The node that would meet itself meets
// the last one. In each round every node has exactly one partner, and after n - 1 rounds all pairs have met.
// A round of probes takes `most` rounds of the tournament.
//
// Nodes derive the round from their clocks. If clocks differ, a node is sometimes probed by a few more
// others, which does no other harm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace railbed {

// Returns the indices of the nodes that node `own` of `count` probes in this round: at most `most`, each
// once.
std::vector<std::size_t> partners(std::size_t count, std::size_t own, std::uint64_t round, std::size_t most);

}  // namespace railbed
