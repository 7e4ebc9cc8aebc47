// Text about the results of a rehearsal of training.
#pragma once

#include <string>

#include "base/units.h"
#include "results/train.h"

namespace railbed {

// Returns a time of a step, in the unit that fits it.
std::string seconds_text(double seconds);
// "12.5 GB/s"
std::string gigabytes_text(BitRate rate);
std::string train_text(const TrainReport& report);

}  // namespace railbed
