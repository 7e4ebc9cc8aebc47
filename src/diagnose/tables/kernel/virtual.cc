// Virtual functions, devices of virtual machines and vGPU.
#include "diagnose/tables/rows.h"

namespace railbed::diagnose::tables {
namespace {

constexpr std::string_view kSriovSource = "Linux drivers/pci/iov.c";
constexpr std::string_view kVfioMap = "QEMU hw/vfio; Linux drivers/vfio/vfio_iommu_type1.c";
constexpr std::string_view kNoVfTitle =
    "The kernel could not create the virtual functions of a PCIe device (SR-IOV)";

// clang-format off
constexpr Symptom kKernelVirtualSymptoms[] = {
    {"sriov-mmio",            kError,   kCause, kAnyone, {"not enough MMIO resources for SR-IOV"}, kSriovSource, kNoVfTitle},
    {"sriov-no-vectors",      kError,   kCause, kAnyone, {" MSI-X interrupts available for SR-IOV. Not enough "}, "Linux drivers/net/ethernet/intel/ice/ice_sriov.c", "The adapter has too few interrupt vectors (MSI-X) left for virtual functions"},
    {"sriov-no-space",        kError,   kEcho,  kAnyone, {"sriov_numvfs", "o space left on device"}, kSriovSource, kNoVfTitle},
    {"sriov-driver",          kError,   kCause, kAnyone, {"pci_enable_sriov failed : -12"}, kSriovSource, kNoVfTitle},
    {"sriov-too-many",        kError,   kCause, kAnyone, {"sriov_numvfs", "umerical result out of range"}, kSriovSource, "More virtual functions were asked for than the device has"},
    {"sriov-other-number",    kError,   kCause, kAnyone, {"sriov_numvfs", "evice or resource busy"}, kSriovSource, "The number of virtual functions was not changed"},
    {"sriov-no-memory",       kError,   kCause, kAnyone, {"sriov_numvfs", "annot allocate memory"}, kSriovSource, kNoVfTitle},
    {"total-vfs",             kWarning, kCause, kAnyone, {"Changing TotalVfs", "needs reboot"}, "github.com/k8snetworkplumbingwg/sriov-network-operator, mellanox plugin", "The SR-IOV operator restarts a node to change the number of virtual functions"},

    // Lines that confirm or refute
    {"vfs-enabled",           kNote,    kSight, kAnyone, {"VFs already enabled"}, "Linux drivers/pci/pci-sysfs.c, iov.c", "Virtual functions exist"},
    {"vfs-assigned",          kNote,    kSight, kAnyone, {"VFs are assigned"}, "Linux drivers of adapters", "Virtual functions are in use"},
    {"vfs-assigned-some",     kNote,    kSight, kAnyone, {"VFs because some are assigned"}, "Linux drivers/net/ethernet/broadcom/bnxt", "Virtual functions are in use"},
    {"sriov-bus-range",       kNote,    kSight, kAnyone, {"SR-IOV: bus number out of range"}, kSriovSource, "No bus number is left"},
    {"sriov-bus-range-older", kNote,    kSight, kAnyone, {"can't enable ", " VFs (bus "}, kSriovSource, "No bus number is left"},
    {"fw-power-cycle",        kNote,    kSight, kAnyone, {"ower cycle machine to load new configurations"}, "mstflint, mlxconfig", "The new configuration needs a power cycle"},
    {"fw-vfs",                kNote,    kSight, kAnyone, {"NUM_OF_VFS"}, "mlxconfig -e query", "The numbers of virtual functions"},
    {"vfio-memlock-exceeded", kNote,    kSight, kAnyone, {"RLIMIT_MEMLOCK (", "exceeded"}, "Linux drivers/vfio/vfio_iommu_type1.c", "A process reached its limit of locked memory"},
    {"vfio-of-iommufd",       kNote,    kSight, kAnyone, {"vfio-pci,", "iommufd="}, "qemu(1)", "A device is passed through by iommufd"},
};

constexpr Symptom kKernelVirtualLater[] = {
    {"vgpu-versions",         kError,   kCause, kAnyone, {"Guest driver is incompatible with host driver"}, "NVIDIA vGPU user guide", "The virtual machine's vGPU driver does not fit the host's"},
    {"vgpu-license",          kWarning, kCause, kAnyone, {"gridd", "ailed to acquire", "license"}, "NVIDIA License System", "The virtual machine got no vGPU licence: the GPU is slowed down"},
    {"vfio-group",            kError,   kCause, kAnyone, {"vfio ", "is not viable"}, "Linux drivers/vfio", "A device cannot be passed through: its IOMMU group holds others"},
    {"vfio-map-full",         kError,   kCause, kAnyone, {"VFIO_MAP_DMA", "No space left on device"}, kVfioMap, "The host maps no more memory of a virtual machine for its devices"},
    {"vfio-map-full-call",    kError,   kCause, kAnyone, {"vfio_dma_map(", "= -28"}, kVfioMap, "The host maps no more memory of a virtual machine for its devices"},
    {"vfio-map-warned",       kWarning, kAside, kAnyone, {"possibly running out of DMA mappings"}, "QEMU hw/vfio", "QEMU foresees more mappings for the devices of a virtual machine than the host allows"},
    {"vfio-map-memory",       kError,   kCause, kAnyone, {"VFIO_MAP_DMA", "annot allocate memory"}, kVfioMap, "The host could not lock a virtual machine's memory for its devices"},
    {"vfio-map-memory-call",  kError,   kCause, kAnyone, {"vfio_dma_map(", "= -12"}, kVfioMap, "The host could not lock a virtual machine's memory for its devices"},
};

constexpr Hypothesis kKernelVirtualHypotheses[] = {
    {.id = "total-vfs-kept", .explains = {"total-vfs"}, .needs = {"fw-vfs-waits"}, .refuted_by = {"fw-vfs-same"}, .decisive = true,
     .title = "The adapter's firmware has the new number of virtual functions and does not take it over at a restart",
     .cause = "The number was written for the next boot, and a warm restart does not make this adapter load it, so the operator restarts the node again and again.",
     .remedy = "mstfwreset -d ADDRESS -y reset (mlxfwreset), or power the node off and on; the operator's feature gate mellanoxFirmwareReset does it; newer firmware of the adapter loads it at a warm restart.",
     .settle_by = "mstconfig -d ADDRESS -e query NUM_OF_VFS: Next Boot differs from Current after the restart",
     .source = "github.com/k8snetworkplumbingwg/sriov-network-operator/pull/449, pull/1082"},
    {.id = "total-vfs-not-written", .explains = {"total-vfs"}, .needs = {"fw-vfs-same"}, .refuted_by = {"fw-vfs-waits"}, .decisive = true,
     .title = "The number of virtual functions was not written to the adapter",
     .cause = "After the restart the adapter's next boot still has the old number: mstconfig could not write it (a locked-down kernel, firmware settings of the host's maker).",
     .remedy = "mstconfig -d ADDRESS set SRIOV_EN=1 NUM_OF_VFS=N by hand, and its error; mokutil --sb-state; the operator's daemon log: mstconfig.",
     .settle_by = "mstconfig -d ADDRESS -e query NUM_OF_VFS",
     .source = "github.com/k8snetworkplumbingwg/sriov-network-operator, mellanox plugin"},
    {.id = "sriov-too-many", .explains = {"sriov-too-many"}, .stated = true,
     .cause = "The number is larger than the kernel allows for the device: sriov_totalvfs, which the adapter's firmware sets, or less, where its driver set a limit.",
     .remedy = "cat /sys/class/net/IFACE/device/sriov_totalvfs; NVIDIA adapters: mlxconfig -d ADDRESS set SRIOV_EN=1 NUM_OF_VFS=N, then power the node off and on.",
     .source = kSriovSource},
    {.id = "sriov-other-number", .explains = {"sriov-other-number"}, .common = kUsual, .refuted_by = {"vfs-in-use"},
     .title = "The number of virtual functions was not changed: some exist",
     .cause = "The kernel changes the number only from and to zero.",
     .remedy = "echo 0 > …/sriov_numvfs first (nothing may use the functions), then the new number.",
     .settle_by = "cat …/sriov_numvfs; dmesg | tail",
     .source = kSriovSource},
    {.id = "sriov-in-use", .explains = {"sriov-other-number"}, .needs = {"vfs-in-use"}, .refuted_by = {"vfs-enabled"},
     .title = "The number of virtual functions was not changed: guests or containers use some",
     .cause = "The adapter's driver does not take functions away that are assigned to virtual machines.",
     .remedy = "Shut those guests down (or drain the node), then echo 0 > …/sriov_numvfs.",
     .settle_by = "dmesg | tail",
     .source = "Linux drivers of adapters, pci_vfs_assigned()"},
    {.id = "sriov-no-vectors", .explains = {"sriov-no-vectors"}, .stated = true,
     .cause = "The card's vectors are limited; the driver of its ports mostly takes one for each processor, and irdma as many again. The rest, which the message has, is less than the virtual functions need. Many processors leave none.",
     .remedy = "If nothing here uses RDMA on that card: \"blacklist irdma\" in /etc/modprobe.d/, update-initramfs -u (dracut -f), and a restart. Else fewer queues or virtual functions, or a kernel of 6.14 or newer: devlink dev param set pci/ADDRESS name msix_vec_per_pf_max.",
     .source = "github.com/openshift/sriov-network-operator/pull/1185"},
    {.id = "sriov-no-space", .explains = {"sriov-no-space"}, .stated = true,
     .cause = "The kernel's ENOSPC is the driver's answer here, not a full disk: the device lacks a resource for that number of functions, such as interrupt vectors or queues. The driver's own lines have which.",
     .remedy = "dmesg | grep ADDRESS at that moment; fewer virtual functions; NUM_VF_MSIX and NUM_PF_MSIX of mlxconfig on ConnectX.",
     .source = kSriovSource},
    {.id = "sriov-address-space", .explains = {"sriov-mmio", "sriov-no-memory", "sriov-driver"}, .common = kUsual, .refuted_by = {"sriov-no-bus"},
     .title = "The firmware (BIOS) reserved no address space for virtual functions: SR-IOV is not switched on there",
     .cause = "The BIOS lays out the memory windows of PCIe (MMIO) at the start, and it makes room for virtual functions only if SR-IOV is switched on. It is no lack of RAM.",
     .remedy = "In the BIOS setup switch on SR-IOV (global and of the slot) and Above 4G Decoding, and restart; compare with a node where it works. The kernel parameter pci=realloc may help if the BIOS cannot.",
     .settle_by = "dmesg | grep -i -e 'MMIO resources' -e 'SR-IOV'; the BIOS settings beside those of a good node",
     .source = "Red Hat bug 1953626; Linux drivers/pci/iov.c"},
    {.id = "sriov-bus-numbers", .explains = {"sriov-no-memory", "sriov-driver"}, .needs = {"sriov-no-bus"}, .refuted_by = {"sriov-mmio"},
     .title = "The bridge above the device has too few bus numbers for so many virtual functions",
     .cause = "Virtual functions beyond the device's own bus need bus numbers that the BIOS did not reserve.",
     .remedy = "Switch on ARI forwarding and SR-IOV in the BIOS setup, ask for fewer virtual functions, or start with pci=assign-busses.",
     .settle_by = "dmesg | grep -i 'bus number'",
     .source = kSriovSource},
    {.id = "vgpu-versions", .explains = {"vgpu-versions"}, .stated = true,
     .cause = "A guest's driver has to be of the host's vGPU branch (or the one before it).",
     .remedy = "nvidia-smi in guest and host; install the guest driver of the same vGPU release.",
     .source = "NVIDIA vGPU release notes"},
    {.id = "vgpu-license", .explains = {"vgpu-license"}, .stated = true,
     .cause = "nvidia-gridd does not reach the licence server, has no token, or none is left.",
     .remedy = "systemctl status nvidia-gridd; /etc/nvidia/ClientConfigToken; nvidia-smi -q | grep -i license; the clock.",
     .source = "NVIDIA License System"},
    {.id = "vfio-group", .explains = {"vfio-group"}, .stated = true,
     .cause = "All devices of one IOMMU group go to one guest, and one of the group is still held by a driver of the host.",
     .remedy = "Bind all of the group to vfio-pci (find /sys/kernel/iommu_groups -type l), or another slot; ACS splits groups.",
     .source = "Linux Documentation/driver-api/vfio.rst"},
    {.id = "vfio-map-full", .explains = {"vfio-map-full", "vfio-map-full-call", "vfio-map-warned"}, .stated = true,
     .cause = "No disk is full: VFIO's first kind of container allows dma_entry_limit mappings (65535), and the guest needs more. A confidential guest (TDX, SEV-SNP) and virtio-mem map memory in small pieces.",
     .remedy = "Use iommufd, which has no such limit: -object iommufd,id=iommufd0 and iommufd=iommufd0 at each vfio-pci device. Or echo 16777216 > /sys/module/vfio_iommu_type1/parameters/dma_entry_limit before the guest starts, "
     "and 'options vfio_iommu_type1 dma_entry_limit=16777216' in /etc/modprobe.d for the next boot.",
     .source = "Linux drivers/vfio/vfio_iommu_type1.c; github.com/NVIDIA/nvtrust/issues/46; github.com/aleph-im/aleph-vm/pull/1271"},
    {.id = "vfio-memlock", .explains = {"vfio-map-memory", "vfio-map-memory-call"}, .common = kUsual, .needs = {"vfio-memlock-exceeded"}, .refuted_by = {"vfio-of-iommufd"},
     .title = "The virtual machine's process may not lock as much memory as the guest has",
     .cause = "A guest with a passed-through device has all its memory locked, and the limit of locked memory of QEMU's process is smaller.",
     .remedy = "libvirt raises it by itself: <hard_limit> in <memtune> not below the guest's memory and 1 GiB more. Elsewhere LimitMEMLOCK=infinity in the service that starts QEMU, or ulimit -l unlimited.",
     .settle_by = "dmesg | grep RLIMIT_MEMLOCK; grep 'locked memory' /proc/PID/limits of QEMU",
     .source = "Linux drivers/vfio/vfio_iommu_type1.c; github.com/cloud-hypervisor/cloud-hypervisor/issues/165"},
    {.id = "vfio-memlock-iommufd", .explains = {"vfio-map-memory", "vfio-map-memory-call"}, .needs = {"vfio-of-iommufd"}, .refuted_by = {"vfio-memlock-exceeded"},
     .title = "With iommufd the windows of the devices count as locked memory, too",
     .cause = "Some kernels' iommufd counts the devices' own windows (BARs) as locked memory of QEMU's process, so a limit that is enough for the guest's memory is too small with a large GPU.",
     .remedy = "Give QEMU the capability CAP_IPC_LOCK or an unlimited LimitMEMLOCK; a kernel with \"iommufd: avoid including VM_PFNMAP memory\" does not count them.",
     .settle_by = "grep 'locked memory' /proc/PID/limits of QEMU; one start with an unlimited ulimit -l",
     .source = "github.com/NVIDIA/NV-Kernels/pull/249"},
};
// clang-format on

}  // namespace

Table kernel_virtual() { return {kKernelVirtualSymptoms, kKernelVirtualHypotheses, kKernelVirtualLater}; }

}  // namespace railbed::diagnose::tables
