// Finds the ranks that lag: the part of judge_ras() that compares counts.
#pragma once

#include <vector>

#include "diagnose/ras/ras_verdict.h"

namespace railbed::diagnose {

// Returns the lags of all communicators that both answers have, the one that the others follow from first.
std::vector<RasLag> find_ras_lags(const RasPair& pair);

// Returns whether some rank's count grew between the answers.
bool ras_counts_grew(const RasPair& pair);

// Returns whether the ranks of two lags of one communicator made different calls: each is ahead where the other is
// behind.
bool ras_ranks_disagree(const RasLag& one, const RasLag& other);

}  // namespace railbed::diagnose
