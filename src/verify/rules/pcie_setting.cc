// Settings of PCI Express devices: request and payload sizes, ordering, address ranges.
#include <fmt/format.h>

#include <algorithm>

#include "hardware/pci_path.h"
#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

constexpr double kFastPort = 100;  // Gb/s from which such settings matter

// Returns true after ending the case if the adapter has no fast port.
bool lacks_fast_port(Case& verdict, const RailEnd& end) {
  if (end.adapter != nullptr && end.rdma && end.rdma.port->rate.value_or(BitRate{}).gigabits() >= kFastPort)
    return false;
  verdict.not_applicable("no port of 100 Gb/s or more");
  return true;
}

void read_request(const Survey& survey, Judge& judge) {
  each_end(survey, judge, [](Case& verdict, const RailEnd& end) {
    if (lacks_fast_port(verdict, end)) return;
    const int* bytes = verdict.read_if_there(end.adapter->max_read_request, "no PCI Express capability");
    if (bytes == nullptr) return;
    if (*bytes >= 4096) return verdict.pass(std::to_string(*bytes));
    verdict.warn(
        {.message = fmt::format("adapter {} of {} reads memory in pieces of {} bytes, 4096 is best",
                                end.adapter->address, *end.node, *bytes),
         .expected = "4096",
         .observed = std::to_string(*bytes),
         .remedy = {"Set bits 12-14 of Device Control to 5; it is lost at reboot, so by a boot unit.",
                    {command("setpci -s {} CAP_EXP+8.w=5000:7000", end.adapter->address)}}});
  });
}

void relaxed_ordering(const Survey& survey, Judge& judge) {
  each_end(survey, judge, [](Case& verdict, const RailEnd& end) {
    if (lacks_fast_port(verdict, end)) return;
    const bool* on = verdict.read_if_there(end.adapter->relaxed_ordering, "no PCI Express capability");
    if (on == nullptr) return;
    if (*on) return verdict.pass("on");
    verdict.warn(
        {.message = fmt::format(
             "adapter {} of {} may not send with relaxed ordering: each write waits for the one before it",
             end.adapter->address, *end.node),
         .expected = "on",
         .observed = "off",
         .remedy = {"Set bit 4 of Device Control, and look for \"relaxed ordering\" in the BIOS.",
                    {command("setpci -s {} CAP_EXP+8.w=0010:0010", end.adapter->address)}}});
  });
}

// Every device on the path has to accept packets as large as any other sends (PCI Express Base Specification,
// Max_Payload_Size): a larger one is a malformed packet, a fatal error.
void payload(const Survey& survey, Judge& judge) {
  each_accelerator(survey, judge, [](Case& verdict, const NodeView& node, const PciDevice& device) {
    const int* mine = verdict.read_if_there(device.max_payload, "no PCI Express capability");
    if (mine == nullptr) return;
    const auto path = path_to_root(node.pci(), device);
    const auto other = std::ranges::find_if(
        path, [&](const PciDevice* hop) { return hop->max_payload.ok() && *hop->max_payload != *mine; });
    if (other == path.end()) return verdict.pass(std::to_string(*mine));
    verdict.fail(
        {.message =
             fmt::format("{} of {} sends packets of {} bytes, {} above it {}: the larger ones are errors",
                         device.address, *node.name, *mine, (*other)->address, *(*other)->max_payload),
         .expected = "one MaxPayload from the device to the root",
         .observed = fmt::format("{} and {}", *mine, *(*other)->max_payload),
         .remedy = {"Let the kernel set it: pci=pcie_bus_safe on the kernel command line; or the BIOS.",
                    {command("lspci -vvs {} | grep MaxPayload", device.address),
                     command("lspci -vvs {} | grep MaxPayload", (*other)->address)},
                    true}});
  });
}

void bars_assigned(const Survey& survey, Judge& judge) {
  each_accelerator(survey, judge, [](Case& verdict, const NodeView& node, const PciDevice& device) {
    const auto* bars = verdict.read_if_there(device.unassigned_bars, "its resources were not read");
    if (bars == nullptr) return;
    if (bars->empty()) return verdict.pass("all");
    verdict.fail({.message = fmt::format(
                      "the firmware of {} found no room for BAR {} of {}: its driver cannot start it",
                      *node.name, fmt::join(*bars, ", "), device.address),
                  .expected = "every BAR has an address",
                  .observed = fmt::format("BAR {} has none", fmt::join(*bars, ", ")),
                  .remedy = {"Switch on \"Above 4G decoding\" and resizable BAR support in the BIOS; "
                             "pci=realloc where there is no such setting.",
                             {command("lspci -vvs {} | grep -i region", device.address)},
                             true}});
  });
}

}  // namespace

std::span<const Rule> pcie_setting_rules() {
  static const Rule kRules[] = {
      {.id = "pcie.read-request",
       .title = "adapter reads in large pieces",
       .why =
           "Each read of host or GPU memory asks for at most MaxReadReq bytes; at 512 a fast port starves.",
       .source = "Device Control of /sys/bus/pci/devices/*/config",
       .standard = "4096 on ports of 100 Gb/s and more",
       .remedy = "Raise it with setpci, and with a unit at each boot.",
       .fixture = "h100-read-request-512",
       .explained_by = {},
       .settings = {"rdma/read-request"},
       .check = read_request},
      {.id = "pcie.relaxed-ordering",
       .title = "adapter may relax the order of its writes",
       .why = "With strict ordering a write waits in the root complex for the one before it: "
              "half the rate on some processors.",
       .source = "Device Control of /sys/bus/pci/devices/*/config, bit 4",
       .standard = "on for ports of 100 Gb/s and more",
       .remedy = "Allow it with setpci, or in the BIOS.",
       .fixture = "h100-relaxed-ordering-off",
       .explained_by = {},
       .check = relaxed_ordering},
      {.id = "pcie.payload",
       .title = "one packet size on each PCIe path",
       .why = "A device that sends larger packets than a bridge takes causes fatal errors; "
              "one that takes less is slow.",
       .source = "Device Control of each hop's /sys/bus/pci/devices/*/config, bits 7:5",
       .standard = "equal from the device to the root (PCI Express Base Specification)",
       .remedy = "Put pci=pcie_bus_safe on the kernel command line, or set it in the BIOS.",
       .fixture = "h100-payload-mixed",
       .explained_by = {},
       .check = payload},
      {.id = "pcie.bars-assigned",
       .title = "every BAR has an address",
       .why =
           "A GPU's memory window of gigabytes fits only above 4 GiB; without it the driver does not start.",
       .source = "/sys/bus/pci/devices/*/resource",
       .standard = "none unset",
       .remedy = "Switch on Above 4G decoding and resizable BAR in the BIOS.",
       .fixture = "h100-bar-unassigned",
       .explained_by = {},
       .check = bars_assigned},
  };
  return kRules;
}

}  // namespace railbed
