#include "facts/log/kernel_log.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "host/host.h"
#include "host/kernel_log.h"
#include "host/tree.h"

namespace railbed {
namespace {

struct Sample {
  LogKind kind;
  int code;
  std::string_view subject;
  std::string_view line;
};

// Lines as the drivers of several generations print them.
constexpr Sample kSamples[] = {
    {LogKind::kXid, 79, "0000:06:00.0",
     "NVRM: Xid (PCI:0000:06:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."},
    {LogKind::kXid, 13, "0000:cb:00.0",
     "NVRM: Xid (PCI:0000:cb:00): 13, pid=4711, name=python, Graphics SM Warp Exception on (GPC 7, TPC 0)"},
    {LogKind::kXid, 31, "0000:3b:00.0", "NVRM: Xid (0000:3b:00): 31, Ch 00000010, engmask 00000101"},
    {LogKind::kXid, 154, "0008:01:00.0",
     "NVRM: Xid (PCI:0008:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot "
     "Required)"},
    {LogKind::kSxidFatal, 20034, "0000:06:00.0",
     "nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Fatal, Link 48 LTSSM Fault Up"},
    {LogKind::kSxidNonFatal, 12028, "0000:05:00.0",
     "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error "
     "(First)"},
    {LogKind::kGpuLost, 0, "0000:91:00.0", "NVRM: GPU 0000:91:00.0: GPU has fallen off the bus."},
    {LogKind::kGpuInitFailed, 0, "0000:3b:00.0",
     "NVRM: GPU 0000:3b:00.0: RmInitAdapter failed! (0x26:0x65:1463)"},
    {LogKind::kGpuInitFailed, 0, "", "NVRM: The NVIDIA probe routine failed for 1 device(s)."},
    {LogKind::kXid, 145, "0000:5f:00.0",
     "NVRM: Xid (PCI:0000:5f:00): 145, RLW_REMAP Nonfatal XC0 i0 Link 02 (0x00000004 0x00000001 0x00000000)"},
    {LogKind::kXidNvlinkFatal, 149, "0009:01:00.0",
     "NVRM: Xid (PCI:0009:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 01 (0x021425c6 0x00000000 0x0)"},
    {LogKind::kXidNvlinkFatal, 149, "0000:04:00.0",
     "NVRM: Xid (PCI:0000:04:00): 149, pid=4711, name=python, NETIR/NETIR_INT Fatal XC0 i0 Link 00 (0x18 0x0)"},
    // a program's name must not make an error fatal
    {LogKind::kXid, 145, "0000:5f:00.0",
     "NVRM: Xid (PCI:0000:5f:00): 145, pid=4711, name=a, B Fatal XC0, RLW_REMAP Nonfatal XC0 i0 Link 02 (0x4)"},
    {LogKind::kGpuTaken, 0, "0000:01:00.0", "NVRM: GPU 0000:01:00.0 is already bound to nouveau."},
    {LogKind::kGpuNotProbed, 0, "", "NVRM: The NVIDIA probe routine was not called for 8 device(s)."},
    {LogKind::kGpuNotProbed, 0, "", "NVRM: No NVIDIA devices probed."},
    {LogKind::kGpuNotProbed, 0, "", "NVRM: No NVIDIA GPU found."},
    {LogKind::kGpuNoWindow, 0, "0000:1b:00.0", "NVRM: BAR0 is 0M @ 0x0 (PCI:0000:1b:00.0)"},
    {LogKind::kGpuNoWindow, 1, "0000:56:00.0",
     "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:\\x0aNVRM: BAR1 is 0M @ 0x0 "
     "(PCI:0000:56:00.0)"},
    {LogKind::kGpuNeedsOpenModule, 0, "0000:02:00.0",
     "NVRM: The NVIDIA GPU 0000:02:00.0 (PCI ID: 10de:2c58)\\x0aNVRM: installed in this system requires use of "
     "the NVIDIA open kernel modules."},
    {LogKind::kGpuFirmwareMissing, 2, "0000:18:00.0",
     "nvidia 0000:18:00.0: Direct firmware load for nvidia/580.95.05/gsp_ga10x.bin failed with error -2"},
    {LogKind::kGpuFirmwareMissing, 2, "0000:18:00.0",
     "nvidia 0000:18:00.0: firmware: failed to load nvidia/535.183.01/gsp_ga10x.bin (-2)"},
    {LogKind::kGpuConfidential, 0, "",
     "NVRM: confComputeSetErrorState_KERNEL: ConfCompute: Fatal error hit!"},
    {LogKind::kGpuConfidential, 0, "",
     "NVRM: _memmgrMemReadOrWriteWithGsp: Fatal error detected in GSP-DMA decrypt: 0x25!"},
    {LogKind::kGpuBootRefused, 0, "",
     "NVRM kfspSendBootCommands_GH100: FSP boot cmds failed. RM cannot boot."},
    {LogKind::kGpuBootRefused, 0, "", "NVRM: kfspPollForResponse_IMPL: FSP command timed out"},
    {LogKind::kConfidentialGuest, 0, "", "tdx: Guest detected"},
    {LogKind::kConfidentialGuest, 0, "", "Memory Encryption Features active: Intel TDX"},
    {LogKind::kConfidentialGuest, 0, "", "Memory Encryption Features active: AMD SEV SEV-ES SEV-SNP"},
    {LogKind::kConfidentialGuest, 0, "", "AMD Memory Encryption Features active: SEV SEV-ES"},
    {LogKind::kUnknownSymbol, 2, "nvidia_peermem",
     "nvidia_peermem: Unknown symbol ib_register_peer_memory_client (err -2)"},
    {LogKind::kUnknownSymbol, 22, "mlx5_ib", "mlx5_ib: Unknown symbol ib_register_device (err -22)"},
    {LogKind::kUnknownSymbol, 0, "knem", "knem: Unknown symbol __put_task_struct (err 0)"},
    {LogKind::kSignatureRejected, 0, "", "Loading of unsigned module is rejected"},
    {LogKind::kSignatureRejected, 0, "", "Loading of module with unavailable key is rejected"},
    {LogKind::kSignatureRejected, 0, "nvidia", "nvidia: loading of module with unavailable key is rejected"},
    {LogKind::kSignatureRejected, 0, "nvidia", "nvidia: Loading of unsigned module is rejected"},
    {LogKind::kSignatureRejected, 0, "",
     "Lockdown: systemd-modules: unsigned module loading is restricted; see man kernel_lockdown.7"},
    {LogKind::kModuleUnsigned, 0, "nvidia",
     "nvidia: module verification failed: signature and/or required key missing - tainting kernel"},
    {LogKind::kOpenModuleLoaded, 0, "",
     "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build  (dvs-builder@U22)"},
    {LogKind::kClosedModuleLoaded, 0, "",
     "NVRM: loading NVIDIA UNIX aarch64 Kernel Module  580.173.02  Wed Jul  8 03:11:20 UTC 2026"},
    {LogKind::kClosedModuleLoaded, 0, "", "nvidia: module license 'NVIDIA' taints kernel."},
    {LogKind::kVersionMismatch, 0, "", "NVRM: API mismatch: the client has the version 580.95.05, but"},
    {LogKind::kModuleRejected, 0, "nvidia",
     "nvidia: version magic '6.8.0-60-generic SMP' should be '6.8.0-62-generic SMP'"},
    {LogKind::kModuleRejected, 0, "mlx5_ib", "mlx5_ib: disagrees about version of symbol ib_register_device"},
    {LogKind::kAdapterHealth, 0, "0000:41:00.0",
     "mlx5_core 0000:41:00.0: poll_health:852:(pid 0): device's health compromised - reached miss count"},
    {LogKind::kAdapterHealth, 0, "0000:41:00.0",
     "mlx5_core 0000:41:00.0: print_health_info:458:(pid 0): synd 0x8: unrecoverable hardware error"},
    {LogKind::kAdapterHealth, 0, "0000:03:00.0",
     "mlx5_core 0000:03:00.0: wait_func:964:(pid 112): ENABLE_HCA(0x104) timeout. Will cause a leak of a "
     "command resource"},
    {LogKind::kAdapterHealth, 0, "0000:04:00.0", "mlx4_core 0000:04:00.0: Internal error detected:"},
    {LogKind::kAdapterStartFailed, 110, "0000:06:00.0",
     "mlx5_core 0000:06:00.0: probe_one:1770:(pid 1193): mlx5_init_one failed with error code -110"},
    {LogKind::kAdapterStartFailed, 22, "0000:41:00.0",
     "mlx5_core 0000:41:00.0: init_one:1371:(pid 803): mlx5_load_one failed with error code -22"},
    {LogKind::kAdapterStartFailed, 0, "0000:81:00.2",
     "mlx5_core 0000:81:00.2: mlx5_function_setup:923:(pid 265): Failed initializing command interface, "
     "aborting"},
    {LogKind::kAdapterStartFailed, 16, "0000:81:00.2",
     "mlx5_core: probe of 0000:81:00.2 failed with error -16"},
    {LogKind::kAdapterStartFailed, 12, "0000:81:00.2",
     "mlx5_core 0000:81:00.2: probe with driver mlx5_core failed with error -12"},
    {LogKind::kSlotPower, 27, "0000:5c:00.0",
     "mlx5_core 0000:5c:00.0: mlx5_pcie_event:299:(pid 268269): Detected insufficient power on the PCIe slot "
     "(27W)."},
    {LogKind::kAdapterHot, 0, "0000:5c:00.0",
     "mlx5_core 0000:5c:00.0: temp_warn_event:168:(pid 9): High temperature on sensors with bit set 0x0"},
    {LogKind::kAdapterHot, 0, "0000:5c:00.0",
     "mlx5_core 0000:5c:00.0: Port module event[error]: module 0, Cable error, High Temperature"},
    {LogKind::kCablePlugged, 0, "0000:c1:00.0",
     "mlx5_core 0000:c1:00.0: Port module event: module 0, Cable plugged"},
    {LogKind::kCableUnplugged, 1, "0000:c1:00.1",
     "mlx5_core 0000:c1:00.1: Port module event: module 1, Cable unplugged"},
    {LogKind::kCableError, 0, "0000:c1:00.0",
     "mlx5_core 0000:c1:00.0: Port module event[error]: module 0, Cable error, Bus stuck(I2C or data "
     "shorted)"},
    {LogKind::kAerCorrected, 0, "0000:01:00.0",
     "mlx5_core 0000:01:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)"},
    {LogKind::kAerCorrected, 0, "0000:01:00.0",
     "mlx5_core 0000:01:00.0: PCIe Bus Error: severity=Correctable, type=Data Link Layer, (Transmitter ID)"},
    {LogKind::kAerNonFatal, 0, "0000:00:01.0",
     "pcieport 0000:00:01.0: AER: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer"},
    {LogKind::kAerFatal, 0, "0000:00:01.0",
     "pcieport 0000:00:01.0: AER: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer"},
    {LogKind::kSlotLinkDown, 0, "0000:16:02.0", "pcieport 0000:16:02.0: pciehp: Slot(4): Link Down"},
    {LogKind::kBandwidthLimited, 0, "0000:02:00.0",
     "mlx5_core 0000:02:00.0: 31.504 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x4 link at "
     "0000:00:1c.0 (capable of 63.008 Gb/s with 8.0 GT/s PCIe x8 link)"},
    {LogKind::kLinkDown, 0, "ens3f0np0", "mlx5_core 0000:c1:00.0 ens3f0np0: Link down"},
    {LogKind::kLinkDown, 0, "ens6", "mlx4_en: ens6: Link Down"},
    {LogKind::kLinkDown, 0, "eno1", "bnxt_en 0000:19:00.0 eno1: NIC Link is Down"},
    {LogKind::kLinkDown, 0, "eth0", "igb 0000:01:00.0 eth0: igb: eth0 NIC Link is Down"},
    {LogKind::kLinkUp, 0, "eno1", "tg3 0000:02:00.0 eno1: Link is up at 1000 Mbps, full duplex"},
    {LogKind::kLinkUp, 0, "ens1f0", "ixgbe 0000:01:00.0 ens1f0: NIC Link is Up 10 Gbps, Flow Control: RX/TX"},
    {LogKind::kTransmitTimeout, 0, "ens3", "NETDEV WATCHDOG: ens3 (mlx5_core): transmit queue 3 timed out"},
    {LogKind::kTransmitTimeout, 0, "ens3",
     "mlx5_core 0000:c1:00.0 ens3: NETDEV WATCHDOG: CPU: 12: transmit queue 3 timed out 5100 ms"},
    {LogKind::kIommuFault, 0, "0000:06:00.0",
     "DMAR: [DMA Read NO_PASID] Request device [06:00.0] fault addr 0xfff00000 [fault reason 0x06] PTE Read "
     "access is not set"},
    {LogKind::kIommuFault, 0, "0000:06:00.0",
     "DMAR: [DMA Write] Request device [0000:06:00.0] PASID ffffffff fault addr 0xfff00000"},
    {LogKind::kIommuFault, 0, "0000:41:00.0",
     "AMD-Vi: Event logged [IO_PAGE_FAULT device=41:00.0 domain=0x000c address=0xfdf8000000 flags=0x0020]"},
    {LogKind::kIommuFault, 0, "0000:41:00.0",
     "mlx5_core 0000:41:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x000c address=0xfdf8000000 "
     "flags=0x0020]"},
    {LogKind::kOutOfMemory, 0, "python3",
     "Out of memory: Killed process 1234 (python3) total-vm:99999kB, anon-rss:88888kB"},
    {LogKind::kJobOutOfMemory, 0, "tail",
     "Memory cgroup out of memory: Killed process 4321 (tail) total-vm:99999kB"},
    {LogKind::kHungTask, 0, "kworker/u130:2",
     "INFO: task kworker/u130:2:1234 blocked for more than 120 seconds."},
    {LogKind::kLockup, 0, "", "watchdog: BUG: soft lockup - CPU#3 stuck for 23s! [python3:999]"},
    {LogKind::kLockup, 0, "", "rcu: INFO: rcu_preempt self-detected stall on CPU"},
    {LogKind::kOops, 0, "", "BUG: unable to handle page fault for address: ffffffffc0000000"},
    {LogKind::kMachineCheck, 0, "",
     "mce: [Hardware Error]: CPU 4: Machine Check: 0 Bank 8: bc00000000010091"},
    {LogKind::kMachineCheck, 0, "", "{1}[Hardware Error]: event severity: recoverable"},
    {LogKind::kMachineCheck, 0, "mc1", "EDAC MC1: 1 UE memory read error on CPU_SrcID#1_MC#0_Chan#1_DIMM#0"},
    {LogKind::kCorrectedCheck, 0, "mc0",
     "EDAC MC0: 3 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0"},
    {LogKind::kCorrectedCheck, 0, "", "mce: [Hardware Error]: Machine check events logged"},
    {LogKind::kCpuThrottled, 0, "",
     "mce: CPU12: Package temperature is above threshold, cpu clock is throttled (total events = 7)"},
    {LogKind::kDiskError, 0, "nvme0n1", "I/O error, dev nvme0n1, sector 123456 op 0x0:(READ) flags 0x80700"},
    {LogKind::kDiskError, 0, "sda", "blk_update_request: I/O error, dev sda, sector 8"},
    {LogKind::kDiskError, 0, "sda1",
     "EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2: comm ls: reading directory"},
    {LogKind::kReadOnly, 0, "sda1", "EXT4-fs (sda1): Remounting filesystem read-only"},
    {LogKind::kReadOnly, 0, "nvme0n1p1",
     "XFS (nvme0n1p1): Filesystem has been shut down due to log error (0x2)."},
    {LogKind::kDiskTimeout, 0, "nvme0", "nvme nvme0: I/O 258 QID 3 timeout, aborting"},
    {LogKind::kDiskTimeout, 0, "nvme1", "nvme nvme1: controller is down; will reset: CSTS=0xffffffff"},
    {LogKind::kDiskTimeout, 0, "nvme0",
     "nvme nvme0: I/O tag 9 (5009) opcode 0x2 (I/O Cmd) QID 2 timeout, aborting req_op:READ(0) size:131072"},
    {LogKind::kDiskPowerSaving, 0, "nvme0",
     "nvme nvme0: Try \"nvme_core.default_ps_max_latency_us=0 pcie_aspm=off\" and report a bug"},
    {LogKind::kDiskPowerSaving, 0, "nvme0",
     "nvme nvme0: Does your device have a faulty power saving mode enabled?"},
    {LogKind::kGpuLost, 0, "0000:1b:00.0",
     "NVRM: The NVIDIA GPU 0000:1b:00.0\\x0aNVRM: (PCI ID: 10de:2330) installed in this system has\\x0aNVRM: "
     "fallen off the bus and is not responding to commands."},
    {LogKind::kGpuUnsupported, 0, "0000:00:10.0",
     "NVRM: The NVIDIA GPU 0000:00:10.0 (PCI ID: 10de:1f06)\\x0aNVRM: installed in this system is not supported by "
     "the\\x0aNVRM: NVIDIA 390.154 driver release."},
    {LogKind::kGpuUnsupported, 0, "",
     "NVRM: The NVIDIA Tesla P100-PCIE-16GB GPU installed in this system is\\x0aNVRM:  supported through the NVIDIA "
     "580.xx Legacy drivers. Please\\x0aNVRM:  visit http://www.nvidia.com/object/unix.html for more"},
    {LogKind::kGpuUnsupported, 0, "", "NVRM:  supported through the NVIDIA 470.xx Legacy drivers. Please"},
    {LogKind::kDiskError, 0, "nvme0n1p2",
     "Buffer I/O error on dev nvme0n1p2, logical block 1, lost async page write"},
    {LogKind::kDiskError, 0, "nvme1n1", "block nvme1n1: no available path - failing I/O"},
    {LogKind::kDiskLost, 0, "nvme0", "nvme nvme0: Device not ready; aborting reset, CSTS=0x1"},
    {LogKind::kDiskLost, 0, "nvme0", "nvme nvme0: Removing after probe failure status: -19"},
    {LogKind::kDiskLost, 0, "nvme2", "nvme nvme2: Disabling device after reset failure: -19"},
    {LogKind::kArrayDegraded, 0, "nvme0n1p1",
     "md/raid1:md0: Disk failure on nvme0n1p1, disabling device.\\x0amd/raid1:md0: Operation continuing on 1 "
     "devices."},
    {LogKind::kArrayDegraded, 0, "sdc1", "md/raid:md127: Disk failure on sdc1, disabling device."},
    {LogKind::kPathFailed, 0, "", "device-mapper: multipath: 253:2: Failing path 8:16."},
    {LogKind::kServerSilent, 0, "10.2.80.41", "nfs: server 10.2.80.41 not responding, still trying"},
    {LogKind::kServerSilent, 0, "fd00::7", "nfs: server fd00::7 not responding, timed out"},
    {LogKind::kServerBack, 0, "10.2.80.41", "nfs: server 10.2.80.41 OK"},
};

TEST(KernelLog, KnowsTheLinesOfManyDrivers) {
  for (const Sample& sample : kSamples) {
    const auto found = parse_log_line(sample.line);
    ASSERT_TRUE(found) << sample.line;
    EXPECT_EQ(found->kind, sample.kind) << sample.line;
    EXPECT_EQ(found->code, sample.code) << sample.line;
    EXPECT_EQ(found->subject, sample.subject) << sample.line;
  }
}

TEST(KernelLog, EveryEventPassesTheReadersFilter) {
  for (const Sample& sample : kSamples) EXPECT_TRUE(worth_keeping(sample.line)) << sample.line;
}

TEST(KernelLog, OtherLinesAreNoEvents) {
  for (const char* line :
       {"", "NVRM: GPU Board Serial Number: 1653723052734", "ata1: SATA link down (SStatus 0 SControl 300)",
        "nvidia-nvswitch2: SXid (PCI:0000:07:00.0): 20034, Severity 1 Engine instance 60 Sub-engine instance "
        "00",
        "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Data {0x10000000}",
        "NVRM: Xid (PCI:0000:66:00): abc, pid=2", "I/O error, dev fd0, sector 0 op 0x0:(READ)",
        "EDAC MC0: Giving out device to module skx_edac controller",
        "mlx5_core 0000:02:00.0: 126.028 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x4 link)",
        "traps: python3[123] general protection fault ip:7f error:0 in libc.so.6",
        "IPv6: ADDRCONF: ens6: link becomes ready"})
    EXPECT_FALSE(parse_log_line(line)) << line;
}

Tree tree_logging(std::string answer) {
  Tree tree;
  tree.calls.emplace("kernel-log", Reading<std::string>(std::move(answer), "kernel-log"));
  return tree;
}

// Lines as the kernel prints them for a program and a file whose names a user chose.
TEST(KernelLog, UsersForgeNothing) {
  for (
      const char* line :
      {"a.out[4711]: segfault at 0 ip 000055 sp 00007f error 4 in NVRM: Xid (PCI:0000:1b:00): 79, x[55+1000]",
       "NVRM: Xid (0000[4711]: segfault at 0 ip 000055 sp 00007f error 4 in x): 79, y[55+1000]",
       "Oops: 0000 [#1][4711]: segfault at 0 ip 000055 sp 00007f error 4 in x[55+1000]",
       "Oops: 0000 [#1] invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER), order=0, oom_score_adj=0",
       "Oops: 0000 [#1] (4711): drop_caches: 3",
       "Oops: 0000 [#1]/4711: potentially unexpected fatal signal 11.",
       "Oops: 0 [#1]\\x0aa[4711]: segfault at 0 ip 000055 sp 00007f error 4 in x[55+1000]",
       "[   4711]  1000  4711     1024      256    45056        0             0 Oops: 0000 [#1]",
       "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),task=EDAC MC0: 1 UE ,pid=4711,uid=1000",
       "EDAC MC0: 1 UE [4711]: segfault at 0 ip 000055 sp 00007f error 4 in x on y[55+1000]",
       "kernel BUG at x[4711]: segfault at 0 ip 000055 sp 00007f error 4 in y.c:7![55+1000]",
       "traps: a.out[4711] general protection fault ip:55 sp:7f error:0 in hard LOCKUP[55+1000]",
       "traps: a.out[4711] trap invalid opcode ip:55 sp:7f error:0 in BUG: unable to handle x[55+1000]",
       "process '/tmp/ens3: Link is Down' started with executable stack",
       "I/O error, dev [4711]: segfault at 0 ip 000055 sp 00007f error 4 in a, sector 8[55+1000]",
       "EXT4-fs (sda1):[4711]: segfault at 0 ip 000055 error 4 in Remounting filesystem read-only[55+1000]",
       "audit: type=1701 audit(1.2:3): auid=1 comm=\"nvme nvme0: I/O\" exe=\"/tmp/timeout, x\"",
       "INFO: task x:1 [4711]: segfault at 0 ip 000055 error 4 in a:7 blocked for more than 120 seconds.[55+1]",
       "mlx4_en: ens6: [4711]: segfault at 0 ip 000055 sp 00007f error 4 in Link Down[55+1000]",
       "a.out[4711]: segfault at 0 ip 000055 error 4 in x: version magic '[55+1000]",
       "a.out[4711]: segfault at 0 ip 000055 error 4 in nvidia: Unknown symbol x (err -2)[55+1000]",
       "nvidia: Unknow[4711]: segfault at 0 ip 000055 error 4 in n symbol x (err -2)[55+1000]",
       "process '/tmp/Loading of unsigned module is rejected' started with executable stack",
       "Lockdown: a: unsigned mo: unsafe use of perf is restricted; see man kernel_lockdown.7",
       "md/raid1:md0: [4711]: segfault at 0 ip 000055 error 4 in Disk failure on sda1, disabling device[55+1]",
       "NVRM: BAR1 is [4711]: segfault at 0 ip 000055 error 4 in 0M @ 0x0 (PCI:0000:1b:00.0)[55+1000]",
       "audit: type=1701 audit(1.2:3): auid=1 comm=\"nfs: server\" exe=\"/tmp/x not responding, y\""})
    EXPECT_FALSE(parse_log_line(line)) << line;
}

TEST(KernelLog, WhatOneFailureSaysTwiceIsOneEvent) {
  const auto host = open_tree(
      tree_logging(R"J({"source":"/dev/kmsg","begins":100,"ends":900,"beginning_lost":false,"lines":[
    {"first":200,"last":200,"count":1,"text":"BUG: unable to handle page fault for address: ffffffffc0000000"},
    {"first":200,"last":200,"count":1,"text":"Oops: 0002 [#1] PREEMPT SMP NOPTI"},
    {"first":700,"last":700,"count":1,"text":"Oops: 0002 [#2] PREEMPT SMP NOPTI"}]})J"));
  const auto log = collect_kernel_log(*host, "");
  ASSERT_TRUE(log) << log.miss().why;
  ASSERT_EQ(log->events.size(), 1U);
  EXPECT_EQ(log->events.front().count, 2U);
}

TEST(KernelLog, MergesRepeatsAndKeepsTheLastText) {
  const auto host = open_tree(
      tree_logging(R"J({"source":"/dev/kmsg","begins":100,"ends":900,"beginning_lost":false,"lines":[
    {"first":200,"last":200,"count":1,"text":"NVRM: Xid (PCI:0000:06:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"},
    {"first":150,"last":700,"count":4,"text":"NVRM: Xid (PCI:0000:06:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x2 (Node Reboot Required)"},
    {"first":300,"last":300,"count":1,"text":"NVRM: Xid (PCI:0000:07:00): 154, other GPU"},
    {"first":300,"last":300,"count":1,"text":"nothing that we know"}]})J"));
  const auto log = collect_kernel_log(*host, "");
  ASSERT_TRUE(log) << log.miss().why;
  EXPECT_EQ(log.from(), "/dev/kmsg");
  ASSERT_EQ(log->events.size(), 2);
  const LogEvent& first = log->events.front();
  EXPECT_EQ(first.count, 5);
  EXPECT_EQ(first.first, 150);
  EXPECT_EQ(first.last, 700);
  EXPECT_TRUE(first.text.ends_with("(Node Reboot Required)"));
}

