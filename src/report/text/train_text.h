// Text about the results of a rehearsal of training.
#pragma once

#include <string>

#include "results/train.h"

namespace railbed {

// Returns a time of a step, in the unit that fits it.
std::string seconds_text(double seconds);
std::string train_text(const TrainReport& report);

}  // namespace railbed
