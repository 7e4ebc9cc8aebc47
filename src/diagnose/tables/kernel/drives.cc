// Drives and file systems, by the kernel.
#include "diagnose/tables/rows.h"

namespace railbed::diagnose::tables {
namespace {

// clang-format off
constexpr Symptom kKernelDrivesSymptoms[] = {
    {"drive-down",            kError,   kCause, kAnyone, {"controller is down; will reset: CSTS="}, "Linux drivers/nvme/host/pci.c", "An NVMe drive no longer answers"},
    {"drive-polled", kWarning, kCause, kAnyone, {"timeout, completion polled", "nvme"}, "Linux drivers/nvme/host/pci.c", "An NVMe drive finished a command, and the kernel got no interrupt for it"},
    {"drive-timeout", kWarning, kCause, kAnyone, {"nvme", "QID ", "timeout, "}, "Linux drivers/nvme/host/pci.c", "An NVMe drive did not finish a command in time"},
    {"block-no-medium", kNote, kCause, kAnyone, {"I/O error, dev fd0"}, "Linux drivers/block/floppy.c", "Harmless: the kernel tried a floppy drive that is not there"},
    {"block-no-disc", kNote, kCause, kAnyone, {"I/O error, dev sr"}, "Linux drivers/scsi/sr.c", "Mostly harmless: a disc or the BMC's virtual medium cannot be read"},
    {"block-disc-medium", kNote, kCause, kAnyone, {"critical medium error, dev sr"}, "Linux drivers/scsi/sr.c", "Mostly harmless: a disc or the BMC's virtual medium cannot be read"},
    {"block-error", kError, kCause, kAnyone, {"I/O error, dev ", "sector "}, "Linux block/blk-core.c", "A request to a drive failed"},
    {"medium-critical", kError, kCause, kAnyone, {"critical medium error, dev "}, "Linux block/blk-core.c", "A drive has sectors that it cannot read or write"},
    {"ext4-read-only", kError, kEcho, kAnyone, {"EXT4-fs", "emounting filesystem read-only"}, "Linux fs/ext4/super.c", "A file system was made read-only after an error"},
    {"xfs-stopped", kError, kEcho, kAnyone, {"XFS (", "ilesystem has been shut down"}, "Linux fs/xfs/xfs_fsops.c", "XFS shut a file system down after an error"},
    {"nfs-silent", kError, kCause, kAnyone, {"nfs: server ", " not responding"}, "Linux net/sunrpc", "A file server does not answer, and processes wait for it"},

    // Lines that confirm or refute
    {"medium-sense", kNote, kSight, kAnyone, {"Unrecovered read error"}, "Linux drivers/scsi/constants.c", "A drive reports a bad sector"},
    {"drive-offline", kNote, kSight, kAnyone, {"rejecting I/O to offline device"}, "Linux drivers/scsi/scsi_lib.c", "A drive was taken offline"},
    {"drive-link-reset", kNote, kSight, kAnyone, {"hard resetting link"}, "Linux drivers/ata/libata-eh.c", "A drive's link was reset"},
};

constexpr Hypothesis kKernelDrivesHypotheses[] = {
    {.id = "drive-off-the-bus", .explains = {"drive-down"}, .needs = {"drive-reads-ones", "drive-off-pci"}, .refuted_by = {"drive-reads-status", "drive-on-pci"}, .decisive = true,
     .title = "An NVMe drive left the PCIe bus",
     .cause = "Its status (CSTS) and its PCI status read as ones: the drive's link or power is gone, or it did not come back from a power state.",
     .remedy = "dmesg | grep -e AER -e pciehp of that moment; seat, backplane and firmware of the drive. If it is idle when it happens: nvme_core.default_ps_max_latency_us=0 pcie_aspm=off on the command line.",
     .settle_by = "lspci -s ADDRESS -vv (rev ff) after it",
     .source = "Linux drivers/nvme/host/pci.c, nvme_warn_reset"},
    {.id = "drive-registers-gone", .explains = {"drive-down"}, .needs = {"drive-reads-ones", "drive-on-pci"}, .refuted_by = {"drive-reads-status", "drive-off-pci"}, .decisive = true,
     .title = "An NVMe drive is on the PCIe bus, and its registers could not be read",
     .cause = "Its configuration space answers (PCI_STATUS), and its status (CSTS) reads as ones: it did not come back from a power state in time, its link failed for a moment, or it restarted by itself (heat, firmware).",
     .remedy = "Try nvme_core.default_ps_max_latency_us=0 pcie_aspm=off on the command line; nvme smart-log (temperature) and the drive's firmware; dmesg | grep -e AER -e pciehp of that moment. It need not be replaced for this line.",
     .settle_by = "whether it still comes with those two words on the command line",
     .source = "Linux drivers/nvme/host/pci.c, nvme_warn_reset; github.com/raspberrypi/linux/issues/6661"},
    {.id = "drive-stuck", .explains = {"drive-down"}, .needs = {"drive-reads-status"}, .refuted_by = {"drive-reads-ones"}, .decisive = true,
     .title = "An NVMe drive is on the bus and stopped working",
     .cause = "The drive answers on PCIe with the status (CSTS) in the message, and did not do its work in time. With the bit 0x2 set (0x2, 0x3) it reports a fatal error of its own; without it (0x1) the drive, the way to it, or a host that was busy may be the reason.",
     .remedy = "nvme smart-log (temperature, media errors) and nvme error-log of the drive; its firmware; whether other drives of that host or backplane do it, too. Virtual machines: the host's storage. Replace it if it comes again on that drive alone.",
     .settle_by = "nvme smart-log /dev/nvmeN; the same line of other drives",
     .source = "Linux drivers/nvme/host/pci.c; NVM Express, Controller Status"},
    {.id = "drive-polled", .explains = {"drive-polled"}, .stated = true,
     .cause = "The kernel looked at the drive's queue when the command's time was over, and the answer stood there: its interrupt was lost or not served, and each such command took the whole timeout.",
     .remedy = "Update the kernel, the BIOS and the drive's firmware; grep nvme /proc/interrupts shows whether that queue's counter grows. Virtual machines: the hypervisor's NVMe device. The drive need not be replaced for it.",
     .source = "Linux drivers/nvme/host/pci.c"},
    {.id = "drive-timeout", .explains = {"drive-timeout"}, .stated = true,
     .cause = "The drive took longer for a command than the kernel waits (30 seconds, unless nvme_core.io_timeout is set); the driver aborts it, or resets the drive.",
     .remedy = "nvme smart-log of it; its firmware; whether other drives of the same backplane do it, too (then the backplane, a cable or a switch). Virtual machines: the host's storage. Replace it if it comes again on that drive alone.",
     .source = "Linux drivers/nvme/host/pci.c"},
    {.id = "block-no-medium", .explains = {"block-no-medium", "block-no-disc", "block-disc-medium"}, .stated = true,
     .cause = "The request went to a drive for floppies or discs, in which there is nothing that can be read.",
     .remedy = "Nothing. Take a medium that is no longer used out of the BMC's virtual drive; modprobe -r floppy, or the drive off in the BIOS.",
     .source = "Linux drivers/block/floppy.c; drivers/scsi/sr.c"},
    {.id = "block-medium", .explains = {"block-error"}, .needs = {"drive-medium-bad"}, .refuted_by = {"drive-is-down"}, .decisive = true,
     .title = "A drive has sectors that it cannot read or write",
     .cause = "The drive itself reports an error of its medium.",
     .remedy = "Save its data; smartctl -a or nvme smart-log of it. Growing counts (pending, reallocated, media errors) or more sectors: replace it. A single one after a loss of power may go when it is written anew.",
     .settle_by = "the lines before it (sense, medium, reset, link); smartctl -a or nvme smart-log",
     .source = "Linux block/blk-core.c"},
    {.id = "medium-critical", .explains = {"medium-critical"}, .stated = true,
     .cause = "The drive itself reports that it cannot read or write that sector.",
     .remedy = "Save its data; smartctl -a or nvme smart-log of it. Growing counts (pending, reallocated, media errors) or more sectors: replace it. A single one after a loss of power may go when it is written anew.",
     .source = "Linux block/blk-core.c"},
    {.id = "block-gone", .explains = {"block-error"}, .needs = {"drive-went-away"}, .refuted_by = {"drive-medium-bad"},
     .title = "The system lost a drive or its link, so requests to it failed",
     .cause = "The drive did not answer, its link was reset, or it was taken offline; its sectors need not be bad.",
     .remedy = "Cable, backplane and power of the drive; whether others of the same controller have it, too; its firmware. Then smartctl -a or nvme smart-log of it.",
     .settle_by = "the lines before it (sense, medium, reset, link); smartctl -a or nvme smart-log",
     .source = "Linux block/blk-core.c"},
    {.id = "ext4-read-only", .explains = {"ext4-read-only"}, .stated = true,
     .cause = "ext4 found an error or could not write, and keeps what is there.",
     .remedy = "dmesg before it: an I/O error is the drive's, and its data is to be saved first. Else fsck -f DEVICE from a rescue system, with the file system not mounted; then remount or restart.",
     .source = "Linux fs/ext4/super.c"},
    {.id = "xfs-stopped", .explains = {"xfs-stopped"}, .stated = true,
     .cause = "XFS could not write its log or found its structures damaged; every access fails until it is mounted anew.",
     .remedy = "dmesg before it: an I/O error is the drive's. Else umount, mount (replays the log), umount, xfs_repair -n DEVICE, which only reads. xfs_repair -L throws the log away: last of all.",
     .source = "Linux fs/xfs/xfs_fsops.c"},
    {.id = "nfs-silent-host", .explains = {"nfs-silent"}, .needs = {"no-host-answers"}, .refuted_by = {"host-answers-ping"},
     .title = "A file server is off, or this node has no way to it, and processes wait for it",
     .cause = "The server is off or restarts, or the network between is at fault.",
     .remedy = "ip route get SERVER (the interface that leads there); the server's console; another client of the same network. A line with OK follows when it comes back.",
     .settle_by = "ping SERVER from this node and from another",
     .source = "Linux net/sunrpc"},
    {.id = "nfs-silent-service", .explains = {"nfs-silent"}, .refuted_by = {"no-host-answers"},
     .title = "A file server is reached, and its NFS service does not answer in time",
     .cause = "The service is overloaded, hangs or was stopped, or a firewall or a smaller MTU on the way drops its packets.",
     .remedy = "rpcinfo -t SERVER nfs; nc -zv SERVER 2049; nfsstat -rc here; the server's load and drives; ping -M do -s 8972 SERVER with jumbo frames. A line with OK follows when it comes back.",
     .settle_by = "ping SERVER; rpcinfo -t SERVER nfs",
     .source = "Linux net/sunrpc"},
};
// clang-format on

}  // namespace

Table kernel_drives() { return {kKernelDrivesSymptoms, kKernelDrivesHypotheses}; }

}  // namespace railbed::diagnose::tables