// As syslog and dmesg write them: a line each, and those that two GPUs share are folded.
TEST(KernelLog, JoinsTheLinesOfOneNvrmMessage) {
  const auto host =
      open_tree(tree_logging(R"J({"source":"dmesg","begins":100,"ends":900,"beginning_lost":false,"lines":[
    {"first":200,"last":200,"count":1,"text":"NVRM: The NVIDIA GPU 0000:1b:00.0"},
    {"first":200,"last":300,"count":2,"text":"NVRM: (PCI ID: 10de:2330) installed in this system has"},
    {"first":200,"last":300,"count":2,"text":"NVRM: fallen off the bus and is not responding to commands."},
    {"first":300,"last":300,"count":1,"text":"NVRM: The NVIDIA GPU 0000:3b:00.0"},
    {"first":700,"last":700,"count":1,"text":"NVRM: The NVIDIA GPU 0000:5e:00.0 (PCI ID: 10de:2901)"},
    {"first":700,"last":700,"count":1,"text":"NVRM: installed in this system requires use of the NVIDIA open kernel modules."},
    {"first":800,"last":800,"count":1,"text":"NVRM: The NVIDIA GPU 0000:86:00.0 (PCI ID: 10de:1b38)"},
    {"first":800,"last":800,"count":1,"text":"NVRM: installed in this system is not supported by open"}]})J"));
  const auto log = collect_kernel_log(*host, "");
  ASSERT_TRUE(log) << log.miss().why;
  ASSERT_EQ(log->events.size(), 4U);
  EXPECT_EQ(log->events[0].kind, LogKind::kGpuLost);
  EXPECT_EQ(log->events[0].subject, "0000:1b:00.0");
  EXPECT_EQ(log->events[1].kind, LogKind::kGpuLost);
  EXPECT_EQ(log->events[1].subject, "0000:3b:00.0");
  EXPECT_EQ(log->events[2].kind, LogKind::kGpuNeedsOpenModule);
  EXPECT_EQ(log->events[2].subject, "0000:5e:00.0");
  EXPECT_EQ(log->events[3].kind, LogKind::kGpuUnsupported);
  EXPECT_EQ(log->events[3].subject, "0000:86:00.0");
}

// Without a head the event stays, without an address.
TEST(KernelLog, KeepsAnNvrmLineWithoutItsHead) {
  const auto host = open_tree(tree_logging(R"J({"source":"dmesg","begins":100,"ends":900,"lines":[
    {"first":200,"last":200,"count":1,"text":"NVRM: fallen off the bus and is not responding to commands."},
    {"first":800,"last":800,"count":1,"text":"NVRM: The NVIDIA GPU 0000:5e:00.0 (PCI ID: 10de:2901)"}]})J"));
  const auto log = collect_kernel_log(*host, "");
  ASSERT_TRUE(log) << log.miss().why;
  ASSERT_EQ(log->events.size(), 1U);
  EXPECT_EQ(log->events.front().subject, "");
}

TEST(KernelLog, NonsenseIsGarbledAndNothingRecordedIsAbsent) {
  EXPECT_EQ(collect_kernel_log(*open_tree(tree_logging("{\"lines\":7}")), "").miss().missing,
            Missing::kGarbled);
  EXPECT_TRUE(collect_kernel_log(*open_tree({}), "").absent());
  EXPECT_TRUE(collect_kernel_log(*open_tree(tree_logging("{}")), "1h").absent());
}

}  // namespace
}  // namespace railbed
