// RDMA settings that are lost at every boot: the traffic class of RDMA-CM's connections, and the size of the
// requests by which an adapter reads memory.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "settings/files.h"
#include "settings/render.h"
#include "settings/unit_instance.h"

namespace railbed {
namespace {

// --- the traffic class ---

// The unit's name in the facts, and in a rule of verify: rdma.traffic-class-service.
constexpr const char* kTosUnit = "rdma-cm-tos.service";

// RDMA devices are found through their interfaces, since udev's rules change their names. dev_port counts a
// function's ports from 0, RDMA from 1. The driver's RDMA part may load after its network part, so the unit
// waits up to a minute for all devices together. configfs offers a device's folder once rdma_cm is loaded
// (Documentation/ABI/testing/configfs-rdma_cm).
std::string tos_unit(const std::vector<std::string>& interfaces, int tos) {
  return fmt::format(
      "{}[Unit]\n"
      "Description=RoCE traffic class of connections that RDMA-CM makes\n"
      "Wants=sys-kernel-config.mount\n"
      "After=sys-kernel-config.mount\n"
      "\n"
      "[Service]\n"
      "Type=oneshot\n"
      "RemainAfterExit=yes\n"
      "ExecStartPre=modprobe rdma_cm\n"
      "ExecStart=/bin/sh -c 'n=0; f=0; for i in {}; do \\\n"
      "  until [ -d /sys/class/net/$$i/device/infiniband ] || [ $$n -ge 60 ]; do sleep 1; n=$$((n+1)); done; \\\n"
      "  p=$$(($$(cat /sys/class/net/$$i/dev_port)+1)); \\\n"
      "  for d in /sys/class/net/$$i/device/infiniband/*; do c=/sys/kernel/config/rdma_cm/$${{d##*/}}; \\\n"
      "  mkdir -p $$c && echo {} >$$c/ports/$$p/default_roce_tos || f=1; done; done; exit $$f'\n"
      "\n"
      "[Install]\n"
      "WantedBy=multi-user.target\n",
      kFileMark, fmt::join(interfaces, " "), tos);
}

Need marks(const Target& target, const RailEnd& end, int tos) {
  Need need{.what = fmt::format("RDMA-CM marks connections on {} with ToS {}", end.name, tos)};
  if (!target.looked()) return need;
  if (target.facts().system.services.ok()) need.at_boot = is_enabled_unit(target.view, "rdma-cm-tos");
  if (need.at_boot == false) need.found = "no unit rdma-cm-tos sets it at boot";
  if (!end.rdma || !end.rdma.port->roce_tos.ok()) return need;
  need.now = *end.rdma.port->roce_tos == tos;
  if (!*need.now) need.found = fmt::format("ToS {}", *end.rdma.port->roce_tos);
  return need;
}

void add_tos(const Target& target, std::vector<Setting>& settings) {
  const auto& tos = target.node().expect.traffic_class;
  const auto interfaces = carriers_of(target, is_roce_port);
  if (!tos || interfaces.empty()) return;
  Setting setting{
      .section = Section::kRdma,
      .name = "rdma/traffic-class",
      .title = fmt::format("RDMA-CM's traffic class {} (DSCP {})", *tos, *tos >> 2),
      .reason =
          "connections that are not marked travel outside the lossless class; the mark is lost at every "
          "boot",
      .files = {{.path = fmt::format("/etc/systemd/system/{}", kTosUnit),
                 .content = tos_unit(interfaces, *tos)}},
      .steps = {{StepKind::kReloadUnits, {}},
                {StepKind::kEnableUnit, {kTosUnit}},
                {StepKind::kRestartUnit, {kTosUnit}}},
      .notes = {fmt::format("It marks connections that RDMA-CM makes, from now on. NCCL makes its own: "
                            "NCCL_IB_TC={} marks those.",
                            *tos)}};
  for (const RailEnd& end : target.view.ends)
    if (is_roce_port(end)) setting.needs.push_back(marks(target, end, *tos));
  settings.push_back(std::move(setting));
}

// --- the adapter's read requests ---

constexpr double kFastGigabits = 100;  // the threshold of the rule pcie.read-request
constexpr int kReadRequest = 4096;

// Bits 12 to 14 of Device Control: 5 is 4096 bytes (PCI Express Base Specification, 7.5.3.4). Bit 4, relaxed
// ordering, stays unchanged: Linux clears it below root ports that handle it wrongly (drivers/pci/probe.c,
// pci_configure_relaxed_ordering).
constexpr std::string_view kSetReadRequest =
    "ExecStart=/bin/sh -c 'exec setpci -s \"$$(basename \"$$(readlink -f /sys/class/net/%I/device)\")\" "
    "CAP_EXP+8.w=5000:7000'\n";

bool is_fast_adapter(const RailEnd& end) {
  if (!end.rdma_rail() || end.software_rdma() || end.model == nullptr) return false;
  if (end.rail->speed) return end.rail->speed->gigabits() >= kFastGigabits;
  return std::max(end.model->ethernet.gigabits(), end.model->infiniband.gigabits()) >= kFastGigabits;
}

// The size is set at boot by firmware or by some unit. The facts do not show which, so the present value is
// taken for the one after the next boot.
Need reads_large_pieces(const RailEnd& end) {
  Need need{.what = fmt::format("the adapter of {} reads in pieces of {} bytes", end.name, kReadRequest)};
  const auto& bytes = end.adapter->max_read_request;
  if (!bytes.ok()) return need;
  need.now = *bytes >= kReadRequest;
  if (*need.now)
    need.at_boot = true;
  else
    need.found = fmt::format("{} bytes", *bytes);
  return need;
}

// kernel_lockdown(7) blocks setpci; with pcie_bus_perf and similar options, the kernel chose the size on
// purpose.
bool may_set_read_request(const Kernel& kernel) {
  return !kernel.signatures_required.value_or(false) &&
         kernel.command_line.value_or("").find("pcie_bus_") == std::string::npos;
}

void add_read_request(const Target& target, std::vector<Setting>& settings) {
  const auto interfaces = carriers_of(target, is_fast_adapter);
  if (interfaces.empty() || !may_set_read_request(target.facts().system.kernel)) return;
  Setting setting{
      .section = Section::kRdma,
      .name = "rdma/read-request",
      .title = fmt::format("adapters read in pieces of {} bytes", kReadRequest),
      .reason = "at 512 bytes a read, as most firmware leaves it, a port of 100 Gb/s and more starves",
      .files = {{.path = "/etc/systemd/system/railbed-read-request@.service",
                 .content = unit_of_interface("Size of PCI Express read requests of %I", kSetReadRequest)}},
      .steps = {{StepKind::kReloadUnits, {}}}};
  for (const RailEnd& end : target.view.ends)
    if (is_fast_adapter(end)) setting.needs.push_back(reads_large_pieces(end));
  for (const std::string& interface : interfaces)
    setting.steps.push_back({StepKind::kEnableUnit, {instance_of("railbed-read-request", interface)}});
  settings.push_back(std::move(setting));
}

}  // namespace

void render_rdma(const Target& target, std::vector<Setting>& settings) {
  add_tos(target, settings);
  add_read_request(target, settings);
}

}  // namespace railbed
