#include "model/part_speed.h"

#include "hardware/nic.h"
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

std::optional<BitRate> adapter_speed(const ClusterPart& part, Fabric fabric) {
  const bool infiniband = fabric == Fabric::kInfiniband;
  if (const AdapterModel* model = find_adapter_model(part.model))
    return infiniband ? model->infiniband : model->ethernet;
  const NicModel* nic = find_nic_named(part.model);
  if (nic == nullptr) return std::nullopt;
  return infiniband ? nic->infiniband : nic->ethernet;
}

}  // namespace railbed
