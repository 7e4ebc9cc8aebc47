// The node's drives, and space for checkpoints.
#include <fmt/format.h>

#include <algorithm>

#include "hardware/nvme_warning.h"
#include "hardware/pci_link.h"
#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

void checkpoint_space(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "checkpoints", [](Case& verdict, const NodeView& node) {
    const auto& path = node.expect().checkpoint_path;
    if (!path) return verdict.not_applicable("cluster.yaml names no place (expect.checkpoint_path)");
    const auto& systems = node.facts->system.storage.file_systems;
    const auto found = std::ranges::find(systems, *path, &FileSystem::path);
    if (found == systems.end())
      return verdict.unknown("its facts were collected without asking for " + *path);
    verdict.seen(found->size);
    if (found->size.absent())
      return verdict.fail({.message = fmt::format("{} has no {}, where checkpoints go", *node.name, *path),
                           .expected = "there",
                           .observed = "not there",
                           .remedy = {"Mount it, and see that it is mounted at boot.",
                                      {"mount -a", command("findmnt {}", *path)}}});
    const ByteCount* size = verdict.read(found->size);
    if (size == nullptr) return;
    const ByteCount* free = verdict.read(found->available);
    if (free == nullptr) return;
    if (free->bytes >= size->bytes / 10) return verdict.pass(to_text(*free) + " free");
    verdict.warn(
        {.message = fmt::format("{} of {} has {} of {} left for checkpoints", *path, *node.name,
                                to_text(*free), to_text(*size)),
         .expected = "at least 10 % free",
         .observed = to_text(*free),
         .remedy = {
             "Delete old checkpoints, or write elsewhere.", {command("du -sh {}/*", *path)}, false, false}});
  });
}

constexpr int kWornPercent = 90;

void judge_drive(Case& verdict, const NodeView& node, const NvmeController& drive) {
  if (is_over_fabric(drive)) return verdict.not_applicable("it is a drive of another node");
  verdict.seen(drive.health);
  if (drive.health.absent()) return verdict.not_applicable("not recorded");
  if (needs_root(drive.health)) return verdict.not_applicable("asking a drive needs root");
  const NvmeHealth* health = verdict.read(drive.health);
  if (health == nullptr) return;
  const Remedy remedy = {
      "Copy what is on it, then replace it.", {command("nvme smart-log /dev/{}", drive.name)}, true, false};
  if (health->critical_warning != 0)
    return verdict.fail({.message = fmt::format("{} of {} warns: {}", drive.name, *node.name,
                                                nvme_warning_text(health->critical_warning)),
                         .expected = "no critical warning",
                         .observed = fmt::format("{:#04x}", health->critical_warning),
                         .remedy = remedy});
  if (health->used_percent >= kWornPercent || health->media_errors > 0)
    return verdict.warn(
        {.message = fmt::format("{} of {} has used {} % of its rated life and met {} media errors",
                                drive.name, *node.name, health->used_percent, health->media_errors),
         .expected = fmt::format("below {} %, no media errors", kWornPercent),
         .observed = fmt::format("{} %, {} errors", health->used_percent, health->media_errors),
         .remedy = remedy});
  verdict.pass(fmt::format("{} % used, {} °C", health->used_percent, health->celsius));
}

Things touches_of_drive(const NodeView&, const NvmeController& drive) {
  return drive.pci_address.ok() ? Things{"pci:" + *drive.pci_address} : Things();
}

void nvme_health(const Survey& survey, Judge& judge) {
  const auto drives_of = [](const NodeView& node) -> const auto& {
    return items(node.facts->system.storage.nvme);
  };
  each_of(survey, judge, drives_of, &NvmeController::name, touches_of_drive, judge_drive);
}

void nvme_link(const Survey& survey, Judge& judge) {
  const auto drives_of = [](const NodeView& node) {
    std::vector<const PciDevice*> drives;
    for (const PciDevice& device : node.pci())
      if (is_nvme(device)) drives.push_back(&device);
    return drives;
  };
  each_device(survey, judge, drives_of, [](Case& verdict, const NodeView& node, const PciDevice& drive) {
    const PcieLink* now = verdict.read_if_there(drive.link_now, "no PCIe link to see");
    if (now == nullptr) return;
    const PcieLink* most = verdict.read_if_there(drive.link_max, "no PCIe link to see");
    if (most == nullptr) return;
    const RealLink link = real_link(node.pci(), drive);
    if (link.state == PcieState::kNoData) return verdict.not_applicable(link.why);
    if (link.state == PcieState::kUnknown) return verdict.unknown(link.why);
    if (link.state != PcieState::kLost) return verdict.pass(to_text(*now));
    verdict.warn({.message = fmt::format("the drive at {} of {} runs at {}, it and its slot allow {}",
                                         drive.address, *node.name, to_text(*now), to_text(*link.possible)),
                  .expected = to_text(*link.possible),
                  .observed = to_text(*now),
                  .remedy = {"Reseat the drive, then its cable or backplane.",
                             {command("lspci -vvs {} | grep Lnk", drive.address)},
                             true}});
  });
}

}  // namespace

std::span<const Rule> disk_rules() {
  static const Rule kRules[] = {
      {.id = "storage.nvme-health",
       .title = "NVMe drive is well",
       .why = "A drive that warns of itself loses checkpoints soon, or slows the data loader now.",
       .source = "NVMe log page 2, SMART / Health (root)",
       .standard = "no critical warning; below 90 % of its rated life and no media errors (railbed's own)",
       .remedy = "Replace it.",
       .fixture = "h100-nvme-worn",
       .explained_by = {},
       .check = nvme_health},
      {.id = "storage.nvme-link",
       .title = "NVMe drive has its PCIe link",
       .why = "A drive on half its lanes loads data at half its speed.",
       .source = "/sys/bus/pci/devices/*/{current,max}_link_{speed,width}",
       .standard = "what the drive and its slot can",
       .remedy = "Reseat it.",
       .fixture = "h100-nvme-x2",
       .explained_by = {},
       .check = nvme_link},
      {.id = "storage.checkpoint-space",
       .title = "there is room for checkpoints",
       .why = "A job that cannot save its checkpoint has lost hours.",
       .source = "statvfs of expect.checkpoint_path",
       .standard = "mounted, with at least 10 % free (railbed's own)",
       .remedy = "Mount it, or make room.",
       .fixture = "h100-checkpoints-full",
       .explained_by = {},
       .check = checkpoint_space},
  };
  return kRules;
}

}  // namespace railbed
