// Observations in what PyTorch's launchers, stores, process groups and Gloo print that confirm or refute causes.
#include "diagnose/log/state.h"

namespace railbed::diagnose {

std::span<const Question> torch_questions() { return {}; }

std::span<const Opposites> torch_opposites() { return {}; }

}  // namespace railbed::diagnose
