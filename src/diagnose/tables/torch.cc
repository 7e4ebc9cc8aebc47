// What PyTorch's launchers, stores, process groups and Gloo print when something is wrong, and why.
#include "diagnose/tables/rows.h"

namespace railbed::diagnose {

std::span<const Symptom> torch_symptoms() { return {}; }

std::span<const Hypothesis> torch_hypotheses() { return {}; }

}  // namespace railbed::diagnose
