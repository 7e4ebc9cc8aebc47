// PCIe links, AER and the IOMMU.
#include "diagnose/tables/rows.h"

namespace railbed::diagnose::tables {
namespace {

// clang-format off
constexpr Symptom kKernelPcieSymptoms[] = {
    {"path-bandwidth",        kWarning, kCause, kAnyone, {"available PCIe bandwidth, limited by "}, kPci, "A device's PCIe path is slower than the device"},
    {"link-contained",        kError,   kCause, kAnyone, {"DPC: containment event"}, "Linux drivers/pci/pcie/dpc.c", "A PCIe link was cut off after an error that cannot be corrected (DPC)"},
    {"aer-fatal",             kError,   kCause, kAnyone, {"AER: Uncorrect", "(Fatal) "}, "Linux drivers/pci/pcie/aer.c", "A PCIe device or link reported a fatal error"},
    {"aer-fatal-bus",         kError,   kCause, kAnyone, {"PCIe Bus Error: severity=Uncorrect", "(Fatal)"}, "Linux drivers/pci/pcie/aer.c", "A PCIe device or link reported a fatal error"},
    {"aer-fatal-many",        kError,   kCause, kAnyone, {"AER: Multiple Uncorrect", "(Fatal) "}, "Linux drivers/pci/pcie/aer.c", "A PCIe device or link reported a fatal error"},
    {"aer-corrected-many",    kNote,    kCause, kAnyone, {"AER: Multiple Correct", "error received"}, "Linux drivers/pci/pcie/aer.c", "PCIe errors were corrected"},
    {"aer-corrected",         kNote,    kCause, kAnyone, {"AER: Correct", "error received"}, "Linux drivers/pci/pcie/aer.c", "PCIe errors were corrected"},
    {"iommu-fault",           kError,   kCause, kAnyone, {"AMD-Vi: Event logged [IO_PAGE_FAULT"}, "Linux drivers/iommu", "The IOMMU refused an access of a device"},
    {"iommu-fault-intel",     kError,   kCause, kAnyone, {"DMAR: [DMA ", "fault addr"}, "Linux drivers/iommu", "The IOMMU refused an access of a device"},
    {"link-retrain", kWarning, kCause, kAnyone, {"broken device, retraining non-functional downstream link"}, "Linux drivers/pci/quirks.c", "A PCIe link did not come up, and the kernel tries it at the lowest speed"},
    {"slot-link-down", kError, kCause, kAnyone, {"pciehp: Slot(", "Link Down"}, "Linux drivers/pci/hotplug/pciehp_ctrl.c", "A PCIe slot lost its link, and the device in it was removed"},

    // Lines that confirm or refute
    {"iommu-passthrough",     kNote,    kSight, kAnyone, {"iommu=pt"}, "/proc/cmdline", "The IOMMU passes devices of the host through"},
    {"iommu-not-passed",      kNote,    kSight, kAnyone, {"iommu.passthrough=0"}, "/proc/cmdline", "The IOMMU translates for devices of the host"},
};

constexpr Hypothesis kKernelPcieHypotheses[] = {
    {.id = "path-virtual", .explains = {"path-bandwidth"}, .needs = {"virtual-machine"}, .refuted_by = {"board-supermicro", "board-dell", "board-asus"},
     .title = "Harmless: in a virtual machine the PCIe path that the kernel sees is not the real one",
     .cause = "The hypervisor shows virtual bridges, whose speed and width are made up.",
     .remedy = "Nothing; measure the rate.",
     .source = kPci},
    {.id = "path-narrow", .explains = {"path-bandwidth"}, .common = kUsual, .refuted_by = {"virtual-machine"},
     .title = "A device's PCIe path is slower than the device: one link of it is narrower or slower",
     .cause = "The link in the message has fewer lanes or a lower speed than the device has: the slot, a riser, the BIOS's bifurcation, or a link that came up degraded. Some machines are built so (x4 per adapter of a DGX Spark).",
     .remedy = "Compare lspci -vv (LnkCap, LnkSta) of both ends with the board's manual; seat the card, another slot, BIOS speed and bifurcation settings.",
     .settle_by = "lspci -vv -s ADDRESS of the message | grep -e LnkCap -e LnkSta; the same on a sibling node",
     .source = kPci},
    {.id = "link-broke", .explains = {"link-contained", "aer-fatal", "aer-fatal-bus", "aer-fatal-many"}, .common = kUsual, .refuted_by = {"iommu-fault-shown"},
     .title = "A PCIe link or device failed with an error that cannot be corrected",
     .cause = "The link's own check found it: a seat, cable, riser or retimer, power of the card, or the device itself. The message has the address of the port.",
     .remedy = "lspci -vvv -s of both ends (UESta names the error); power the node fully off and on; seat the card and its riser; swap with a neighbour: what the fault follows is broken.",
     .settle_by = "lspci -vvv -s ADDRESS | grep -e UESta -e LnkSta -e DevSta; the BMC's event log",
     .source = "Linux drivers/pci/pcie"},
    {.id = "link-iommu", .explains = {"link-contained", "aer-fatal", "aer-fatal-bus", "aer-fatal-many"}, .needs = {"iommu-fault-shown"}, .refuted_by = {"iommu-passthrough"},
     .title = "A device made an access that the IOMMU refuses, and its PCIe port reported it",
     .cause = "The IOMMU's fault is of the same time: an address that nobody mapped, as with peer-to-peer between devices while the IOMMU translates.",
     .remedy = "Boot with iommu=pt; update the device's driver.",
     .settle_by = "the times of both messages, and the address of the device in them",
     .source = "Linux drivers/iommu"},
    {.id = "aer-corrected", .explains = {"aer-corrected", "aer-corrected-many"}, .stated = true,
     .cause = "The lines below it name the kind. RxErr, BadTLP, BadDLLP, Rollover and Timeout: the link repeated what was damaged, and many per minute at one port mean a marginal link (seat, riser, cable), which costs speed. NonFatalErr: a request failed, and who sent it handles that.",
     .remedy = "Count them per port. Some per day: nothing. Many: seat the card, swap the riser, or lower the link's generation in the BIOS.",
     .source = "Linux drivers/pci/pcie/aer.c"},
    {.id = "iommu-refuses", .explains = {"iommu-fault", "iommu-fault-intel"}, .common = kUsual, .refuted_by = {"iommu-passthrough"},
     .title = "The IOMMU refused an access of a device: it translates, and nobody mapped that address",
     .cause = "Peer-to-peer between GPUs or to an adapter uses addresses that a translating IOMMU does not know; a driver that uses memory after it was freed gives the same message.",
     .remedy = "Boot with iommu=pt (intel_iommu=on or amd_iommu=on stay as they are); if it stays, update the driver of the device in the message.",
     .settle_by = "cat /proc/cmdline; one boot with iommu=pt",
     .source = "NCCL user guide, Troubleshooting; Linux drivers/iommu"},
    {.id = "iommu-driver", .explains = {"iommu-fault", "iommu-fault-intel"}, .needs = {"iommu-passthrough"}, .refuted_by = {"iommu-not-passed"},
     .title = "The IOMMU refused an access of a device although devices are passed through: a driver or the device is at fault",
     .cause = "With iommu=pt host devices are not translated; a fault is of a device of a virtual machine or container (vfio), of a device that the firmware restricts, or of one that reads wild addresses.",
     .remedy = "The address names the device: update its driver and firmware; replace it if only this one does it.",
     .settle_by = "lspci -s the address of the message",
     .source = "Linux drivers/iommu"},
    {.id = "link-retrain", .explains = {"link-retrain"}, .stated = true,
     .cause = "A port sees a device whose link was not up when the kernel looked: badly seated, broken, or only slow after a reset or at the start.",
     .remedy = "lspci -vv of the port (LnkSta): up at full speed, it was only slow. At 2.5GT/s or down: power the node off and on; seat the card, its riser or cable; another slot: what the fault follows is broken.",
     .source = "Linux drivers/pci/quirks.c"},
    {.id = "slot-link-down", .explains = {"slot-link-down"}, .stated = true,
     .cause = "The link of that slot went down while the system ran, and the kernel removed what was in it: its power, seat, cable or the device itself, or a reset or firmware update of the card at that moment.",
     .remedy = "dmesg of that moment (AER, DPC, Xid, nvme); lspci -s of the port; whether somebody reset it then (mlxfwreset, nvidia-smi -r, a BlueField's restart). Else seat and power of the card.",
     .source = "Linux drivers/pci/hotplug/pciehp_ctrl.c"},
};
// clang-format on

}  // namespace

Table kernel_pcie() { return {kKernelPcieSymptoms, kKernelPcieHypotheses}; }

}  // namespace railbed::diagnose::tables
