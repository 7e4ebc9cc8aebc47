// What a rehearsal of training found, for people.
#pragma once

#include <string>

#include "results/train.h"

namespace railbed {

std::string train_text(const TrainReport& report);

}  // namespace railbed
