#include "settings/network/software_link.h"

#include <fmt/format.h>

#include <string>

#include "settings/unit_instance.h"

namespace railbed {
namespace {

// Returns the unit that creates the device. A device that already exists on this interface serves as well,
// and a second one would be rejected.
std::string link_unit(std::string_view driver) {
  return unit_of_interface(
      fmt::format("Software RDMA ({}) on %I", driver),
      fmt::format("ExecCondition=/bin/sh -c '! grep -qsx %I /sys/class/infiniband/*/parent'\n"
                  "ExecStart=rdma link add {0}_%I type {0} netdev %I\n"
                  "ExecStop=-rdma link delete {0}_%I\n",
                  driver));
}

Need has_software_device(const Target& target, const RailEnd& end) {
  Need need{.what = fmt::format("{} has an RDMA device", end.name)};
  if (!target.looked() || !target.facts().rdma.devices.ok()) return need;
  need.now = static_cast<bool>(end.rdma);
  if (!*need.now) need.found = "none";
  return need;
}

Setting links_of(const Target& target, const std::string& driver) {
  const std::string unit = "railbed-" + driver;
  Setting setting{
      .section = Section::kModules,
      .name = "modules/software-links",
      .title = fmt::format("software RDMA devices ({})", driver),
      .reason = "a rail on software RDMA has a device only until the next boot, unless a unit makes it",
      .files = {{.path = fmt::format("/etc/systemd/system/{}@.service", unit), .content = link_unit(driver)}},
      .steps = {{StepKind::kReloadUnits, {}}}};
  for (const RailEnd& end : target.view.ends) {
    if (!end.software_rdma() || end.rail->rdma_driver != driver || !is_plain_interface(end.name)) continue;
    setting.subjects.push_back(end.name);
    setting.needs.push_back(has_software_device(target, end));
    setting.steps.push_back({StepKind::kEnableUnit, {instance_of(unit, end.name)}});
  }
  if (target.platform.os == "ubuntu")
    setting.notes.push_back("Ubuntu has this driver in the package linux-modules-extra of its kernel.");
  return setting;
}

}  // namespace

void add_software_links(const Target& target, std::vector<Setting>& settings) {
  for (const std::string driver : {"rxe", "siw"}) {
    Setting setting = links_of(target, driver);
    if (!setting.needs.empty()) settings.push_back(std::move(setting));
  }
}

}  // namespace railbed
