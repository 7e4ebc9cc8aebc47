// A boot that ends before the root file system.
#include "diagnose/tables/rows.h"

namespace railbed::diagnose::tables {
namespace {

// clang-format off
constexpr Symptom kKernelBootSymptoms[] = {
    {"kernel-no-root",        kError,   kCause, kAnyone, {"Unable to mount root fs on unknown-block"}, "Linux init/do_mounts.c", "The kernel found no root file system and stopped"},
    {"initrd-no-root",        kWarning, kCause, kAnyone, {"dracut-initqueue", "timeout - starting timeout scripts"}, "dracut.cmdline(7)", "The boot waits in the initramfs: what it waits for does not come"},
    {"initrd-gave-up",        kError,   kCause, kAnyone, {"Gave up waiting for root"}, "initramfs-tools, scripts/local", "The boot ended in the initramfs: the root device did not come"},
    {"emergency-mode",        kError,   kCause,  kAnyone, {"You are in emergency mode"}, "systemd, emergency.service", "The node's boot ended in the emergency shell"},

    // Lines that confirm or refute
    {"boot-mount-failed",     kNote,    kSight, kAnyone, {"Dependency failed for", "Local File Systems"}, "systemd", "A file system of /etc/fstab was not mounted"},
    {"boot-mount-timeout",    kNote,    kSight, kAnyone, {"Timed out waiting for device"}, "systemd", "A device of /etc/fstab did not come"},
    {"boot-fsck-manual",      kNote,    kSight, kAnyone, {"RUN fsck MANUALLY"}, "e2fsck(8)", "A file system has errors that fsck does not mend by itself"},
    {"boot-fsck-clean",       kNote,    kSight, kAnyone, {": clean, ", " files, "}, "e2fsck(8)", "A file system is clean"},
};

constexpr Hypothesis kKernelBootHypotheses[] = {
    {.id = "kernel-no-root", .explains = {"kernel-no-root"}, .needs = {"root-unknown"}, .refuted_by = {"root-known"}, .decisive = true,
     .title = "The kernel got no initramfs that works, and does not find the root device without it",
     .cause = "A kernel looks for root= by itself only if it got no initramfs or could not unpack it; (0,0) shows that it found no such device.",
     .remedy = "Boot the kernel before it (GRUB, Advanced options). Then df -h /boot (a full one leaves half an initramfs), update-initramfs -c -k VERSION && update-grub (dracut -f --kver VERSION). Network boot: the initrd line, and the memory.",
     .settle_by = "the lines before it: \"Initramfs unpacking failed\"; the initrd line of the boot entry",
     .source = "Linux init/do_mounts.c"},
    {.id = "kernel-root-unread", .explains = {"kernel-no-root"}, .needs = {"root-known"}, .refuted_by = {"root-unknown"}, .decisive = true,
     .title = "The kernel found the root device and cannot mount it",
     .cause = "The device of the two numbers is there; the kernel got no initramfs that mounts it and has no driver of its file system built in, or the file system is damaged.",
     .remedy = "Boot the kernel before it; update-initramfs -c -k VERSION && update-grub (dracut -f --kver VERSION). If no kernel boots: a rescue system, and fsck -n DEVICE first.",
     .settle_by = "the list \"here are the available partitions\" and the file systems tried, below it",
     .source = "Linux init/do_mounts.c"},
    {.id = "initrd-no-root", .explains = {"initrd-no-root", "initrd-gave-up"}, .stated = true,
     .cause = "The root device or network that the kernel's command line names did not come in time.",
     .remedy = "The lines \"/dev/disk/by-… does not exist\" name it. In its shell: blkid (another UUID?), cat /proc/cmdline, ls /sys/class/net, cat /proc/mdstat. Then correct root=, rd.lvm, rd.md or ip=, or dracut -f --add-drivers 'nvme mlx5_core' (update-initramfs -u) from a rescue system.",
     .source = "dracut.cmdline(7); initramfs-tools"},
    {.id = "emergency-fsck", .explains = {"emergency-mode"}, .needs = {"boot-fsck-manual"}, .refuted_by = {"boot-fsck-clean"},
     .title = "The node's boot ended in the emergency shell: a file system has errors",
     .cause = "fsck found errors that it does not mend without being asked.",
     .remedy = "In that shell: fsck -y DEVICE of the message, then systemctl reboot. Look at the drive: nvme smart-log or smartctl -a, dmesg.",
     .settle_by = "journalctl -xb | grep -i fsck, in that shell",
     .source = "systemd-fsck(8)"},
    {.id = "emergency-mount", .explains = {"emergency-mode"}, .common = kUsual, .needs = {"boot-mount-missing"}, .refuted_by = {"boot-fsck-manual"},
     .title = "The node's boot ended in the emergency shell: a file system of /etc/fstab was not mounted",
     .cause = "systemd waits for every local file system of /etc/fstab; the device of one did not come, or its mount failed.",
     .remedy = "journalctl -xb | grep -e 'Failed to mount' -e 'Timed out waiting' names it. Correct or comment out its line in /etc/fstab (nofail for data drives, _netdev for network ones), then systemctl daemon-reload and systemctl default.",
     .settle_by = "systemctl --failed; journalctl -xb -p err, in that shell",
     .source = "systemd.mount(5), nofail"},
};
// clang-format on

}  // namespace

Table kernel_boot() { return {kKernelBootSymptoms, kKernelBootHypotheses}; }

}  // namespace railbed::diagnose::tables
