// What a rehearsal of training found, for people.
#pragma once

#include <string>

#include "results/train.h"

namespace railbed {

// A time of a step, in the unit that fits it.
std::string seconds_text(double seconds);
std::string train_text(const TrainReport& report);

}  // namespace railbed
