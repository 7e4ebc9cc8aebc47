// Network adapters and PCI Express in the kernel's log.
#include <fmt/format.h>

#include <algorithm>

#include "base/moment.h"
#include "base/text.h"
#include "hardware/pci_link.h"
#include "hardware/pcie_error.h"
#include "model/tools.h"
#include "verify/areas.h"
#include "verify/log_events.h"

namespace railbed {
namespace {

bool is_adapter_at(const NodeView& node, const std::string& address) {
  return std::ranges::find(node.adapters(), address, &PciDevice::address) != node.adapters().end();
}

bool carries_rail(const NodeView& node, const std::string& address) {
  return std::ranges::any_of(node.ends, [&](const RailEnd& end) {
    return end.adapter != nullptr && end.adapter->address == address;
  });
}

ShellCommand lines_about(const std::string& subject) {
  return command("journalctl -k -b | grep {}", subject);
}

void device_health(const Survey& survey, Judge& judge) {
  each_told(
      survey, judge, "adapter health", is(LogKind::kAdapterHealth), [](Case& verdict, const Told& told) {
        const std::string& address = told.newest().subject;
        verdict.fail({.message = fmt::format(
                          "the firmware of adapter {} on {} failed ({}): it drops off or is reset under load",
                          address, *told.node.name, told.how_often()),
                      .expected = "no such message",
                      .observed = told.newest().text,
                      .remedy = {"Power the node off fully; update the adapter's firmware, then replace it.",
                                 {lines_about(address), show_firmware_with(address)},
                                 true}});
      });
}

// Returns the meaning of the kernel's error number when an adapter fails to start; errno(3).
std::string_view why_not_started(int code) {
  switch (code) {
    case 5:
      return "it gave an error";
    case 12:
      return "the system had no memory or no address for it";
    case 16:
      return "its firmware was not ready";
    case 22:
      return "its firmware refused a setting: driver and firmware do not fit";
    case 110:
      return "its firmware did not answer in time";
    default:
      return "the log says what was tried";
  }
}

bool has_driver(const NodeView& node, const std::string& address) {
  const PciDevice* device = find_pci(node.pci(), address);
  return device != nullptr && device->driver && device->driver->starts_with("mlx");
}

void start_failed(const Survey& survey, Judge& judge) {
  each_told(
      survey, judge, "adapter start", is(LogKind::kAdapterStartFailed), [](Case& verdict, const Told& told) {
        const std::string& address = told.newest().subject;
        if (has_driver(told.node, address)) return verdict.pass("started since");
        const auto coded =
            std::ranges::find_if(told.events, [](const LogEvent* event) { return event->code != 0; });
        const LogEvent& main = coded == told.events.end() ? told.newest() : **coded;
        verdict.red(
            is_adapter_at(told.node, address) ? Status::kFail : Status::kWarn,
            {.message = fmt::format("the driver could not start adapter {} of {} ({}): {}", address,
                                    *told.node.name, told.how_often(), why_not_started(main.code)),
             .expected = "the driver starts it",
             .observed = told.newest().text,
             .remedy = {
                 "Read what stands before it in the log; power the node off fully, then bring firmware and "
                 "driver to versions that fit.",
                 {lines_about(address), show_firmware_with(address)},
                 true}});
      });
}

// GB10's adapter is soldered to the board: the message about slot power does not apply (NVIDIA DGX Spark
// forum: benign).
bool is_built_in(const NodeView& node) {
  return std::ranges::any_of(items(node.facts->gpus.devices), [](const Gpu& gpu) {
    return gpu.model.value_or("").find("GB10") != std::string::npos;
  });
}

void slot_power(const Survey& survey, Judge& judge) {
  each_told(survey, judge, "slot power", is(LogKind::kSlotPower), [](Case& verdict, const Told& told) {
    const LogEvent& last = told.newest();
    if (is_built_in(told.node))
      return verdict.not_applicable("DGX Spark's adapter is on its board: the message is harmless there");
    if (!told.node.facts->gpus.devices.ok())
      return verdict.unknown(
          "the log has the message, which is harmless on a DGX Spark; what machine this is is not in the report");
    verdict.warn({.message = fmt::format(
                      "adapter {} of {} finds only {} W at its slot: modules of long reach stay dark, "
                      "and it may slow down",
                      last.subject, *told.node.name, last.code),
                  .expected = "the power that the card asks for",
                  .observed = fmt::format("{} W", last.code),
                  .remedy = {"Use a slot of 75 W, connect the card's own power cable, "
                             "or update the BIOS that does not announce the slot's power.",
                             {command("lspci -vvs {} | grep -i power", last.subject)},
                             true}});
  });
}

void adapter_hot(const Survey& survey, Judge& judge) {
  each_told(
      survey, judge, "adapter temperature", is(LogKind::kAdapterHot), [](Case& verdict, const Told& told) {
        const std::string& address = told.newest().subject;
        std::vector<ShellCommand> commands = show_temperature_with(told.node, address);
        commands.push_back(lines_about(address));
        verdict.warn(
            {.message = fmt::format(
                 "adapter {} of {} or its module was too hot ({}): it slows down, then takes the link away",
                 address, *told.node.name, told.how_often()),
             .expected = "below its limit",
             .observed = told.newest().text,
             .remedy = {"Raise the fans (full speed for cards without their own sensor), "
                        "look at the air flow and at neighbouring modules.",
                        commands}});
      });
}

bool moves_rail_cable(const NodeView& node, const LogEvent& event) {
  return (event.kind == LogKind::kCablePlugged || event.kind == LogKind::kCableUnplugged) &&
         carries_rail(node, event.subject);
}

// People plug and unplug cables on purpose: only a port that should carry a rail and was left open counts.
void cable_unplugged(const Survey& survey, Judge& judge) {
  each_told(survey, judge, "cable", moves_rail_cable, [](Case& verdict, const Told& told) {
    const LogEvent& last = told.newest();
    if (last.kind == LogKind::kCablePlugged) return verdict.pass("plugged at " + utc_text(last.last));
    verdict.fail({.message = fmt::format("the cable of adapter {} on {} is unplugged, since {}", last.subject,
                                         *told.node.name, utc_text(last.last)),
                  .expected = "plugged",
                  .observed = "unplugged",
                  .remedy = {"Plug it in again, to the click.", {lines_about(last.subject)}}});
  });
}

void cable_error(const Survey& survey, Judge& judge) {
  each_told(survey, judge, "cable", is(LogKind::kCableError), [](Case& verdict, const Told& told) {
    const LogEvent& last = told.newest();
    verdict.fail({.message = fmt::format("adapter {} of {} refuses its cable or module ({})", last.subject,
                                         *told.node.name, told.how_often()),
                  .expected = "accepted",
                  .observed = last.text,
                  .remedy = {"Clean and reseat the module; then take one that the adapter supports.",
                             {lines_about(last.subject), command("mstlink -d {} -m", last.subject)}}});
  });
}

void aer_uncorrected(const Survey& survey, Judge& judge) {
  each_told(survey, judge, "PCIe errors", is(LogKind::kAerFatal, LogKind::kAerNonFatal),
            [](Case& verdict, const Told& told) {
              const LogEvent& last = told.newest();
              const PcieTrouble trouble = trouble_of_pcie_line(last.text);
              const std::string_view where = is_of_transaction_layer(trouble) ? " in the transaction layer"
                                             : trouble == PcieTrouble::kLink  ? " on the link"
                                                                              : "";
              verdict.fail(
                  {.message = fmt::format("{} of {} reported PCIe errors{} that could not be corrected ({})",
                                          told.thing(), *told.node.name, where, told.how_often()),
                   .expected = "none",
                   .observed = last.text,
                   .remedy = {std::string(remedy_of(trouble, is_built_in(told.node))),
                              {lines_about(last.subject), command("lspci -vvs {}", last.subject)},
                              true}});
            });
}

void aer_corrected(const Survey& survey, Judge& judge) {
  static constexpr double kPerDay = 100;  // our value; the kernel prints at most ten in five seconds
  each_told(
      survey, judge, "corrected PCIe errors", is(LogKind::kAerCorrected),
      [](Case& verdict, const Told& told) {
        const LogEvent& last = told.newest();
        if (told.per_day() < kPerDay) return verdict.pass(told.how_often());
        verdict.warn(
            {.message = fmt::format("{} of {} corrects PCIe errors, {:.0f} a day: each repeats a transfer",
                                    told.thing(), *told.node.name, told.per_day()),
             .expected = fmt::format("fewer than {:.0f} a day", kPerDay),
             .observed = told.how_often(),
             .remedy = {"Reseat the card and its riser; look at the slot's signal settings in the BIOS.",
                        {command("cat /sys/bus/pci/devices/{}/aer_dev_correctable", last.subject)},
                        true}});
      });
}

void slot_lost(const Survey& survey, Judge& judge) {
  each_told(survey, judge, "PCIe slots", is(LogKind::kSlotLinkDown), [](Case& verdict, const Told& told) {
    const LogEvent& last = told.newest();
    verdict.touch("gpus");
    verdict.fail(
        {.message = fmt::format("the PCIe link below {} on {} was lost ({}): what is in that slot went away",
                                last.subject, *told.node.name, told.how_often()),
         .expected = "no slot loses its link",
         .observed = last.text,
         .remedy = {"Look at power and seat of the card; then power the node off fully.",
                    {command("lspci -tv -s {}", last.subject), lines_about(last.subject)},
                    true}});
  });
}

bool limits_gpu_or_adapter(const NodeView& node, const LogEvent& event) {
  const PciDevice* device = find_pci(node.pci(), event.subject);
  return event.kind == LogKind::kBandwidthLimited && device != nullptr &&
         (is_gpu(*device) || is_adapter_at(node, event.subject));
}

// Parses "2.5 GT/s PCIe x16 link" at the beginning of a text.
std::optional<PcieLink> link_in(std::string_view text) {
  const auto parts = words(text.substr(0, text.find(" link")));
  if (parts.size() != 4 || parts[1] != "GT/s" || !parts[3].starts_with('x')) return std::nullopt;
  const auto rate = parse_real(parts[0]);
  const auto width = parse_number<int>(parts[3].substr(1));
  return rate && width ? std::optional(PcieLink{*rate, *width}) : std::nullopt;
}

// Returns the link above a device of which the port at `hop` is an end; nullopt if none is.
std::optional<RealLink> link_at(const NodeView& node, const PciDevice& device, std::string_view hop) {
  for (const RealLink& link : links_above(node.pci(), device)) {
    const PciDevice* above = link.lower->parent.ok() ? find_pci(node.pci(), *link.lower->parent) : nullptr;
    if (link.lower->address == hop || (above != nullptr && above->address == hop)) return link;
  }
  return std::nullopt;
}

// Returns what contradicts the kernel's message, which is of the moment when it found the card; empty if nothing
// does. A GPU that is idle then has lowered the speed of its link, though not its width. And the hop may run at
// full speed by now, or be one that never does more: a slot of fewer lanes, or a cable of Thunderbolt.
std::string not_held_back(const NodeView& node, const LogEvent& event) {
  constexpr std::string_view kLimit = "limited by ", kAt = " link at ", kWith = " Gb/s with ";
  const std::string_view text = event.text;
  const auto limit = text.find(kLimit), at = text.find(kAt), with = text.find(kWith);
  if (limit == text.npos || at == text.npos || with == text.npos) return "";
  const auto had = link_in(text.substr(limit + kLimit.size()));
  const auto can = link_in(text.substr(with + kWith.size()));
  const PciDevice* device = find_pci(node.pci(), event.subject);
  if (!had || !can || device == nullptr) return "";
  if (is_gpu(*device) && had->width >= can->width)
    return "all lanes; a GPU that is idle lowers the speed of its link";
  const auto place = text.substr(at + kAt.size());
  const auto link = link_at(node, *device, place.substr(0, place.find(' ')));
  if (!link) return "";
  switch (link->state) {
    case PcieState::kBest:
    case PcieState::kResting:
      return "by now the hop runs at full speed";
    case PcieState::kHeld:
      return fmt::format("the hop can do no more than {}", to_text(*link->possible));
    case PcieState::kTunnel:
      return "a cable of Thunderbolt or USB4, which states less than it carries";
    case PcieState::kNoData:
      return link->why;
    case PcieState::kLost:
    case PcieState::kUnknown:
      return "";
  }
  return "";
}

void bandwidth_limited(const Survey& survey, Judge& judge) {
  each_told(survey, judge, "PCIe bandwidth", limits_gpu_or_adapter, [](Case& verdict, const Told& told) {
    const LogEvent& last = told.newest();
    if (std::string why = not_held_back(told.node, last); !why.empty()) return verdict.pass(std::move(why));
    verdict.warn(
        {.message = fmt::format("the kernel found that a PCIe hop above {} on {} holds it back", told.thing(),
                                *told.node.name),
         .expected = "as much as the card can do",
         .observed = last.text,
         .remedy = {
             "Look at the hop that the message names: another slot, its riser, or its setting in the BIOS.",
             {command("lspci -vvs {} | grep -i lnk", last.subject)},
             true}});
  });
}

bool takes_rail_down(const NodeView& node, const LogEvent& event) {
  return event.kind == LogKind::kLinkDown &&
         std::ranges::find(node.ends, event.subject, &RailEnd::name) != node.ends.end();
}

void link_flaps(const Survey& survey, Judge& judge) {
  static constexpr double kPerDay = 5;
  each_told(survey, judge, "links", takes_rail_down, [](Case& verdict, const Told& told) {
    const LogEvent& last = told.newest();
    if (told.per_day() < kPerDay) return verdict.pass(told.how_often());
    verdict.warn(
        {.message = fmt::format("{} of {} lost its link {}", last.subject, *told.node.name, told.how_often()),
         .expected = fmt::format("fewer than {:.0f} times a day", kPerDay),
         .observed = fmt::format("{:.0f} a day", told.per_day()),
         .remedy = {
             "Clean and reseat the cable at both ends, then swap it; look at the switch port's own log.",
             {lines_about(last.subject), command("ethtool -m {}", last.subject)}}});
  });
}

void transmit_timeout(const Survey& survey, Judge& judge) {
  each_told(
      survey, judge, "transmit queues", is(LogKind::kTransmitTimeout), [](Case& verdict, const Told& told) {
        const LogEvent& last = told.newest();
        verdict.fail(
            {.message = fmt::format("a transmit queue of {} on {} stood still ({}): the adapter was reset",
                                    last.subject, *told.node.name, told.how_often()),
             .expected = "no transmit timeout",
             .observed = last.text,
             .remedy = {
                 "Look for pauses from the switch (a PFC storm); update the adapter's firmware and driver.",
                 {lines_about(last.subject), command("ethtool -S {} | grep -i pause", last.subject)}}});
      });
}

void iommu_fault(const Survey& survey, Judge& judge) {
  each_told(survey, judge, "IOMMU", is(LogKind::kIommuFault), [](Case& verdict, const Told& told) {
    const LogEvent& last = told.newest();
    verdict.fail({.message = fmt::format("the IOMMU of {} refused transfers of {} ({}): data did not arrive",
                                         *told.node.name, last.subject.empty() ? "a device" : told.thing(),
                                         told.how_often()),
                  .expected = "none refused",
                  .observed = last.text,
                  .remedy = {"Set the IOMMU to passthrough, and look for a driver or firmware update.",
                             {"journalctl -k -b | grep -e DMAR -e AMD-Vi", "cat /proc/cmdline"},
                             true}});
  });
}

}  // namespace

std::span<const Rule> log_device_rules() {
  static const Rule kRules[] = {
      {.id = "rdma.device-health",
       .title = "adapter's firmware is healthy",
       .why = "A firmware that stops answering takes all traffic with it, and each command leaks.",
       .source = "mlx5_core and mlx4_core in the kernel log: miss count, unrecoverable hardware error, "
                 "leaked commands",
       .standard = "none",
       .remedy = "Power off fully, then update the firmware, then replace the adapter.",
       .fixture = "h100-adapter-health",
       .explained_by = {"pcie.aer-uncorrected"},
       .check = device_health},
      {.id = "rdma.start-failed",
       .title = "driver could start every adapter",
       .why = "The card is on PCI and its driver gave up on it: no interface and no RDMA device come of it.",
       .source = "mlx5_core and mlx4_core in the kernel log: failed with error code, function_setup, probe",
       .standard = "none that has no driver now",
       .remedy = "Power off fully, then compare firmware and driver.",
       .fixture = "h100-adapter-start",
       .explained_by = {"rdma.device-health", "pcie.aer-uncorrected", "pcie.bars-assigned",
                        "host.module-rejected"},
       .check = start_failed},
      {.id = "rdma.slot-power",
       .title = "slot gives the adapter its power",
       .why = "Below what it asks for, the adapter switches modules off and slows down.",
       .source = "mlx5_core in the kernel log: insufficient power on the PCIe slot",
       .standard = "none; DGX Spark prints it without harm",
       .remedy = "Use another slot, look at its power cable, or set it in the BIOS.",
       .fixture = "h100-slot-power",
       .explained_by = {},
       .check = slot_power},
      {.id = "rdma.adapter-hot",
       .title = "adapter and module stay cool",
       .why = "A hot adapter slows down and then shuts its port.",
       .source = "mlx5_core in the kernel log: high temperature",
       .standard = "none",
       .remedy = "Look at the fans and the air flow.",
       .fixture = "h100-adapter-hot",
       .explained_by = {},
       .check = adapter_hot},
      {.id = "rdma.cable-unplugged",
       .title = "cable of a rail is plugged",
       .why = "Says that it was pulled and when; without it a dead port only says that it is down.",
       .source = "mlx5_core in the kernel log: port module event",
       .standard = "the last event of a rail's adapter is not \"unplugged\"",
       .remedy = "Plug it in.",
       .fixture = "h100-cable-unplugged",
       .explained_by = {},
       .check = cable_unplugged},
      {.id = "rdma.cable-error",
       .title = "adapter accepts its cable",
       .why = "A module that is refused, or whose bus hangs, gives no link or a slow one.",
       .source = "mlx5_core in the kernel log: port module event, cable error",
       .standard = "none",
       .remedy = "Clean and reseat the cable and its module, then swap them.",
       .fixture = "h100-cable-error",
       .explained_by = {"rdma.adapter-hot"},
       .check = cable_error},
      {.id = "pcie.aer-uncorrected",
       .title = "no uncorrected PCIe error",
       .why = "Data was lost between the processor and a card; the driver resets it, or it is gone.",
       .source = "\"PCIe Bus Error\" in the kernel log",
       .standard = "none",
       .remedy = "Look at its layer and at what stands before it; reseat, update; replace what it follows.",
       .fixture = "h100-aer-fatal",
       .explained_by = {},
       .check = aer_uncorrected},
      {.id = "pcie.aer-corrected",
       .title = "few corrected PCIe errors",
       .why = "Each costs a repeat; many announce the one that cannot be corrected.",
       .source = "\"PCIe Bus Error\" in the kernel log",
       .standard = "fewer than 100 a day for one device; ours",
       .remedy = "Reseat card and riser.",
       .fixture = "h100-aer-corrected",
       .explained_by = {"pcie.aer-uncorrected"},
       .check = aer_corrected},
      {.id = "pcie.slot-lost",
       .title = "no slot lost its link",
       .why = "The card in it went away while the node ran: power, seat, or the card itself.",
       .source = "\"pciehp: Slot(…): Link Down\" in the kernel log",
       .standard = "none",
       .remedy = "Look at power and seat, then power off fully.",
       .fixture = "h100-slot-lost",
       .explained_by = {"pcie.aer-uncorrected"},
       .check = slot_lost},
      {.id = "pcie.bandwidth-limited",
       .title = "no PCIe hop holds a card back",
       .why = "The kernel compared what the card can do with the narrowest hop above it when it started.",
       .source = "\"available PCIe bandwidth, limited by\" in the kernel log",
       .standard = "none for GPUs and adapters",
       .remedy = "Use another slot, or look at the riser and the BIOS.",
       .fixture = "h100-bandwidth-limited",
       .explained_by = {"pcie.adapter-link", "pcie.gpu-link", "pcie.slot-limits-adapter"},
       .check = bandwidth_limited},
      {.id = "net.link-flaps-log",
       .title = "rails keep their link",
       .why = "The log says when each loss was: at one time of day, with one switch, or at random.",
       .source = "\"Link is down\" of the interface's driver in the kernel log",
       .standard = "fewer than 5 losses a day; gpud counts likewise",
       .remedy = "Clean, reseat, swap the cable.",
       .fixture = "h100-link-flaps-log",
       .explained_by = {"rdma.cable-unplugged", "rdma.cable-error", "rdma.device-health", "net.flaps"},
       .check = link_flaps},
      {.id = "net.transmit-timeout",
       .title = "no transmit queue stood still",
       .why = "The kernel resets an adapter that sends nothing for seconds: all its connections break.",
       .source = "\"NETDEV WATCHDOG\" in the kernel log",
       .standard = "none",
       .remedy = "Look for pauses from the switch, then at firmware and driver.",
       .fixture = "h100-transmit-timeout",
       .explained_by = {"rdma.device-health", "pcie.aer-uncorrected"},
       .check = transmit_timeout},
      {.id = "host.iommu-fault",
       .title = "IOMMU refused no transfer",
       .why = "A refused transfer is lost data: CUDA and RDMA report it as their own errors, if at all.",
       .source = "\"DMAR: [\" and IO_PAGE_FAULT in the kernel log",
       .standard = "none",
       .remedy = "Let the IOMMU pass through, or update driver and firmware.",
       .fixture = "h100-iommu-fault",
       .explained_by = {"pcie.iommu"},
       .check = iommu_fault},
  };
  return kRules;
}

}  // namespace railbed
