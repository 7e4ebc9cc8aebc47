#include "model/part_speed.h"

#include "hardware/part_model.h"

namespace railbed {

std::optional<BitRate> switch_speed(const ClusterPart& part) {
  if (part.speed) return part.speed;
  const SwitchModel* model = find_switch_model(part.model);
  return model == nullptr ? std::nullopt : std::optional(model->speed);
}

std::optional<BitRate> cable_speed(const ClusterPart& part) {
  if (part.speed) return part.speed;
  const CableModel* model = find_cable_model(part.model);
  return model == nullptr ? std::nullopt : std::optional(model->speed);
}

}  // namespace railbed
